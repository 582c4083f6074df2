"""The descent: what is certified, what is needed, what gaps cost."""

from fractions import Fraction

import numpy as np
import pytest
from benchmarks.replay import replay
from hypothesis import given, settings
from hypothesis import strategies as st

from siamese_news_desk.decide.bounds.descent import (
    UNKNOWN,
    Step,
    descend,
    first_look,
    likely_labels,
)
from siamese_news_desk.decide.bounds.tables import Tables, turn_of
from siamese_news_desk.decide.plan.design import Order, least_errors, nested_sets


def world(relevant, *, target=".9", budget=300, first=200, seed=0, scores=None):
    relevant = np.asarray(relevant, bool)
    scores = -np.arange(len(relevant), dtype=float) if scores is None else scores
    sizes = nested_sets(scores, first_size=first)
    nulls = [least_errors(n, Fraction(target)) for n in sizes.tolist()]
    tables = Tables(sizes.tolist(), nulls, error=0.05, turn=turn_of(budget))
    keys = (
        np.random.default_rng(seed).integers(0, 2**63, len(relevant)).astype(np.uint64)
    )
    return tables, Order(sizes, lambda a, b: keys[a:b]), relevant


class Answers:
    def __init__(self, relevant, known=()):
        self.labels = np.full(len(relevant), UNKNOWN, np.int8)
        self.relevant = relevant
        self.labels[list(known)] = relevant[list(known)]

    def ask(self, ranks):
        self.labels[list(ranks)] = self.relevant[list(ranks)]

    def __call__(self, ranks):
        return self.labels[ranks]


def label_one_at_a_time(tables, order, relevant, budget):
    answers = Answers(relevant)
    spent = 0
    outcome = descend(tables, order, answers)
    while outcome.needed and len(outcome.needed) <= budget - spent:
        answers.ask(outcome.needed[:1])
        spent += 1
        outcome = descend(tables, order, answers)
    return outcome, answers, spent


def falling(size, cut, seed=1):
    """Relevance falls with rank."""
    generator = np.random.default_rng(seed)
    return generator.random(size) < 1 / (
        1 + np.exp((np.arange(size) - cut) / (cut / 4))
    )


@pytest.mark.parametrize("seed", range(4))
def test_one_at_a_time_comes_to_what_a_replay_comes_to(seed):
    tables, order, relevant = world(falling(4000, 1200), seed=seed)
    outcome, _, spent = label_one_at_a_time(tables, order, relevant, 150)
    again = replay(
        tables, order, relevant, target=Fraction(".9"), budget=150, stop=True
    )
    assert again.size == (outcome.certified.size if outcome.certified else 0)
    assert again.size > 200
    assert again.labels == spent <= 150


@pytest.mark.parametrize("seed", range(4))
def test_no_label_is_asked_that_could_be_spared(seed):
    """Until all needed posts are relevant the next set cannot pass, whatever they say."""
    tables, order, relevant = world(falling(2000, 700), seed=seed)
    answers = Answers(relevant)
    for _ in range(12):
        outcome = descend(tables, order, answers)
        if len(outcome.needed) > 1:
            hopeful = Answers(np.ones(len(relevant), bool))
            hopeful.labels[:] = answers.labels
            hopeful.ask(outcome.needed[:-1])
            before = outcome.certified.number if outcome.certified else -1
            after = descend(tables, order, hopeful).certified
            assert (after.number if after else -1) == before
        answers.ask(outcome.needed)


def test_more_labels_later_is_the_same_as_all_at_once():
    tables, order, relevant = world(falling(4000, 1200))
    answers = Answers(relevant)
    rounds = 0
    while (outcome := descend(tables, order, answers)).needed and rounds < 60:
        answers.ask(outcome.needed)
        rounds += 1
    once = Answers(relevant, np.flatnonzero(answers.labels != UNKNOWN))
    assert descend(tables, order, once) == descend(tables, order, answers)


def test_a_missing_label_counts_as_an_error():
    tables, order, relevant = world(np.ones(300, bool), first=200)
    ranks = order.first(0, 60)
    assert descend(tables, order, Answers(relevant, ranks)).certified is not None
    for missing in (3, 5, 20):
        gap = descend(tables, order, Answers(relevant, ranks[missing:]))
        wrong = relevant.copy()
        wrong[ranks[:missing]] = False
        bad = descend(tables, order, Answers(wrong, ranks))
        assert gap.certified == bad.certified
    assert gap.certified is None
    assert set(ranks[: len(gap.needed)].tolist()) == set(gap.needed)


