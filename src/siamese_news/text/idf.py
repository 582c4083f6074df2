"""The inverse document frequency that every part of the project uses."""

from typing import Any

import numpy as np


def smoothed_idf(frequencies: Any, texts: int, *, add: float = 0.0) -> Any:
    """ln((1 + N) / (1 + df)) + add.

    With ``add=1`` it is scikit-learn's smoothed IDF, in which a word of every text still counts;
    with ``add=0`` such a word weighs nothing.

    Args:
        frequencies: df of each word: an array, a tensor or a number.
        texts: N.
        add: the constant that is added.

    Returns:
        The same kind and shape as `frequencies`.
    """
    ratio = (1.0 + texts) / (1.0 + frequencies)
    logarithm = ratio.log() if hasattr(ratio, "log") else np.log(ratio)
    return logarithm + add if add else logarithm
