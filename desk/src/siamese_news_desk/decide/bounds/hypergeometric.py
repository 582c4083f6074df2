"""Exact bounds on the number of relevant posts in a list, from a random sample without replacement.

They hold for a sample size that was fixed beforehand; to look at the labels earlier, use the
sequential tests of `tables`. `error` is always the largest probability that a bound is wrong.
"""

import math
from bisect import bisect_left
from fractions import Fraction

import numpy as np


def lower_bound(size: int, drawn: int, relevant: int, error: float) -> int:
    """The smallest number of relevant posts among `size` that the sample does not rule out.

    It is the smallest M for which a sample of `drawn` posts has at least `relevant` relevant ones
    with a probability above `error` when M of all posts are relevant (hypergeometric tail).
    """
    from scipy.stats import hypergeom

    return relevant + bisect_left(
        range(relevant, size - (drawn - relevant)),
        True,
        key=lambda of_all: bool(
            hypergeom.sf(relevant - 1, size, of_all, drawn) > error
        ),
    )


def upper_bound(size: int, drawn: int, relevant: int, error: float) -> int:
    """The largest number of relevant posts that is not ruled out; see `lower_bound`."""
    return size - lower_bound(size, drawn, drawn - relevant, error)


def recall_bound(
    above: tuple[int, int, int], below: tuple[int, int, int], error: float
) -> tuple[float, float]:
    """Recall at a threshold within a population: a point estimate and a lower bound.

    Above and below the threshold: number of posts, of labels, and of relevant posts among the
    labeled ones. Each part uses half of the error.
    """
    relevant_above = lower_bound(*above, error / 2)
    missed = upper_bound(*below, error / 2)
    hits = above[0] * above[2] / above[1] if above[1] else 0.0
    misses = below[0] * below[2] / below[1] if below[1] else 0.0
    estimate = hits / (hits + misses) if hits + misses else math.nan
    return estimate, relevant_above / (
        relevant_above + missed
    ) if relevant_above else 0.0


def labels_for_recall(recall: Fraction, hits: int, below: int) -> int:
    """About how many labels below the threshold guarantee a recall if none of them is relevant.

    With no relevant post among m labels, about 3/m of the `below` posts may still be relevant.
    """
    return math.ceil(3 * float(recall) * below / (float(1 - recall) * max(hits, 1)))


def labels_for_precision(
    precision: float, size: int, share: float, error: float
) -> int | None:
    """About how many random labels show a precision where this share of all posts is relevant.

    As many of the labeled posts are relevant then, and a list of `size` posts with less precision
    would have so many with a probability of `error` at most. None if no number of labels is enough.
    """
    from scipy.stats import hypergeom

    drawn = np.unique(np.geomspace(1, size, 200).astype(int))
    hits = np.floor(share * drawn + 1e-9)
    too_few = math.ceil(precision * size - 1e-9) - 1
    enough = hypergeom.sf(hits - 1, size, too_few, drawn) <= error
    return int(drawn[enough.argmax()]) if enough.any() else None


def interval(hits: int, runs: int, level: float = 0.99) -> tuple[float, float]:
    """The exact interval of a binomial proportion (Clopper and Pearson)."""
    from scipy.stats import beta

    tail = (1 - level) / 2
    lower = float(beta.ppf(tail, hits, runs - hits + 1)) if hits else 0.0
    upper = float(beta.ppf(1 - tail, hits + 1, runs - hits)) if hits < runs else 1.0
    return lower, upper
