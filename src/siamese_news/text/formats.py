"""Read GloVe and word2vec files, and explain why one cannot be read."""

import re
import zlib
from array import array
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from siamese_news.errors import InputError
from siamese_news.utils.files import open_binary, reading

Converted = tuple[Sequence[str], NDArray[np.float32]]
"""Words and their vectors (V, E)."""

Format = Literal["glove text", "word2vec text", "word2vec binary"]

_HEADER = re.compile(rb"\s*(\d{1,12})[ \t]+(\d{1,6})\s*")
_LINE = 1 << 20  # bytes; no vector is written longer
_EXPECTED = "expected a GloVe text, word2vec text or word2vec binary file, plain or .gz"
_PICKLES = (".kv", ".model", ".pkl", ".pickle", ".pt", ".pth", ".joblib")


def detect_format(path: Path) -> tuple[Format, int, int]:
    """Format, number of words (0 where the file does not say) and width, from the first lines.

    Raises:
        InputError: for an empty file, a pickle, or anything else that holds no word vectors.
    """
    # A pickle runs code when it is loaded, so none is opened.
    if path.suffix.lower() in _PICKLES or path.name.lower().endswith(".npy"):
        raise InputError(
            f"{path}: {path.suffix} files may run code when loaded; {_EXPECTED}: in gensim, "
            "KeyedVectors.load(...).save_word2vec_format(...) writes one"
        )
    if path.suffix.lower() in (".zip", ".7z", ".bz2", ".xz", ".tar", ".zst"):
        raise InputError(f"{path}: unpack it first; {_EXPECTED}")
    with reading(path), open_binary(path) as file:
        first, second = file.readline(_LINE), file.readline(_LINE)
    if not first.strip():
        raise InputError(f"{path}:1: empty; {_EXPECTED}")
    if first[:1] == b"\x80" and first[1:2] in b"\x02\x03\x04\x05":
        raise InputError(f"{path}: is a pickle, which may run code when loaded; {_EXPECTED}")
    header = _HEADER.fullmatch(first)
    if header is not None:
        count, width = int(header[1]), int(header[2])
        if not count or not width:
            raise InputError(f"{path}:1: {count} words of width {width}; expected 1 or more")
        # Deflate packs 1032 to 1 at best; a value takes two bytes at least.
        size = path.stat().st_size
        if count * width * 2 > size * (1032 if path.suffix == ".gz" else 1):
            raise InputError(
                f"{path}:1: promises {count} words of width {width}, more than its {size} bytes "
                "can hold; the file is cut short: get it again"
            )
        text = _floats(second) > 0
        return ("word2vec text" if text else "word2vec binary"), count, width
    values = _floats(first)
    if not values:
        raise InputError(f"{path}:1: starts with {first[:40]!r}; {_EXPECTED}")
    return "glove text", 0, values


def read_vector_file(path: Path, limit: int | None = None) -> Converted:
    """The first `limit` words (None: all) and their (V, E) float32 vectors, the first of each word.

    In a line of text the last E fields are numbers and the word is everything before them, so that
    a word may have spaces, as some of GloVe 840B do.

    Raises:
        InputError: with the line or the word, for a vector of the wrong width, one that holds NaN
            or infinity, a file that is cut short.
    """
    kind, count, width = detect_format(path)
    if kind == "word2vec binary":
        words, matrix = _read_binary(path, width, limit)
    else:
        words, matrix = _read_text(path, count, width, limit)
    check_vectors(path, words, matrix)
    return words, matrix


def _read_binary(
    path: Path, width: int, limit: int | None
) -> tuple[list[str], NDArray[np.float32]]:
    from gensim.models import KeyedVectors

    try:
        vectors = KeyedVectors.load_word2vec_format(
            str(path), binary=True, limit=limit, unicode_errors="replace"
        )
    except (ValueError, EOFError, OSError, IndexError, zlib.error) as error:
        raise InputError(
            f"{path}: cannot be read as word2vec binary of width {width} ({error}); the file is "
            "damaged or cut short: get it again"
        ) from error
    # If a word came twice, gensim leaves None and empty rows at the end.
    words = [word for word in vectors.index_to_key if word is not None]
    return words, np.asarray(vectors.vectors[: len(words)], np.float32)


def _read_text(
    path: Path, count: int, width: int, limit: int | None
) -> tuple[list[str], NDArray[np.float32]]:
    """Like `read_vector_file`; `count` is the number of words in the first line, or 0."""
    words: dict[str, None] = {}
    values = array("f")
    number = 0
    try:
        with open_binary(path) as file:
            if count:
                file.readline(_LINE)
            for number, line in enumerate(file, 2 if count else 1):
                if limit is not None and len(words) == limit:
                    break
                line = line.rstrip()
                if count and number > count + 1:
                    if not line:
                        continue
                    raise InputError(
                        f"{path}:{number}: one line more than the {count} words that the first "
                        "line promises; correct the first line"
                    )
                word, vector = _word_and_vector(path, number, line, width)
                if word not in words:
                    words[word] = None
                    values.extend(vector)
            else:
                if number <= count:
                    raise InputError(
                        f"{path}: cannot be read as word2vec text of width {width} ({len(words)} "
                        f"words, expected {count}); the file is damaged or cut short: get it again"
                    )
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(
            f"{path}:{number}: cannot be read beyond this line ({error}); get the file again"
        ) from error
    return list(words), np.frombuffer(values, np.float32).reshape(len(words), width)


def _word_and_vector(path: Path, number: int, line: bytes, width: int) -> tuple[str, list[float]]:
    parts = line.split(b" ")
    word = b" ".join(parts[:-width] or parts[:1])
    extra = parts[1:-width]
    if len(parts) <= width or any(_is_number(part) for part in extra):
        first = parts[0].decode("utf-8", "replace")
        raise InputError(
            f"{path}:{number}: {len(parts) - 1} numbers after {first!r}, expected {width} as in "
            "the first line; correct or remove the line"
        )
    text = word.decode("utf-8", "replace")
    try:
        return text, [float(part) for part in parts[-width:]]
    except ValueError:
        wrong = next(part for part in parts[-width:] if not _is_number(part))
        raise InputError(
            f"{path}:{number}: {wrong[:40]!r} in the vector of {text!r} is not a number; correct "
            "or remove the line"
        ) from None


def check_vectors(path: Path, words: Sequence[str], matrix: NDArray[np.float32]) -> None:
    """Refuse NaN and infinity in a vector, and words that a list of lines cannot hold."""
    for start in range(0, len(words), 65_536):
        finite = np.isfinite(matrix[start : start + 65_536]).all(axis=1)
        if not finite.all():
            row = start + int(np.argmin(finite))
            raise InputError(
                f"{path}: the vector of {words[row]!r} (word {row + 1}) holds NaN or infinity; "
                "remove the word or get the file again"
            )
    for row, word in enumerate(words):
        if not word or "\n" in word:
            raise InputError(
                f"{path}: word {row + 1} is {word!r}, expected a word without a line feed; the "
                "file is damaged: get it again"
            )


def _floats(line: bytes) -> int:
    """How many numbers follow the word in a line of text; 0 for another line."""
    try:
        line.decode("utf-8")
    except ValueError:
        return 0
    return sum(1 for _ in takewhile(_is_number, reversed(line.rstrip().split(b" ")[1:])))


def _is_number(part: bytes) -> bool:
    try:
        float(part)
    except ValueError:
        return False
    return True
