"""Writes segments, from posts that a model reads."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from siamese_news.data.records import Post
from siamese_news.lexical_head.options import TermOptions
from siamese_news.model.text_model import TextModel
from siamese_news.scoring.post_features import PostReader
from siamese_news.search.index.array_files import rounded_up
from siamese_news.search.index.manifest import Manifest
from siamese_news.search.index.segment import Codes, SegmentWriter
from siamese_news.search.pool import Floats
from siamese_news.text.token_ids import TokenIds
from siamese_news.utils.files import file_sha256

# Limits of a segment: places in it are 32-bit numbers, and arrays made from it stay small.
_POSTS = 1 << 22
_TOKENS = 1 << 31


def codes_of(model: TextModel) -> Codes:
    """The codes of a model's tokens."""
    options = TermOptions() if model.terms is None else model.terms.options
    return Codes.of(len(model.vocabulary), options.surface.characters)


class IndexWriter:
    """Reads posts with a model and writes them into new segments, listed in the manifest."""

    def __init__(self, folder: Path, manifest: Manifest, model: TextModel) -> None:
        self._folder = folder
        self._manifest = manifest
        self._model = model
        self._reader = (
            PostReader(model, dense=True) if model.terms is not None else None
        )
        self._weights = model.terms.background() if model.terms is not None else None
        self._writer: SegmentWriter | None = None

    def append(self, posts: Sequence[Post]) -> None:
        """Add posts; a segment is of bounded size."""
        if not posts:
            return
        if self._writer is None:
            self._path = self._folder / f"segment-{len(self._manifest.segments)}"
            self._path.mkdir()
            self._writer = SegmentWriter(
                self._path, self._manifest.codes, self._model.output_dim
            )
        token_ids = self._model.token_ids([post.text for post in posts])
        self._writer.append(posts, token_ids, *self._read(token_ids))
        if self._writer.posts >= _POSTS or self._writer.tokens >= _TOKENS - (1 << 30):
            self._end()

    def _read(self, ids: TokenIds) -> tuple[Floats, NDArray[np.float16]]:
        """Dense vectors (P, D), and one over the scales (P, 2) of the lexical ones."""
        if self._reader is None or self._weights is None:
            return self._model.encode_ids(ids, "post", 4096), np.zeros(
                (len(ids), 2), np.float16
            )
        features = self._reader.of_ids(ids)
        assert features.vectors is not None
        weights = self._weights.of(features.terms)
        if features.factors is not None:
            weights *= features.factors
        scales = self._weights.scales(features.rows, features.terms, weights, len(ids))
        return features.vectors, rounded_up(1 / np.stack(scales, axis=1))

    def finish(self) -> None:
        """Finish the last segment; all are flushed to the disk."""
        self._end()
        sync(self._folder)

    def _end(self) -> None:
        if self._writer is None:
            return
        self._writer.close()
        sync(self._path)
        name = self._path.name
        for item in sorted(self._path.iterdir()):
            entry = item.stat().st_size, file_sha256(item)
            self._manifest.files[f"{name}/{item.name}"] = entry
        self._manifest.segments[name] = self._writer.posts
        self._writer = None


def sync(folder: Path) -> None:
    """Flush the names in a folder to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
