"""Bounds that hold at every look, from random posts of a set without replacement.

They invert the prior-posterior ratio (Waudby-Smith and Ramdas, NeurIPS 2020, arXiv 2006.04347): a
number of relevant posts is ruled out once its ratio reaches 1/error. Over all looks at the labels
together, the true number is ruled out with a probability of at most `error`.
"""

import math
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
    lower = hits * size // drawn
    upper = size - (drawn - hits)
    while lower < upper:
        middle = (lower + upper + 1) // 2
        ratio = prior_posterior(float(middle), hits, drawn, size, alpha, beta)
        if ratio >= math.log(1 / error):
            upper = middle - 1
        else:
            lower = middle
    return lower


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
    irrelevant = size - relevant
    marginal = (
        -np.log(drawn + 1)
        - betaln(misses + 1, hits + 1)
        + betaln(hits + alpha, misses + beta)
        - betaln(alpha, beta)
    )
    with np.errstate(invalid="ignore"):  # where the hits are impossible
        likelihood = (
            betaln(relevant + 1, 1)
            + betaln(irrelevant + 1, 1)
            + betaln(size - drawn + 1, drawn + 1)
            - betaln(hits + 1, relevant - hits + 1)
            - betaln(misses + 1, irrelevant - misses + 1)
            - betaln(size + 1, 1)
        )
        possible = (hits <= relevant) & (misses <= irrelevant)
        return np.where(possible, marginal - likelihood, np.inf)


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
