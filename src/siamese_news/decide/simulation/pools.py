"""Labeled pools for simulations: scored posts whose labels are known, real or generated."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from siamese_news.data.trec import put_grade, rows_of
from siamese_news.decide.plan.design import first_set, least_errors, nested_sets, planned_nulls
from siamese_news.decide.plan.population import Population
from siamese_news.errors import InputError


@dataclass(frozen=True, slots=True)
class LabeledPool:
    """A pool: scores (N,) in descending order, and whether each post is relevant (N,)."""

    name: str
    scores: NDArray[np.float64]
    relevant: NDArray[np.bool_]

    def oracle(self, target: Fraction) -> int:
        """The most posts that a threshold can return at the target precision."""
        # A threshold cannot split equal scores.
        ends = np.append(np.flatnonzero(np.diff(self.scores)) + 1, len(self.scores))
        hits = np.cumsum(self.relevant)[ends - 1]
        good = hits * target.denominator >= ends * target.numerator
        return int(ends[good].max()) if good.any() else 0

    def misses(self, size: int, target: Fraction) -> bool:
        """Whether the precision of the best `size` posts is below the target."""
        return size > 0 and int((~self.relevant[:size]).sum()) >= least_errors(size, target)


def read_pool(results: Path, qrels: Path) -> LabeledPool:
    """Read the results of `rank` for a whole pool, and their qrels as in a BEIR folder.

    Where the results are one list for all articles, a post is relevant if it is relevant to any.

    Raises:
        InputError: for a damaged line, and for qrels of another pool.
    """
    population = Population(results)
    relevant: set[str] = set()
    grades: dict[str, dict[str, int]] = {}
    for where, (article, post, grade) in rows_of(qrels, "query-id corpus-id score", "\t"):
        put_grade(grades, where, article, post, grade)
        if grades[article][post] > 0:
            relevant.add(f"{article}\t{post}" if population.pairs else post)
    found = np.zeros(len(population), bool)
    found[list(population.ranks_of(sorted(relevant)).values())] = True
    if not found.any():
        raise InputError(f"{qrels}: none of its posts is in {results}; expected qrels of that pool")
    name = qrels.parent.parent.name if qrels.parent.name == "qrels" else results.stem
    return LabeledPool(name, population.scores, found)


def border(generator: np.random.Generator, target: Fraction, budget: int = 0) -> LabeledPool:
    """The least favorable case: every set has the errors that its test must rule out.

    A set may have slightly more, because a larger set cannot have fewer errors than a smaller one.
    Without a budget every set misses the target by one post.
    """
    sizes = nested_sets(-_ranks(generator).astype(np.float64), first=first_set(budget))
    errors = np.maximum.accumulate(planned_nulls(sizes, target, budget))
    relevant = np.ones(int(sizes[-1]), bool)
    relevant[: errors[0]] = False
    relevant[: sizes[0]] = generator.permutation(relevant[: sizes[0]])
    for end, more in zip(sizes[1:].tolist(), np.diff(errors).tolist(), strict=True):
        relevant[end - more : end] = False
    return _pool("border", relevant)


_Chance = Callable[[np.random.Generator, float, NDArray[np.int64]], NDArray[np.float64]]
"""Generator, target and ranks -> the probability that the post at each rank is relevant."""


def _drawn(
    name: str, chance: _Chance, generator: np.random.Generator, target: Fraction, budget: int = 0
) -> LabeledPool:
    probability = chance(generator, float(target), _ranks(generator))
    return _pool(name, generator.random(len(probability)) < probability)


def _waves(
    generator: np.random.Generator, target: float, ranks: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Precision rises and falls with rank, around the target."""
    waves = np.sin(np.log1p(ranks) * generator.uniform(2, 5) + generator.uniform(0, 6))
    return np.asarray(target + 0.08 * waves - ranks / len(ranks) * 0.5)


def _falling(
    generator: np.random.Generator, ranks: NDArray[np.int64], top: float, steepness: int
) -> NDArray[np.float64]:
    """The share `top` is relevant at the head, almost nothing in the tail."""
    cut = len(ranks) * generator.uniform(0.1, 0.3)
    return np.asarray(top / (1 + np.exp((ranks - cut) / (cut / steepness))))


_easy = partial(_drawn, "easy", lambda g, target, ranks: _falling(g, ranks, 0.99, 10))


def _ties(generator: np.random.Generator, target: Fraction, budget: int = 0) -> LabeledPool:
    """The easy family with coarse scores."""
    relevant = _easy(generator, target).relevant
    width = int(generator.integers(50, 300))
    return LabeledPool("ties", -(np.arange(len(relevant)) // width).astype(float), relevant)


FAMILIES: dict[str, Callable[[np.random.Generator, Fraction, int], LabeledPool]] = {
    "border": border,
    "non-monotone": partial(_drawn, "non-monotone", _waves),
    "easy": _easy,
    "hard": partial(  # the head is hardly better than the target
        _drawn,
        "hard",
        lambda g, target, ranks: _falling(g, ranks, target + g.uniform(-0.02, 0.03), 4),
    ),
    "bimodal": partial(  # two groups of scores; almost all of the upper one is relevant
        _drawn,
        "bimodal",
        lambda g, _, ranks: np.where(ranks < int(len(ranks) * g.uniform(0.05, 0.2)), 0.97, 0.02),
    ),
    "few positives": partial(  # no set reaches the target
        _drawn, "few positives", lambda _g, _t, ranks: np.where(ranks < 60, 0.7, 0.002)
    ),
    "ties": _ties,
}
"""Generated pools of 2,000 to 20,000 posts, by name, for a target and a number of labels."""


def _ranks(generator: np.random.Generator) -> NDArray[np.int64]:
    return np.arange(int(generator.integers(2_000, 20_001)))


def _pool(name: str, relevant: NDArray[np.bool_]) -> LabeledPool:
    return LabeledPool(name, -np.arange(len(relevant), dtype=np.float64), relevant)
