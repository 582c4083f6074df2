"""The descent: sets from the top down, each with its exact test, until the first that fails.

What is handed over is a list: the posts of a set without those that were labelled not relevant.
Of a set of R posts with E errors, x of them labelled, the list has a precision of R - E over R - x;
it misses the target p if E >= N(x) = R - ceil(p (R - x)) + 1. N grows with x.

For each set a number d is fixed before the first label (`design.planned_nulls`). Its test rules out
E >= N(d); sets are tested from the smallest on until one fails. A set that passed is handed over if
x >= d. If its list misses the target, then E >= N(x) >= N(d), so what its test ruled out is true.
The first set of which that is true is fixed, however the labels fall; it passed, for every set down
to the one handed over did, and its table allows that with the error budget at most. So many sets
need no correction (fixed-sequence testing: Bauer, 1991; Learn then Test, Angelopoulos et al., 2021,
arXiv 2110.01052), and x may be counted at any time, whichever labels found these errors. Labelled
relevant posts from further down that are put into the list only raise its precision.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from siamese_news.decide.bounds.tables import Tables
from siamese_news.decide.plan.design import Order

UNKNOWN = -1

Verdicts = Callable[[NDArray[np.int64]], NDArray[np.int8]]
"""Ranks to labels: 1 relevant, 0 not relevant (or skipped), -1 not labelled."""

_STEP = 64  # posts of a set that are looked up at once
_BEYOND = 20  # how far, in budgets of labels, an estimate is looked for


@dataclass(frozen=True, slots=True)
class Step:
    """One set of the descent.

    Attributes:
        number: of the set, from 0.
        size: posts in it.
        labels: after how many of its labels it was certified, or how many it has without a gap.
        errors: how many of those are not relevant.
        certified: whether it passed.
    """

    number: int
    size: int
    labels: int
    errors: int
    certified: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """Where a descent stands.

    Attributes:
        steps: the sets it has looked at; all but perhaps the last one are certified.
        needed: ranks of the posts to label next, in order: with fewer labels the next set cannot be
            certified, whatever they say. Empty where all sets are certified.
    """

    steps: tuple[Step, ...]
    needed: tuple[int, ...] = ()

    @property
    def certified(self) -> Step | None:
        """The last set that passed."""
        passed = [step for step in self.steps if step.certified]
        return passed[-1] if passed else None

    @property
    def done(self) -> bool:
        """Whether every set is certified."""
        return bool(self.steps) and self.steps[-1].certified


def descend(tables: Tables, order: Order, verdicts: Verdicts, *, start: int = 0) -> Outcome:
    """Walk down the sets with the labels that there are.

    A post without a label that comes before a labelled one of its set counts as not relevant: the
    count of errors is then too high, if anything, so gaps cost power and never validity.

    Args:
        tables: of the sets.
        order: of their posts.
        verdicts: the labels.
        start: the first set to look at, where those before it are known to pass.
    """
    steps: list[Step] = []
    for number in range(start, len(tables.sizes)):
        size = int(tables.sizes[number])
        labels = _labels_of(tables, order, number, verdicts)
        errors = np.cumsum(labels != 1)
        hopeful = np.flatnonzero(errors <= tables.ceiling(number, len(labels))[1:])
        upto = int(hopeful[-1]) + 1 if len(hopeful) else 0
        passed = np.flatnonzero(errors[:upto] <= tables.bounds(number, upto)[1:])
        if len(passed):
            look = int(passed[0])
            steps.append(Step(number, size, look + 1, int(errors[look]), True))
            continue
        gaps = np.flatnonzero(labels == UNKNOWN)
        whole = int(gaps[0]) if len(gaps) else len(labels)
        found = int(errors[whole - 1]) if whole else 0
        steps.append(Step(number, size, whole, found, False))
        needed = _needed(tables, order, number, labels, verdicts)
        return Outcome(tuple(steps), needed)
    return Outcome(tuple(steps))


def handed_over(outcome: Outcome, due: NDArray[np.int64], errors: NDArray[np.int64]) -> Step | None:
    """The largest set that passed and of which enough errors are known; None where there is none.

    Args:
        outcome: of the descent.
        due: (K,) errors of each set that must be known; see `design.errors_due`.
        errors: ranks of all posts that are known not to be relevant, ascending.
    """
    for step in reversed(outcome.steps):
        known = int(np.searchsorted(errors, step.size))
        if step.certified and known >= due[step.number]:
            return step
    return None


def _labels_of(tables: Tables, order: Order, number: int, verdicts: Verdicts) -> NDArray[np.int8]:
    """The labels of a set in its order, as far as they may certify it.

    Labels of smaller sets lie scattered in the order of a large one, the rarer the further down.
    Where the count is above what the table allows and most posts have no label any more, nothing
    that comes later brings it back.
    """
    size = int(tables.sizes[number])
    found: list[NDArray[np.int8]] = []
    start, last, bad, step = 0, 0, 0, _STEP
    while start < size:
        labels = verdicts(order.first(number, start + step)[start:])
        found.append(labels)
        there = np.flatnonzero(labels != UNKNOWN)
        if not len(there):
            break
        last = start + int(there[-1]) + 1
        start += len(labels)
        bad += int((labels != 1).sum())
        gaps = len(labels) - len(there)
        allowed = int(tables.nulls[number])
        if bad * size > start * allowed + 2 * size and 2 * gaps > len(labels):
            break
        step = start
    joined = np.concatenate(found) if found else np.empty(0, np.int8)
    return joined[:last]


def _needed(
    tables: Tables, order: Order, number: int, labels: NDArray[np.int8], verdicts: Verdicts
) -> tuple[int, ...]:
    """The posts of a set without which it cannot pass, even if all of them are relevant.

    With j further labels, all relevant, the count after t labels is ``errors(t) + gaps(t) - j``
    where no more than j of the first t are gaps; the smallest j that brings it to the table is
    what is needed.
    """
    known = int((labels == 0).sum())
    while True:  # until a look is found at which the errors that lie before it are few enough
        errors = known
        first = first_look(tables, number, errors)
        if first is None:
            return ()
        last = max(first, len(labels))
        ranks = order.first(number, last)
        found = verdicts(ranks)
        known = int((found[:first] == 0).sum())
        if known <= errors:
            break
    gaps, bad = np.cumsum(found == UNKNOWN), np.cumsum(found != 1)
    most = int(bad[first - 1]) - int(tables.bounds(number, first)[first])
    # Labels further down help only where the table may allow so many errors more.
    better = np.flatnonzero(bad - tables.ceiling(number, last)[1:] < most)
    reach = max(first, int(better[-1]) + 1 if len(better) else 0)
    short = bad[:reach] - tables.bounds(number, reach)[1:]
    enough = short <= gaps[:reach]
    return tuple(ranks[found == UNKNOWN][: int(short[enough].min())].tolist())


def first_look(tables: Tables, number: int, errors: int) -> int | None:
    """The first number of labels with which so many errors are few enough.

    None where a set has too many errors already.
    """
    size = int(tables.sizes[number])
    if errors >= tables.nulls[number]:
        return None
    upto = 256
    while True:
        upto = min(upto, size)
        looks = np.flatnonzero(tables.bounds(number, upto)[1:] >= errors)
        if len(looks):
            return 1 + int(looks[0])
        if upto == size:
            return None
        upto *= 2


def likely_labels(tables: Tables, step: Step, *, budget: int) -> int | None:
    """About how many labels a set needs in all if errors go on as they came.

    Args:
        tables: of the sets.
        step: the set, with its labels and errors so far.
        budget: the planned number of labels; the search ends at twenty times as many.

    Returns:
        A number of labels of the set, those it has included; None where there is no telling, for
        errors come about as often as the target allows, or more often.
    """
    most = min(step.size, max(_BEYOND * budget, 2 * step.labels))
    # As if one label more had shown half of what the target allows: few labels tell little.
    allowed = tables.nulls[step.number] / step.size
    rate = (step.errors + 0.5 * allowed) / (step.labels + 1)
    upto = 2 * step.labels + 256
    while True:
        upto = min(upto, most)
        looks = np.arange(step.labels + 1, upto + 1)
        expected = step.errors + rate * (looks - step.labels)
        bounds = tables.bounds(step.number, upto)[step.labels + 1 :]
        passed = np.flatnonzero(expected <= bounds)
        if len(passed):
            return int(looks[passed[0]])
        # No table is above its ceiling, so a rate that never comes below it never passes.
        if upto == most or rate > allowed:
            return None
        upto *= 2
