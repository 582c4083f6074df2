"""The list that is handed over, without its labeled errors: false at most as often as promised."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from benchmarks.promises import border
from benchmarks.replay import (
    generator_of,
    random_order,
    replay,
    tables_of,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from test_descent import Answers
from test_tables import crossing

from siamese_news_desk.decide.bounds.descent import descend, returned_set
from siamese_news_desk.decide.bounds.hypergeometric import interval
from siamese_news_desk.decide.bounds.tables import Tables, turn_of
from siamese_news_desk.decide.plan.design import (
    Order,
    errors_due,
    first_set,
    least_errors,
    nested_sets,
    planned_nulls,
)


def is_false(relevant, errors, step, target):
    """By the definition: the precision of the set without what is known not to be relevant."""
    kept = np.setdiff1d(np.arange(step.size), errors)
    return relevant[kept].sum() < target * len(kept)


@given(
    st.lists(st.booleans(), min_size=6, max_size=6),
    st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)),
    st.sampled_from(["1/2", "3/5", "4/5"]),
    st.sampled_from([0.1, 0.25, 0.5]),
)
@settings(max_examples=5, deadline=None)
def test_every_order_of_a_tiny_pool(truth, removed, target, error):
    """All 720 orders, stopped after any number of labels: few enough end with a false list."""
    relevant, target = np.array(truth), Fraction(target)
    sizes = np.array([3, 4, 6])
    nulls = [
        least_errors(n, target, min(x, n - 1))
        for n, x in zip(sizes.tolist(), removed, strict=True)
    ]
    tables = Tables(sizes.tolist(), nulls, error=error, turn=3)
    due = errors_due(sizes, np.array(nulls), target)
    wrong = 0
    for places in permutations(range(6)):
        keys = np.array(places, np.uint64)
        order = Order(sizes, lambda a, b, keys=keys: keys[a:b])
        for count in range(1, 7):
            labeled = np.argsort(keys)[:count]
            errors = np.sort(labeled[~relevant[labeled]])
            outcome = descend(tables, order, Answers(relevant, labeled))
            step = returned_set(outcome, due, errors)
            if step is not None and is_false(relevant, errors, step, target):
                wrong += 1
                break
    assert wrong <= error * 720


@pytest.mark.parametrize("target", [".8", ".95"])
@pytest.mark.parametrize("budget", [100, 300])
def test_no_number_of_errors_makes_a_set_false_too_often(target, budget):
    """Whole numbers: whichever errors a set has, its list is false with 5% at most."""
    share = Fraction(target)
    sizes = nested_sets(-np.arange(3000.0))
    nulls = planned_nulls(sizes, share, budget)
    tables = tables_of(sizes, share, budget, 0.05)
    due = errors_due(sizes, nulls, share)
    for number in (0, 40, 100, len(sizes) - 1):
        size, null = int(sizes[number]), int(nulls[number])
        bounds = tables.bounds(number, min(size, budget)).tolist()
        for errors in (null, null + 1, null + 5):
            if errors <= size:
                assert sum(crossing(size, errors, bounds)) <= Fraction(1, 20)
        # With fewer errors the set may pass at will: its list is true once the due ones are known.
        kept = size - int(due[number])
        assert size - (null - 1) >= share * kept


def test_the_largest_set_with_enough_known_errors_is_handed_over():
    relevant = np.ones(1000, bool)
    relevant[[3, 50, 120, 121, 400]] = False
    sizes = np.array([100, 200, 500, 1000])
    tables = Tables(sizes.tolist(), [40, 60, 120, 200], error=0.05, turn=200)
    keys = np.random.default_rng(0).permutation(1000).astype(np.uint64)
    order = Order(sizes, lambda a, b: keys[a:b])
    outcome = descend(tables, order, Answers(relevant, np.arange(1000)))
    errors = np.flatnonzero(~relevant)
    chosen = [
        returned_set(outcome, np.array(due), errors)
        for due in (
            [0, 0, 0, 0],
            [2, 4, 5, 6],
            [2, 4, 6, 6],
            [2, 5, 6, 6],
            [3, 5, 6, 6],
        )
    ]
    assert [step and step.size for step in chosen] == [1000, 500, 200, 100, None]


@pytest.mark.parametrize(("target", "budget"), [(".9", 100), (".95", 300)])
def test_corpora_whose_sets_have_what_the_tests_rule_out(target, budget):
    # 99.9% of binomial draws at .05 lie below.
    assert false_lists(target, budget, 0, 300) <= 29


@pytest.mark.slow
@pytest.mark.parametrize("target", [".8", ".9", ".95"])
@pytest.mark.parametrize("budget", [100, 300])
@pytest.mark.parametrize("start", [0, 60])
def test_claims_with_one_error_too_many(target, budget, start):
    wrong = false_lists(target, budget, start, 2000)
    assert interval(wrong, 2000)[0] <= 0.05


@pytest.mark.parametrize("target", [".9", ".95"])
def test_a_relevance_that_lies_makes_no_more_lists_false(target):
    """Every post looks relevant, so the first set is as large as it can be; all sets are bad."""
    share = Fraction(target)
    first = first_set(100, share, np.ones(20_000))
    assert first == 400
    sizes = nested_sets(-np.arange(20_000.0), first_size=first)
    nulls = np.maximum.accumulate(planned_nulls(sizes, share, 100))
    relevant = np.ones(20_000, bool)
    start = 0
    for end, errors in zip(sizes.tolist(), np.diff(nulls, prepend=0), strict=True):
        relevant[end - errors : end] = False
        assert end - errors >= start
        start = end
    tables = tables_of(sizes, share, 100, 0.05)
    wrong = 0
    for number in range(600):
        order = random_order(sizes, generator_of(9, target, number), 100)
        done = replay(tables, order, relevant, target=share, budget=100)
        wrong += done.misses(share)
    assert wrong <= 48  # 99.9% of binomial draws at .05 lie below


def false_lists(target, budget, start, runs):
    """Of a corpus whose sets have one error too many each, but for the first ones, which have none.

    A list is wrong here if the first bad set is handed over with the errors that are due and no
    more, or a larger one is.
    """
    share, wrong = Fraction(target), 0
    pool = border(np.random.default_rng(5), share, budget)
    sizes = nested_sets(pool.scores, first_size=first_set(budget))
    relevant = pool.relevant.copy()
    # All errors of the sets before come in the first bad one, which must hold them.
    if start:
        before, bad = int(sizes[start - 1]), int(np.flatnonzero(~relevant)[0])
        errors = int((~relevant[: sizes[start]]).sum())
        relevant[: sizes[start]] = True
        relevant[max(before, int(sizes[start]) - errors) : sizes[start]] = False
        missing = errors - int((~relevant[: sizes[start]]).sum())
        relevant[before - missing : before] = False
        assert bad < before and (~relevant[: sizes[start]]).sum() == errors
    tables = tables_of(sizes, share, budget, 0.05)
    for number in range(runs):
        generator = generator_of(6, target, budget, start, number)
        order = random_order(sizes, generator, budget)
        wrong += replay(tables, order, relevant, target=share, budget=budget).misses(
            share
        )
    return wrong


def test_the_budget_fixes_what_is_due():
    """Hand-computed: 300 labels, a target of .9, the first set of 100 posts."""
    sizes = nested_sets(-np.arange(2000.0))
    nulls = planned_nulls(sizes, Fraction(".9"), 300)
    # When the set of 102 fails, 300 / (1 + ln 1.02) * 100 / 102 = 288.4 labels, so 28.84 errors:
    # 2.5 * 28.84 - 4.5 * sqrt(28.84) = 47.9; 100 - ceil(.9 * 53) + 1 = 53.
    assert (int(nulls[0]), turn_of(300)) == (53, 225)
    assert errors_due(sizes, nulls, Fraction(".9"))[0] == 47
    assert int(nulls[-1]) == least_errors(2000, Fraction(".9"))
