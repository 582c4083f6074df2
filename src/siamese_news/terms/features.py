"""Words and pairs of words as ids, and which group an id belongs to."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
# Document frequencies of what has no place in the vocabulary share counters by hash.
UNKNOWN = 1 << 20
PAIRS = 1 << 19
# Ids of pairs; those of unknown words end at V + 2^62.
FIRST_PAIR = 3 << 61


def pairs_of(ids: Ids) -> Ids:
    """The ids of the pairs of neighbours, in their order: one fewer than the words."""
    left, right = ids[:-1].astype(np.uint64), ids[1:].astype(np.uint64)
    mixed = (left * np.uint64(0x9E3779B97F4A7C15)) ^ (right + np.uint64(0x7F4A7C15))
    # The finaliser of splitmix64 (Steele, Lea and Flood 2014); products wrap.
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    return (mixed >> np.uint64(3)).astype(np.int64) + FIRST_PAIR


def distinct(texts: Sequence[Ids]) -> tuple[Ids, Ids, int]:
    """(row, id) pairs of the texts without repetitions, and how many texts there are."""
    lengths = [len(ids) for ids in texts]
    rows = np.repeat(np.arange(len(texts)), lengths)
    ids = np.concatenate([*texts, np.zeros(0, np.int64)])
    found, place = np.unique(ids, return_inverse=True)
    pairs = np.unique(rows * max(len(found), 1) + place)
    return pairs // max(len(found), 1), found[pairs % max(len(found), 1)], len(texts)


def groups(ids: Ids, words: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Which ids are words of the vocabulary, unknown words, and pairs."""
    known, paired = ids < words, ids >= FIRST_PAIR
    return known, ~known & ~paired, paired


def places(ids: Ids, tables: Sequence[NDArray[Any]]) -> tuple[Ids, Ids, Ids]:
    """The places in the three tables of the ids of each group."""
    words = len(tables[0])
    known, unknown, paired = groups(ids, words)
    return ids[known], (ids[unknown] - words) % len(tables[1]), ids[paired] % len(tables[2])


def blocks(texts: Iterable[Ids]) -> Iterator[list[Ids]]:
    """The texts, 8,192 at a time."""
    stream = iter(texts)
    while block := list(islice(stream, 8192)):
        yield block