def test_all_relevant_certifies_the_whole_pool():
    tables, order, relevant = world(np.ones(1000, bool))
    outcome, _, spent = label_one_at_a_time(tables, order, relevant, 1000)
    assert outcome.done and outcome.certified.size == 1000
    assert spent < 120


def test_none_relevant_gives_up_early_and_says_nothing():
    tables, order, relevant = world(np.zeros(1000, bool))
    outcome, _, spent = label_one_at_a_time(tables, order, relevant, 1000)
    assert outcome.certified is None and not outcome.needed
    assert spent <= least_errors(200, Fraction(".9"))


def test_fewer_posts_than_the_first_set_are_one_set():
    tables, order, relevant = world(np.arange(40) < 38)
    outcome, _, spent = label_one_at_a_time(tables, order, relevant, 100)
    assert outcome.certified.size == 40
    assert spent <= 40


def test_ties_are_never_cut():
    scores = -np.repeat(np.arange(40.0), 100)
    tables, order, relevant = world(np.arange(4000) < 1000, scores=scores)
    outcome, _, _ = label_one_at_a_time(tables, order, relevant, 500)
    assert all(step.size % 100 == 0 for step in outcome.steps)


def test_first_look_and_estimate():
    tables, order, relevant = world(falling(3000, 900))
    bounds = tables.bounds(0, 200)
    assert first_look(tables, 0, 0) == int(np.argmax(bounds >= 0))
    assert first_look(tables, 0, int(tables.nulls[0])) is None
    outcome, _, _ = label_one_at_a_time(tables, order, relevant, 100)
    step = outcome.steps[-1]
    assert likely_labels(tables, step, budget=300) > step.labels
    # A few labels without an error are no sign that more will not help; many errors are.
    assert likely_labels(tables, Step(0, 200, 1, 0, False), budget=300) < 100
    assert likely_labels(tables, Step(0, 200, 40, 9, False), budget=300) is None


@pytest.mark.sampled(1)
@pytest.mark.parametrize("target", [".9", ".95"])
def test_border_corpora_are_certified_as_often_as_computed(target):
    """Every prefix misses the target by one post: the least favorable case."""
    relevant = border(2000, Fraction(target))
    tables, _, _ = world(relevant, target=target, budget=100)
    bad = 0
    for seed in range(600):
        keys = (
            np.random.default_rng([7, seed]).integers(0, 2**63, 2000).astype(np.uint64)
        )
        order = Order(tables.sizes, lambda a, b, keys=keys: keys[a:b])
        bad += (
            replay(tables, order, relevant, target=Fraction(target), budget=100).size
            > 0
        )
    # 99.9% of binomial draws at .05 lie below.
    assert bad <= 49


def border(size, target, first=200):
    """Relevance such that every prefix from the first set on is one post short of the target."""
    wanted = np.array([n - least_errors(n, target) for n in range(first, size + 1)])
    relevant = np.zeros(size, bool)
    relevant[: wanted[0]] = True
    relevant[first:] = np.diff(wanted) > 0
    return relevant


@given(st.integers(0, 10_000), st.floats(0.0, 0.3), st.sampled_from([40, 200, 1500]))
@settings(max_examples=60, deadline=None)
def test_what_is_needed_is_the_least_that_could_certify(seed, wrong, size):
    """Labels anywhere: with the needed posts relevant it passes, with one less it cannot."""
    generator = np.random.default_rng(seed)
    truth = generator.random(size) >= wrong
    tables, order, relevant = world(truth, first=min(40, size), seed=seed)
    known = generator.random(size) < generator.random() * (
        np.arange(size) < generator.integers(size)
    )
    answers = Answers(relevant, np.flatnonzero(known))
    outcome = descend(tables, order, answers)
    step = outcome.steps[-1]
    if step.certified or not outcome.needed:
        return
    hoped = answers.labels.copy()
    for count in (len(outcome.needed) - 1, len(outcome.needed)):
        hoped[list(outcome.needed[:count])] = 1
        labels = hoped[order.first(step.number, step.size)]
        bounds = tables.bounds(step.number, step.size)[1:]
        passes = bool((np.cumsum(labels != 1) <= bounds).any())
        assert passes == (count == len(outcome.needed))
