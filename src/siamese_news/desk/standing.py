"""Running estimates of precision and recall at the threshold: exact intervals from random posts."""

import threading
from dataclasses import dataclass
from functools import partial
from itertools import chain, zip_longest

import numpy as np
from numpy.typing import NDArray

from siamese_news.decide.bounds.hypergeometric import lower_bound, upper_bound
from siamese_news.decide.plan.design import Keys, Order
from siamese_news.decide.plan.population import Population
from siamese_news.desk.project import Project
from siamese_news.desk.search import command_line
from siamese_news.labels.journal import LabelJournal

SEED = 0
"""Seed of the random order; the default of `audit`."""

_LOOK = 256  # posts of an order whose labels are looked up together


@dataclass(frozen=True, slots=True)
class Share:
    """A share with its 95% interval.

    Attributes:
        estimate: None without labels.
        low: of the interval.
        high: of it.
    """

    estimate: float | None
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class AtThreshold:
    """Precision and recall at a threshold.

    Attributes:
        threshold: the score.
        above: posts from there on, how many of them were drawn at random and labelled, and how many
            of those are relevant.
        below: the same for the kept posts under it.
        precision: of the posts above.
        recall: of the kept posts; None if there are none below.
    """

    threshold: float
    above: tuple[int, int, int]
    below: tuple[int, int, int]
    precision: Share
    recall: Share | None


class Standing:
    """Estimates from random posts on both sides of a threshold.

    The posts are those that `audit` draws for the same threshold, in the order of its keyed hash. A
    label counts once every post before it in that order has one, so what counts is a random sample
    without replacement, whatever else was labelled.
    """

    def __init__(self, project: Project, log: LabelJournal) -> None:
        self._project = project
        self._log = log
        self._guard = threading.RLock()
        self._held: tuple[str, Population, Keys] | None = None

    def at(self, threshold: float) -> AtThreshold:
        """Precision and recall at a threshold, by the labels so far.

        Raises:
            InputError: for results that cannot be read.
        """
        with self._guard:
            population, keys = self._open()
            size, total = population.size_at(threshold), len(population)
            above = self._sample(population, keys, 0, size)
            below = self._sample(population, keys, size, total)
        recall = _recall(above, below) if size < total else None
        return AtThreshold(threshold, above, below, _precision(above), recall)

    def next_posts(self, threshold: float, count: int) -> list[str]:
        """Ids of the posts to label next, those above and below in turn."""
        with self._guard:
            population, keys = self._open()
            size, total = population.size_at(threshold), len(population)
            sides = [
                self._unlabelled(population, keys, start, end, count)
                for start, end in ((0, size), (size, total))
            ]
        mixed = chain.from_iterable(zip_longest(*sides))
        return [post for post in mixed if post is not None][:count]

    def command(self, at: AtThreshold, budget: int = 200) -> str:
        """The command line that draws such a sample of a fixed size, for a guarantee."""
        folder = self._project.folder
        results = self._project.results
        arguments = ["audit", "--results", str(results.relative_to(folder))]
        if at.recall is not None:
            total = at.above[0] + at.below[0]
            arguments += ["--threshold", f"{at.threshold!r}", "--population", str(total)]
        out = results.with_name("audit.jsonl").relative_to(folder)
        return command_line([*arguments, "--budget", str(budget), "--out", str(out)])

    def _open(self) -> tuple[Population, Keys]:
        path = self._project.results
        if self._held is None or self._held[0] != str(path):
            population = Population(path)
            self._held = str(path), population, population.keys(SEED, "audit")
        return self._held[1], self._held[2]

    def _ordered(self, keys: Keys, start: int, end: int, count: int) -> list[int]:
        if end <= start:
            return []
        order = Order(np.array([end - start]), partial(_from, keys, start))
        found: list[int] = (order.first(0, count) + start).tolist()
        return found

    def _sample(
        self, population: Population, keys: Keys, start: int, end: int
    ) -> tuple[int, int, int]:
        drawn = relevant = 0
        look = _LOOK
        while drawn < end - start:
            ranks = self._ordered(keys, start, end, look)[drawn:]
            for post in population.names_at(ranks):
                said = self._log.verdict(_post(post))
                if not said:
                    return end - start, drawn, relevant
                drawn += 1
                relevant += said == "yes"
            look *= 4
        return end - start, drawn, relevant

    def _unlabelled(
        self, population: Population, keys: Keys, start: int, end: int, count: int
    ) -> list[str]:
        found: list[str] = []
        look, seen = _LOOK, 0
        while seen < end - start and len(found) < count:
            ranks = self._ordered(keys, start, end, look)[seen:]
            seen += len(ranks)
            names = [_post(name) for name in population.names_at(ranks)]
            found += [post for post in names if not self._log.verdict(post)]
            look *= 4
        return found[:count]


def _post(name: str) -> str:
    """A population may name its posts with their article before them."""
    return name.rpartition("\t")[2]


def _from(keys: Keys, rank: int, start: int, end: int) -> NDArray[np.uint64]:
    """The keys of a part of the population that begins at a rank."""
    return keys(rank + start, rank + end)


def _precision(above: tuple[int, int, int]) -> Share:
    size, drawn, relevant = above
    if not drawn:
        return Share(None, 0.0, 1.0)
    low, high = (bound(size, drawn, relevant, 0.025) for bound in (lower_bound, upper_bound))
    return Share(relevant / drawn, low / size, high / size)


def _recall(above: tuple[int, int, int], below: tuple[int, int, int]) -> Share:
    """Each of the two samples has half of the error, each end half of that."""
    ends = [
        [
            bound(size, drawn, relevant, 0.0125) if drawn else default
            for bound, default in ((lower_bound, 0), (upper_bound, size))
        ]
        for size, drawn, relevant in (above, below)
    ]
    (found_low, found_high), (missed_low, missed_high) = ends
    hits, misses = (
        size * relevant / drawn if drawn else 0.0 for size, drawn, relevant in (above, below)
    )
    both = above[1] and below[1] and hits + misses
    return Share(
        hits / (hits + misses) if both else None,
        found_low / (found_low + missed_high) if found_low else 0.0,
        found_high / (found_high + missed_low) if found_high else 0.0,
    )
