"""`ChunkIds` with its loop over the chunks of texts compiled (``chunks.c``): the same token ids."""

import ctypes
import functools
import string
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, chain
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_news.text.patterns import joined_letters
from siamese_news.text.token_ids import ChunkIds, Ids, TokenIds
from siamese_news.text.tokens import ChunkShapes
from siamese_news.utils.compiled_loops import load_loops

SOURCE = Path(__file__).with_name("chunks.c")
_LONGEST_KEY = 64  # bytes, as in chunks.c
_KEY_BYTES = 16  # for each chunk on average; half of it is usual
_MOST = 1 << 18  # chunks that are remembered, each in some 50 bytes
_BATCH = 1 << 20  # bytes of texts that are numbered in one call

TokenizeChunk = Callable[[str], tuple[Sequence[int], Mapping[int, str]]]
"""A chunk -> its token ids, and those of its words that are outside the vocabulary by their ids."""


@functools.cache
def library() -> ctypes.CDLL | None:
    """The compiled loops, or None."""
    loops, _ = load_loops(SOURCE)
    if loops is not None:
        for function in (loops.layout, loops.number_chunks, loops.keep_frequent):
            function.restype = ctypes.c_int64
        # An update of the package may have come between the import and now.
        if loops.layout() != 1000 * ctypes.sizeof(_Chunks) + ctypes.sizeof(_Batch):
            return None
    return loops


def chunk_ids(
    tokenize: TokenizeChunk, words: int, shapes: ChunkShapes
) -> "ChunkTable | ChunkIds":
    """What remembers the token ids of chunks, as fast as this machine can.

    `tokenize` uses a tokenizer whose `shapes` are given, and a vocabulary of so many `words`.
    """
    if library() is None:
        return ChunkIds(tokenize, words)
    return ChunkTable(tokenize, words, shapes)


def _kinds(shapes: ChunkShapes) -> NDArray[np.uint8]:
    """What each byte may be, by the bits of ``chunks.c``."""
    alphanumeric = string.ascii_letters + string.digits
    kinds = np.zeros(256, np.uint8)
    for bit, characters in enumerate(
        (
            string.ascii_letters,
            f"{alphanumeric}_",
            shapes.signs,
            f"{shapes.signs}:",
            alphanumeric + shapes.link_signs,
            f"{alphanumeric}/",
        )
    ):
        kinds[list(characters.encode("ascii"))] |= 1 << bit
    return kinds


class _Chunks(ctypes.Structure):
    """``Chunks`` of ``chunks.c``."""

    _fields_ = [
        ("kinds", ctypes.c_void_p),
        *(
            (name, ctypes.c_int64)
            for name in "drops_mentions drops_links abbreviation places room".split()
        ),
        *((name, ctypes.c_void_p) for name in "table keys ends uses".split()),
        *((name, ctypes.c_int64) for name in ("count", "most")),
    ]


class _Batch(ctypes.Structure):
    """``Batch`` of ``chunks.c``."""

    _fields_ = [
        ("bytes", ctypes.c_char_p),
        ("text_ends", ctypes.c_void_p),
        ("texts", ctypes.c_int64),
        *(
            (name, ctypes.c_void_p)
            for name in "numbers number_ends new_starts new_ends new_numbers".split()
        ),
        ("news", ctypes.c_int64),
    ]


