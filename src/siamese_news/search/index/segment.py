"""A segment of an index: some posts in their order, memory-mapped."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import orjson
from numpy.typing import NDArray

from siamese_news.data.records import Post
from siamese_news.errors import InputError
from siamese_news.search.index.arrays import ArrayWriter, Table, TableRows, ragged, rounded_up
from siamese_news.text.token_ids import TokenIds

SAMPLE = "sample.npy"
_SAMPLED = 2000  # twice what a search notes of its pool: some may be deleted
_FEWEST_BUCKETS = 1 << 12
_BUCKETS = 1 << 20
_STEPS = 127


@dataclass(frozen=True, slots=True)
class Codes:
    """Token ids as small numbers.

    A word of the vocabulary is its id. An unknown word is one of a number of buckets, by its hash;
    its id is in a separate list.

    Attributes:
        words: V.
        buckets: of unknown words.
    """

    words: int
    buckets: int

    @classmethod
    def of(cls, words: int) -> "Codes":
        """Two bytes are enough for a vocabulary of up to 61,440 words."""
        left = (1 << 16) - words
        return cls(words, left if left >= _FEWEST_BUCKETS else _BUCKETS)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the codes."""
        return np.dtype(np.uint16 if self.words + self.buckets <= 1 << 16 else np.uint32)

    def __call__(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """The codes of ids."""
        return np.where(ids < self.words, ids, self.words + (ids - self.words) % self.buckets)


@dataclass(frozen=True, slots=True)
class Rows:
    """P posts as a segment holds them.

    Attributes:
        ids, texts: strings.
        metadata: JSON objects.
        codes: of all tokens, see `Codes`.
        lengths: (P,) how many tokens each post has.
        unknown: ids of the unknown words among them.
        unknown_lengths: (P,).
        letters: the same words in UTF-8, each with a line feed behind it.
        letter_lengths: (P,).
        vectors: (P, D) int8, the dense vectors in steps.
        steps: (P,) float16.
        errors: (P,) float16, at most so far is a vector from what its steps say.
        scales: (P, 2) float16, at most: one over what the words and the pairs are divided by.
        dates: (P,) seconds since 1970, or `UNDATED`.
    """

    ids: Sequence[str]
    texts: Sequence[str]
    metadata: Sequence[bytes]
    codes: NDArray[Any]
    lengths: NDArray[np.int64]
    unknown: NDArray[np.int64]
    unknown_lengths: NDArray[np.int64]
    letters: NDArray[np.uint8]
    letter_lengths: NDArray[np.int64]
    vectors: NDArray[np.int8]
    steps: NDArray[np.float16]
    errors: NDArray[np.float16]
    scales: NDArray[np.float16]
    dates: NDArray[np.int64]


def in_steps(
    vectors: NDArray[np.float32],
) -> tuple[NDArray[np.int8], NDArray[np.float16], NDArray[np.float16]]:
    """Vectors (P, D) in steps of their own, and how far from them these are at most."""
    wide = vectors.astype(np.float64)
    steps = rounded_up(np.abs(wide).max(axis=1, initial=0.0) / _STEPS)
    size = steps.astype(np.float64)[:, None]
    counts = np.rint(wide / np.where(size > 0, size, 1.0)).clip(-_STEPS, _STEPS)
    away = np.linalg.norm(wide - counts * size, axis=1)
    return counts.astype(np.int8), steps, rounded_up(away * (1 + 1e-6))


class SegmentWriter:
    """Writes the files of a segment."""

    def __init__(self, folder: Path, codes: Codes, dimensions: int) -> None:
        self.posts, self.tokens = 0, 0  # or bytes of unknown words, where these are more
        kinds: dict[str, tuple[Any, ...]] = {
            "codes": (codes.dtype,), "starts": (np.uint32,), "unknown": (np.int64,),
            "unknown_starts": (np.uint32,), "letters": (np.uint8,),
            "letter_starts": (np.uint32,), "vectors": (np.int8, dimensions),
            "steps": (np.float16,), "errors": (np.float16,), "scales": (np.float16, 2),
            "dates": (np.int64,),
        }  # fmt: skip
        self._arrays = {
            name: ArrayWriter(folder / f"{name}.npy", *kind) for name, kind in kinds.items()
        }
        self._texts = Table(folder, "texts", 1, packed=False)
        # What is seldom looked at is packed, in pieces that are small enough for one post.
        self._fields = Table(folder, "fields", 2, packed=True)
        self._sample = np.zeros((0, 2), np.int64)
        self._path = folder / SAMPLE
        self._ends = {"starts": 0, "unknown_starts": 0, "letter_starts": 0}
        for name in self._ends:
            self._arrays[name].append(np.zeros(1, np.uint32))

    def append(self, rows: Rows) -> None:
        """Add posts."""
        if not len(rows.ids):
            return
        for name, lengths in (
            ("starts", rows.lengths),
            ("unknown_starts", rows.unknown_lengths),
            ("letter_starts", rows.letter_lengths),
        ):
            ends = self._ends[name] + np.cumsum(lengths)
            self._arrays[name].append(ends.astype(np.uint32))
            self._ends[name] = int(ends[-1])
        for name in self._arrays.keys() - self._ends:
            self._arrays[name].append(getattr(rows, name))
        self._texts.append([[_bytes(text) for text in rows.texts]])
        self._fields.append([[_bytes(id) for id in rows.ids], rows.metadata])
        sums = [_checksum(id) for id in rows.ids]
        places = np.arange(self.posts, self.posts + len(sums))
        self._sample = np.concatenate([self._sample, np.stack([sums, places], axis=1)])
        self._sample = self._sample[np.argsort(self._sample[:, 0], kind="stable")[:_SAMPLED]]
        self.posts += len(rows.ids)
        self.tokens = max(self._ends["starts"], self._ends["letter_starts"])

    def close(self) -> None:
        """Finish the files and flush them to the disk."""
        self._texts.close()
        self._fields.close()
        np.save(self._path, self._sample)
        for array in self._arrays.values():
            array.close()


class Segment:
    """The posts of a segment, by row.

    Attributes:
        live: (P,) which rows are not deleted.
    """

    def __init__(self, folder: Path, codes: Codes, deleted: NDArray[np.int64]) -> None:
        try:
            arrays = {path.stem: np.load(path, mmap_mode="r") for path in folder.glob("*.npy")}
            self._texts = TableRows(arrays["texts"], arrays["texts_places"], 1, packed=False)
            self._fields = TableRows(arrays["fields"], arrays["fields_places"], 2, packed=True)
        except (ValueError, OSError, LookupError) as error:
            raise InputError(f"{folder}: is damaged ({error}); build the index again") from error
        self.codes, self.vectors, self.errors = arrays["codes"], arrays["vectors"], arrays["errors"]
        self.starts, self.steps, self.scales = arrays["starts"], arrays["steps"], arrays["scales"]
        self.dates, self._sampled = arrays["dates"], np.array(arrays["sample"])
        self._unknown, self._unknown_starts = arrays["unknown"], arrays["unknown_starts"]
        self._letters, self._letter_starts = arrays["letters"], arrays["letter_starts"]
        self._of = codes
        self.live = np.ones(len(self), bool)
        self.live[deleted] = False

    def __len__(self) -> int:
        return len(self.steps)

    def token_ids(self, rows: NDArray[np.int64]) -> TokenIds:
        """The token ids of some rows, as `TextModel.token_ids` gave them."""
        places, lengths = ragged(self.starts, rows)
        ids = self.codes[places].astype(np.int64)
        unknown = self._unknown[ragged(self._unknown_starts, rows)[0]]
        ids[ids >= self._of.words] = unknown
        letters = self._letters[ragged(self._letter_starts, rows)[0]].tobytes().decode()
        words = dict(zip(unknown.tolist(), letters.split("\n"), strict=False))
        return TokenIds(ids, np.concatenate([[0], np.cumsum(lengths)]), words)

    def post(self, row: int) -> Post:
        """The post of a row."""
        (text,) = self._texts[row]
        id, metadata = self._fields[row]
        return Post(id.decode(), text.decode(), orjson.loads(metadata))

    def ids(self) -> Iterator[tuple[int, list[str]]]:
        """The first row and the ids of one piece after the other."""
        for first, (ids, _) in self._fields.pieces():
            yield first, [id.decode() for id in ids]

    def sample(self, count: int) -> NDArray[np.int64]:
        """(n, 2) checksums of ids, and their rows: the `count` least, and perhaps more."""
        found = self._sampled[self.live[self._sampled[:, 1]]]
        if len(found) >= min(count, int(self.live.sum())):
            return found
        sums = [_checksum(id) for _, ids in self.ids() for id in ids]
        rows = np.flatnonzero(self.live)
        return np.stack([np.array(sums, np.int64)[rows], rows], axis=1)

    def rows(self) -> Iterator[Rows]:
        """The rows that are not deleted, to be written again."""
        for first, fields in self._fields.pieces():
            kept = np.flatnonzero(self.live[first : first + len(fields[0])])
            rows = kept + first
            places, lengths = ragged(self.starts, rows)
            unknown, unknown_lengths = ragged(self._unknown_starts, rows)
            letters, letter_lengths = ragged(self._letter_starts, rows)
            ids, metadata = ([column[place] for place in kept.tolist()] for column in fields)
            yield Rows(
                [id.decode() for id in ids],
                [self._texts[row][0].decode() for row in rows.tolist()], metadata,
                self.codes[places], lengths, self._unknown[unknown], unknown_lengths,
                self._letters[letters],
                letter_lengths, self.vectors[rows], self.steps[rows], self.errors[rows],
                self.scales[rows], self.dates[rows],
            )  # fmt: skip


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _checksum(id: str) -> int:
    return crc32(id.encode("utf-8", "replace"))
