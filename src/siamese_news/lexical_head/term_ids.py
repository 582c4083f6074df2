"""Words and pairs of words as ids, and which group an id belongs to."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from siamese_news.text.token_ids import TokenIds

Ids = NDArray[np.int64]
Factors = Sequence[NDArray[Any]]
# Unknown words and pairs have no place in the vocabulary and share counters by hash.
UNKNOWN_BUCKETS = 1 << 20
BIGRAM_BUCKETS = 1 << 19
_LAST_BITS = (1 << 16) - 1
# Ids of pairs; those of unknown words end at V + 2^62.
FIRST_BIGRAM = 3 << 61


def bigram_ids(ids: Ids) -> Ids:
    """The ids of the pairs of neighbors, in their order: one fewer than the words."""
    left_ids = ids[:-1].astype(np.uint64)
    right_ids = ids[1:].astype(np.uint64)
    by_left = left_ids * np.uint64(0x9E3779B97F4A7C15)
    by_right = right_ids + np.uint64(0x7F4A7C15)
    mixed = finalized(by_left ^ by_right)
    return (mixed >> np.uint64(3)).astype(np.int64) + FIRST_BIGRAM


def finalized(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finalizer of splitmix64 (Steele, Lea and Flood 2014); products wrap."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        values = (values ^ (values >> np.uint64(shift))) * np.uint64(factor)
    return values ^ (values >> np.uint64(31))


def bigram_factors(factors: NDArray[Any]) -> NDArray[Any]:
    """The factors of the pairs of neighbors, from those of the words: their product."""
    return factors[:-1] * factors[1:]


def distinct(texts: Sequence[Ids]) -> tuple[Ids, Ids, int]:
    """(row, id) pairs of the texts without repetitions, sorted, and how many texts there are."""
    rows, ids, _, count = counted(texts)
    return rows, ids, count


def counted(texts: Sequence[Ids]) -> tuple[Ids, Ids, Ids, int]:
    """`distinct`, with how often each id occurs in its text before the number of texts."""
    joined = TokenIds.of(texts)
    # The rows are short, so sorting each by itself is many times faster than all ids at once.
    shape = (len(joined), np.iinfo(np.int64).max)
    ones = np.ones(len(joined.flat), np.bool_)
    entries = (ones, joined.flat, joined.offsets)
    by_row = sparse.csr_array(entries, shape=shape, copy=True)
    by_row.sort_indices()
    rows = joined.rows
    ids = by_row.indices
    changes = np.ones(len(ids), bool)
    changes[1:] = (ids[1:] != ids[:-1]) | (rows[1:] != rows[:-1])
    starts = np.flatnonzero(changes)
    return rows[starts], ids[starts], np.diff(starts, append=len(ids)), len(joined)


def distinct_with_bigrams(texts: Sequence[Ids]) -> tuple[Ids, Ids, int]:
    """`distinct` of the texts' words and pairs, for all texts at once."""
    joined = TokenIds.of(texts)
    lengths = joined.lengths
    rows = joined.rows
    flat = joined.flat
    pairs = np.maximum(lengths - 1, 0)
    offsets = np.concatenate([[0], np.cumsum(lengths + pairs)])
    features = np.empty(offsets[-1], np.int64)
    # Each text's words, and then its pairs.
    shift = offsets[:-1] - joined.offsets[:-1]
    places_of_words = np.arange(len(flat)) + np.repeat(shift, lengths)
    features[places_of_words] = flat
    pairs_before = np.cumsum(pairs) - pairs
    shift = offsets[:-1] + lengths - pairs_before
    places_of_pairs = np.arange(pairs.sum()) + np.repeat(shift, pairs)
    inside = rows[:-1] == rows[1:]  # no pair reaches into the next text
    features[places_of_pairs] = bigram_ids(flat)[inside]
    return distinct(TokenIds(features, offsets))


def mean_factors(texts: Sequence[Ids], factors: Factors) -> NDArray[Any]:
    """For each pair of `distinct`, the mean factor of the id's occurrences in the text."""
    joined = TokenIds.of(texts)
    different, column = np.unique(joined.flat, return_inverse=True)
    # One number for each (row, id).
    keys = joined.rows * max(len(different), 1) + column
    _, pair, counts = np.unique(keys, return_inverse=True, return_counts=True)
    flat = np.concatenate([*factors, np.zeros(0, np.float32)])
    sums = np.bincount(pair, weights=flat, minlength=len(counts))
    return sums / counts


def groups(ids: Ids, words: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Which ids are words of the vocabulary, unknown words, and pairs."""
    is_word = ids < words
    paired = ids >= FIRST_BIGRAM
    return is_word, ~is_word & ~paired, paired


def places(ids: Ids, tables: Sequence[NDArray[Any]]) -> tuple[Ids, Ids, Ids]:
    """The places in the three tables of the ids of each group."""
    words = len(tables[0])
    is_word, unknown, paired = groups(ids, words)
    return (
        ids[is_word],
        (ids[unknown] - words) % len(tables[1]),
        ids[paired] % len(tables[2]),
    )


def places_among(columns: Ids, ids: Ids) -> tuple[NDArray[np.bool_], Ids]:
    """Which ids are among the sorted `columns`, and the places of those there."""
    # Few are: most are told by their last bits, without a search.
    has_column = np.zeros(_LAST_BITS + 1, np.bool_)
    has_column[columns & _LAST_BITS] = True
    is_among = has_column[ids & _LAST_BITS]
    searched = ids[is_among]
    # Without the last column, so that every place is one of `columns`.
    places_of_ids = np.searchsorted(columns[:-1], searched)
    is_column = columns[places_of_ids] == searched
    is_among[is_among] = is_column
    return is_among, places_of_ids[is_column]


def unit_rows(rows: sparse.csr_matrix) -> sparse.csr_matrix:
    """Rows of length 1; zeros stay zeros."""
    squares = rows.multiply(rows).sum(axis=1)
    lengths = np.sqrt(np.asarray(squares).ravel())
    lengths[lengths == 0] = 1.0
    return sparse.csr_matrix(sparse.diags_array(1 / lengths) @ rows)


def blocks(texts: Iterable[Ids]) -> Iterator[list[Ids]]:
    """The texts, 8,192 at a time."""
    stream = iter(texts)
    while block := list(islice(stream, 8192)):
        yield block
