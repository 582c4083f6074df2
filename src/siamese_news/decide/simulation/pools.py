"""Labelled pools to replay on: scored posts of which the truth is known, real or made."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from siamese_news.data.lines import read_lines
from siamese_news.decide.plan.design import (
    first_set,
    largest_precise,
    least_errors,
    nested_sets,
    planned_nulls,
)
from siamese_news.decide.plan.population import Population
from siamese_news.errors import InputError


@dataclass(frozen=True, slots=True)
class LabelledPool:
    """Scored posts and the truth about them.

    Attributes:
        name: of the pool.
        scores: (N,) descending.
        relevant: (N,) by rank.
    """

    name: str
    scores: NDArray[np.float64]
    relevant: NDArray[np.bool_]

    def oracle(self, target: Fraction) -> int:
        """The most posts a threshold can return with the target precision; it knows every label."""
        return largest_precise(self.scores, self.relevant, target)

    def misses(self, size: int, target: Fraction) -> bool:
        """Whether the best `size` posts truly have less than the target precision."""
        return size > 0 and int((~self.relevant[:size]).sum()) >= least_errors(size, target)


def read_pool(results: Path, qrels: Path) -> LabelledPool:
    """Scored posts with the truth out of qrels.

    Args:
        results: what `rank` wrote for the whole pool.
        qrels: ``query-id, corpus-id, score`` with tabs, as in a BEIR folder; where the results are
            one list over all articles a post is relevant if it is for any of them.

    Raises:
        InputError: for files that do not fit.
    """
    population = Population(results)
    relevant: set[str] = set()
    for number, line in read_lines(qrels):
        fields = line.split("\t")
        if (number == 1 and fields[0] == "query-id") or not line.strip():
            continue
        try:
            article, post, grade = fields[0], fields[1], int(fields[2])
        except (IndexError, ValueError):
            raise InputError(
                f"{qrels}:{number}: expected query-id, corpus-id and a whole number, with tabs"
            ) from None
        if grade > 0:
            relevant.add(f"{article}\t{post}" if population.pairs else post)
    found = np.zeros(len(population), bool)
    found[list(population.ranks_of(sorted(relevant)).values())] = True
    if not found.any():
        raise InputError(f"{qrels}: none of its posts is in {results}; expected qrels of that pool")
    name = qrels.parent.parent.name if qrels.parent.name == "qrels" else results.stem
    return LabelledPool(name, population.scores, found)


Family = Callable[[np.random.Generator, Fraction, int], LabelledPool]


def border(generator: np.random.Generator, target: Fraction, budget: int = 0) -> LabelledPool:
    """The least favourable case: every set has the errors that its test has to rule out.

    Hardly one more, that is, for a larger set has no fewer errors. Without a budget every set
    misses the target by one post.
    """
    size = int(generator.integers(2_000, 20_001))
    sizes = nested_sets(-np.arange(size, dtype=np.float64), first=first_set(budget))
    errors = np.maximum.accumulate(planned_nulls(sizes, target, budget))
    relevant = np.ones(int(sizes[-1]), bool)
    relevant[: errors[0]] = False
    relevant[: sizes[0]] = generator.permutation(relevant[: sizes[0]])
    for end, more in zip(sizes[1:].tolist(), np.diff(errors).tolist(), strict=True):
        relevant[end - more : end] = False
    return _pool("border", relevant)


def non_monotone(generator: np.random.Generator, target: Fraction, budget: int = 0) -> LabelledPool:
    """Precision rises and falls with rank, about the target."""
    ranks = np.arange(int(generator.integers(2_000, 20_001)))
    waves = np.sin(np.log1p(ranks) * generator.uniform(2, 5) + generator.uniform(0, 6))
    chance = float(target) + 0.08 * waves - ranks / len(ranks) * 0.5
    return _drawn("non-monotone", generator, chance)


def easy(generator: np.random.Generator, target: Fraction, budget: int = 0) -> LabelledPool:
    """Nearly all of the top is relevant, then nearly none."""
    ranks = np.arange(int(generator.integers(2_000, 20_001)))
    cut = len(ranks) * generator.uniform(0.1, 0.3)
    return _drawn("easy", generator, 0.99 / (1 + np.exp((ranks - cut) / (cut / 10))))


def hard(generator: np.random.Generator, target: Fraction, budget: int = 0) -> LabelledPool:
    """The top is hardly better than the target."""
    ranks = np.arange(int(generator.integers(2_000, 20_001)))
    top = float(target) + generator.uniform(-0.02, 0.03)
    cut = len(ranks) * generator.uniform(0.1, 0.3)
    return _drawn("hard", generator, top / (1 + np.exp((ranks - cut) / (cut / 4))))


def bimodal(generator: np.random.Generator, target: Fraction, budget: int = 0) -> LabelledPool:
    """Two groups of scores, the upper one nearly all relevant."""
    size = int(generator.integers(2_000, 20_001))
    upper = int(size * generator.uniform(0.05, 0.2))
    chance = np.where(np.arange(size) < upper, 0.97, 0.02)
    return _drawn("bimodal", generator, chance)


def few(generator: np.random.Generator, target: Fraction, budget: int = 0) -> LabelledPool:
    """So few relevant posts that no set of the descent reaches the target."""
    size = int(generator.integers(2_000, 20_001))
    chance = np.where(np.arange(size) < 60, 0.7, 0.002)
    return _drawn("few positives", generator, chance)


def ties(generator: np.random.Generator, target: Fraction, budget: int = 0) -> LabelledPool:
    """As easy, with scores in coarse steps."""
    pool = easy(generator, target)
    width = int(generator.integers(50, 300))
    scores = -(np.arange(len(pool.scores)) // width).astype(np.float64)
    return LabelledPool("ties", scores, pool.relevant)


FAMILIES: dict[str, Family] = {
    "border": border,
    "non-monotone": non_monotone,
    "easy": easy,
    "hard": hard,
    "bimodal": bimodal,
    "few positives": few,
    "ties": ties,
}
"""Corpora of 2,000 to 20,000 posts by name, for a target and a number of planned labels."""


def _drawn(name: str, generator: np.random.Generator, chance: NDArray[np.float64]) -> LabelledPool:
    return _pool(name, generator.random(len(chance)) < chance)


def _pool(name: str, relevant: NDArray[np.bool_]) -> LabelledPool:
    return LabelledPool(name, -np.arange(len(relevant), dtype=np.float64), relevant)
