"""How many posts without a label are likely to be relevant, by the labels so far."""

import numpy as np
from numpy.typing import NDArray

_RIDGE = 0.5  # on the slope; a few labels say little about it
_STEPS = 50  # of Newton; a handful suffice


def chances_at(
    ranks: NDArray[np.int64], labeled: NDArray[np.int64], relevant: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """The probability that the post at each of the `ranks` (n,) is relevant; ranks start at 0.

    It is a logistic regression in the logarithm of the rank, fitted to the `labeled` ranks (m,) and
    whether these posts are `relevant` (m,), by Newton's method: `certify` runs without
    scikit-learn. It is for orientation; nothing guarantees it.
    """
    depths = np.log1p(np.concatenate([labeled, [0, 0]]).astype(np.float64))
    # One relevant and one other post at the middle keep the estimate off 0 and 1.
    middle, spread = (
        (depths[:-2].mean(), depths[:-2].std() or 1.0) if len(labeled) else (0.0, 1.0)
    )
    places = np.append((depths[:-2] - middle) / spread, [0.0, 0.0])
    truth = np.append(relevant, [True, False]).astype(np.float64)
    design = np.stack([np.ones_like(places), places], axis=1)
    penalty = np.diag([0.0, _RIDGE])
    weights = np.zeros(2)
    for _ in range(_STEPS):
        odds = 1 / (1 + np.exp(-design @ weights))
        gradient = design.T @ (truth - odds) - penalty @ weights
        curvature = (design.T * (odds * (1 - odds))) @ design + penalty
        step = np.linalg.solve(curvature, gradient)
        weights += step
        if np.abs(step).max() < 1e-9:
            break
    wanted = (np.log1p(ranks.astype(np.float64)) - middle) / spread
    return np.asarray(1 / (1 + np.exp(-(weights[0] + weights[1] * wanted))))
