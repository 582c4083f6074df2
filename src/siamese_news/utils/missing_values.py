"""Values that stand for a missing one, without importing the libraries that they are of."""

import math

import numpy as np

_MISSING = ("NAType", "NaTType", "MaskedConstant")  # of pandas and NumPy


def is_missing(value: object) -> bool:
    """Whether a value stands for a missing one: None, NaN, and those of pandas and NumPy.

    Example:
        >>> [is_missing(value) for value in (None, float("nan"), 0.0, "")]
        [True, True, False, False]
    """
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    return value is None or type(value).__name__ in _MISSING
