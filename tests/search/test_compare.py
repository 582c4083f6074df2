"""Shares and words: against formulas, naive loops and groups that do not differ."""

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siamese_news.search.compare import FEW, PRIOR, log_odds, wilson, words_of


@given(st.integers(1, 10**7), st.data())
def test_the_bounds_of_a_share_are_1_96_of_their_errors_away(posts, data):
    """Wilson (1927): the shares p for which |found - posts p| is z sqrt(posts p (1 - p))."""
    found = data.draw(st.integers(0, posts))
    low, high = wilson(found, posts)
    assert 0 <= low <= found / posts <= high <= 1
    for bound, extreme in ((low, found == 0), (high, found == posts)):
        if extreme:
            assert bound == round(bound)
            continue
        error = 1.959963984540054 * math.sqrt(posts * bound * (1 - bound))
        assert abs(found - posts * bound) == pytest.approx(error, rel=1e-6, abs=1e-6)


def test_no_posts_say_nothing():
    assert wilson(0, 0) == (0.0, 1.0)


@given(
    st.integers(2, 4).flatmap(
        lambda groups: st.lists(
            st.lists(st.integers(0, 500), min_size=groups, max_size=groups).filter(any),
            min_size=2,
            max_size=6,
        )
    )
)
def test_log_odds_are_those_of_a_naive_loop(columns):
    counts = np.array(columns).T
    odds, errors = log_odds(counts)
    total = counts.sum()
    for i in range(len(counts)):
        for w in range(counts.shape[1]):
            prior = [PRIOR * counts[:, v].sum() / total for v in range(counts.shape[1])]
            y, others = counts[i, w], counts[:, w].sum() - counts[i, w]
            n, n_others = counts[i].sum(), total - counts[i].sum()
            own = (y + prior[w]) / (n + PRIOR - y - prior[w])
            rest = (others + prior[w]) / (n_others + PRIOR - others - prior[w])
            assert odds[i, w] == pytest.approx(math.log(own) - math.log(rest), abs=1e-9)
            variance = 1 / (y + prior[w]) + 1 / (others + prior[w])
            assert errors[i, w] == pytest.approx(math.sqrt(variance))


WORDS = [f"word{n}" for n in range(60)]


def texts(count, draw, more=()):
    return [" ".join([*draw.sample(WORDS, 8), *more]) for _ in range(count)]


def test_the_word_that_a_group_uses_sets_it_apart():
    draw = random.Random(1)
    first, second = texts(80, draw), texts(80, draw)
    first[:40] = [f"{text} dyke" for text in first[:40]]
    own, others = words_of([first, second])
    assert (
        own[0].term == "dyke"
        and own[0].sure
        and own[0].n_texts == 40
        and own[0].n_other_texts == 0
    )
    low, high = own[0].interval
    assert 0 < low < own[0].log_odds < high
    assert not any(word.sure for word in others)


def test_groups_that_do_not_differ_have_no_words():
    """One of 40 draws may list a word by chance: the limit is 5 % for all words together."""
    draw = random.Random(2)
    wrong = 0
    for _ in range(40):
        found = words_of([texts(60, draw), texts(60, draw), texts(60, draw)])
        wrong += any(word.sure for own in found for word in own)
    assert wrong <= 2


def test_a_small_group_has_no_words_however_they_differ():
    draw = random.Random(3)
    small = [f"{text} dyke" for text in texts(FEW - 1, draw)]
    large, none = texts(100, draw), []
    assert words_of([small, large, none])[0] == []
    assert words_of([small, large, none])[2] == []
    assert words_of([[*small, "dyke"], large, none])[0][0].term == "dyke"


def test_one_group_or_no_text_has_nothing_to_be_apart_from():
    assert (
        words_of([]) == []
        and words_of([["a"]]) == [[]]
        and words_of([[], []]) == [[], []]
    )
