"""Shares, words and bursts: against scipy, naive loops and groups that do not differ."""

import math
import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, poisson

from siamese_news.search.compare import FEW, PRIOR, bursts, log_odds, wilson, words_of


@given(st.integers(1, 10**7), st.data())
def test_the_interval_of_a_share_is_that_of_scipy(posts, data):
    found = data.draw(st.integers(0, posts))
    expected = binomtest(found, posts).proportion_ci(method="wilson")
    assert wilson(found, posts) == pytest.approx((expected.low, expected.high), abs=1e-12)


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
    assert own[0].term == "dyke" and own[0].sure and own[0].found == 40 and own[0].others == 0
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
    assert words_of([]) == [] and words_of([["a"]]) == [[]] and words_of([[], []]) == [[], []]


def test_bursts_are_what_a_poisson_flow_hardly_brings():
    flat = dict.fromkeys(range(30), 10)
    assert bursts(flat) == []
    found = bursts(flat | {11: 60, 12: 70, 20: 80})
    assert [burst[:2] for burst in found] == [(11, 12), (20, 20)]
    assert found[0][2] == pytest.approx(65 / (480 / 30))
    assert bursts({}) == [] and bursts({0: 500, 1: 1}) == []
    # A stretch without posts counts; one stray among hundreds does not stretch the time.
    assert [burst[:2] for burst in bursts({0: 1, 9: 40, 99: 1})] == [(9, 9)]
    assert bursts(flat | {10_000: 1}) == []


def test_a_steady_flow_shows_no_burst():
    flow = np.random.default_rng(4).poisson(7, (300, 50))
    shown = sum(bool(bursts(dict(enumerate(row.tolist())))) for row in flow)
    assert shown <= 3  # .001 each, somewhat less for the mean is of the same flow


@given(st.dictionaries(st.integers(0, 40), st.integers(1, 200), max_size=20))
def test_bursts_are_those_of_a_naive_loop(counts):
    dates = sorted(slot for slot, count in counts.items() for _ in range(count))
    ends = [dates[math.ceil(len(dates) * share) - 1] for share in (0.01, 0.99)] if dates else [0, 0]
    slots = range(ends[0], ends[1] + 1)
    mean = sum(counts.get(slot, 0) for slot in slots) / len(slots)
    over = {
        slot
        for slot in slots
        if len(slots) >= 5
        and counts.get(slot, 0) > mean
        and poisson.sf(counts[slot] - 1, mean) < 0.001 / len(slots)
    }
    found = bursts(counts)
    assert {slot for first, last, _ in found for slot in range(first, last + 1)} == over
    assert all(b[0] - a[1] > 1 for a, b in pairwise(found))
