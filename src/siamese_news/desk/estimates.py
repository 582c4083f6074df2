"""Running estimates of precision and recall at the threshold: exact intervals from random posts."""

import threading
from collections.abc import Iterator
from itertools import chain, islice, takewhile, zip_longest
from typing import Any

import numpy as np

from siamese_news.decide.bounds.hypergeometric import lower_bound, recall_bound, upper_bound
from siamese_news.decide.plan.design import Keys, Order
from siamese_news.decide.plan.population import Population
from siamese_news.desk.project import Project
from siamese_news.labels.journal import YES, LabelJournal

SEED = 0
"""Seed of the random order; the default of `audit`."""

BUDGET = 200
"""Labels of the audit that the page suggests."""

_FIRST = 256  # posts of an order whose labels are looked up together at first

Sample = tuple[int, int, int]
"""Posts, how many of them were labeled, how many of those are relevant."""


class Estimates:
    """Precision and recall at a threshold, from random posts on both sides of it.

    The posts are those that `audit` draws for the same threshold, in the order of its keyed hash. A
    label counts once every post before it in that order has one, so the labels that count are a
    random sample without replacement, whatever else was labeled.
    """

    def __init__(self, project: Project, log: LabelJournal) -> None:
        self._project = project
        self._log = log
        self._guard = threading.Lock()
        self._held: tuple[str, Population, Keys] | None = None

    def at(self, threshold: float) -> dict[str, Any]:
        """Precision and recall at a threshold, by the labels so far.

        Returns:
            The ``threshold``; ``above`` and ``below``, a `Sample` each; ``precision`` of the posts
            above and ``recall`` of all (None if there are none below), each with ``estimate`` (None
            without labels), ``low`` and ``high`` of its 95% interval.

        Raises:
            InputError: the results cannot be read.
        """
        with self._guard:
            samples = []
            for size, posts in self._sides(threshold):
                verdicts = list(takewhile(bool, map(self._log.verdict, posts)))
                samples.append((size, len(verdicts), verdicts.count(YES)))
        above, below = samples
        return {
            "threshold": threshold,
            "above": above,
            "below": below,
            "precision": precision_interval(*above),
            "recall": _recall_interval(above, below) if below[0] else None,
        }

    def next_posts(self, threshold: float, count: int) -> list[str]:
        """Ids of the posts to label next, alternately above and below."""
        with self._guard:
            sides = [
                list(islice((post for post in posts if not self._log.verdict(post)), count))
                for _, posts in self._sides(threshold)
            ]
        mixed = chain.from_iterable(zip_longest(*sides))
        return [post for post in mixed if post is not None][:count]

    def command(self, at: dict[str, Any]) -> str:
        """The command line that draws such a sample of a fixed size, for a guarantee."""
        results, recall = self._project.results, {}
        if at["recall"] is not None:
            total = at["above"][0] + at["below"][0]
            recall = {"threshold": at["threshold"], "population": total}
        out = results.with_name("audit.jsonl")
        return self._project.command("audit", results=results, **recall, budget=BUDGET, out=out)

    def _sides(self, threshold: float) -> list[tuple[int, Iterator[str]]]:
        """How many posts are above and below a threshold, and their ids in random order."""
        path = str(self._project.results)
        if self._held is None or self._held[0] != path:
            population = Population(self._project.results)
            self._held = path, population, population.keys(SEED, "audit")
        _, population, keys = self._held
        size, total = population.size_at(threshold), len(population)
        return [
            (end - start, _shuffled(population, keys, start, end))
            for start, end in ((0, size), (size, total))
        ]


def _shuffled(population: Population, keys: Keys, start: int, end: int) -> Iterator[str]:
    """The ids of the posts at the ranks [start, end) in random order."""
    order = Order(np.array([end - start]), lambda first, last: keys(first + start, last + start))
    seen, count = 0, _FIRST
    while seen < end - start:
        ranks = (order.first(0, count)[seen:] + start).tolist()
        seen, count = seen + len(ranks), 4 * count
        # A population may name its posts with their article before them.
        yield from (name.rpartition("\t")[2] for name in population.names_at(ranks))


def precision_interval(size: int, labeled: int, relevant: int) -> dict[str, float | None]:
    """The precision of a set by a random sample of it, with the exact 95% interval."""
    if not labeled:
        return {"estimate": None, "low": 0.0, "high": 1.0}
    low, high = (bound(size, labeled, relevant, 0.025) for bound in (lower_bound, upper_bound))
    return {"estimate": relevant / labeled, "low": low / size, "high": high / size}


def _recall_interval(above: Sample, below: Sample) -> dict[str, float | None]:
    """The recall of the posts above, with its exact 95% interval."""
    estimate, low = recall_bound(above, below, 0.025)
    _, missed = recall_bound(below, above, 0.025)
    known = above[1] and below[1] and not np.isnan(estimate)
    return {"estimate": estimate if known else None, "low": low, "high": 1 - missed}
