"""`ChunkIds` with its loop over the chunks of texts compiled (``chunks.c``): the same token ids."""

import ctypes
import string
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import accumulate, chain
from threading import Lock
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from siamese_news.text.patterns import joined_letters
from siamese_news.text.token_ids import ChunkIds, Ids, TokenIds
from siamese_news.text.tokens import ChunkShapes
from siamese_news.text.word_table import Chunks, WordTable, call, loops

_LONGEST_KEY = 64  # bytes, as in chunks.c
_KEY_BYTES = 16  # for each chunk on average; half of it is usual
_MOST = 1 << 18  # chunks that are remembered, each in some 50 bytes
_BATCH = 1 << 20  # bytes of texts that are numbered in one call

TokenizeChunk = Callable[[str], tuple[Sequence[int], Mapping[int, str]]]
"""A chunk -> its token ids, and those of its words that are outside the vocabulary by their ids."""


Missing = Literal["hash", "drop", "gap"]
"""What becomes of a word without an id: V + its hash, nothing, or -1."""


class Reading(NamedTuple):
    """What a chunk's token ids depend on.

    Attributes:
        words: V words, whose ids are their places.
        missing: what becomes of other words.
        stop_words: the words that are left out, as are tokens without a letter or digit; None: all
            tokens are read.
        shapes: those of the tokenizer.
    """

    words: Sequence[str]
    missing: Missing
    stop_words: Collection[str] | None
    shapes: ChunkShapes


def chunk_ids(tokenize: TokenizeChunk, reading: Reading) -> "ChunkTable | ChunkIds":
    """What remembers the token ids of chunks, as fast as this machine can.

    `tokenize` reads a chunk as `reading` says.
    """
    if loops() is None:
        return ChunkIds(tokenize, len(reading.words))
    return ChunkTable(tokenize, reading)


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


class _Reader(ctypes.Structure):
    """``Reader`` of ``chunks.c``."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in "words flags ids".split()),
        *(
            (name, ctypes.c_int64)
            for name in "known missing content numbers abbreviation whole".split()
        ),
        *(
            (name, ctypes.c_void_p)
            for name in "lowered flat ends refused hashed hashed_starts hashed_ends".split()
        ),
        *((name, ctypes.c_int64) for name in ("count", "hashes")),
    ]


class _ChunkReader:
    """The token ids of plain chunks, by the loop."""

    def __init__(self, reading: Reading) -> None:
        ranks = reading.shapes.ranks or {}
        stop_words = reading.stop_words or ()
        keys = list(dict.fromkeys(chain(reading.words, ranks, stop_words)))
        self._table = WordTable(keys)
        flags = ((key in ranks) + 2 * (key in stop_words) for key in keys)
        self._flags = np.fromiter(flags, np.uint8, len(keys))
        self._ids = np.arange(len(keys))
        self._ids[len(reading.words) :] = -1
        self._fields = {
            "words": ctypes.addressof(self._table.words),
            "flags": self._flags.ctypes.data,
            "ids": self._ids.ctypes.data,
            "known": len(reading.words),
            "missing": get_args(Missing).index(reading.missing),
            "content": reading.stop_words is not None,
            "numbers": reading.shapes.keeps_numbers,
            "abbreviation": reading.shapes.longest_abbreviation,
            "whole": reading.shapes.ranks is None,
        }

    def of(
        self, size: int, batch: _Batch
    ) -> tuple[TokenIds, NDArray[np.bool_], dict[int, str]]:
        """The ids of a batch's new chunks, those left to Python, and the hashed words."""
        lowered = np.empty(size, np.uint8)
        refused, ends = np.empty(batch.news, np.bool_), np.empty(batch.news, np.int64)
        flat, hashed, hash_starts, hash_ends = np.empty((4, size), np.int64)
        outputs = (lowered, flat, ends, refused, hashed, hash_starts, hash_ends)
        names = "lowered flat ends refused hashed hashed_starts hashed_ends".split()
        addresses = (array.ctypes.data for array in outputs)
        reader = _Reader(**self._fields, **dict(zip(names, addresses, strict=True)))
        count = call("read_chunks", ctypes.byref(reader), ctypes.byref(batch))
        text = lowered.tobytes()
        spans = (positions[: reader.hashes].tolist() for positions in outputs[-3:])
        words = {
            id: text[start:end].decode("ascii")
            for id, start, end in zip(*spans, strict=True)
        }
        offsets = np.concatenate([[0], ends])
        return TokenIds(flat[:count].copy(), offsets), refused, words


