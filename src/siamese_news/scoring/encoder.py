"""Encoders of another library beside our words: what they must do, and each text encoded once."""

import tempfile
from collections.abc import Sequence
from hashlib import blake2b
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Encodes(Protocol):
    """What a dense model must do: `TextModel`, or `ExternalModel`."""

    def encode_articles(self, texts: Sequence[str]) -> np.ndarray:
        """Unit vectors (A, D) float32."""

    def encode_posts(self, texts: Sequence[str]) -> np.ndarray:
        """Unit vectors (P, D) float32."""


class EncodedOnce:
    """An encoder that keeps the vectors of posts, as float16 in a temporary file.

    A transformer takes milliseconds for a post, and a scorer reads a pool twice. In memory are 150
    bytes a post; the file, which has no name, is gone with the process.

    Args:
        encoder: the encoder.
    """

    def __init__(self, encoder: Encodes) -> None:
        self._encoder = encoder
        self._rows: dict[bytes, int] = {}
        self._file = tempfile.TemporaryFile(prefix="siamese-news-vectors-")
        self._size = 0

    def encode_articles(self, texts: Sequence[str]) -> np.ndarray:
        """See `Encodes`."""
        vectors = self._encoder.encode_articles(texts)
        self._size = vectors.shape[1]
        return vectors

    def encode_posts(self, texts: Sequence[str]) -> NDArray[np.float16]:
        """Unit vectors (P, D) to three digits."""
        keys = [
            blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
            for text in texts
        ]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._rows}
        if new:
            vectors = self._encoder.encode_posts(list(new.values())).astype(np.float16)
            self._file.seek(0, 2)
            self._file.write(vectors.tobytes())
            self._file.flush()
            start = len(self._rows)
            self._rows |= {key: start + place for place, key in enumerate(new)}
        if not keys:
            return np.zeros((0, self._size), np.float16)
        stored = np.memmap(self._file, np.float16, mode="r", shape=(len(self._rows), self._size))
        return np.asarray(stored[[self._rows[key] for key in keys]])
