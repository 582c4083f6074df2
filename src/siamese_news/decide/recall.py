"""What the rules for recall compute: places, ratios and the point where a ranking stops to pay."""

import math

import numpy as np
from numpy.typing import NDArray

_WINDOW, _FEW = 200, 20  # top down until at most so few of the last so many are relevant


def prior_posterior(
    relevant: int, hits: int, drawn: int, size: int, first: float, second: float
) -> float:
    """Logarithm of the prior-posterior ratio of a number of relevant posts.

    Args:
        relevant: the number.
        hits: relevant ones among the drawn.
        drawn: without replacement.
        size: posts in all.
        first: of the beta-binomial prior.
        second: likewise.
    """
    rest = size - relevant
    if relevant < hits or rest < drawn - hits:
        return math.inf
    log = math.lgamma

    def beta(a: float, b: float) -> float:
        return log(a) + log(b) - log(a + b)

    marginal = beta(first + hits, second + drawn - hits) - beta(first, second)
    likelihood = (
        log(relevant + 1) - log(relevant - hits + 1)
        + log(rest + 1) - log(rest - (drawn - hits) + 1)
        - log(size + 1) + log(size - drawn + 1)
    )  # fmt: skip
    return marginal - likelihood


def switch_after(relevant: NDArray[np.bool_]) -> int | None:
    """After how many posts of the top at most 20 of the last 200 are relevant; None if never."""
    if len(relevant) < _WINDOW:
        return None
    hits = np.concatenate([[0], np.cumsum(relevant)])
    few = np.flatnonzero(hits[_WINDOW:] - hits[:-_WINDOW] <= _FEW)
    return int(few[0]) + _WINDOW if len(few) else None


def binomial_place(recall: float, error: float, positives: int) -> int | None:
    """The smallest j with at most `error` chance of j or more of the positives; None if none has.

    Args:
        recall: the chance of each of them to lie in the part.
        error: the largest chance.
        positives: how many there are.
    """
    from scipy.stats import binom

    places = np.arange(1, positives + 1)
    good = np.flatnonzero(binom.sf(places - 1, positives, recall) <= error)
    return int(places[good[0]]) if len(good) else None
