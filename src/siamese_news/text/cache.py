"""Word vectors converted once: one file per content, read memory-mapped."""

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from siamese_news.errors import InputError
from siamese_news.utils.files import atomic_write, file_sha256

CONVERTER = 2  # increase it when the same source would become other words or numbers

Converted = tuple[Sequence[str], NDArray[np.float32]]


def content_sha256(files: Sequence[Path], folder: Path) -> str:
    """SHA-256 of the files' bytes, remembered in `folder` by path, size and time of change."""
    stats = [file.stat() for file in files]
    stamps = [
        [str(file.resolve()), stat.st_size, stat.st_mtime_ns]
        for file, stat in zip(files, stats, strict=True)
    ]
    key = hashlib.sha256(json.dumps([stamp[0] for stamp in stamps]).encode()).hexdigest()
    note = folder / f"{key[:32]}.stamp.json"
    with suppress(OSError, ValueError, KeyError, TypeError):
        known = json.loads(note.read_text(encoding="utf-8"))
        if known["stamps"] == stamps and len(known["sha256"]) == 64:
            return str(known["sha256"])
    started = time.time_ns()
    # The hash of one file is its plain SHA-256; several files are hashed together.
    parts = [file_sha256(file) for file in files]
    sha256 = parts[0]
    if len(parts) > 1:
        sha256 = hashlib.sha256(b"".join(map(bytes.fromhex, parts))).hexdigest()
    # A file changed this very moment may change again within the clock's grain: hash it next time.
    if all(started - stat.st_mtime_ns > 2_000_000_000 for stat in stats):
        with suppress(OSError), atomic_write(note, "w") as stream:
            json.dump({"stamps": stamps, "sha256": sha256}, stream)
    return sha256


def cached(
    sha256: str, folder: Path, convert: Callable[[], Converted], *, first: int | None = None
) -> Converted:
    """The words and the memory-mapped matrix of `sha256`, made with `convert` the first time.

    With `first`, `convert` returns only so many of the first words; a cache of all words serves,
    too.

    The file takes its place only when whole, and processes that convert at the same time write the
    same bytes. A damaged file is rebuilt.

    Raises:
        InputError: the cache cannot be written.
    """
    path = folder / f"{sha256}.v{CONVERTER}.npy"
    converted = _read(path)
    if converted is None and first is not None:
        path = folder / f"{sha256}.first{first}.v{CONVERTER}.npy"
        converted = _read(path)
    if converted is not None:
        return converted
    words, matrix = convert()
    try:
        _write(path, words, matrix)
    except OSError as error:
        raise InputError(
            f"{folder}: the cache of word vectors cannot be written ({error}); free some space or "
            "set SIAMESE_NEWS_CACHE to a folder that can be written"
        ) from error
    converted = _read(path)
    if converted is None:
        raise InputError(f"{path}: cannot be read back after writing; check the disk")
    return converted


def _write(path: Path, words: Sequence[str], matrix: NDArray[np.float32]) -> None:
    """Write numpy's file of the matrix, followed by the words, a line each."""
    with atomic_write(path, "wb") as file:
        np.save(file, np.asarray(matrix, "<f4"))
        file.writelines(f"{word}\n".encode() for word in words)


def _read(path: Path) -> Converted | None:
    """The file's words and mapped matrix, or None if it is missing, cut short or not ours."""
    try:
        matrix: np.memmap = np.load(path, mmap_mode="r", allow_pickle=False)
        with path.open("rb") as file:
            file.seek(matrix.offset + matrix.nbytes)
            words = file.read().decode().split("\n")
    except (OSError, EOFError, ValueError):
        return None
    return (words[:-1], matrix) if not words[-1] and len(words) == len(matrix) + 1 else None
