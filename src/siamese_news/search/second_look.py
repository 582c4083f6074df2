"""A second look: a transformer reads the best posts of each list, and raises those near the seeds.

The first look ranks every post with words and small vectors. A transformer takes milliseconds for a
post, so it reads only the best K of a list. Let c be a post's cosine with a seed and m the median
of these K cosines; then max(0, c - m) times a weight and the seed's scale (`Scorer.scales`) is
added to the post's score, the largest over the seeds of one story. Nothing is subtracted, so a post
that was read never falls behind one that was not because it was read, and a threshold decides as it
does without a second look.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from siamese_news.errors import InputError
from siamese_news.model.cached import cached_values
from siamese_news.model.loading import ExternalModel, first_words, is_cross_encoder
from siamese_news.search.seeds import MILLION, Seeds
from siamese_news.utils.extras import needs

LEAST, MOST = 200, 5000
"""The least and the largest number of posts that are read unless the user sets it."""

_NEAR = 0.1  # a post with this score looks near
_TIMES = 2  # as many posts as look near are read, times this
_WEIGHT = 0.26
_CACHE = "second-look"


class SecondLook:
    """Adds to the scores of a search by a transformer.

    `folder` is that of a model of sentence-transformers or model2vec, or of a cross-encoder, which
    reads K `posts` of each list, `most` at most; None lets the scores decide: twice as many posts
    as score .1 or more, from 200 to 5,000.
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

    def added(
        self, number: int, texts: Sequence[str], scales: NDArray[np.floating]
    ) -> NDArray[np.int64]:
        """(K,) millionths to add to the scores of posts with these texts, in list `number`.

        `scales` are those of the scorer of the first look (`Scorer.scales`).
        """
        seeds = self._seeds.articles
        rows = range(len(seeds)) if self._seeds.one_story else [number]
        articles = [seeds[row].full_text for row in rows]
        if not texts:
            return np.zeros(0, np.int64)
        similar = self._similar(articles, texts).astype(np.float64)
        excess = np.maximum(similar - np.median(similar, axis=1, keepdims=True), 0)
        best = (scales[list(rows), None] * excess).max(axis=0)
        return np.rint(_WEIGHT * MILLION * best).astype(np.int64)


Similar = Callable[[Sequence[str], Sequence[str]], NDArray[np.floating]]
"""A articles and K posts -> (A, K) similarities, from -1 to 1."""


def _vectors(folder: Path) -> Similar:
    """Cosines by a model that encodes each text as a vector."""
    model = ExternalModel(folder)

    def similar(articles: Sequence[str], posts: Sequence[str]) -> NDArray[np.floating]:
        vectors = cached_values(_CACHE, folder, posts, posts, model.encode_posts)
        cosines: NDArray[np.float32] = model.encode_articles(articles) @ vectors.T.astype(
            np.float32
        )
        return cosines

    return similar


def _pairs(folder: Path) -> Similar:
    """Probabilities by a model that reads an article and a post together."""
    with needs("bench", "--second-look"):
        import torch
        from sentence_transformers import CrossEncoder
    model = CrossEncoder(
        str(folder), device="cpu", trust_remote_code=False, activation_fn=torch.nn.Sigmoid()
    )

    def predicted(pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        found = np.asarray(model.predict(list(pairs), show_progress_bar=False), np.float32)
        if found.ndim > 1 and found.shape[1] > 1:
            raise InputError(
                f"{folder}: returns {found.shape[1]} numbers for a pair; expected a cross-encoder "
                "that returns one, such as those that rank passages"
            )
        return found.reshape(-1, 1)

    def similar(articles: Sequence[str], posts: Sequence[str]) -> NDArray[np.floating]:
        pairs = [(first_words(article), post) for article in articles for post in posts]
        names = ["\0".join(pair) for pair in pairs]
        found = cached_values(_CACHE, folder, names, pairs, predicted)
        return found.reshape(len(articles), len(posts))

    return similar
