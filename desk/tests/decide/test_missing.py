"""Looks at random posts of a rest: by whole numbers, the recall is broken rarely enough."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siamese_news_desk.decide.bounds.few_missing import FewMissing


def broken(top, rest, recall, test, relevant):
    """The chance of stopping below the recall, by counting sequences of the rest.

    `recall` is a fraction; whoever labels the whole rest breaks nothing.
    """
    paths = {0: 1}
    wrong = Fraction(0)
    total = math.comb(rest, relevant)
    for drawn in range(rest):
        for hits in list(paths):
            if test.shown(hits, drawn):
                stopped = paths.pop(hits) * math.comb(rest - drawn, relevant - hits)
                if top + hits < recall * (top + relevant):
                    wrong += Fraction(stopped, total)
        further = {}
        for hits, count in paths.items():
            further[hits] = further.get(hits, 0) + count
            if hits < relevant:
                further[hits + 1] = further.get(hits + 1, 0) + count
        paths = further
    return wrong


@given(
    st.integers(0, 30),
    st.integers(1, 40),
    st.sampled_from(["1/2", "7/10", "4/5", "9/10", "19/20"]),
    st.sampled_from([0.01, 0.05, 0.2]),
)
@settings(max_examples=25, deadline=None)
def test_no_number_of_missing_posts_breaks_it_too_often(top, rest, recall, error):
    share = Fraction(recall)
    test = FewMissing(top, rest, float(share), error)
    for relevant in range(rest + 1):
        assert broken(top, rest, share, test, relevant) <= error + 1e-9


@pytest.mark.parametrize(
    ("top", "rest"), [(40, 400), pytest.param(120, 300, marks=pytest.mark.slow)]
)
def test_long_looks_at_many_counts_hold_too(top, rest):
    """One look for several counts begins at 40."""
    test = FewMissing(top, rest, 0.8, 0.05)
    assert test.shown(60, rest)
    assert len(test._counts) < 61
    worst = max(
        broken(top, rest, Fraction(4, 5), test, relevant)
        for relevant in range(0, min(rest, 4 * top), 7 if top > 40 else 23)
    )
    assert worst <= 0.05


def test_the_error_is_nearly_used():
    test = FewMissing(100, 2400, 0.8, 0.05)
    worst = broken(100, 2400, Fraction(4, 5), test, test.breaking(0))
    assert 0.028 < worst <= 0.03
    worst = broken(100, 2400, Fraction(4, 5), test, test.breaking(4))
    assert 0.045 < worst <= 0.05


def test_by_hand():
    """8 found, 12 left, recall .8: three missing would break it, so 8 labels without a hit."""
    test = FewMissing(8, 12, 0.8, 0.05)
    assert [test.breaking(hits) for hits in range(4)] == [3, 4, 5, 6]
    # C(4, 3) / C(12, 3) = .018 <= .03 < C(5, 3) / C(12, 3) = .045.
    assert [test.shown(0, drawn) for drawn in (7, 8)] == [False, True]
    assert FewMissing(100, 20, 0.8, 0.05).shown(0, 0)  # not so many are left


def test_a_large_rest_with_many_missing_posts_is_fast():
    test = FewMissing(5000, 30_000, 0.8, 0.04)
    assert not test.shown(150, 2000)
    assert test.shown(150, 30_000)
