"""A segment of an index: some posts in their order, memory-mapped."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from siamese_news.data.records import Post
from siamese_news.errors import InputError
from siamese_news.scoring.surface import BUCKETS, word_grams
from siamese_news.search.index.array_files import (
    ArrayWriter,
    Table,
    TableRows,
    read_array,
    rounded_up,
)
from siamese_news.search.pool import Floats, Ints, seconds_of
from siamese_news.search.ranked_posts import SAMPLE
from siamese_news.text.token_ids import TokenIds, ragged

_FEWEST_BUCKETS = 1 << 12
_BUCKETS = 1 << 20
_STEPS = 127
_AT_ONCE = 1 << 17  # rows whose words are counted
_JSON = msgspec.json.Encoder(enc_hook=str, decimal_format="number")


@dataclass(frozen=True, slots=True)
class Codes:
    """Token ids as small numbers.

    The code of one of the V `words` of the vocabulary is its id. Unknown words share a number of
    `buckets`, by their hashes; their ids are in a separate list, and so are their n-grams of `gram`
    characters.
    """

    words: int
    buckets: int
    gram: int

    @classmethod
    def of(cls, words: int, gram: int) -> "Codes":
        """The codes for a vocabulary; two bytes are enough for up to 61,440 words."""
        free_codes = (1 << 16) - words
        return cls(
            words, free_codes if free_codes >= _FEWEST_BUCKETS else _BUCKETS, gram
        )

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the codes."""
        two_bytes = self.words + self.buckets <= 1 << 16
        return np.dtype(np.uint16 if two_bytes else np.uint32)

    def __call__(self, ids: Ints) -> Ints:
        """The codes of ids."""
        buckets = (ids - self.words) % self.buckets
        return np.where(ids < self.words, ids, self.words + buckets)


def in_steps(
    vectors: Floats,
) -> tuple[NDArray[np.int8], NDArray[np.float16], NDArray[np.float16]]:
    """Vectors (P, D) rounded to steps of their own, with upper bounds on the rounding errors."""
    wide = vectors.astype(np.float64)
    steps = rounded_up(np.abs(wide).max(axis=1, initial=0.0) / _STEPS)
    size = steps.astype(np.float64)[:, None]
    counts = np.rint(wide / np.where(size > 0, size, 1.0)).clip(-_STEPS, _STEPS)
    away = np.linalg.norm(wide - counts * size, axis=1)
    return counts.astype(np.int8), steps, rounded_up(away * (1 + 1e-6))


# The arrays of a segment and their types; None is that of the codes (`Codes.dtype`).
_DTYPES: dict[str, Any] = {
    "codes": None,
    "starts": np.uint32,
    "unknown": np.uint32,
    "unknown_starts": np.uint32,
    "words": np.int64,
    "letters": np.uint8,
    "letter_starts": np.uint32,
    "grams": np.uint32,
    "gram_starts": np.uint32,
    "vectors": np.int8,
    "steps": np.float16,
    "errors": np.float16,
    "scales": np.float16,
    "dates": np.int64,
}
_OTHERS = ("texts", "texts_places", "fields", "fields_places", "sample")

SEGMENT_FILES = tuple(f"{name}.npy" for name in (*_DTYPES, *_OTHERS))
"""The names of the files of a segment."""


def _kinds(codes: Codes, dimensions: int) -> dict[str, tuple[Any, ...]]:
    """The type of each array, and the shape of its rows."""
    shapes = {"vectors": (dimensions,), "scales": (2,)}
    return {
        name: (dtype or codes.dtype, *shapes.get(name, ()))
        for name, dtype in _DTYPES.items()
    }


