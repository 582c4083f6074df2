"""Annotators who err: what their errors cost, and how often two of them disagree.

Without a declared rate a certificate speaks about the annotator's verdicts, as they would fall for
every post; that needs no assumption. With one it speaks about the truth, if the annotator's errors
are independent from post to post.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

RESERVED = Fraction(1, 200)
"""Share of the confidence that pays for the uncertainty about how many errors there were."""


_SLOPES = np.geomspace(1e-4, 30, 300)  # where the bound is looked for; it holds at every one


def noisy_nulls(
    sizes: NDArray[np.int64],
    nulls: NDArray[np.int64],
    false_positive: float,
    false_negative: float,
    copies: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """The fewest posts an annotator calls not relevant in a set that misses the target.

    But for the probability `RESERVED`. Only the first set that misses the target counts, so it is
    paid once. Copies of a text get one verdict, so their errors come together: the bound takes the
    texts with the most copies as those in question.

    Args:
        sizes: (K,) posts of each set.
        nulls: (K,) the fewest truly not relevant posts with which each misses the target.
        false_positive: at most this share of not relevant texts is called relevant.
        false_negative: at least this share of relevant texts is called not relevant; 0 is safe.
        copies: (N,) of the post at each rank, how many posts down to it have its text, itself
            included; None where all texts differ.
    """
    seen = np.ones(int(sizes[-1]), np.int64) if copies is None else copies
    found, start = [], 0
    counts = np.zeros(int(seen.max()) + 2, np.int64)
    for size, null in zip(sizes.tolist(), nulls.tolist(), strict=True):
        counts += np.bincount(seen[start:size], minlength=len(counts))
        start = size
        texts = counts[1:-1] - counts[2:]  # so many with 1, 2, ... copies in this set
        missed = _at_most(_largest(texts, null), false_positive)
        gained = _at_least(_largest(texts, size - null), false_negative)
        found.append(max(null - missed + gained, 0))
    return np.array(found, np.int64)


def _largest(texts: NDArray[np.int64], posts: int) -> dict[int, int]:
    """The texts with the most copies that make up so many posts: number of copies -> texts."""
    found: dict[int, int] = {}
    for place in np.flatnonzero(texts)[::-1].tolist():
        size, count = place + 1, int(texts[place])
        whole = min(count, posts // size)
        rest = posts - whole * size if whole < count else 0
        found[size] = found.get(size, 0) + whole
        found[rest] = found.get(rest, 0) + 1
        posts -= whole * size + rest
        if not posts:
            break
    return {size: count for size, count in found.items() if size and count}


def _at_most(texts: dict[int, int], rate: float) -> int:
    """How many posts are in error at most, if each text is with a chance of `rate`.

    Exact (binomial) where no text has copies; else the bound of Chernoff.
    """
    from scipy.stats import binom

    half = float(RESERVED) / 2
    if set(texts) <= {1}:
        return int(binom.ppf(1 - half, texts.get(1, 0), rate))
    bounds = (_log_mean(texts, rate, _SLOPES) - math.log(half)) / _SLOPES
    return min(int(bounds.min()), sum(size * count for size, count in texts.items()))


def _at_least(texts: dict[int, int], rate: float) -> int:
    """How many posts are in error at least; see `_at_most`."""
    from scipy.stats import binom

    half = float(RESERVED) / 2
    if rate == 0:
        return 0
    if set(texts) <= {1}:
        return int(binom.ppf(half, texts.get(1, 0), rate))
    bounds = (math.log(half) - _log_mean(texts, rate, -_SLOPES)) / _SLOPES
    return max(int(bounds.max()), 0)


def _log_mean(texts: dict[int, int], rate: float, slopes: NDArray[np.float64]) -> Any:
    """Logarithm of the mean of ``exp(slope * posts in error)``, at each slope."""
    if rate == 0:
        return np.zeros_like(slopes)
    sizes = np.array(list(texts))[:, None]
    counts = np.array(list(texts.values()))[:, None]
    return (counts * np.logaddexp(math.log1p(-rate), math.log(rate) + slopes * sizes)).sum(axis=0)


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
