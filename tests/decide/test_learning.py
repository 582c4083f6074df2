"""What the learner weighs, against naive loops, and that it leaves a good order alone."""

import math

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.metrics import average_precision_score

from siamese_news.decide import learning
from siamese_news.decide.asking import next_posts
from siamese_news.decide.learning import PostWords, TooFewLabels, learn
from siamese_news.errors import InputError


def made(seed, *, telling, size=2400):
    """A pool with 200 relevant posts, whose words tell them in `telling` pools."""
    generator = np.random.default_rng(seed)
    relevant = np.arange(size) < 200
    scores = 3 * relevant + generator.normal(0, 1.2, size)
    words = generator.integers(0, 400, (size, 8))
    texts = []
    for one, own in zip(words, relevant, strict=True):
        story = "levee sandbags" if telling and own and generator.random() < 0.9 else "today"
        texts.append(" ".join([story, *(f"w{word}" for word in one)]))
    return PostWords.of(texts), scores, relevant


def labelled(scores, relevant, count, seed=0):
    rows = next_posts(scores, None, np.arange(len(scores)), {}, count, seed=seed)
    return {row: bool(relevant[row]) for row in rows}


def rest(scores, relevant, verdicts):
    places = np.setdiff1d(np.arange(len(relevant)), list(verdicts))
    return average_precision_score(relevant[places], scores[places])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("count", [20, 50, 100])
def test_where_words_tell_nothing_nothing_is_lost(seed, count):
    words, scores, relevant = made(seed, telling=False)
    verdicts = labelled(scores, relevant, count, seed)
    found = learn(words, scores, verdicts, np.arange(len(scores)))
    used = found.scores if found.helps else scores
    assert rest(used, relevant, verdicts) >= rest(scores, relevant, verdicts) - 0.01


@pytest.mark.parametrize("seed", range(3))
def test_where_words_tell_fifty_labels_are_enough(seed):
    words, scores, relevant = made(seed, telling=True)
    verdicts = labelled(scores, relevant, 50, seed)
    found = learn(words, scores, verdicts, np.arange(len(scores)))
    assert found.helps
    assert rest(found.scores, relevant, verdicts) > rest(scores, relevant, verdicts) + 0.05
    assert {"levee", "sandbags"} <= set(found.words[0])


def test_a_perfect_machine_is_believed_once_labels_bear_it_out():
    words, scores, relevant = made(0, telling=False)
    verdicts = labelled(scores, relevant, 50)
    found = learn(words, scores, verdicts, np.arange(len(scores)), machine=relevant.astype(float))
    assert found.helps and rest(found.scores, relevant, verdicts) > 0.99


def test_relevant_posts_with_one_text_teach_nothing():
    words, scores, _ = made(0, telling=True)
    with pytest.raises(TooFewLabels, match="with 1 different texts"):
        learn(words, scores, dict.fromkeys(range(10), True), np.zeros(len(scores), int))


def test_posts_without_words_and_labels_of_copies_alone_are_refused():
    with pytest.raises(InputError, match="no words"):
        PostWords.of(["", " "])
    words = PostWords.of([f"text {n}" for n in range(30)])
    relevant = np.arange(30) % 2 == 0
    verdicts = dict(enumerate(relevant.tolist()))
    with pytest.raises(TooFewLabels, match="copies of a few texts"):
        learn(words, -np.arange(30.0), verdicts, np.where(relevant, np.arange(30), 0))


def test_weights_are_where_the_loss_is_least():
    """Against the loss written out, post by post."""
    generator = np.random.default_rng(0)
    judged, said = generator.normal(size=(60, 3)), generator.random(60) < 0.4
    judged += said[:, None]
    weights, far = generator.random(60), 20
    found = learning._shares(judged, said, weights, far)
    fewer = min(said.sum(), 60 - said.sum() - far)
    prior = [(1.0, 1.0), (learning.MACHINE, 1.0), (0.0, 30 / fewer)]

    def loss(values):
        total = 0.0
        for row, own, weight in zip(judged, said, weights, strict=True):
            value = values[0] + sum(a * b for a, b in zip(row, values[1:], strict=True))
            total -= weight * math.log(1 / (1 + math.exp(-value if own else value)))
        return total + sum(
            s * (v - m) ** 2 / 2 for v, (m, s) in zip(values[1:], prior, strict=True)
        )

    assert found[1] > 0.05 and 0 < found[3] < 4 * found[1]  # at no bound
    np.testing.assert_allclose(approx_fprime(found, loss), 0, atol=1e-3)


def test_labels_stand_for_the_posts_around_them():
    generator = np.random.default_rng(0)
    scores, below = generator.normal(size=3000), generator.choice(3000, 2000, replace=False)
    rows = generator.choice(3000, 80, replace=False)
    below = np.setdiff1d(below, rows)
    found = learning._stands_for(scores, rows, below, 500)
    ranks = np.argsort(np.argsort(-scores)).tolist()
    part = [int(math.log2(rank / 100 + 1)) for rank in ranks]
    for place, row in enumerate(rows.tolist()):
        posts = sum(part[n] == part[row] and n not in set(below) for n in range(3000))
        labels = sum(part[n] == part[row] for n in rows.tolist())
        assert found[place] == pytest.approx(max(posts / labels, 1))
    assert np.all(found[80:] == len(below) / 500)