class SegmentWriter:
    """Writes a segment; posts have the numbers of unknown words, which are written once."""

    def __init__(self, folder: Path, codes: Codes, dimensions: int) -> None:
        self.posts = 0
        self.tokens = 0
        self._codes = codes
        kinds = _kinds(codes, dimensions)
        self._arrays = {
            name: ArrayWriter(folder / f"{name}.npy", *kind)
            for name, kind in kinds.items()
        }
        self._texts = Table(folder, "texts", 1, packed=False)
        # Rarely used columns are packed, in pieces that are small enough to read one post.
        self._fields = Table(folder, "fields", 2, packed=True)
        self._sample = np.zeros((0, 2), np.int64)
        self._path = folder / "sample.npy"
        self._numbers: dict[int, int] = {}  # of the unknown words, by id
        self._ends = dict.fromkeys(
            ("starts", "unknown_starts", "letter_starts", "gram_starts"), 0
        )
        for name in self._ends:
            self._arrays[name].append(np.zeros(1, np.uint32))

    def append(
        self,
        posts: Sequence[Post],
        token_ids: TokenIds,
        vectors: Floats,
        scales: NDArray[np.float16],
    ) -> None:
        """Add P posts with their token ids and vectors (P, D).

        The `scales` (P, 2) are upper bounds on one over the divisors of words and pairs.
        """
        counts, steps, errors = in_steps(vectors)
        is_unknown = token_ids.flat >= self._codes.words
        self._advance("starts", token_ids.lengths)
        self._advance("unknown_starts", token_ids.where(is_unknown).lengths)
        arrays = {
            "codes": self._codes(token_ids.flat).astype(self._codes.dtype),
            "unknown": self._numbered(token_ids.flat[is_unknown], token_ids.unknown),
            "vectors": counts,
            "steps": steps,
            "errors": errors,
            "scales": scales,
            "dates": seconds_of(posts),
        }
        for name, values in arrays.items():
            self._arrays[name].append(values)
        self._texts.append([[_bytes(post.text) for post in posts]])
        ids = [_bytes(post.id) for post in posts]
        self._fields.append(
            [ids, [_JSON.encode(dict(post.metadata)) for post in posts]]
        )
        checksums = list(map(crc32, ids))
        rows_in_segment = np.arange(self.posts, self.posts + len(checksums))
        sample = np.concatenate(
            [self._sample, np.stack([checksums, rows_in_segment], axis=1)]
        )
        smallest = np.argsort(sample[:, 0], kind="stable")[:SAMPLE]
        self._sample = sample[smallest]
        self.posts += len(posts)
        self.tokens = max(self._ends.values())

    def _advance(self, name: str, lengths: NDArray[np.integer]) -> None:
        ends = self._ends[name] + np.cumsum(lengths, dtype=np.int64)
        self._arrays[name].append(ends.astype(np.uint32))
        self._ends[name] = int(ends[-1]) if len(ends) else self._ends[name]

    def _numbered(self, unknown: Ints, words: Mapping[int, str]) -> NDArray[np.uint32]:
        """The number of each unknown word by its id; `words` that are new are written."""
        ids, id_indices = np.unique(unknown, return_inverse=True)
        numbers = self._numbers
        new = [id for id in ids.tolist() if id not in numbers]
        for id in new:
            numbers[id] = len(numbers)
        texts = [words[id] for id in new]
        letters = [_bytes(text) for text in texts]
        grams = word_grams(texts, self._codes.gram)
        self._arrays["words"].append(np.array(new, np.int64))
        self._arrays["letters"].append(np.frombuffer(b"".join(letters), np.uint8))
        self._arrays["grams"].append(grams.indices.astype(np.uint32))
        letter_counts = np.array([len(spelled) for spelled in letters], np.int64)
        self._advance("letter_starts", letter_counts)
        self._advance("gram_starts", np.diff(grams.indptr))
        return np.array([numbers[id] for id in ids.tolist()], np.uint32)[id_indices]

    def close(self) -> None:
        """Finish the files and flush them to the disk."""
        self._texts.close()
        self._fields.close()
        np.save(self._path, self._sample)
        for array in self._arrays.values():
            array.close()


