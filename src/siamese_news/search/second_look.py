"""A second look: a transformer reads the best posts of each list, and raises those near the seeds.

The first look ranks every post with words and small vectors. A transformer takes milliseconds for a
post, so it reads only the best K of a list. Let c be a post's cosine with a seed and m the median
of these K cosines; then max(0, c - m) times a weight is added to the post's score, the largest over
the seeds of one story. Nothing is subtracted, so a post that was read never falls behind one that
was not because it was read, and a threshold decides as it does without a second look.
"""

import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from siamese_news.errors import InputError
from siamese_news.model.loading import ExternalModel, first_words, folder_hash, is_cross_encoder
from siamese_news.search.seeds import MILLION, Seeds
from siamese_news.utils.extras import needs
from siamese_news.utils.files import cache_folder

LEAST, MOST = 200, 5000
"""Posts of a list that are read, at least and at most, where the user names no number."""

_NEAR = 0.1  # a post with this score looks near
_TIMES = 2  # as many posts as look near are read, times this
_WEIGHT = 0.2
_TOGETHER = 256  # texts that are read between two savings


class SecondLook:
    """What the transformer of a folder adds to the scores of a search.

    Args:
        folder: a model of sentence-transformers or model2vec, or a cross-encoder.
        seeds: what is searched for.
        posts: K; None lets the scores decide: twice as many posts as score .1 or more, from 200 to
            5,000.

    Attributes:
        most: posts of a list that are read, at most.

    Raises:
        InputError: the folder holds none of these, or its library is not installed.
    """

    def __init__(self, folder: Path, seeds: Seeds, posts: int | None = None) -> None:
        self._seeds, self._posts, self.most = seeds, posts, posts or MOST
        self._similar = _pairs(folder) if is_cross_encoder(folder) else _vectors(folder)

    def count(self, scores: NDArray[np.int64]) -> int:
        """K of a list with these scores in millionths."""
        if self._posts is not None:
            return self._posts
        near = int(np.count_nonzero(scores >= _NEAR * MILLION))
        return min(max(_TIMES * near, LEAST), MOST)

    def added(self, number: int, texts: Sequence[str]) -> NDArray[np.int64]:
        """What is added to the scores of the posts that are read, in millionths: (K,).

        Args:
            number: of the list: of the one of all seeds, or of a seed.
            texts: of the posts.

        Raises:
            InputError: the model fails; what it has read is kept for the same command.
        """
        own = self._seeds.articles
        articles = [one.full_text for one in (own if self._seeds.one_story else [own[number]])]
        if not texts:
            return np.zeros(0, np.int64)
        similar = self._similar(articles, texts).astype(np.float64)
        excess = np.maximum(similar - np.median(similar, axis=1, keepdims=True), 0).max(axis=0)
        return np.rint(_WEIGHT * MILLION * excess).astype(np.int64)


Text = TypeVar("Text")

Similar = Callable[[Sequence[str], Sequence[str]], NDArray[np.floating]]
"""A articles and K posts -> (A, K) how near they are, from -1 to 1."""


def _vectors(folder: Path) -> Similar:
    """Cosines by a model that gives each text a vector."""
    model = ExternalModel(folder)
    store = Store(folder)

    def similar(articles: Sequence[str], posts: Sequence[str]) -> NDArray[np.float32]:
        vectors: NDArray[np.float32] = store.values(posts, posts, model.encode_posts)
        return model.encode_articles(articles) @ vectors.T

    return similar


def _pairs(folder: Path) -> Similar:
    """Probabilities by a model that reads an article and a post together."""
    with needs("bench", "--second-look"):
        import torch
        from sentence_transformers import CrossEncoder
    model = CrossEncoder(
        str(folder), device="cpu", trust_remote_code=False, activation_fn=torch.nn.Sigmoid()
    )
    store = Store(folder)

    def predicted(pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        found = np.asarray(model.predict(list(pairs), show_progress_bar=False), np.float32)
        if found.ndim > 1 and found.shape[1] > 1:
            raise InputError(
                f"{folder}: gives {found.shape[1]} numbers for a pair; expected a cross-encoder "
                "that gives one, such as those that rank passages"
            )
        return found.reshape(-1, 1)

    def similar(articles: Sequence[str], posts: Sequence[str]) -> NDArray[np.float32]:
        pairs = [(first_words(article), post) for article in articles for post in posts]
        found = store.values(["\0".join(pair) for pair in pairs], pairs, predicted)
        return found.reshape(len(articles), len(posts))

    return similar


class Store:
    """What a model said of texts, in a file of the user's cache, by a hash of each text.

    Args:
        folder: of the model; a model with other files has a store of its own.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = cache_folder() / f"second-look-{folder_hash(folder)[:32]}.sqlite"

    def values(
        self,
        names: Sequence[str],
        texts: Sequence[Text],
        read: Callable[[Sequence[Text]], NDArray[np.float32]],
    ) -> NDArray[np.float32]:
        """(n, D) what the model says of n texts, to three digits.

        Args:
            names: of the texts, which are hashed.
            texts: what the model reads.
            read: n texts -> (n, D). Only texts that are not known are read; they are saved as they
                come.

        Raises:
            InputError: the model fails, or the cache cannot be written.
        """
        keys = [blake2b(n.encode("utf-8", "surrogatepass"), digest_size=16).digest() for n in names]
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._path, timeout=60)) as known:
                known.execute("create table if not exists said (text blob primary key, value blob)")
                found = _known(known, keys)
                new = dict(zip(keys, texts, strict=True))
                missing = [key for key in new if key not in found]
                for part in _shown([missing[n : n + _TOGETHER] for n in _steps(len(missing))]):
                    values = self._read(read, [new[key] for key in part], len(found), len(new))
                    found |= {key: row.tobytes() for key, row in zip(part, values, strict=True)}
                    with known:
                        known.executemany(
                            "insert or replace into said values (?, ?)",
                            [(key, found[key]) for key in part],
                        )
        except (OSError, sqlite3.Error) as error:
            raise InputError(
                f"{self._path}: cannot be written ({error}); free some space, remove the file if "
                "it is damaged, or set SIAMESE_NEWS_CACHE to a folder that can be written"
            ) from error
        return np.stack([np.frombuffer(found[key], np.float16) for key in keys]).astype(np.float32)

    def _read(
        self,
        read: Callable[[Sequence[Text]], NDArray[np.float32]],
        texts: list[Text],
        done: int,
        total: int,
    ) -> NDArray[np.float16]:
        try:
            return read(texts).astype(np.float16)
        except (RuntimeError, ValueError, TypeError, IndexError) as error:
            raise InputError(
                f"{self._folder}: the model failed after {done:,} of {total:,} texts ({error}); "
                "what it has read is kept, and the same command goes on from there"
            ) from error


def _steps(count: int) -> range:
    return range(0, count, _TOGETHER)


def _known(store: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    for start in _steps(len(keys)):
        some = keys[start : start + _TOGETHER]
        marks = ",".join("?" * len(some))
        found.update(store.execute(f"select * from said where text in ({marks})", some))
    return found


def _shown(parts: list[list[bytes]]) -> Iterator[list[bytes]]:
    """The parts, with a bar and the time that is left where somebody looks."""
    if not parts or not sys.stderr.isatty():
        yield from parts
        return
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    yield from track(parts, "second look", console=console, transient=True)
