"""Annotators who err: what their errors cost, and how often two of them disagree.

Without a declared rate a certificate speaks about the annotator's verdicts, as they would fall for
every post; that needs no assumption. With one it speaks about the truth, if the annotator's errors
are independent from post to post.
"""

import math
from collections.abc import Sequence
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
        count, differ, _rate(differ / count), _rate(low) or 0.0, _rate(high), _alpha(first, second)
    )


def _rate(disagreement: float) -> float | None:
    return (1 - math.sqrt(1 - 2 * disagreement)) / 2 if disagreement <= 0.5 else None


def _alpha(first: Sequence[int], second: Sequence[int]) -> float | None:
    """Krippendorff's alpha, nominal, two annotators, nothing missing (Krippendorff, 2011)."""
    values = 2 * len(first)
    ones = sum(first) + sum(second)
    expected = 2 * ones * (values - ones) / (values * (values - 1))
    if not expected:
        return None
    observed = sum(a != b for a, b in zip(first, second, strict=True)) / len(first)
    return 1 - observed / expected