class ChunkTable:
    """The token ids of texts, made once for each different chunk; it never changes a result.

    After `most` different chunks, those that came least are forgotten.

    Args:
        tokenize: the ids of a chunk, by a tokenizer with these `shapes`.
        words: V, the size of the vocabulary; ids from V on are those of unknown words.
        shapes: the chunks that the loop may take apart without the tokenizer.
        most: the number of chunks that are remembered.
    """

    def __init__(
        self,
        tokenize: TokenizeChunk,
        words: int,
        shapes: ChunkShapes,
        most: int = _MOST,
    ) -> None:
        self._tokenize = tokenize
        self._words = words
        self._shapes = shapes
        self._most = most
        places = 1 << (2 * most).bit_length()
        # Memory that nothing is written to is not taken from the system.
        self._kinds = _kinds(shapes)
        self._table = np.zeros(places, np.uint64)
        self._keys = np.empty(most * _KEY_BYTES + _LONGEST_KEY, np.uint8)
        self._ends = np.zeros(most + 1, np.uint32)
        self._uses = np.empty(most, np.uint32)
        self._chunks = _Chunks(
            kinds=self._kinds.ctypes.data,
            drops_mentions=shapes.drops_mentions,
            drops_links=shapes.drops_links,
            abbreviation=shapes.longest_abbreviation,
            places=places,
            room=len(self._keys),
            table=self._table.ctypes.data,
            keys=self._keys.ctypes.data,
            ends=self._ends.ctypes.data,
            uses=self._uses.ctypes.data,
            most=most,
        )
        # The token ids of each number, with room for more behind those of `_learned` numbers.
        self._flat = np.empty(0, np.int64)
        self._offsets = np.zeros(1, np.int64)
        self._learned = 0
        self._unknown: dict[int, str] = {}
        self._lock = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return chunk_ids, (self._tokenize, self._words, self._shapes)

    def __len__(self) -> int:
        return int(self._chunks.count)

    def of(self, texts: Sequence[str], longest: int) -> TokenIds:
        """The ids of texts, each cut after `longest` characters."""
        with self._lock:
            parts = [self._of(batch) for batch in _batches(texts, longest)]
        return parts[0] if len(parts) == 1 else _joined(parts)

    def _of(self, texts: Sequence[bytes]) -> TokenIds:
        if len(self) != self._learned:  # the call before was interrupted
            self._forget_all()
        elif self._is_full():
            self._forget_rare()
        content = b"".join(texts)
        text_ends = np.fromiter(accumulate(map(len, texts)), np.int64, len(texts))
        number_ends = np.empty(len(texts), np.int64)
        numbers, starts, ends, new_numbers = np.empty((4, len(content)), np.int64)
        outputs = (numbers, number_ends, starts, ends, new_numbers)
        batch = _Batch(
            content,
            text_ends.ctypes.data,
            len(texts),
            *(array.ctypes.data for array in outputs),
        )
        count = self._call("number_chunks", ctypes.byref(batch))
        chunks = [
            content[start:end].decode("utf-8", "surrogatepass")
            for start, end in zip(
                starts[: batch.news].tolist(), ends[: batch.news].tolist(), strict=True
            )
        ]
        remembered = new_numbers[: batch.news] < self._most
        token_ids = self._learn(chunks, remembered)
        rows = numbers[:count]
        if not remembered.all():
            # Those that are not remembered come last.
            last = len(self) + np.cumsum(~remembered) - 1
            rare = rows >= self._most
            rows[rare] = last[rows[rare] - self._most]
        ids = token_ids.take(rows)
        offsets = ids.offsets[np.concatenate([[0], number_ends])]
        return TokenIds(ids.flat, offsets, self._unknown_of(ids))

    def _is_full(self) -> bool:
        count = len(self)
        return bool(
            count == self._most
            or self._ends[count] > _KEY_BYTES * self._most
            or self._offsets[count] > 2 * self._most
        )

    def _learn(self, chunks: Sequence[str], remembered: NDArray[np.bool_]) -> TokenIds:
        """The token ids of each number, and then those of the chunks that are not remembered."""
        lists: tuple[list[Sequence[int]], ...] = ([], [])
        unknown: dict[int, str] = {}
        for chunk, stays in zip(chunks, remembered.tolist(), strict=True):
            ids, unknown_of_chunk = self._tokenize(chunk)
            lists[0 if stays else 1].append(ids)
            (self._unknown if stays else unknown).update(unknown_of_chunk)
        new = [*lists[0], *lists[1]]
        start = self._offsets[self._learned]
        offsets = start + np.cumsum(np.fromiter(map(len, new), np.int64, len(new)))
        size = offsets[-1] if new else start
        flat = np.fromiter(chain.from_iterable(new), np.int64, size - start)
        first = self._learned + 1
        self._flat = _filled(self._flat, start, flat)
        self._offsets = _filled(self._offsets, first, offsets)
        self._learned += len(lists[0])
        every = self._offsets[: first + len(new)]
        words = ChainMap(self._unknown, unknown) if unknown else self._unknown
        return TokenIds(self._flat[:size], every, words)

    def _unknown_of(self, ids: TokenIds) -> dict[int, str]:
        """The unknown words among ids, ascending."""
        strange = np.unique(ids.flat[ids.flat >= self._words])
        return {id: ids.unknown[id] for id in strange.tolist()}

    def _forget_rare(self) -> None:
        """Keep at most half of what is remembered: the chunks that came most often."""
        least = 2
        while np.count_nonzero(self._uses[: len(self)] >= least) > self._most // 2:
            least *= 2
        frequent = np.empty(self._most, np.int64)
        before = TokenIds(self._flat, self._offsets[: self._learned + 1], self._unknown)
        count = self._call(
            "keep_frequent",
            ctypes.c_uint32(least),
            ctypes.c_void_p(frequent.ctypes.data),
        )
        after = before.take(frequent[:count])
        if len(after.flat) > self._most:  # chunks of very many tokens
            self._forget_all()
            return
        self._flat = after.flat
        self._offsets = after.offsets
        self._unknown = self._unknown_of(after)
        self._learned = count

    def _forget_all(self) -> None:
        self._table.fill(0)
        self._chunks.count = 0
        self._learned = 0
        self._unknown = {}

    def _call(self, name: str, *arguments: Any) -> int:
        function = getattr(library(), name)
        return int(function(ctypes.byref(self._chunks), *arguments))


def _filled(array: Ids, start: int, values: Ids) -> Ids:
    """The array with these values from a place on; a larger one where it has no room for them."""
    end = start + len(values)
    if end > len(array):
        larger = np.empty(2 * end, np.int64)
        larger[:start] = array[:start]
        array = larger
    array[start:end] = values
    return array


def _batches(texts: Sequence[str], longest: int) -> Iterator[list[bytes]]:
    """The texts in UTF-8, so many at a time that memory is bounded; at least one batch."""
    batch: list[bytes] = []
    size = 0
    for text in texts:
        if len(text) > longest:
            text = text[:longest]
        batch.append(joined_letters(text).encode("utf-8", "surrogatepass"))
        size += len(batch[-1])
        if size > _BATCH:
            yield batch
            batch = []
            size = 0
    if batch or len(texts) == 0:
        yield batch


def _joined(parts: Sequence[TokenIds]) -> TokenIds:
    """The texts of all parts, one after the other."""
    unknown: dict[int, str] = {}
    lengths: list[Ids] = []
    for part in parts:
        unknown |= part.unknown
        lengths.append(part.lengths)
    flat = np.concatenate([part.flat for part in parts])
    ends = np.cumsum(np.concatenate(lengths))
    by_id = dict(sorted(unknown.items()))
    return TokenIds(flat, np.concatenate([[0], ends]), by_id)
