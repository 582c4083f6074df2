"""Vectors of texts that are computed once, whoever asks for them and how often."""

import os
import tempfile
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from threading import Lock
from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

MOST_TEXTS = 1 << 20
"""Texts after which a store begins anew: 150 bytes of memory each, and the vectors on the disk."""


class VectorStore:
    """Vectors by the keys of their texts, in a temporary file without a name.

    An encoder takes up to milliseconds for a text, and a scorer asks for the vectors of a post in
    each pass over a pool and for each seed that it is near. Threads take turns. Every process has
    a file of its own, also after a fork, which is gone with it.

    Args:
        dtype: the precision in which vectors are kept and returned.
    """

    def __init__(self, dtype: DTypeLike) -> None:
        self._dtype = np.dtype(dtype)
        self._rows: dict[Hashable, int] = {}
        self._turn = Lock()
        self._process = os.getpid()

    def __reduce__(self) -> tuple[type["VectorStore"], tuple[np.dtype[Any]]]:
        return VectorStore, (self._dtype,)

    @cached_property
    def _file(self) -> IO[bytes]:
        return tempfile.TemporaryFile(prefix="siamese-news-vectors-")

    def of(
        self,
        keys: Sequence[Hashable],
        encode: Callable[[list[int]], NDArray[np.floating]],
    ) -> NDArray[Any]:
        """(P, D) the vectors of P texts by their keys.

        `encode` gives those of the texts at some places among the P.
        """
        if not keys:
            return encode([]).astype(self._dtype)
        if (
            self._process != os.getpid()
        ):  # forked since: the file is the other process's
            vars(self).pop("_file", None)
            VectorStore.__init__(self, self._dtype)
        with self._turn:
            return self._of(keys, encode)

    def _of(
        self,
        keys: Sequence[Hashable],
        encode: Callable[[list[int]], NDArray[np.floating]],
    ) -> NDArray[Any]:
        if len(self._rows) + len(keys) > MOST_TEXTS:
            self._rows = {}
            self._file.truncate(0)
        new = {key: row for row, key in enumerate(keys) if key not in self._rows}
        if new:
            vectors = encode(list(new.values())).astype(self._dtype)
            self._file.seek(0, 2)
            self._file.write(vectors.tobytes())
            self._file.flush()
            start = len(self._rows)
            self._rows |= {key: start + row for row, key in enumerate(new)}
        stored = np.memmap(self._file, self._dtype, mode="r")
        rows = [self._rows[key] for key in keys]
        return np.asarray(stored.reshape(len(self._rows), -1)[rows])
