"""What the learner weighs, against naive loops, and that it leaves a good order alone."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.sparse import csr_array
from sklearn.metrics import average_precision_score

from siamese_news.errors import InputError
from siamese_news.model.loading import model_of
from siamese_news.model.text_model import STAR
from siamese_news_desk.decide import learning_views
from siamese_news_desk.decide.bounds.hypergeometric import interval
from siamese_news_desk.decide.learning import learn, next_posts
from siamese_news_desk.decide.learning_examples import (
    CHOSEN,
    TooFewLabels,
    examples_of,
    folds_of,
    standardized,
)
from siamese_news_desk.decide.learning_judgment import (
    agreement_by_chance,
    coincidence_of,
)
from siamese_news_desk.decide.learning_views import (
    PostWords,
    Prediction,
    _fit_words,
    corrected,
    shares_of,
)


def made(seed, *, telling, size=2400):
    """A pool with 200 relevant posts, whose words tell them in `telling` pools."""
    generator = np.random.default_rng(seed)
    relevant = np.arange(size) < 200
    scores = 3 * relevant + generator.normal(0, 1.2, size)
    words = generator.integers(0, 400, (size, 8))
    texts = []
    for one, own in zip(words, relevant, strict=True):
        story = (
            "levee sandbags"
            if telling and own and generator.random() < 0.9
            else "today"
        )
        texts.append(" ".join([story, *(f"w{word}" for word in one)]))
    return PostWords.of(texts), scores, relevant


def labeled(scores, relevant, count, seed=0):
    rows = next_posts(scores, None, np.arange(len(scores)), {}, count, seed=seed)
    return {row: bool(relevant[row]) for row in rows}


def rest(scores, relevant, verdicts):
    places = np.setdiff1d(np.arange(len(relevant)), list(verdicts))
    return average_precision_score(relevant[places], scores[places])


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "seed",
    [
        *range(2),
        *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 6)),
    ],
)
@pytest.mark.parametrize("count", [20, 50, 100])
def test_where_words_tell_nothing_nothing_is_lost(seed, count):
    words, scores, relevant = made(seed, telling=False)
    verdicts = labeled(scores, relevant, count, seed)
    found = learn(words, scores, verdicts, np.arange(len(scores)))
    used = found.scores if found.helps else scores
    assert rest(used, relevant, verdicts) >= rest(scores, relevant, verdicts) - 0.01


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", range(3))
def test_where_words_tell_fifty_labels_are_enough(seed):
    words, scores, relevant = made(seed, telling=True)
    verdicts = labeled(scores, relevant, 50, seed)
    found = learn(words, scores, verdicts, np.arange(len(scores)))
    assert found.helps
    assert (
        rest(found.scores, relevant, verdicts) > rest(scores, relevant, verdicts) + 0.05
    )
    assert {"levee", "sandbags"} <= set(found.words[0])


def test_a_perfect_machine_is_believed_once_labels_bear_it_out():
    words, scores, relevant = made(0, telling=False)
    verdicts = labeled(scores, relevant, 50)
    found = learn(
        words, scores, verdicts, np.arange(len(scores)), machine=relevant.astype(float)
    )
    assert found.helps and rest(found.scores, relevant, verdicts) > 0.99


def test_agreement_alone_is_not_enough_where_the_search_has_the_labels_right_too():
    words, scores, relevant = made(1, telling=False)
    generator = np.random.default_rng(1)
    machine = (generator.random(len(scores)) < np.where(relevant, 0.9, 0.05)).astype(
        float
    )
    top = np.flatnonzero(relevant & (scores > 3))[:12]
    last = np.flatnonzero(~relevant)[-38:]
    verdicts = dict.fromkeys(top.tolist(), True) | dict.fromkeys(last.tolist(), False)
    found = learn(words, scores, verdicts, np.arange(len(scores)), machine=machine)
    assert (
        found.judgment.search_precision == 1 and found.chance < 1e-4 and not found.helps
    )
    # Labels of posts about which the search errs show what the machine is worth.
    verdicts = labeled(scores, relevant, 50, 1)
    found = learn(words, scores, verdicts, np.arange(len(scores)), machine=machine)
    assert found.helps and found.uses_machine and found.added > 1
    assert (
        rest(found.scores, relevant, verdicts) > rest(scores, relevant, verdicts) + 0.02
    )


@pytest.mark.parametrize("cut", [True, False])
def test_a_machine_that_knows_nothing_agrees_by_chance_as_rarely_as_promised(cut):
    generator, trials = np.random.default_rng(0), 400
    said = np.arange(50) < 20
    values = generator.random((trials, 50))
    values[generator.random(values.shape) < 0.2] = np.nan
    if cut:
        values = np.where(np.isnan(values), np.nan, values < 0.4)
    found = [agreement_by_chance(row, said, np.arange(50)) for row in values]
    for share in (0.01, 0.05, 0.2):
        least = trials * share + 4 * math.sqrt(trials * share * (1 - share))
        assert np.sum(np.array(found) < share) <= least


def test_copies_agree_once_and_a_machine_without_a_verdict_or_a_second_kind_not_at_all():
    said = np.arange(40) < 20
    agrees, alone = said.astype(float), np.arange(40)
    assert agreement_by_chance(agrees, said, alone) < 1e-6
    assert agreement_by_chance(agrees, said, np.where(said, 0, 1)) > 0.1
    assert agreement_by_chance(1 - agrees, said, alone) > 0.99
    assert agreement_by_chance(np.full(40, np.nan), said, alone) == 1
    assert agreement_by_chance(np.ones(40), said, alone) == 1
    assert agreement_by_chance(agrees[:20], said[:20], alone[:20]) == 1


def coins(seeds, size=1200, count=50):
    """How many coin-flipping machines are in the order, and the least gain where labels lack."""
    used, gains = 0, []
    for seed in seeds:
        words, scores, relevant = made(seed, telling=seed % 2, size=size)
        verdicts = labeled(scores, relevant, count, seed)
        coin = np.random.default_rng([1, seed]).integers(0, 2, size).astype(float)
        found = learn(words, scores, verdicts, np.arange(size), machine=coin)
        alone = learn(words, scores, verdicts, np.arange(size))
        used += found.uses_machine
        order = found.scores if found.helps else scores
        plain = alone.scores if alone.helps else scores
        gains.append(rest(order, relevant, verdicts) - rest(plain, relevant, verdicts))
        assert found.uses_machine or np.array_equal(found.scores, alone.scores)
    return used, min(gains)


def test_a_coin_is_not_believed():
    assert coins(range(2)) == (0, 0)


@pytest.mark.slow
def test_of_many_coins_hardly_one_is_believed():
    """One test alone, agreement at p < .01, lets through one of a hundred; a weight of 1 hurts."""
    used, least = coins(range(120))
    print(used, least)
    assert used <= 2 and least > -0.02


def dealt_at_random(seeds, count, share):
    """In how many pools labels dealt at random to the posts of a sheet change the order."""
    used = 0
    for seed in seeds:
        words, scores, relevant = made(seed, telling=seed % 2, size=1200)
        rows = list(labeled(scores, relevant, count, seed))
        generator = np.random.default_rng([2, seed])
        verdicts = {row: bool(generator.random() < share) for row in rows}
        try:
            used += learn(words, scores, verdicts, np.arange(1200), seed=seed).helps
        except TooFewLabels:
            continue
    return used


def test_labels_dealt_at_random_leave_the_order():
    assert interval(dealt_at_random(range(5), 50, 0.5), 5)[0] <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("count", [20, 50, 200])
def test_labels_dealt_at_random_change_the_order_in_at_most_a_twentieth(count):
    used = dealt_at_random(range(100), count, 0.5)
    used += dealt_at_random(range(100), count, 0.2)
    print(used)
    assert interval(used, 200)[0] <= 0.05


def test_coincidence_is_the_share_of_orders_of_the_labels_that_go_with_words_as_well():
    generator = np.random.default_rng(0)
    features = np.abs(generator.normal(size=(9, 5))) * (generator.random((9, 5)) < 0.5)
    features /= np.maximum(np.linalg.norm(features, axis=1), 1e-9)[:, None]
    relevant = np.array([True] * 4 + [False] * 5)
    features[:4, 0] += 1  # the relevant posts share a word
    similar = features @ features.T

    def together(labels):
        centered = labels - labels.mean()
        pairs = itertools.permutations(range(9), 2)
        return sum(centered[a] * centered[b] * similar[a, b] for a, b in pairs)

    real = together(relevant.astype(float))
    every = [
        together(np.isin(np.arange(9), rows).astype(float))
        for rows in itertools.combinations(range(9), 4)
    ]
    exact = np.mean(np.array(every) >= real - 1e-9)
    drawn = coincidence_of(csr_array(features), relevant, np.arange(9), generator)
    assert 0.01 < exact < 0.5
    assert drawn == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 999))


def test_copies_and_labels_of_a_single_kind_cannot_go_with_words():
    features = csr_array(np.eye(6)[[0, 0, 0, 3, 4, 5]])
    relevant = np.array([True, True, True, False, False, False])
    generator = np.random.default_rng(0)
    assert coincidence_of(features, relevant, np.arange(6), generator) < 0.2
    copies = np.array([0, 0, 0, 3, 4, 5])
    assert coincidence_of(features, relevant, copies, generator) == 1
    alike = np.ones(6, bool)
    assert coincidence_of(features, alike, np.arange(6), generator) == 1


def test_the_correction_is_where_its_loss_is_least():
    """Against the loss written out, at the multiple and the strength that were chosen."""
    words, scores, relevant = made(0, telling=True, size=600)
    verdicts = labeled(scores, relevant, 60)
    generator = np.random.default_rng(0)
    examples = examples_of(scores, verdicts, np.arange(600), generator)
    folds = folds_of(examples.relevant, examples.groups, generator)
    base = standardized(scores)
    prediction = corrected(words.features, base, examples, folds)
    features = words.features[examples.rows].toarray()

    def loss(values, strength):
        total = values[1:] @ values[1:] / (2 * strength)
        for row, kind, weight, place in zip(
            features, examples.relevant, examples.weights, examples.rows, strict=True
        ):
            value = values[0] + row @ values[1:] + prediction.slope * base[place]
            total += weight * math.log(1 + math.exp(-value if kind else value))
        return total

    # The coefficients, from odds that are linear in the words.
    correction = prediction.odds - prediction.slope * base - prediction.intercept
    values = np.linalg.lstsq(words.features.toarray(), correction, rcond=None)[0]
    values = np.concatenate([[prediction.intercept], values])
    slopes = [
        np.abs(approx_fprime(values, loss, 1e-6, strength)).max()
        for strength in CHOSEN.corrections
    ]
    assert min(slopes) < 0.05


def test_a_word_seen_once_counts_for_a_post_by_naive_bayes():
    """The odds of a word against counts written out; the regression is the same for both words."""
    counts = csr_array(np.array([[2.0, 0, 1], [1, 0, 0], [0, 3, 1], [0, 1, 1]]))
    relevant = np.array([True, True, False, False])
    prediction, coefficients = _fit_words(counts, np.arange(4), relevant, np.ones(4))
    pseudo = CHOSEN.smoothing
    sums = [counts.toarray()[relevant == kind].sum(axis=0) for kind in (True, False)]
    shares = [(row + pseudo) / (row.sum() + 3 * pseudo) for row in sums]
    evidence = counts.toarray() @ np.log(shares[0] / shares[1])
    regression = counts.toarray() @ coefficients
    expected = standardized(standardized(regression) + standardized(evidence))
    np.testing.assert_allclose(prediction, expected, atol=1e-9)


def test_a_mixture_believes_the_prediction_that_expects_held_out_labels():
    _, scores, relevant = made(0, telling=True, size=600)
    verdicts = labeled(scores, relevant, 60)
    generator = np.random.default_rng(0)
    examples = examples_of(scores, verdicts, np.arange(600), generator)
    truth = np.where(examples.relevant, 4.0, -4.0)
    right, wrong = (
        Prediction(np.full(600, sign), sign * truth, sign, 1.0) for sign in (1.0, -1.0)
    )
    for mixture in (
        right.mixed_with(wrong, examples),
        wrong.mixed_with(right, examples),
    ):
        assert mixture.intercept == pytest.approx(1, abs=1e-6)
        np.testing.assert_allclose(mixture.held_out, truth, atol=1e-6)
    even = right.mixed_with(right, examples)
    np.testing.assert_allclose(even.odds, right.odds)


def test_vectors_tell_what_words_cannot(monkeypatch):
    """Posts that share no word, with vectors that tell the relevant ones."""
    size = 1200
    relevant = np.arange(size) < 200
    generator = np.random.default_rng(0)
    scores = relevant + generator.normal(0, 1.2, size)
    told = np.where(relevant[:, None], [0.5, 0.0], [0.0, 0.5])
    vectors = told + generator.normal(0, 0.1, (size, 2))
    monkeypatch.setattr(PostWords, "vectors", lambda *_: csr_array(vectors))
    words = PostWords.of([f"word{n}" for n in range(size)])
    verdicts = labeled(scores, relevant, 60)
    found = learn(words, scores, verdicts, np.arange(size))
    assert found.judgment.information > CHOSEN.gained
    gain = rest(found.scores, relevant, verdicts) - rest(scores, relevant, verdicts)
    assert gain > 0.1


def test_each_text_is_read_once_and_its_vector_is_that_of_the_star(monkeypatch):
    texts = ["the river is in my cellar", "a concert on the stage", "the levee broke"]
    words = PostWords.of(texts)
    vectors = model_of(STAR).encode_posts([texts[0], texts[2]])
    centered = vectors - vectors.mean(axis=0)
    expected = 0.5 * centered / np.linalg.norm(centered, axis=1, keepdims=True)
    found = words.vectors(np.array([0, 2])).toarray()
    np.testing.assert_allclose(found[[0, 2]], expected, atol=1e-6)
    assert not found[1].any()
    monkeypatch.setattr(learning_views, "shipped_star", None)
    np.testing.assert_array_equal(words.vectors(np.array([0, 2])).toarray(), found)


def test_the_same_labels_give_the_same_order():
    words, scores, relevant = made(3, telling=True, size=900)
    verdicts = labeled(scores, relevant, 50)
    first, second = (learn(words, scores, verdicts, np.arange(900)) for _ in range(2))
    np.testing.assert_array_equal(first.scores, second.scores)
    assert first.plain() == second.plain()


def test_without_a_post_labeled_not_relevant_the_order_stays():
    words, scores, relevant = made(1, telling=True)
    verdicts = dict.fromkeys(np.flatnonzero(relevant)[:30].tolist(), True)
    feedback = learn(words, scores, verdicts, np.arange(len(scores)))
    assert not feedback.helps
    assert "no post is labeled not relevant" in feedback.sentence()


def test_relevant_posts_with_one_text_teach_nothing():
    words, scores, _ = made(0, telling=True)
    with pytest.raises(TooFewLabels, match="texts labeled relevant: 1;"):
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
    found = shares_of(judged, said, weights, far)
    fewer = min(said.sum(), 60 - said.sum() - far)
    prior = [(1.0, 1.0), (0.0, 1.0), (0.0, 30 / fewer)]

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
