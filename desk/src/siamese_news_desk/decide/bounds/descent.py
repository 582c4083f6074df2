"""The descent: sets from the top down, each with its exact test, until the first that fails.

The result is a list: the posts of a set without those that were labeled not relevant. If x of the E
errors in a set of R posts are labeled, the precision of the list is (R - E) / (R - x). It misses
the target p if E >= N(x) = R - ceil(p (R - x)) + 1. N grows with x.

For each set a number d is fixed before the first label (`design.planned_nulls`). Its test rules out
E >= N(d); sets are tested from the smallest on until one fails. A set that passed is returned if x
>= d. If its list misses the target, then E >= N(x) >= N(d), so what its test ruled out is true. The
first set for which this is true is fixed, whatever the labels; it passed, because every set down to
the returned one did, and its table allows that with at most the error budget. So testing many sets
needs no correction (fixed-sequence testing: Bauer, 1991; Learn then Test, Angelopoulos et al.,
2021, arXiv 2110.01052), and x may be counted at any time, whichever labels found these errors.
Posts from further down that were labeled relevant and are added to the list only raise its
precision.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from siamese_news_desk.decide.bounds.tables import Tables
from siamese_news_desk.decide.plan.design import Order

UNKNOWN = -1

# Ranks to labels: 1 relevant, 0 not relevant (or skipped), -1 not labeled.
Verdicts = Callable[[NDArray[np.int64]], NDArray[np.int8]]

_STEP = 64  # posts of a set that are looked up together
_BEYOND = 20  # budgets of labels that an estimate may reach


@dataclass(frozen=True, slots=True)
class Step:
    """One set of the descent; `number` counts from 0.

    Attributes:
        size: its posts.
        labels: the number of labels that certified it, or that it has without a gap.
        errors: posts among these that are not relevant.
    """

    number: int
    size: int
    labels: int
    errors: int
    certified: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """The state of a descent.

    Attributes:
        steps: the tested sets; all of them except perhaps the last one are certified.
        needed: ranks of the posts to label next, in order: with fewer labels the next set cannot
            pass, whatever they say. Empty if all sets are certified, or if the next one cannot
            pass.
    """

    steps: tuple[Step, ...]
    needed: tuple[int, ...] = ()

    @property
    def certified(self) -> Step | None:
        """The last set that passed."""
        return next((step for step in reversed(self.steps) if step.certified), None)

    @property
    def done(self) -> bool:
        """Whether every set is certified."""
        return bool(self.steps) and self.steps[-1].certified


def descend(
    tables: Tables, order: Order, verdicts: Verdicts, *, start: int = 0
) -> Outcome:
    """Walk down the sets with the labels so far, from set `start` on.

    A post without a label that comes before a labeled one of its set counts as not relevant. This
    can only overestimate the errors, so gaps cost power but never validity.
    """
    steps: list[Step] = []
    for number in range(start, len(tables.sizes)):
        size = int(tables.sizes[number])
        labels, errors, look = _looks(tables, order, number, verdicts)
        if look is not None:
            steps.append(Step(number, size, look + 1, int(errors[look]), True))
            continue
        gaps = np.flatnonzero(labels == UNKNOWN)
        n_without_gap = int(gaps[0]) if len(gaps) else len(labels)
        errors_found = int(errors[n_without_gap - 1]) if n_without_gap else 0
        steps.append(Step(number, size, n_without_gap, errors_found, False))
        return Outcome(tuple(steps), _needed(tables, order, number, labels, verdicts))
    return Outcome(tuple(steps))


def returned_set(
    outcome: Outcome, errors_due: NDArray[np.int64], errors: NDArray[np.int64]
) -> Step | None:
    """The largest certified set with enough known errors, or None.

    `errors_due` (K,) are the errors that each set needs (`design.errors_due`); `errors` the ranks of
    all posts known to be not relevant, ascending.
    """
    return next(
        (
            step
            for step in reversed(outcome.steps)
            if step.certified
            and np.searchsorted(errors, step.size) >= errors_due[step.number]
        ),
        None,
    )


def _looks(
    tables: Tables, order: Order, number: int, verdicts: Verdicts
) -> tuple[NDArray[np.int8], NDArray[np.int64], int | None]:
    """The labels of a set in its order, the errors among the first of them, and where it passes.

    They are read until the set passes, or as far as they may certify it. Labels of smaller sets
    are scattered in the order of a large one, and rarer further down. Once the count is above what
    the table allows and most posts have no label, later ones cannot change that.
    """
    size = int(tables.sizes[number])
    allowed = int(tables.nulls[number])
    labels = np.empty(0, np.int8)
    errors = np.empty(0, np.int64)
    last_labeled = 0
    while len(labels) < size:
        start = len(labels)
        next_labels = verdicts(order.first(number, max(_STEP, 2 * start))[start:])
        there = np.flatnonzero(next_labels != UNKNOWN)
        if not len(there):
            break
        last_labeled = start + int(there[-1]) + 1
        labels = np.concatenate([labels, next_labels])
        errors = np.cumsum(labels != 1)
        hopeful = np.flatnonzero(
            errors[:last_labeled] <= tables.ceiling(number, last_labeled)[1:]
        )
        upto = int(hopeful[-1]) + 1 if len(hopeful) else 0
        passed = np.flatnonzero(errors[:upto] <= tables.bounds(number, upto)[1:])
        if len(passed):
            return labels, errors, int(passed[0])
        gaps = len(next_labels) - len(there)
        if errors[-1] * size > len(labels) * allowed + 2 * size and 2 * gaps > len(
            next_labels
        ):
            break
    return labels[:last_labeled], errors[:last_labeled], None


def _needed(
    tables: Tables,
    order: Order,
    number: int,
    labels: NDArray[np.int8],
    verdicts: Verdicts,
) -> tuple[int, ...]:
    """The posts of a set without which it cannot pass, even if all of them are relevant.

    With j more labels, all relevant, the count after t labels is ``errors(t) + gaps(t) - j`` where
    at most j of the first t are gaps; the smallest j that brings it down to the table is needed.
    """
    labeled_errors = int((labels == 0).sum())
    while True:  # until the errors before a look are few enough for it
        errors = labeled_errors
        earliest_look = first_look(tables, number, errors)
        if earliest_look is None:
            return ()
        n_ranks = max(earliest_look, len(labels))
        ranks = order.first(number, n_ranks)
        labels_there = verdicts(ranks)
        labeled_errors = int((labels_there[:earliest_look] == 0).sum())
        if labeled_errors <= errors:
            break
    gaps = np.cumsum(labels_there == UNKNOWN)
    bad = np.cumsum(labels_there != 1)
    most_missing = int(bad[earliest_look - 1]) - int(
        tables.bounds(number, earliest_look)[earliest_look]
    )
    # Labels further down help only where the table may allow that many more errors.
    better = np.flatnonzero(bad - tables.ceiling(number, n_ranks)[1:] < most_missing)
    reach = max(earliest_look, int(better[-1]) + 1 if len(better) else 0)
    short = bad[:reach] - tables.bounds(number, reach)[1:]
    enough = short <= gaps[:reach]
    return tuple(ranks[labels_there == UNKNOWN][: int(short[enough].min())].tolist())


def first_look(tables: Tables, number: int, errors: int) -> int | None:
    """The smallest number of labels after which `errors` errors are few enough.

    None if the set already has too many.
    """
    if errors >= tables.nulls[number]:
        return None
    return _passing(tables, number, lambda looks: errors, 0, int(tables.sizes[number]))


def _passing(
    tables: Tables,
    number: int,
    errors: Callable[[NDArray[np.int64]], float | NDArray[np.float64]],
    labels: int,
    max_labels: int,
) -> int | None:
    """The smallest number of labels, above `labels`, after which so many `errors` are few enough.

    Twice as many are tried each time, because long tables take long; None if `max_labels` are too few.
    """
    upto = 2 * labels + 256
    while True:
        upto = min(upto, max_labels)
        looks = np.arange(labels + 1, upto + 1)
        bounds = tables.bounds(number, upto)[labels + 1 :]
        passed = np.flatnonzero(errors(looks) <= bounds)
        if len(passed):
            return int(looks[passed[0]])
        if upto == max_labels:
            return None
        upto *= 2


def likely_labels(tables: Tables, step: Step, *, budget: int) -> int | None:
    """About how many labels a set needs in all if errors continue at the present rate.

    The estimate goes up to twenty times the `budget`. None if it cannot be given, because errors
    are about as frequent as the target allows, or more.
    """
    max_labels = min(step.size, max(_BEYOND * budget, 2 * step.labels))
    # As if one more label had shown half of the allowed rate, because few labels tell little.
    allowed = tables.nulls[step.number] / step.size
    rate = (step.errors + 0.5 * allowed) / (step.labels + 1)
    if rate > allowed:  # no table exceeds its ceiling, so a rate above it never passes
        max_labels = min(max_labels, 2 * step.labels + 256)
    return _passing(
        tables,
        step.number,
        lambda looks: step.errors + rate * (looks - step.labels),
        step.labels,
        max_labels,
    )
