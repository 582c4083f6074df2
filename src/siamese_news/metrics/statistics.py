"""Intervals and tests over queries or articles."""

from collections.abc import Sequence

import numpy as np

_CHUNK = 1 << 22  # numbers held at once


def resample_counts(n: int, samples: int, seed: int) -> np.ndarray:
    """How often each of `n` items is drawn in each bootstrap sample: (samples, n) int64."""
    generator = np.random.default_rng(seed)
    return generator.multinomial(n, np.full(n, 1.0 / n), size=samples)


def bootstrap_interval(
    values: Sequence[float] | np.ndarray, *, samples: int = 1000, seed: int = 0
) -> tuple[float, float]:
    """95% percentile bootstrap interval of the mean (Efron 1979).

    Args:
        values: (n,) one value per article or query, n >= 1.
        samples: how many resamples.
        seed: of the resampling.

    Returns:
        The lower and the upper bound.

    Raises:
        ValueError: there are no values or samples.

    Example:
        >>> from siamese_news.metrics import bootstrap_interval
        >>> low, high = bootstrap_interval([0.2, 0.4, 0.6, 0.8])
        >>> 0.2 <= low < 0.5 < high <= 0.8
        True
    """
    data = np.asarray(values, dtype=np.float64)
    if data.ndim != 1 or not len(data):
        raise ValueError(f"values has shape {data.shape}; expected (n,) with n >= 1")
    if samples < 1:
        raise ValueError(f"samples={samples}; expected 1 or more")
    sums = resample_counts(len(data), samples, seed) @ data
    return percentile_interval(sums / len(data))


def percentile_interval(draws: np.ndarray) -> tuple[float, float]:
    """The middle 95% of `draws` (NaN draws left out)."""
    # 2.5 and a rounding error, which all recorded intervals have.
    tail = 100 * (1 - 0.95) / 2
    lower, upper = np.nanpercentile(draws, [tail, 100 - tail])
    return float(lower), float(upper)


def randomization_test(
    baseline: Sequence[float] | np.ndarray,
    system: Sequence[float] | np.ndarray,
    *,
    samples: int = 100_000,
    exact_up_to: int = 16,
    seed: int = 0,
) -> float:
    """Fisher's two-sided paired randomization test of a difference in means.

    Under the null hypothesis the two values of a query may be exchanged. With few differing
    queries all exchanges are enumerated; else `samples` of them are drawn and the observed one
    is counted as one more, so that p is never 0 (Smucker, Allan and Carterette, CIKM 2007).

    Args:
        baseline: (n,) values of one system by query.
        system: (n,) values of the other, same queries in the same order.
        samples: how many random exchanges.
        exact_up_to: enumerate when at most this many queries differ.
        seed: of the drawing.

    Returns:
        p: the share of exchanges whose absolute difference is at least the observed one.

    Raises:
        ValueError: the two do not match or are empty.

    Example:
        >>> from siamese_news.metrics import randomization_test
        >>> randomization_test([0.9, 0.8, 0.7], [0.1, 0.2, 0.3])  # 2 of 8 exchanges differ as much
        0.25
    """
    ours = np.asarray(baseline, dtype=np.float64)
    theirs = np.asarray(system, dtype=np.float64)
    if ours.shape != theirs.shape or ours.ndim != 1 or not len(ours):
        raise ValueError(
            f"got shapes {ours.shape} and {theirs.shape}; expected one value per query each"
        )
    differences = ours - theirs
    differences = differences[differences != 0]
    n = len(differences)
    # Sums in another order differ by rounding; an exchange that ties must count.
    rounding = 1e-12 * max(1.0, np.abs(differences).sum())
    bar = abs(differences.sum()) - rounding
    if n <= exact_up_to:
        patterns = np.arange(1 << n)
        signs = 1.0 - 2.0 * ((patterns[:, None] >> np.arange(n)) & 1)
        return float((np.abs(signs @ differences) >= bar).mean())
    generator = np.random.default_rng(seed)
    count = 0
    n_remaining = samples
    while n_remaining:
        size = min(n_remaining, max(1, _CHUNK // n))
        signs = generator.integers(0, 2, size=(size, n), dtype=np.int8) * 2.0 - 1.0
        count += int((np.abs(signs @ differences) >= bar).sum())
        n_remaining -= size
    return (count + 1) / (samples + 1)