class Segment:
    """The posts of a segment, by row; `width` counts the codes.

    `sample` are (n, 2) the smallest checksums of ids, and their rows. Opening checks the types and
    shapes of all arrays, and `check` the numbers in them.
    """

    def __init__(self, folder: Path, codes: Codes, posts: int, dimensions: int) -> None:
        try:
            kinds = _kinds(codes, dimensions)
            arrays = {
                name: read_array(folder, name, *kind) for name, kind in kinds.items()
            }
            for name in ("vectors", "steps", "errors", "scales", "dates"):
                if len(arrays[name]) != posts:
                    raise ValueError(
                        f"{name}.npy has {len(arrays[name]):,} rows, not {posts:,}"
                    )
            self._texts = TableRows(folder, "texts", 1, packed=False)
            self._fields = TableRows(folder, "fields", 2, packed=True)
            self._arrays = arrays
            self.codes = arrays["codes"]
            self.starts = arrays["starts"]
            self.dates = arrays["dates"]
            self.vectors = arrays["vectors"]
            self.steps = arrays["steps"]
            self.errors = arrays["errors"]
            self.scales = arrays["scales"]
            self.sample = np.array(read_array(folder, "sample", np.int64, 2))
            if (len(self._texts), len(self._fields)) != (posts, posts):
                raise ValueError("there are not as many texts as posts")
        except (ValueError, OSError, LookupError) as error:
            raise InputError(
                f"{folder}: is damaged ({error}); build the index again"
            ) from error
        self._of = codes
        self.width = codes.words + codes.buckets
        self._folder = folder

    def __len__(self) -> int:
        return len(self.steps)

    def check(self) -> None:
        """Check that every number which is a place in another array is inside of it.

        Raises:
            InputError: one is not, and would be read from beyond the array, or not at all.
        """
        posts = len(self)
        words = len(self._arrays["words"])
        for name, starts, rows, size in (
            ("starts", self.starts, posts, len(self.codes)),
            (
                "unknown_starts",
                self._arrays["unknown_starts"],
                posts,
                len(self._arrays["unknown"]),
            ),
            (
                "letter_starts",
                self._arrays["letter_starts"],
                words,
                len(self._arrays["letters"]),
            ),
            (
                "gram_starts",
                self._arrays["gram_starts"],
                words,
                len(self._arrays["grams"]),
            ),
        ):
            if len(starts) != rows + 1 or starts[0] != 0 or starts[-1] != size:
                raise self._damaged(name)
            if (starts[1:] < starts[:-1]).any():
                raise self._damaged(name)
        for name, numbers, minimum, maximum in (
            ("codes", self.codes, 0, self.width - 1),
            ("unknown", self._arrays["unknown"], 0, words - 1),
            ("words", self._arrays["words"], self._of.words, np.inf),
            ("grams", self._arrays["grams"], 0, BUCKETS - 1),
            ("sample", self.sample[:, 1], 0, posts - 1),
            # These bound the scores, and NaN would hide a post.
            ("steps", self.steps, 0, np.inf),
            ("errors", self.errors, 0, np.inf),
            ("scales", self.scales, 0, np.inf),
        ):
            if len(numbers) and not (
                minimum <= numbers.min() and numbers.max() <= maximum
            ):
                raise self._damaged(name)
        for start in range(0, posts, _AT_ONCE):
            batch = slice(start, start + _AT_ONCE + 1)
            ends = self.starts[batch].astype(np.int64)
            unknown = self.codes[ends[0] : ends[-1]] >= self._of.words
            unknown_before = np.concatenate([[0], np.cumsum(unknown)])
            counts = np.diff(unknown_before[ends - ends[0]])
            written = np.diff(self._arrays["unknown_starts"][batch].astype(np.int64))
            if (counts != written).any():
                raise self._damaged("unknown_starts")

    def _damaged(self, name: str) -> InputError:
        return InputError(
            f"{self._folder / name}.npy: is damaged: it names what does not exist; build the index "
            "again"
        )

    def token_ids(self, rows: Ints) -> TokenIds:
        """The token ids of some rows, as from `TextModel.token_ids`."""
        unknown_places, _ = ragged(self._arrays["unknown_starts"], rows)
        spelled = self._spelled(self._arrays["unknown"][unknown_places])
        return replace(self.ids_alone(rows), unknown=spelled)

    def ids_alone(self, rows: Ints) -> TokenIds:
        """`token_ids` without the texts of unknown words."""
        code_positions, lengths = ragged(self.starts, rows)
        ids = self.codes[code_positions].astype(np.int64)
        unknown_places, _ = ragged(self._arrays["unknown_starts"], rows)
        unknown = self._arrays["unknown"][unknown_places]
        ids[ids >= self._of.words] = self._arrays["words"][unknown]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        return TokenIds(ids, offsets)

    def _spelled(self, numbers: NDArray[np.uint32]) -> dict[int, str]:
        """Unknown words by id, from their numbers."""
        different = np.unique(numbers).astype(np.int64)
        letter_positions, lengths = ragged(self._arrays["letter_starts"], different)
        letters = self._arrays["letters"][letter_positions].tobytes()
        ends = np.cumsum(lengths).tolist()
        texts = [
            letters[start:end].decode("utf-8", "replace")
            for start, end in pairwise([0, *ends])
        ]
        ids = self._arrays["words"][different].tolist()
        return dict(zip(ids, texts, strict=True))

    @property
    def grams(self) -> sparse.csr_matrix:
        """Which n-grams each unknown word has: (U, BUCKETS) of ones."""
        ones = np.ones(len(self._arrays["grams"]), bool)
        starts = self._arrays["gram_starts"].astype(np.int64)
        entries = (ones, self._arrays["grams"].astype(np.int64), starts)
        return sparse.csr_matrix(entries, shape=(len(self._arrays["words"]), BUCKETS))

    def by_code(self, values: Floats) -> Floats:
        """The values (V + U,) of words by their codes; unknown ones share the highest of theirs."""
        by_code = np.zeros(self.width, np.float32)
        by_code[: self._of.words], unknown = np.split(values, [self._of.words])
        np.maximum.at(by_code, self._of(self._arrays["words"]), unknown)
        return by_code

    def counted(self, mask: NDArray[np.bool_]) -> Ints:
        """How often words, and n-grams of unknown ones, occur in some rows: (V + BUCKETS,)."""
        # The fewer rows are counted: those of the mask, or those that it leaves out.
        counts_excluded = 2 * np.count_nonzero(mask) > len(mask)
        rows = np.flatnonzero(mask != counts_excluded)
        counts = np.zeros_like(self._all)
        for start in range(0, len(rows), _AT_ONCE):
            batch = rows[start : start + _AT_ONCE]
            code_positions, _ = ragged(self.starts, batch)
            unknown_places, _ = ragged(self._arrays["unknown_starts"], batch)
            counts += self._occurrences(
                self.codes[code_positions], self._arrays["unknown"][unknown_places]
            )
        if counts_excluded:
            counts = self._all - counts
        of_words, of_unknown = np.split(counts, [self._of.words])
        starts: Ints = self._arrays["gram_starts"].astype(np.int64)
        times = np.repeat(of_unknown.astype(np.float64), np.diff(starts))
        grams = np.bincount(self._arrays["grams"], times, BUCKETS).astype(np.int64)
        return np.concatenate([of_words, grams])

    @cached_property
    def _all(self) -> Ints:
        return self._occurrences(self.codes, self._arrays["unknown"])

    def _occurrences(self, codes: NDArray[Any], unknown: NDArray[np.uint32]) -> Ints:
        """How often each word occurs: (V + U,)."""
        by_code = _frequencies(codes, self.width)
        by_unknown = _frequencies(unknown, len(self._arrays["words"]))
        return np.concatenate([by_code[: self._of.words], by_unknown])

    def post(self, row: int) -> Post:
        """The post of a row."""
        (text,) = self._texts[row]
        id, metadata = self._fields[row]
        try:
            values = msgspec.json.decode(metadata)
        except (ValueError, RecursionError) as error:
            raise self._damaged("fields") from error
        if not isinstance(values, dict):
            raise self._damaged("fields")
        return Post(_text(id), _text(text), values)

    def text(self, row: int) -> str:
        """The text of a row."""
        (text,) = self._texts[row]
        return text.decode()

    def ids(self) -> Iterator[tuple[int, list[str]]]:
        """The first row and the ids of one piece after the other."""
        for first_row, (ids, _) in self._fields.pieces():
            yield first_row, [_text(id) for id in ids]


def _text(written: bytes) -> str:
    return written.decode("utf-8", "replace")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _frequencies(numbers: NDArray[Any], size: int) -> Ints:
    """How often each number below `size` occurs, a part at a time: `bincount` makes them wider."""
    counts = np.zeros(size, np.int64)
    for start in range(0, len(numbers), 8 * _AT_ONCE):
        batch = numbers[start : start + 8 * _AT_ONCE]
        counts += np.bincount(batch, minlength=size)
    return counts
