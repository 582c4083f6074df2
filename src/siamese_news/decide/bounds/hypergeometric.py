"""Exact bounds on how many posts of a list are relevant, from a random sample without replacement.

For a number of labels that was fixed beforehand. For looks on the way a sequential certificate over
one set is the right tool (`tables`).
"""

import math
from fractions import Fraction


def lower_bound(size: int, drawn: int, relevant: int, error: float) -> int:
    """The fewest relevant posts of a list that are not ruled out.

    The smallest M for which at least as many relevant posts among the drawn ones are likelier than
    `error` when M of all are relevant (hypergeometric tail).

    Args:
        size: posts of the list.
        drawn: how many of them were labelled.
        relevant: how many of those are relevant.
        error: the chance of a bound that is too high, at most.
    """
    from scipy.stats import hypergeom

    low, high = relevant, size - (drawn - relevant)
    while low < high:
        middle = (low + high) // 2
        if hypergeom.sf(relevant - 1, size, middle, drawn) > error:
            high = middle
        else:
            low = middle + 1
    return low


def upper_bound(size: int, drawn: int, relevant: int, error: float) -> int:
    """The most relevant posts of a list that are not ruled out; see `lower_bound`."""
    return size - lower_bound(size, drawn, drawn - relevant, error)


def recall_bound(
    above: tuple[int, int, int], below: tuple[int, int, int], error: float
) -> tuple[float, float]:
    """Recall at a threshold within a population: a point estimate and a lower bound.

    Args:
        above: posts at the threshold or above, how many of them were labelled, how many of those
            are relevant.
        below: the same for the rest of the population.
        error: the chance of a bound that is too high, at most; each part has half of it.
    """
    found = lower_bound(*above, error / 2)
    missed = upper_bound(*below, error / 2)
    hits = above[0] * above[2] / above[1] if above[1] else 0.0
    misses = below[0] * below[2] / below[1] if below[1] else 0.0
    estimate = hits / (hits + misses) if hits + misses else math.nan
    return estimate, found / (found + missed) if found else 0.0


def labels_for_recall(recall: Fraction, hits: int, below: int) -> int:
    """About how many labels below the threshold a guaranteed recall takes if none is a hit.

    Posts below that were not labelled may be relevant: with no hit in m labels about 3/m of them.

    Args:
        recall: the bound that is wanted.
        hits: relevant posts above.
        below: posts below.
    """
    return math.ceil(3 * float(recall) * below / (float(1 - recall) * max(hits, 1)))
