"""Passages: the closest one counts, against a count by hand over n-grams and words."""

import dataclasses
import math
from collections import Counter

import numpy as np
import pytest

from siamese_news import open_model
from siamese_news.lexical_head.options import Passages
from siamese_news.scoring import candidates, observe_all
from siamese_news.scoring.mixture import mixture_scorer

FILLER = "The council met on Tuesday and talked about roads, schools, taxes and a new library. "
QUOTE = "Drinking hot lemon water every morning cures zzqqxy fever within three days"
ARTICLE = FILLER * 4 + QUOTE + ". " + FILLER * 4
POSTS = [
    QUOTE + " !!",
    "hot lemon water for the zzqqxyfever",
    "The council talked about taxes",
    "lemon cake recipe",
    "a council met about a library",
    "new phone today",
    "洪水警報が出ました",
    "",
]


@pytest.fixture(scope="module")
def model():
    return open_model()


def scorer_of(model, articles, **options):
    passages = Passages(
        **{"weight": 1.0, "words": 12, "rank": 2, "posts": 50} | options
    )
    return mixture_scorer(
        model,
        articles,
        options=dataclasses.replace(model.terms.options, passages=passages),
    )


def added(model, articles, posts, **options):
    """What passages add to the scores, before these are scaled."""
    found = []
    for weight in (1.0, 0.0):
        scorer = scorer_of(model, articles, **options | {"weight": weight})
        scorer = observe_all(scorer, posts)
        found.append(scorer.scores(posts))
    return (found[0] - found[1]) / scorer.scales()[:, None]


def by_hand(model, article, posts, *, words, rank):
    """The squared excess of each post, with counts of n-grams as sums over words."""
    power = model.terms.options.power
    tokens = [model.tokens(post) for post in posts]

    def grams(word):
        padded = f" {word} "
        padded = padded.ljust(4)
        return {padded[i : i + 4] for i in range(len(padded) - 3)}

    occurrences = Counter(token for post in tokens for token in post)
    of_grams = Counter()
    for word, count in occurrences.items():
        for gram in grams(word):
            of_grams[gram] += count

    def idf(count):
        return (math.log((len(posts) + 1) / (min(count, len(posts)) + 1)) + 1) ** power

    def features(word):
        known = word in model.vocabulary
        count = (
            occurrences[word] if known else min(of_grams[gram] for gram in grams(word))
        )
        return {gram: idf(of_grams[gram]) for gram in grams(word)} | {
            (word,): 2 * idf(count)
        }

    text = model.tokens(article)
    step = words // 2
    starts = range(0, max(len(text) - words, 0) + step, step)
    cosines = []
    for post in tokens:
        best = 0.0
        length = math.sqrt(
            sum(v**2 for word in set(post) for v in features(word).values())
        )
        for start in starts:
            passage, counts = {}, Counter()
            for word in text[start : start + words]:
                for name, value in features(word).items():
                    passage[name] = value
                    counts[name] += 1
            vector = {
                name: value * (1 + math.log(counts[name]))
                for name, value in passage.items()
            }
            norm = math.sqrt(sum(value**2 for value in vector.values()))
            product = sum(
                value * vector.get(name, 0.0)
                for word in set(post)
                for name, value in features(word).items()
            )
            best = max(best, product / (length * norm) if length and norm else 0.0)
        cosines.append(best)
    return cosines


def test_the_excess_is_that_of_a_count_by_hand(model):
    cosines = by_hand(model, ARTICLE, POSTS, words=12, rank=2)
    found = added(model, [ARTICLE], POSTS)[0]
    # Only posts with a score are candidates; the others have no place among the ranks.
    floor = sorted(cosines)[-2]
    expected = [max(cosine - floor, 0) ** 2 for cosine in cosines]
    np.testing.assert_allclose(found, expected, atol=2e-6)
    assert found.argmax() == 0 and found[0] > 0.01


def test_few_candidates_have_no_floor(model):
    cosines = by_hand(model, ARTICLE, POSTS, words=12, rank=50)
    found = added(model, [ARTICLE], POSTS, rank=50)[0]
    np.testing.assert_allclose(found[:3], np.square(cosines[:3]), atol=2e-6)


def test_a_list_does_not_depend_on_the_other_articles(model):
    together = added(model, [FILLER, ARTICLE, "", QUOTE], POSTS)
    for row, article in enumerate([FILLER, ARTICLE, "", QUOTE]):
        np.testing.assert_array_equal(together[row], added(model, [article], POSTS)[0])
    assert not together[2].any()


def test_articles_that_are_read_together_change_nothing(model, monkeypatch):
    articles = [FILLER, ARTICLE, "", QUOTE]
    together = added(model, articles, POSTS)
    monkeypatch.setattr(candidates, "_TOGETHER", 5)
    np.testing.assert_array_equal(added(model, articles, POSTS), together)


def test_parts_add_up(model):
    scorer = scorer_of(model, [ARTICLE])
    scorer = observe_all(scorer, POSTS)
    without = scorer_of(model, [ARTICLE], weight=0.0)
    without = observe_all(without, POSTS)
    for post in POSTS[:3]:
        more, less = scorer.parts_of(post, 0), without.parts_of(post, 0)
        gained = float((scorer.scores([post]) - without.scores([post]))[0, 0])
        assert sum(more.surface.values()) - sum(less.surface.values()) == pytest.approx(
            gained, abs=1e-6
        )
        assert sum(more.article_terms.values()) - sum(
            less.article_terms.values()
        ) == pytest.approx(gained, abs=1e-6)


def test_the_state_of_parts_gives_the_scores_of_the_whole(model):
    whole = scorer_of(model, [ARTICLE])
    whole = observe_all(whole, POSTS)
    halves = [scorer_of(model, [ARTICLE]).observer() for _ in range(2)]
    halves[0].observe(POSTS[:3])
    halves[1].observe(POSTS[3:])
    halves[1].merge(halves[0].state())
    merged = scorer_of(model, [ARTICLE]).observer()
    merged.merge(halves[1].state())
    restored = merged.settle()
    np.testing.assert_array_equal(restored.scores(POSTS), whole.scores(POSTS))
    again = scorer_of(model, [ARTICLE]).restored(restored.state())
    np.testing.assert_array_equal(again.scores(POSTS), whole.scores(POSTS))
