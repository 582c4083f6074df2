"""Annotators who err: what their errors cost, and how often two of them disagree.

Without a declared rate a certificate speaks about the annotator's verdicts, as they would fall for
every post; that needs no assumption. With one it speaks about the truth, if the annotator's errors
are independent from post to post.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

RESERVED = Fraction(1, 200)
"""Share of the confidence that pays for the uncertainty about how many errors there were."""


def noisy_nulls(
    sizes: NDArray[np.int64], nulls: NDArray[np.int64], false_positive: float, false_negative: float
) -> NDArray[np.int64]:
    """The fewest posts an annotator calls not relevant in a set that misses the target.

    But for the probability `RESERVED`. Only the first set that misses the target counts, so it is
    paid once.

    Args:
        sizes: (K,) posts of each set.
        nulls: (K,) the fewest truly not relevant posts with which each misses the target.
        false_positive: at most this share of not relevant posts is called relevant.
        false_negative: at least this share of relevant posts is called not relevant; 0 is safe.
    """
    from scipy.stats import binom

    half = float(RESERVED) / 2
    missed = binom.ppf(1 - half, nulls, false_positive).astype(np.int64)
    gained = np.zeros_like(nulls)
    if false_negative > 0:
        gained = binom.ppf(half, sizes - nulls, false_negative).astype(np.int64)
    return np.maximum(nulls - missed + gained, 0)


@dataclass(frozen=True, slots=True)
class Agreement:
    """What two annotators of the same posts tell.

    Attributes:
        posts: labelled by both.
        disagreements: how many of them differ.
        rate: the error rate, if both have the same and it is the same for both kinds of posts; None
            where they disagree more often than chance allows.
        low: lower end of the 95% interval of the rate.
        high: upper end.
        alpha: Krippendorff's alpha for nominal data; None where all labels are the same.
    """

    posts: int
    disagreements: int
    rate: float | None
    low: float
    high: float | None
    alpha: float | None


def agreement(first: Sequence[int], second: Sequence[int]) -> Agreement:
    """Compare two annotators.

    With one symmetric error rate e two annotators disagree with probability ``2 e (1 - e)``; the
    interval is the exact one of Clopper and Pearson, carried over to e.

    Args:
        first: labels 0 and 1 of the first annotator.
        second: of the second one, of the same posts.
    """
    from scipy.stats import beta

    count = len(first)
    differ = sum(a != b for a, b in zip(first, second, strict=True))
    low = float(beta.ppf(0.025, differ, count - differ + 1)) if differ else 0.0
    high = float(beta.ppf(0.975, differ + 1, count - differ)) if differ < count else 1.0
    return Agreement(
        count,
        differ,
        _rate(differ / count),
        _rate(low) or 0.0,
        _rate(high),
        krippendorff(list(zip(first, second, strict=True))),
    )


def _rate(disagreement: float) -> float | None:
    return (1 - math.sqrt(1 - 2 * disagreement)) / 2 if disagreement <= 0.5 else None


def krippendorff(units: Iterable[Sequence[int]]) -> float | None:
    """Krippendorff's alpha for two nominal values (Krippendorff, 2011).

    Any number of annotators, of whom any may have left any post out.

    Args:
        units: of each post the labels, 0 or 1, that it has; posts with fewer than two do not count.

    Returns:
        1 for agreement on everything, 0 for what chance would do; None where all labels are the
        same.
    """
    values, ones, differing = 0, 0, 0.0
    for labels in units:
        if len(labels) < 2:
            continue
        positive = sum(labels)
        values += len(labels)
        ones += positive
        differing += 2 * positive * (len(labels) - positive) / (len(labels) - 1)
    if not 0 < ones < values:
        return None
    expected = 2 * ones * (values - ones) / (values - 1)
    return 1 - differing / expected
