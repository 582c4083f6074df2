"""Replays of a certificate where the labels are known: what a plan would hand over, and be wrong in.

The loop of labeling is computed at once here, because the labels are known; tests compare both.
"""

import zlib
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from siamese_news_desk.decide.bounds.tables import Tables, turn_of
from siamese_news_desk.decide.plan.design import (
    Order,
    errors_due,
    planned_nulls,
    reserved_labels,
)


def generator_of(seed: int, *parts: object) -> np.random.Generator:
    """A separate random stream for each setting and run."""
    return np.random.default_rng(
        [seed, *(zlib.crc32(str(part).encode()) for part in parts)]
    )


def random_order(
    sizes: NDArray[np.int64], generator: np.random.Generator, hold: int
) -> Order:
    """A random order for a replay; keys are drawn set by set, only as far as the descent goes."""

    def keys(start: int, end: int) -> NDArray[np.uint64]:
        return generator.integers(0, 2**63, end - start, dtype=np.int64).astype(
            np.uint64
        )

    return Order(sizes, keys, hold=hold)


def tables_of(
    sizes: NDArray[np.int64], target: Fraction, budget: int, error: float
) -> Tables:
    """The tables of a descent."""
    nulls = planned_nulls(sizes, target, budget)
    return Tables(sizes.tolist(), nulls.tolist(), error=error, turn=turn_of(budget))


@dataclass(frozen=True, slots=True)
class Replay:
    """The result of a descent; the counts are those of `certification.Claim`.

    Attributes:
        size: posts of the returned set; 0 if none is certified, and the list is the posts put in.
        relevant: truly relevant posts of the set.
        taken_out: its posts that are left out of the list.
        put_in: posts from further down that are added to the list.
        labels: number of labels spent.
        curve: (labels, posts in the list) after each set.
        labeled: ranks of the labeled posts.
    """

    size: int
    relevant: int
    taken_out: int
    put_in: int
    labels: int
    curve: tuple[tuple[int, int], ...]
    labeled: NDArray[np.int64]

    @property
    def posts(self) -> int:
        """Posts in the list."""
        return self.size - self.taken_out + self.put_in

    @property
    def hits(self) -> int:
        """Relevant posts in the list."""
        return self.relevant + self.put_in

    def misses(self, target: Fraction) -> bool:
        """Whether the set without the posts taken out has a precision below the target."""
        return self.relevant < target * (self.size - self.taken_out)


def replay(
    tables: Tables,
    order: Order,
    relevant: NDArray[np.bool_],
    *,
    target: Fraction,
    budget: int,
    sets: int | None = None,
    stop: bool = False,
) -> Replay:
    """Label in the random order until the budget is spent, as the page does.

    `relevant` (N,) are the labels by rank; the pool has as many `sets` of the tables, or all. With
    `stop`, the labels that the descent does not need are saved.
    """
    sizes = tables.sizes[:sets]
    due = errors_due(sizes, tables.nulls[:sets], target)
    labeled = np.zeros(int(sizes[-1]), bool)
    spent = 0
    curve = [(0, 0)]
    best = (0, 0, 0, 0)
    for number, size in enumerate(sizes.tolist()):
        ranks = order.first(number, min(budget, size))
        bounds = tables.bounds(number, len(ranks))[1:]
        before = int(sizes[number - 1]) if number else 0
        while True:
            errors_seen = int((labeled[:before] & ~relevant[:before]).sum())
            missing = max(0, int(due[number - 1]) - errors_seen) if number else 0
            left = budget - spent
            new = _requested(
                ranks,
                bounds,
                relevant,
                labeled,
                left - reserved_labels(missing, budget),
            )
            passed = bool(
                (np.cumsum(~labeled[ranks] | ~relevant[ranks]) <= bounds).any()
            )
            if not passed and not len(new):
                new = np.flatnonzero(~labeled[:before])[::-1][: min(missing, left)]
            if not (passed or stop or len(new)):
                # The labels that are left go to the best posts below the list.
                new = best[0] + np.flatnonzero(~labeled[best[0] :])[:left]
            if not len(new):
                break
            labeled[new] = True
            spent += len(new)
            best = _list(sizes[: number + passed], due, relevant, labeled)
        best = _list(sizes[: number + passed], due, relevant, labeled)
        curve.append((spent, best[0] - best[2] + best[3]))
        if not passed:
            break
    return Replay(*best, spent, tuple(curve), np.flatnonzero(labeled))


def _list(
    passed: NDArray[np.int64],
    due: NDArray[np.int64],
    relevant: NDArray[np.bool_],
    labeled: NDArray[np.bool_],
) -> tuple[int, int, int, int]:
    """The first four fields of a `Replay`, by the sizes of the sets that `passed`."""
    errors = np.flatnonzero(labeled & ~relevant[: len(labeled)])
    labeled_errors = np.searchsorted(errors, passed)
    good = np.flatnonzero(labeled_errors >= due[: len(passed)])
    size = int(passed[good[-1]]) if len(good) else 0
    removed = int(labeled_errors[good[-1]]) if len(good) else 0
    put_in = int((labeled[size:] & relevant[size : len(labeled)]).sum())
    return size, int(relevant[:size].sum()), removed, put_in


def _requested(
    ranks: NDArray[np.int64],
    bounds: NDArray[np.int32],
    relevant: NDArray[np.bool_],
    labeled: NDArray[np.bool_],
    left: int,
) -> NDArray[np.int64]:
    """The posts of a set to label until it passes, or cannot pass with the labels left.

    With j more labels, the count after t labels is the number of errors known by then plus the
    number of posts still without a label; the smallest number of those that must turn out relevant
    is requested. `ranks` are in the order of the set, `bounds` its table after 1, 2, ... labels.
    """
    labels_there = labeled[ranks]
    new = ranks[~labels_there]
    wrong = ~relevant[ranks]
    gaps = np.cumsum(~labels_there)
    old = np.cumsum(labels_there & wrong)
    more = np.cumsum(~labels_there & wrong)
    count = 0
    while True:
        waiting = np.maximum(gaps - count, 0)
        seen = (
            more
            if count >= len(new)
            else np.minimum(more, int((~relevant[new[:count]]).sum()))
        )
        short = old + seen + waiting - bounds
        able = short[short <= waiting]
        needed = int(able.min()) if len(able) else left + 1
        if needed <= 0 or count + needed > left:
            return new[:count]
        # All of them will be requested anyway, unless an error among them makes the set
        # unreachable; so near the end of the budget, request one at a time.
        count += needed if 8 * needed <= left - count else 1
