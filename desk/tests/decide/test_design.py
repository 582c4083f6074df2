"""Nested sets and the random order."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siamese_news.errors import InputError
from siamese_news_desk.decide.plan.design import (
    Order,
    errors_due,
    first_set,
    keys_of,
    least_errors,
    nested_sets,
    planned_nulls,
    share_of,
)
from siamese_news_desk.decide.plan.population import Population


def test_least_errors_in_whole_numbers():
    assert least_errors(100, Fraction(".55")) == 46
    assert least_errors(100, Fraction(".07")) == 94
    assert least_errors(200, Fraction(".95")) == 11


@given(
    st.data(), st.integers(1, 400), st.fractions(Fraction(1, 100), Fraction(99, 100))
)
def test_least_errors_is_the_border(data, size, target):
    removed = data.draw(st.integers(0, size - 1))
    errors, kept = least_errors(size, target, removed), size - removed
    assert Fraction(size - errors, kept) < target <= Fraction(size - errors + 1, kept)


@given(
    st.integers(1, 5000),
    st.fractions(Fraction(1, 20), Fraction(199, 200)),
    st.integers(0, 2000),
)
def test_as_many_errors_are_due_as_make_the_list_true(size, target, budget):
    """With the due errors known, a list is false only if its test was to rule that out."""
    sizes = nested_sets(-np.arange(float(size)))
    nulls = planned_nulls(sizes, target, budget)
    due = errors_due(sizes, nulls, target)
    for own, null, least in zip(
        sizes.tolist(), nulls.tolist(), due.tolist(), strict=True
    ):
        assert least_errors(own, target, least) >= null >= least_errors(own, target)
        assert 2 * least <= own or own == size
        assert least == 0 or least_errors(own, target, least - 1) < null <= own
    assert due[-1] == 0 and (budget > 0 or not due.any())


@pytest.mark.parametrize("value", ["0", "1", "95", "-.1", "abc", "", "1/0", "nan"])
def test_a_share_that_is_none(value):
    with pytest.raises(InputError, match="--precision is"):
        share_of(value, "--precision")


@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=400),
    st.integers(1, 50),
    st.sampled_from(["1.02", "11/10", "2"]),
)
def test_sets_grow_to_the_whole_and_never_cut_a_tie(values, first, ratio):
    scores = np.sort(np.array(values, float))[::-1]
    sizes = nested_sets(scores, first_size=first, ratio=Fraction(ratio))
    assert (np.diff(sizes) > 0).all()
    assert sizes[-1] == len(scores)
    assert sizes[0] >= min(first, len(scores))
    for size in sizes[:-1]:
        assert scores[size - 1] > scores[size]


@pytest.mark.parametrize(
    ("budget", "posts"), [(1, 100), (133, 100), (134, 100), (300, 150), (1000, 273)]
)
def test_the_first_set_grows_with_the_labels(budget, posts):
    assert first_set(budget) == posts


def test_an_estimate_of_a_long_good_list_makes_the_first_set_larger():
    """By hand: at .9, 15% may be errors, so 2,000 sure posts and 352 worthless ones."""
    relevance = np.repeat([1.0, 0.0], [2000, 20_000])
    tenth, fifth = Fraction(".9"), Fraction(".8")
    # A set without errors takes 30 of 100 labels at .9, 15 at .8; half of that part of the posts.
    assert first_set(100, tenth, relevance) == 2352 * 15 // 100
    assert first_set(100, fifth, relevance) == 2857 * 15 // 200
    assert first_set(200, tenth, relevance) == 2352 * 15 // 200
    # At most four posts a label, at least the usual first set.
    assert first_set(35, tenth, relevance) == 140
    assert first_set(100, tenth, np.ones(50_000)) == 400
    assert first_set(100, tenth, relevance[:500]) == 100
    assert first_set(1000, tenth, relevance) == 273
    # 29 labels without an error leave more than a tenth of a large set open.
    assert first_set(29, tenth, relevance) == 100
    for nothing in (None, np.zeros(24_000), np.empty(0), np.full(5000, 0.84)):
        assert first_set(300, tenth, nothing) == 150


def test_a_pool_smaller_than_the_first_set_is_one_set():
    assert nested_sets(np.arange(50.0)[::-1], first_size=200).tolist() == [50]


def test_keys_depend_on_seed_id_and_purpose_alone():
    names = ["1", "01", "a\tb", "é"]
    keys = keys_of(3, names).tolist()
    assert keys == [keys_of(3, [name])[0] for name in names]
    others = [*keys_of(4, ["1"]).tolist(), *keys_of(3, ["1"], purpose="audit").tolist()]
    assert len({*keys, *others}) == 6
    # Golden: a plan made today must give the same order tomorrow.
    assert keys_of(0, ["325208201740029952"])[0] == 6945502690938635038


def test_keys_look_random():
    keys = keys_of(0, [str(n) for n in range(20_000)])
    counts = np.histogram(keys.astype(float), bins=50, range=(0, 2.0**64))[0]
    assert (
        (counts - 400) ** 2 / 400
    ).sum() < 100  # chi-square with 49 degrees of freedom


@pytest.mark.parametrize("hold", [1, 7, 1000])
def test_an_order_is_the_sorted_keys(hold):
    generator = np.random.default_rng(0)
    keys = generator.integers(0, 2**63, 500).astype(np.uint64)
    sizes = np.array([20, 21, 60, 500])
    order = Order(sizes, lambda a, b: keys[a:b], hold=hold)
    for number, count in ((0, 5), (3, 40), (1, 21), (2, 60), (3, 500), (0, 100)):
        expected = np.argsort(keys[: sizes[number]], kind="stable")[:count]
        assert (order.first(number, count) == expected).all()


def test_other_scores_have_another_order(tmp_path):
    """A ranking learned from labels must not be certified in the order they were drawn in."""
    rows = ["post,score", *(f"p{n},{n / 100}" for n in range(100))]
    first, shuffled, learned = (tmp_path / f"{name}.csv" for name in "abc")
    first.write_text("\n".join(rows))
    shuffled.write_text("\n".join([rows[0], *rows[:0:-1]]))
    learned.write_text("\n".join([*rows[:-1], "p99,5.0"]))

    def order(path):
        population = Population(path)
        keys = population.keys(0)(0, 100)
        return [population.names_at([rank])[0] for rank in np.argsort(keys).tolist()]

    assert order(first) == order(shuffled) != order(learned)
