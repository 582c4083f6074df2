"""Pseudo-relevance feedback: the vector that an article's best posts make together."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from siamese_news.lexical_head.features import FIRST_BIGRAM, Ids, mean_factors
from siamese_news.lexical_head.head import TermHead
from siamese_news.lexical_head.weights import TermWeights


def mean_vectors(
    terms: TermHead,
    weights: TermWeights,
    lists: Iterable[Sequence[Ids]],
    columns: Ids,
    factors: Sequence[Sequence[NDArray[np.float32]]] | None = None,
) -> sparse.csr_matrix:
    """The mean vector of each list of posts, shaped like an article's.

    Each post has length 1 in its words and in its pairs; so has their mean, times the share that
    the words and the pairs have in the score. An empty list gives zeros.

    Args:
        terms: the lexical head.
        weights: of the words and pairs.
        lists: A lists of posts, each its word ids.
        columns: sorted ids of features, those of the result.
        factors: of the words of each post; None is 1 for all.

    Returns:
        (A, len(columns)).
    """
    phrases = terms.options.bigram_weight
    parts = []
    for number, posts in enumerate(lists):
        rows, ids, count = terms.distinct(posts)
        means = None
        if factors is not None:
            of_post = [terms.feature_factors(own) for own in factors[number]]
            means = mean_factors([terms.features(post) for post in posts], of_post)
        vectors = weights.posts(rows, ids, count, columns, means)
        paired = columns >= FIRST_BIGRAM
        mean = sparse.csr_matrix((1, len(columns)), dtype=np.float32)
        for group, share in ((~paired, 1 - phrases), (paired, phrases)):
            mine = vectors @ sparse.diags_array(group.astype(np.float32))
            sums = np.asarray(_unit(mine).sum(axis=0)).reshape(1, -1)
            mean = mean + share * _unit(sparse.csr_matrix(sums))
        parts.append(mean)
    return sparse.csr_matrix(sparse.vstack(parts), dtype=np.float32)


def _unit(rows: sparse.csr_matrix) -> sparse.csr_matrix:
    """Rows of length 1; zeros stay zeros."""
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    return sparse.csr_matrix(sparse.diags_array(1 / np.where(lengths > 0, lengths, 1.0)) @ rows)
