"""Replays of audits, recall bounds and stopping rules on labelled pools.

`RandomPositives` asks for one label after the other; here it is worked out at once for a pool whose
labels are known. A test holds the two to the same. What `LearnThenRandom` costs depends on texts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from siamese_news.decide.bounds.hypergeometric import lower_bound, recall_bound
from siamese_news.decide.simulation.pools import LabelledPool
from siamese_news.decide.simulation.precision import generator_of, interval
from siamese_news.decide.stopping.rules import binomial_place


@dataclass(frozen=True, slots=True)
class Promise:
    """What replays of one promise came to.

    Attributes:
        pool: of labelled posts.
        what: the promise.
        runs: replays.
        wrong: how many broke it.
        low: lower end of the 99% interval of the share of broken ones.
        high: upper end.
        value: mean of what it is about: a bound, or labels as a multiple of the optimum.
        truth: the true value behind a bound; for a rule the mean recall that was reached.
    """

    pool: str
    what: str
    runs: int
    wrong: int
    low: float
    high: float
    value: float
    truth: float


def audits(
    pool: LabelledPool, size: int, budget: int, runs: int, *, error: float, seed: int
) -> Promise:
    """The lower bound on the precision of the best `size` posts."""
    hits = int(pool.relevant[:size].sum())
    bounds = []
    for number in range(runs):
        generator = generator_of(seed, "audit", pool.name, size, budget, number)
        drawn = int(generator.hypergeometric(hits, size - hits, budget))
        bounds.append(lower_bound(size, budget, drawn, error))
    wrong = sum(bound > hits for bound in bounds)
    return Promise(
        pool.name,
        f"audit of the best {size:,}, {budget} labels",
        runs,
        wrong,
        *interval(wrong, runs),
        float(np.mean(bounds)) / size,
        hits / size,
    )


def recalls(
    pool: LabelledPool, above: int, size: int, budget: int, runs: int, *, error: float, seed: int
) -> Promise:
    """The lower bound on recall at a threshold within the best `size` posts."""
    found, missed = int(pool.relevant[:above].sum()), int(pool.relevant[above:size].sum())
    truth = found / (found + missed)
    first, rest = budget // 3, budget - budget // 3
    bounds = []
    for number in range(runs):
        generator = generator_of(seed, "recall", pool.name, above, size, budget, number)
        x = int(generator.hypergeometric(found, above - found, first))
        y = int(generator.hypergeometric(missed, size - above - missed, rest))
        bounds.append(recall_bound((above, first, x), (size - above, rest, y), error)[1])
    wrong = sum(bound > truth for bound in bounds)
    return Promise(
        pool.name,
        f"recall at {above:,} of the best {size:,}, {budget} labels",
        runs,
        wrong,
        *interval(wrong, runs),
        float(np.mean(bounds)),
        truth,
    )


def random_positives(
    relevant: NDArray[np.bool_], keys: NDArray[np.uint64], recall: float, error: float, count: int
) -> tuple[int, int]:
    """(labels, posts of the top that are labelled) of `stopping.RandomPositives`."""
    place = binomial_place(recall, error, count)
    assert place is not None
    order = np.argsort(keys, kind="stable")
    hits = np.flatnonzero(relevant[order])
    if len(hits) < count:
        return len(relevant), len(relevant)
    drawn = int(hits[count - 1]) + 1
    depth = int(np.sort(order[hits[:count]])[place - 1]) + 1
    return depth + int((order[:drawn] >= depth).sum()), depth


def optimum(relevant: NDArray[np.bool_], recall: float) -> int:
    """Labels that one needs who knows when the recall is reached."""
    wanted = -(-Fraction(str(recall)) * int(relevant.sum()) // 1)
    return int(np.searchsorted(np.cumsum(relevant), int(wanted))) + 1


def rules(
    pool: LabelledPool, recall: float, counts: Sequence[int], runs: int, *, error: float, seed: int
) -> list[Promise]:
    """`RandomPositives`: labels by the optimum, recall reached, promises broken."""
    total, best = int(pool.relevant.sum()), optimum(pool.relevant, recall)
    hits = np.cumsum(pool.relevant)
    found: list[Promise] = []
    for count in counts:
        if binomial_place(recall, error, count) is None:
            continue
        labels, reached = [], []
        for number in range(runs):
            generator = generator_of(seed, "stop", pool.name, recall, count, number)
            keys = generator.integers(0, 2**63, len(pool.relevant)).astype(np.uint64)
            spent, depth = random_positives(pool.relevant, keys, recall, error, count)
            labels.append(spent / best)
            reached.append(hits[depth - 1] / total)
        wrong = int(sum(share < recall - 1e-12 for share in reached))
        promise = Promise(
            pool.name,
            f"recall {recall:g}: {count} random positives first",
            runs,
            wrong,
            *interval(wrong, runs),
            float(np.mean(labels)),
            float(np.mean(reached)),
        )
        found.append(promise)
    return found


def find_labels(relevant: NDArray[np.bool_], wanted: int) -> int | None:
    """Labels until so many relevant posts are found down the ranking; None for too many."""
    hits = np.cumsum(relevant)
    return int(np.searchsorted(hits, wanted)) + 1 if hits[-1] >= wanted else None
