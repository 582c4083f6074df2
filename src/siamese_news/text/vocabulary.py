"""Words and their ids, and the treatment of words without an id."""

from collections.abc import Iterable, Sequence
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from siamese_news.errors import InputError
from siamese_news.utils.choices import check_choice
from siamese_news.utils.files import atomic_write, open_binary, reading

PAD = -1
"""The id that fills a row behind the tokens of its text."""

Unknown = Literal["drop", "hash"]

_LARGEST = (
    2**28
)  # bytes of a list of words; that of the largest public models has 10 million
_HASH_BITS = 62  # V + h stays below 2^63


def stable_hash(word: str) -> int:
    """A hash of `word` below 2^62 that is the same in every process, on every machine."""
    digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> (64 - _HASH_BITS)


class _Ids(dict[str, int]):
    """Word -> id; see `Vocabulary` for unknown words."""

    def __init__(self, words: Sequence[str], unknown: Unknown):
        super().__init__(zip(words, range(len(words)), strict=True))
        self.known = len(words)
        self.hashed = unknown == "hash"

    def __missing__(self, word: str) -> int:
        return self.known + stable_hash(word) if self.hashed else PAD


class Vocabulary:
    """A list of words; the id of a word is its place in the list.

    Args:
        words: different words, most frequent first where that is known.
        unknown: the id of any other word: ``drop`` leaves it out, ``hash`` is V + h, with h a
            stable hash below 2^62, so the same unknown name has the same id everywhere.

    Raises:
        InputError: for an empty list, a word that is empty, contains a line feed, is not valid
            Unicode or occurs twice.
    """

    def __init__(self, words: Sequence[str], *, unknown: Unknown):
        check_choice("Vocabulary: unknown", unknown, Unknown)
        if isinstance(words, str):
            raise InputError(
                "Vocabulary: words is one string; expected a list of words"
            )
        self.words: tuple[str, ...] = tuple(words)
        self.unknown: Unknown = unknown
        _check(self.words, "vocabulary, word ")
        self._ids = _Ids(self.words, unknown)

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and word in self._ids

    def __eq__(self, value: object) -> bool:
        if not isinstance(value, Vocabulary):
            return NotImplemented
        return self.words == value.words and self.unknown == value.unknown

    def __hash__(self) -> int:
        return hash((self.words, self.unknown))

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} words, unknown={self.unknown!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Vocabulary, unknown=self.unknown), (self.words,)

    def ids(self, tokens: Sequence[str]) -> NDArray[np.int64]:
        """Ids (S,) of the tokens in their order; under ``drop`` S counts the known ones only."""
        return np.array(self.id_list(tokens), np.int64)

    def id_list(self, tokens: Sequence[str]) -> list[int]:
        """`ids` as a list, which is faster for a few tokens."""
        ids = list(map(self._ids.__getitem__, tokens))
        return [i for i in ids if i >= 0] if self.unknown == "drop" else ids

    def document_frequencies(
        self, token_lists: Iterable[Sequence[str]]
    ) -> NDArray[np.int64]:
        """In how many of the token lists each word of the vocabulary occurs (V,)."""
        counts = np.zeros(len(self), np.int64)
        for tokens in token_lists:
            ids = np.unique(self.ids(tokens))
            counts[ids[ids < len(self)]] += 1
        return counts

    def save(self, path: str | Path) -> None:
        """Write one word per line in UTF-8, atomically."""
        with atomic_write(path, "w") as file:
            for word in self.words:
                file.write(f"{word}\n")

    @classmethod
    def load(cls, path: str | Path, *, unknown: Unknown) -> "Vocabulary":
        """Read a file of `save`.

        Raises:
            InputError: for a missing or empty file, one that is packed and cut off, bytes that are
                not UTF-8, an empty line, a word that occurs twice; with the line.
        """
        with reading(path), open_binary(path) as file:
            content = file.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise InputError(
                f"{path}: has more than {_LARGEST:,} bytes once it is unpacked; expected a list of "
                "words"
            )
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise InputError(
                f"{path}:{line}: not UTF-8; save the word list as UTF-8"
            ) from error
        # Only \n ends a line: some words hold \x85 or U+2028, where splitlines() would cut.
        words = text.removesuffix("\n").split("\n")
        _check(words, f"{path}:")
        return cls(words, unknown=unknown)


def _check(words: Sequence[str], location: str) -> None:
    if not words:
        raise InputError("Vocabulary: no words; expected at least one")
    try:
        joined = "\n".join(words)
        joined.encode("utf-8")
    except (TypeError, UnicodeEncodeError):
        joined = ""
    # Looked at one by one only if something is wrong with them together.
    if (
        joined.count("\n") == len(words) - 1
        and all(words)
        and len(set(words)) == len(words)
    ):
        return
    seen: dict[str, int] = {}
    for line, word in enumerate(words, 1):
        wrong = ""
        if not isinstance(word, str):
            wrong = "is not a string; expected words"
        elif not word:
            wrong = "is empty; remove the word"
        elif "\n" in word:
            wrong = "holds a line feed; remove the word"
        elif any("\ud800" <= c <= "\udfff" for c in word):
            wrong = "is not valid Unicode; remove the word"
        elif seen.setdefault(word, line) != line:
            wrong = f"is a duplicate of word {seen[word]}; keep the first"
        if wrong:
            raise InputError(f"{location}{line}: {word!r} {wrong}")
