"""Stopping rules: exact where they promise, and the same one label at a time as all at once."""

import math
from fractions import Fraction

import numpy as np
import pytest

from siamese_news.decide.plan.design import Order
from siamese_news.decide.simulation.stopping import optimum, random_positives, top_then_random
from siamese_news.decide.stopping.rules import (
    Find,
    RandomPositives,
    TopThenRandom,
    binomial_place,
    not_relevant_in_a_row,
    prior_posterior,
    switch_after,
)
from siamese_news.errors import InputError


def pool(size=1500, cut=300, seed=0):
    generator = np.random.default_rng(seed)
    chance = 0.97 / (1 + np.exp((np.arange(size) - cut) / (cut / 6)))
    keys = generator.integers(0, 2**63, size).astype(np.uint64)
    return generator.random(size) < chance, keys


def label_all(rule, relevant):
    known = {}
    while ranks := rule.next(known):
        known[ranks[0]] = int(relevant[ranks[0]])
        rule.status(known)
    return known


def order_of(keys):
    return Order(np.array([len(keys)]), lambda a, b: keys[a:b])


def test_find_stops_at_the_number():
    relevant, _ = pool()
    known = label_all(Find(50, len(relevant)), relevant)
    assert sum(known.values()) == 50
    assert sorted(known) == list(range(len(known)))
    assert len(label_all(Find(5000, len(relevant)), relevant)) == len(relevant)


@pytest.mark.parametrize("seed", range(3))
def test_random_positives_one_at_a_time_and_all_at_once(seed):
    relevant, keys = pool(seed=seed)
    rule = RandomPositives(0.8, 0.05, 50, order_of(keys), len(relevant))
    known = label_all(rule, relevant)
    labels, depth = random_positives(relevant, keys, 0.8, 0.05, 50)
    assert len(known) == labels
    assert all(rank in known for rank in range(depth))


@pytest.mark.parametrize("seed", range(3))
def test_top_then_random_one_at_a_time_and_all_at_once(seed):
    relevant, keys = pool(size=700, cut=250, seed=seed)
    rule = TopThenRandom(0.8, 0.05, order_of(keys), len(relevant))
    known = label_all(rule, relevant)
    labels, found = top_then_random(relevant, keys, 0.8, 0.05)
    assert (len(known), sum(known.values())) == (labels, found)
    assert found >= 0.8 * relevant.sum()


def test_places_as_published():
    places = [binomial_place(r, 0.05, m) for r in (0.8, 0.9, 0.95) for m in (50, 100, 200)]
    assert places == [45, 87, 170, 49, 96, 188, None, 99, 196]


def test_too_few_positives_are_refused():
    _, keys = pool()
    with pytest.raises(InputError, match="--positives 59"):
        RandomPositives(0.95, 0.05, 50, order_of(keys), 1500)


def test_the_place_is_safe_for_finite_pools():
    """The binomial tail lies above the hypergeometric one for the part that misses the recall."""
    for positives in (20, 50):
        place = binomial_place(0.8, 0.05, positives)
        for total in (positives, 60, 200, 1000):
            part = math.ceil(0.8 * total) - 1
            ways = sum(
                math.comb(part, x) * math.comb(total - part, positives - x)
                for x in range(place, positives + 1)
            )
            assert Fraction(ways, math.comb(total, positives)) <= Fraction(1, 20)


def test_promises_are_kept():
    """Violations at most as often as allowed, on a pool where the rules are tested hard."""
    relevant, _ = pool(size=4000, cut=600)
    hits, total = np.cumsum(relevant), relevant.sum()
    broken = [0, 0]
    for seed in range(300):
        keys = np.random.default_rng([5, seed]).integers(0, 2**63, 4000).astype(np.uint64)
        _, depth = random_positives(relevant, keys, 0.9, 0.05, 100)
        broken[0] += hits[depth - 1] < 0.9 * total
        broken[1] += top_then_random(relevant, keys, 0.99, 0.05)[1] < 0.99 * total
    assert max(broken) <= 28  # 99.9% of binomial draws at .05 lie below


def test_prior_posterior_ratio_by_summing():
    size, drawn, hits = 12, 5, 1
    first, second = 1.0, 3.0

    def beta(a, b):
        return math.exp(math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b))

    prior = [
        math.comb(size, k) * beta(first + k, second + size - k) / beta(first, second)
        for k in range(size + 1)
    ]
    chance = [
        math.comb(k, hits) * math.comb(size - k, drawn - hits) / math.comb(size, drawn)
        for k in range(size + 1)
    ]
    evidence = sum(p * c for p, c in zip(prior, chance, strict=True))
    assert sum(prior) == pytest.approx(1)
    for k in range(size + 1):
        ratio = prior_posterior(k, hits, drawn, size, first, second)
        expected = math.log(evidence / chance[k]) if chance[k] else math.inf
        assert ratio == pytest.approx(expected)


def test_the_switch_and_the_row():
    assert switch_after(np.ones(500, bool)) is None
    assert switch_after(np.zeros(199, bool)) is None
    assert switch_after(np.arange(500) < 100) == 280
    assert not_relevant_in_a_row([1, 0, 1, 0, 0]) == 2
    assert not_relevant_in_a_row([]) == 0
    assert optimum(np.array([1, 0, 1, 1, 0], bool), 0.6) == 3


def test_the_number_of_relevant_posts_is_told_by_random_ones_alone():
    generator = np.random.default_rng(4)
    relevant = generator.random(3000) < np.linspace(0.6, 0, 3000)
    order = Order(np.array([3000]), lambda a, b: keys[a:b])
    keys = np.random.default_rng(5).integers(0, 2**63, 3000).astype(np.uint64)
    for rule in (
        RandomPositives(0.8, 0.05, 300, order, 3000),
        TopThenRandom(0.8, 0.05, order, 3000),
    ):
        known = {}
        assert rule.relevant(known) is None
        while ranks := rule.next(known):
            known |= {rank: int(relevant[rank]) for rank in ranks[:50]}
        assert abs(rule.relevant(known) - relevant.sum()) < 0.12 * relevant.sum()
    assert Find(10, 3000).relevant({0: 1}) is None
