"""Post-processing of word vectors before any text is read."""

import numpy as np
from numpy.typing import NDArray

_BLOCK = 65_536  # rows held in float64 at a time


def unit_length(matrix: NDArray[np.floating]) -> NDArray[np.float32]:
    """Scale every row of `matrix` (V, E) to length 1; a row of zeros stays zero."""
    _check(matrix)
    result = np.empty(matrix.shape, np.float32)
    for start in range(0, len(matrix), _BLOCK):
        rows = matrix[start : start + _BLOCK].astype(np.float64)
        # The largest entry goes first, so that no square over- or underflows.
        largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
        rows /= np.where(largest > 0, largest, 1.0)
        length = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
        result[start : start + _BLOCK] = rows / np.where(length > 0, length, 1.0)
    return result


def remove_top_components(matrix: NDArray[np.floating], k: int) -> NDArray[np.float32]:
    """All-but-the-top: subtract the mean row and the `k` strongest principal components.

    Mu & Viswanath, "All-but-the-Top: Simple and Effective Postprocessing for Word
    Representations", ICLR 2018, Algorithm 1; they advise k of about E / 100.

    Args:
        matrix: (V, E) vectors; the mean and the components are those of all its rows.
        k: 0 to E; with 0 the vectors come back as they are, their mean included.

    Returns:
        A new (V, E) float32 array; the same on every run.

    Raises:
        ValueError: if `matrix` is not two-dimensional or `k` is not among 0..E.
    """
    _check(matrix)
    rows, size = matrix.shape
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 0 <= k <= size:
        raise ValueError(f"remove_top_components got k={k!r}; expected an integer from 0 to {size}")
    if k == 0 or rows == 0:
        return matrix.astype(np.float32)
    mean = matrix.mean(axis=0, dtype=np.float64)
    scatter = np.zeros((size, size))
    for start in range(0, rows, _BLOCK):
        centred = matrix[start : start + _BLOCK].astype(np.float64) - mean
        scatter += centred.T @ centred
    # Eigenvalues ascend; the sign of a component does not matter to its projection.
    top = np.linalg.eigh(scatter)[1][:, -k:]
    result = np.empty(matrix.shape, np.float32)
    for start in range(0, rows, _BLOCK):
        centred = matrix[start : start + _BLOCK].astype(np.float64) - mean
        result[start : start + _BLOCK] = centred - (centred @ top) @ top.T
    return result


def _check(matrix: NDArray[np.floating]) -> None:
    if matrix.ndim != 2:
        raise ValueError(f"got vectors of shape {matrix.shape}; expected (V, E)")
