"""Stopping rules: exact where they promise, and the same one label at a time as all at once."""

import math
from fractions import Fraction

import numpy as np
import pytest
from benchmarks.promises import binomial_place, optimum, random_positives

from siamese_news.errors import InputError
from siamese_news_desk.decide.bounds.sequential import most_relevant, prior_posterior
from siamese_news_desk.decide.stopping import (
    Find,
    LearnThenRandom,
)


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
    return np.argsort(keys, kind="stable")


def test_find_stops_at_the_number():
    relevant, _ = pool()
    known = label_all(Find(50, len(relevant)), relevant)
    assert sum(known.values()) == 50
    assert sorted(known) == list(range(len(known)))
    assert len(label_all(Find(5000, len(relevant)), relevant)) == len(relevant)


def down(size):
    """A learner that learns nothing."""
    return lambda known: np.arange(size)


def truth_of(relevant):
    return dict(enumerate(relevant.astype(int).tolist()))


@pytest.mark.parametrize("seed", range(3))
def test_learn_then_random_one_at_a_time_and_all_at_once(seed):
    relevant, keys = pool(size=700, cut=250, seed=seed)
    rule = LearnThenRandom(0.8, 0.05, order_of(keys), down(700))
    known = label_all(rule, relevant)
    assert len(known) < 700 and sum(known.values()) >= 0.8 * relevant.sum()
    assert list(known.items()) == list(rule.requested.items())
    assert rule.next(truth_of(relevant)) == []
    again = LearnThenRandom(0.8, 0.05, order_of(keys), down(700))
    assert again.next(truth_of(relevant)) == [] and again.requested == known


def test_learn_then_random_learns_in_batches_and_starts_anew_where_a_label_changed():
    relevant, keys = pool(size=700, cut=250)
    seen = []

    def learner(known):
        seen.append(dict(known))
        return np.argsort(np.random.default_rng(len(known)).random(700))

    rule = LearnThenRandom(0.8, 0.05, order_of(keys), learner)
    known = {}
    for _ in range(120):
        rank = rule.next(known)[0]
        known[rank] = int(relevant[rank])
    assert [len(labels) for labels in seen] == [*range(0, 110, 10), 110]
    assert all(labels.items() <= known.items() for labels in seen)
    first = next(iter(known))
    del known[first]
    assert rule.next(known)[0] == first


def test_learn_then_random_begins_again_where_much_is_missing():
    relevant = np.zeros(3000, bool)
    relevant[:200] = relevant[1000:1200] = True
    keys = np.random.default_rng(1).integers(0, 2**63, 3000).astype(np.uint64)

    def learner(known):  # what is near a relevant post is relevant
        near = np.zeros(3000)
        for rank, label in known.items():
            near[max(rank - 20, 0) : rank + 20] += label
        return np.argsort(-near, kind="stable")

    rule = LearnThenRandom(0.8, 0.05, order_of(keys), learner)
    assert rule.next(truth_of(relevant)) == []
    assert sum(rule.requested.values()) >= 360 and len(rule.requested) < 1500


def test_places_as_published():
    places = [
        binomial_place(r, 0.05, m) for r in (0.8, 0.9, 0.95) for m in (50, 100, 200)
    ]
    assert places == [45, 87, 170, 49, 96, 188, None, 99, 196]


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


@pytest.mark.slow
def test_promises_are_kept():
    """Violations at most as often as allowed: four times the error breaks this bound."""
    size = 1500
    relevant, _ = pool(size)
    truth = truth_of(relevant)
    hits, total = np.cumsum(relevant), relevant.sum()
    # An order that leaves out relevant posts.
    last = np.argsort(
        np.where(relevant & (np.arange(size) % 8 == 0), 2 * size, 0) + np.arange(size)
    )
    broken = np.zeros(2, int)
    for seed in range(300):
        keys = (
            np.random.default_rng([5, seed]).integers(0, 2**63, size).astype(np.uint64)
        )
        _, depth = random_positives(relevant, keys, 0.9, 0.05, 100)
        broken[0] += hits[depth - 1] < 0.9 * total
        rule = LearnThenRandom(0.9, 0.05, order_of(keys), lambda _: last)
        assert rule.next(truth) == []
        broken[1] += sum(rule.requested.values()) < 0.9 * total
    assert broken.max() <= 28  # 99.9% of binomial draws at .05 lie below


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


def test_the_optimum():
    assert optimum(np.array([1, 0, 1, 1, 0], bool), 0.6) == 3


def test_the_bound_on_relevant_posts_holds_at_every_look():
    """How often it is broken at any look; the posts of the sample alone tell it."""
    size, broken, last = 600, 0, []
    for seed in range(50):
        generator = np.random.default_rng([3, seed])
        relevant = generator.random(size) < np.maximum(
            np.linspace(0.9, -1.2, size), 0.02
        )
        order = generator.permutation(size)
        learned_badly = np.argsort(order % 3, kind="stable")
        found = LearnThenRandom(
            0.8, 0.2, order, lambda _, learned=learned_badly: learned
        )
        known, wrong = {}, False
        assert found.most_relevant(known) is None
        while ranks := found.next(known):
            known |= {rank: int(relevant[rank]) for rank in ranks[:20]}
            most = found.most_relevant(known)
            if most is not None:
                wrong |= most < relevant.sum()
                assert most <= size
                told = most / relevant.sum()
        last.append(told)
        broken += wrong
    assert broken <= 19  # 99.9% of binomial draws at .2 lie below
    assert 1 <= np.mean(last) < 2
    assert Find(10, 3000).most_relevant({0: 1}) is None


def test_the_largest_number_that_is_not_ruled_out():
    for hits, drawn, size in (
        (0, 1, 40),
        (0, 30, 40),
        (3, 10, 40),
        (10, 10, 40),
        (5, 40, 40),
    ):
        numbers = [
            k
            for k in range(size + 1)
            if prior_posterior(k, hits, drawn, size, 0.5, 0.5) < math.log(20)
        ]
        assert most_relevant(hits, drawn, size, 0.5, 0.5, 0.05) == max(numbers)


def test_an_error_of_the_learner_is_raised_every_time():
    def learner(known):
        raise InputError("no words")

    rule = LearnThenRandom(0.8, 0.05, np.arange(50), learner)
    for _ in range(2):
        with pytest.raises(InputError, match="no words"):
            rule.next({})
