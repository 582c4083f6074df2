"""Token lists as sparse count matrices."""

from collections.abc import Iterable, Sequence

import numpy as np
from scipy import sparse


def count_matrix(
    texts: Iterable[Sequence[str]], vocabulary: dict[str, int], *, grow: bool = False
) -> sparse.csr_matrix:
    """Count tokens: (B, V) CSR float64.

    Args:
        texts: B token lists.
        vocabulary: token -> column; other tokens are left out.
        grow: add new tokens to `vocabulary` instead.
    """
    columns: list[int] = []
    ends = [0]
    for tokens in texts:
        if grow:
            columns.extend(vocabulary.setdefault(token, len(vocabulary)) for token in tokens)
        else:
            columns.extend(vocabulary[token] for token in tokens if token in vocabulary)
        ends.append(len(columns))
    matrix = sparse.csr_matrix(
        (np.ones(len(columns)), np.array(columns, dtype=np.int64), np.array(ends)),
        shape=(len(ends) - 1, len(vocabulary)),
    )
    matrix.sum_duplicates()
    return matrix
