"""Bounds that hold at every look, from random posts of a set without replacement.

They invert the prior-posterior ratio (Waudby-Smith and Ramdas, NeurIPS 2020, arXiv 2006.04347): a
number of relevant posts is ruled out once its ratio reaches 1/error. Over all looks at the labels
together, the true number is ruled out with a probability of at most `error`.
"""

import math
from bisect import bisect_left
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Counts, one or several.
Values = float | NDArray[Any]


def most_relevant(
    hits: int, drawn: int, size: int, alpha: float, beta: float, error: float
) -> int:
    """The largest number of relevant posts among `size` that is not ruled out.

    See `prior_posterior`. Above the most likely number the ratio rises, so the numbers that are not
    ruled out end once.
    """
    likely = hits * size // drawn
    return likely + bisect_left(
        range(likely + 1, size - (drawn - hits) + 1),
        True,
        key=lambda relevant: bool(
            prior_posterior(float(relevant), hits, drawn, size, alpha, beta)
            >= math.log(1 / error)
        ),
    )


def prior_posterior(
    relevant: Values,
    hits: Values,
    drawn: Values,
    size: int,
    alpha: float,
    beta: float,
) -> NDArray[np.float64]:
    """Logarithm of the prior-posterior ratio of `relevant` posts among `size`, by element.

    `hits` of the `drawn` posts, sampled without replacement, are relevant; `alpha` and `beta` are
    the parameters of the beta-binomial prior. Infinite where the hits are impossible.
    """
    # `betabinom.logpmf` and `hypergeom.logpmf` are the same sums but take much longer, and so does
    # the import of `scipy.stats`.
    from scipy.special import betaln

    misses = drawn - hits
    marginal = (
        -np.log(drawn + 1)
        - betaln(misses + 1, hits + 1)
        + betaln(hits + alpha, misses + beta)
        - betaln(alpha, beta)
    )
    return np.asarray(marginal - log_chance(hits, drawn, relevant, size))


def log_chance(
    hits: Values, drawn: Values, relevant: Values, size: Values
) -> NDArray[np.float64]:
    """Logarithm of the probability of `hits` among `drawn` posts, by element (hypergeometric).

    `relevant` of the `size` posts are relevant. Minus infinity where the hits are impossible.
    """
    from scipy.special import betaln

    misses, irrelevant = drawn - hits, size - relevant
    with np.errstate(invalid="ignore"):
        chance = (
            betaln(relevant + 1, 1)
            + betaln(irrelevant + 1, 1)
            + betaln(size - drawn + 1, drawn + 1)
            - betaln(hits + 1, relevant - hits + 1)
            - betaln(misses + 1, irrelevant - misses + 1)
            - betaln(size + 1, 1)
        )
    possible = (hits >= 0) & (hits <= relevant) & (misses >= 0) & (misses <= irrelevant)
    return np.where(possible, chance, -np.inf)


def between(
    hits: int, drawn: int, size: int, alpha: float, beta: float, error: float
) -> tuple[int, int]:
    """The smallest and the largest number of relevant posts among `size` that is not ruled out.

    `hits` of the `drawn` random posts are relevant; see `prior_posterior` for the other arguments.
    """
    if not drawn:
        return 0, size
    max_irrelevant = most_relevant(drawn - hits, drawn, size, beta, alpha, error)
    return size - max_irrelevant, most_relevant(hits, drawn, size, alpha, beta, error)