class ChunkTable:
    """The token ids of texts, made once for each different chunk; it never changes a result.

    Args:
        tokenize: the ids of a chunk, by a tokenizer.
        reading: what they depend on, for the loops.
        capacity: the number of chunks that are remembered; then all are forgotten.
    """

    def __init__(
        self, tokenize: TokenizeChunk, reading: Reading, capacity: int = _MOST
    ) -> None:
        self._tokenize = tokenize
        self._reading = reading
        self._most = capacity
        shapes = reading.shapes
        slots = 1 << (2 * capacity).bit_length()
        # Memory that nothing is written to is not taken from the system.
        self._kinds = _kinds(shapes)
        self._table = np.zeros(slots, np.uint64)
        self._keys = np.empty(capacity * _KEY_BYTES + _LONGEST_KEY, np.uint8)
        self._ends = np.zeros(capacity + 1, np.uint32)
        self._chunks = Chunks(
            kinds=self._kinds.ctypes.data,
            drops_mentions=shapes.drops_mentions,
            drops_links=shapes.drops_links,
            abbreviation=shapes.longest_abbreviation,
            places=slots,
            room=len(self._keys),
            table=self._table.ctypes.data,
            keys=self._keys.ctypes.data,
            ends=self._ends.ctypes.data,
            most=capacity,
        )
        self._reader = _ChunkReader(reading)
        self._ids = TokenIds.of([])  # of each number
        self._unknown: dict[int, str] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return int(self._chunks.count)

    def of(self, texts: Sequence[str], longest: int) -> TokenIds:
        """The ids of texts, each cut after `longest` characters."""
        with self._lock:
            parts = [self._of(batch) for batch in _batches(texts, longest)]
        return parts[0] if len(parts) == 1 else TokenIds.joined(parts)

    def _of(self, texts: Sequence[bytes]) -> TokenIds:
        # The call before may have been interrupted.
        if len(self) != len(self._ids) or self._is_full():
            self._table.fill(0)
            self._chunks.count = 0
            self._ids = TokenIds.of([])
            self._unknown = {}
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
        count = call("number_chunks", ctypes.byref(self._chunks), ctypes.byref(batch))
        remembered = new_numbers[: batch.news] < self._most
        new = self._new(content, starts, ends, batch)
        # Those that are not remembered come last.
        new = new.take(np.argsort(~remembered, kind="stable"))
        token_ids = TokenIds.joined([self._ids, new])
        self._ids = token_ids[: len(self)]
        rows = numbers[:count]
        last_rows = len(self) + np.cumsum(~remembered) - 1
        rare = rows >= self._most
        rows[rare] = last_rows[rows[rare] - self._most]
        ids = token_ids.take(rows)
        offsets = ids.offsets[np.concatenate([[0], number_ends])]
        unknown_ids = np.unique(ids.flat[ids.flat >= len(self._reading.words)])
        unknown = {id: self._unknown[id] for id in unknown_ids.tolist()}
        return TokenIds(ids.flat, offsets, unknown)

    def _is_full(self) -> bool:
        count = len(self)
        return bool(
            count == self._most
            or self._ends[count] > _KEY_BYTES * self._most
            or max(len(self._ids.flat), len(self._unknown)) > 2 * self._most
        )

    def _new(self, content: bytes, starts: Ids, ends: Ids, batch: _Batch) -> TokenIds:
        """The token ids of new chunks, in their order."""
        ids, refused, words = self._reader.of(len(content), batch)
        self._unknown |= words
        lists: list[Ids] = []
        refused_rows = np.flatnonzero(refused)
        for row in refused_rows.tolist():
            chunk = content[starts[row] : ends[row]]
            listed, unknown = self._tokenize(chunk.decode("utf-8", "surrogatepass"))
            lists.append(np.array(listed, np.int64))
            self._unknown.update(unknown)
        rows = np.arange(batch.news)
        rows[refused_rows] = batch.news + np.arange(len(refused_rows))
        return TokenIds.joined([ids, TokenIds.of(lists)]).take(rows)


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
