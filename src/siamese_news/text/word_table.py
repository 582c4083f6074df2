"""Tables of words in the memory of the compiled loops (``chunks.c``)."""

import ctypes
import functools
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from siamese_news.utils.compiled_loops import load_loops

SOURCE = Path(__file__).with_name("chunks.c")
LONGEST_TAG = 100  # characters, as in chunks.c


@functools.cache
def loops() -> ctypes.CDLL | None:
    """The compiled loops, or None."""
    library, _ = load_loops(SOURCE)
    if library is not None:
        for name in "number_chunks enter_keys read_chunks cut_tag".split():
            getattr(library, name).restype = ctypes.c_int64
    return library


def call(name: str, *arguments: Any) -> int:
    """The result of a function of the loops, which are there."""
    return int(getattr(loops(), name)(*arguments))


class Chunks(ctypes.Structure):
    """``Chunks`` of ``chunks.c``."""

    _fields_ = [
        ("kinds", ctypes.c_void_p),
        *(
            (name, ctypes.c_int64)
            for name in "drops_mentions drops_links abbreviation places room".split()
        ),
        *((name, ctypes.c_void_p) for name in "table keys ends".split()),
        *((name, ctypes.c_int64) for name in ("count", "most")),
    ]


class WordTable:
    """Words by their bytes, for the loops: the number of a word is its place in the list."""

    def __init__(self, words: Sequence[str]) -> None:
        encoded = [word.encode("utf-8", "surrogatepass") for word in words]
        self._keys = np.frombuffer(b"".join(encoded), np.uint8)
        self._ends = np.array([0, *accumulate(map(len, encoded))], np.uint32)
        slots = 1 << (2 * len(words)).bit_length()
        entered = 0
        while not entered:  # more places, until each word is near its hash
            slots *= 2
            self._table = np.zeros(slots, np.uint64)
            self.words = Chunks(
                places=slots,
                table=self._table.ctypes.data,
                keys=self._keys.ctypes.data,
                ends=self._ends.ctypes.data,
                count=len(words),
                most=len(words),
            )
            entered = call("enter_keys", ctypes.byref(self.words))


class TagTable:
    """The cheapest cut of the letters and digits of a hashtag, as `_HashtagSplitter` defines it.

    Args:
        costs: of each known word.
        guesses: of an unknown word by its characters, up to the longest one; first of a number.
    """

    def __init__(self, costs: Mapping[str, float], guesses: Sequence[float]) -> None:
        self._made_of = costs, guesses
        self._table = WordTable(list(costs))
        self._costs = np.fromiter(costs.values(), np.float64, len(costs))
        self._guesses = np.array(guesses)
        self._arguments = (
            ctypes.byref(self._table.words),
            ctypes.c_void_p(self._costs.ctypes.data),
            ctypes.c_void_p(self._guesses.ctypes.data),
            ctypes.c_int64(len(guesses) - 1),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return TagTable, self._made_of

    def __call__(self, piece: str) -> list[str]:
        """The words of a piece of ASCII, in lower case, of at most `LONGEST_TAG` characters."""
        length = ctypes.c_int64(len(piece))
        cut_positions = (ctypes.c_int64 * LONGEST_TAG)()
        count = call(
            "cut_tag", *self._arguments, piece.encode("ascii"), length, cut_positions
        )
        ends = cut_positions[:count][::-1]
        starts = [0, *ends[:-1]]
        return [piece[start:end] for start, end in zip(starts, ends, strict=True)]
