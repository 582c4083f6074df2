"""Annotators who make errors, and the cost of their errors.

Without a declared error rate, a certificate is about the annotator's own verdicts, and needs no
assumption. With a rate it is about the truth, if the annotator's errors on different texts are
independent.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Share of the confidence that covers the unknown number of errors.
RESERVED = Fraction(1, 200)

# Where the bound is minimized; it is valid at each.
_SLOPES = np.geomspace(1e-4, 30, 300)


def noisy_nulls(
    sizes: NDArray[np.int64],
    nulls: NDArray[np.int64],
    false_positive: float,
    false_negative: float,
    copies: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """The smallest number (K,) of posts called not relevant in a set that misses the target.

    This holds except with probability `RESERVED`, which is paid only once, because only the first
    set that misses the target counts. Copies of a text get one verdict, so their errors come
    together; the bound assumes that the texts with the most copies are the ones in question.

    Args:
        sizes: (K,) posts of each set.
        nulls: (K,) the smallest number of truly not relevant posts with which it misses the target.
        false_positive: at most this share of not relevant texts is called relevant.
        false_negative: at least this share of relevant texts is called not relevant; 0 is safe.
        copies: (N,) see `Texts.copies`; None if all texts differ.
    """
    seen = np.ones(int(sizes[-1]), np.int64) if copies is None else copies
    largest_errors, start = [], 0
    counts = np.zeros(int(seen.max()) + 2, np.int64)
    for size, null in zip(sizes.tolist(), nulls.tolist(), strict=True):
        counts += np.bincount(seen[start:size], minlength=len(counts))
        start = size
        texts = counts[1:-1] - counts[2:]  # so many with 1, 2, ... copies in this set
        missed = _errors(_largest(texts, null), false_positive, 1)
        gained = _errors(_largest(texts, size - null), false_negative, -1)
        largest_errors.append(max(null - missed + gained, 0))
    return np.array(largest_errors, np.int64)


def _largest(texts: NDArray[np.int64], posts: int) -> dict[int, int]:
    """The texts with the most copies that make up `posts` posts: number of copies -> texts."""
    largest: dict[int, int] = {}
    for copies_index in np.flatnonzero(texts)[::-1].tolist():
        size = copies_index + 1
        count = int(texts[copies_index])
        full_texts = min(count, posts // size)
        cut_copies = posts - full_texts * size if full_texts < count else 0
        largest[size] = largest.get(size, 0) + full_texts
        largest[cut_copies] = largest.get(cut_copies, 0) + 1
        posts -= full_texts * size + cut_copies
        if not posts:
            break
    return {size: count for size, count in largest.items() if size and count}


def _errors(texts: dict[int, int], rate: float, side: int) -> int:
    """The most (`side` 1) or the fewest (-1) posts in error, if each text is at this `rate`.

    Exact (binomial) if no text has copies, otherwise the Chernoff bound.
    """
    from scipy.stats import binom

    half = float(RESERVED) / 2
    if set(texts) <= {1}:
        return int(binom.ppf(1 - half if side > 0 else half, texts.get(1, 0), rate))
    bounds = side * (_log_mean(texts, rate, side * _SLOPES) - math.log(half)) / _SLOPES
    if side < 0:
        return max(int(bounds.max()), 0)
    return min(int(bounds.min()), sum(size * count for size, count in texts.items()))


def _log_mean(texts: dict[int, int], rate: float, slopes: NDArray[np.float64]) -> Any:
    """Logarithm of the mean of ``exp(slope * posts in error)`` at each slope."""
    if rate == 0:
        return np.zeros_like(slopes)
    sizes = np.array(list(texts))[:, None]
    counts = np.array(list(texts.values()))[:, None]
    return (
        counts * np.logaddexp(math.log1p(-rate), math.log(rate) + slopes * sizes)
    ).sum(axis=0)
