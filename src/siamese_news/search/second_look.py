"""A second look: a transformer reads the best posts of each list, and raises those near the seeds.

The first look ranks every post with words and small vectors. A transformer takes milliseconds for a
post, so it reads only the best K of a list. Let c be a post's cosine with a seed and m the median
of these K cosines; then max(0, c - m) times a weight and the seed's scale (`Scorer.scales`) is
added to the post's score, the largest over the seeds of one story. Nothing is subtracted, so a post
that was read never falls behind one that was not because it was read, and a threshold decides as it
does without a second look.

Where the first look says that vectors decide (`Scorer.agreement`), as for comments that answer
without naming the matter, more posts are read, the weight is higher, and the seed's vector moves
towards the mean of the ten posts nearest to it among the best.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from siamese_news.errors import InputError
from siamese_news.model.cached import cached_values
from siamese_news.model.foreign import open_foreign
from siamese_news.model.loading import ExternalModel, first_words, is_cross_encoder
from siamese_news.search.seeds import MILLION, Seeds
from siamese_news.utils.extras import needs

LEAST = 200
"""The least number of posts that are read unless the user sets it."""

MOST = 5000
"""The largest number of posts that are read unless the user sets it."""

_NEAR = 0.1  # a post with this score looks near
_TIMES = 2  # as many posts as look near are read, times this
_WEIGHT = 0.26
# The same where vectors decide, the weight of the mean vector of the nearest posts, how many these
# are, and among how many of the best they are looked for.
_DECIDING = 0.6
_LEADING = 1.0
_NEAREST = 10
_AMONG = 100
_CACHE = "second-look"


class SecondLook:
    """Adds to the scores of a search by a transformer.

    `folder` is that of a model of sentence-transformers or model2vec, or of a cross-encoder, which
    reads K `posts` of each list, `most` at most; None lets the scores decide: twice as many posts
    as score .1 or more, from 200 to 5,000, and up to 5,000 where vectors decide.

    The `scales` and `agreed` of its methods are those of the seeds by the scorer of the first look
    (`Scorer.scales`, `Scorer.agreement`). A cross-encoder reads as if no vectors decided.
    """

    def __init__(self, folder: Path, seeds: Seeds, posts: int | None = None) -> None:
        self._seeds = seeds
        self._posts = posts
        self.most = posts or MOST
        self._pairs = is_cross_encoder(folder)
        self._similar = _pairs(folder) if self._pairs else _vectors(folder)

    def count(
        self, number: int, scores: NDArray[np.int64], agreed: NDArray[np.floating]
    ) -> int:
        """K of list `number`, which has these scores in millionths."""
        if self._posts is not None:
            return self._posts
        near = int(np.count_nonzero(scores >= _NEAR * MILLION))
        share = float(self._deciding(number, agreed).max())
        deciding = round(MOST * share)
        return min(max(_TIMES * near, LEAST, deciding), MOST)

    def added(
        self,
        number: int,
        texts: Sequence[str],
        scales: NDArray[np.floating],
        agreed: NDArray[np.floating],
    ) -> NDArray[np.int64]:
        """(K,) millionths to add to the scores of posts with these texts, best first, in a list."""
        rows = self._rows(number)
        articles = [self._seeds.articles[row].full_text for row in rows]
        if not texts:
            return np.zeros(0, np.int64)
        deciding = self._deciding(number, agreed)
        similar = self._similar(articles, texts, deciding).astype(np.float64)
        excess = np.maximum(similar - np.median(similar, axis=1, keepdims=True), 0)
        weights = scales[rows] * (_WEIGHT + deciding * (_DECIDING - _WEIGHT))
        best = (weights[:, None] * excess).max(axis=0)
        return np.rint(MILLION * best).astype(np.int64)

    def _rows(self, number: int) -> list[int]:
        """The seeds of a list."""
        return (
            list(range(len(self._seeds.articles)))
            if self._seeds.one_story
            else [number]
        )

    def _deciding(
        self, number: int, agreed: NDArray[np.floating]
    ) -> NDArray[np.floating]:
        """How far vectors decide for the seeds of a list, from 0 to 1."""
        of_list = agreed[self._rows(number)]
        return np.zeros(len(of_list)) if self._pairs else of_list


Similar = Callable[
    [Sequence[str], Sequence[str], NDArray[np.floating]], NDArray[np.floating]
]
"""A articles, K posts, how far vectors decide (A,) -> (A, K) similarities, from -1 to 1."""


def _vectors(folder: Path) -> Similar:
    """Cosines by a model that encodes each text as a vector."""
    model = ExternalModel(folder)

    def similar(
        articles: Sequence[str], posts: Sequence[str], deciding: NDArray[np.floating]
    ) -> NDArray[np.floating]:
        stored = cached_values(_CACHE, folder, posts, posts, model.encode_posts)
        vectors = stored.astype(np.float32)
        encoded = []
        for article, share in zip(
            model.encode_articles(articles), deciding, strict=True
        ):
            cosines: NDArray[np.float32] = vectors @ article
            if share:
                rounded = np.round(cosines[:_AMONG], 6)
                nearest = np.argsort(-rounded, kind="stable")[:_NEAREST]
                mean = vectors[nearest].mean(axis=0)
                weight = np.float32(share * _LEADING)
                moved = article + weight * mean / np.linalg.norm(mean)
                cosines = vectors @ (moved / np.linalg.norm(moved))
            encoded.append(cosines)
        return np.stack(encoded)

    return similar


def _pairs(folder: Path) -> Similar:
    """Probabilities by a model that reads an article and a post together."""
    with needs("bench", "--second-look"):
        import torch
    model = open_foreign(
        folder,
        "sentence_transformers",
        "CrossEncoder",
        device="cpu",
        activation_fn=torch.nn.Sigmoid(),
    )

    def predicted(pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        scores = np.asarray(
            model.predict(list(pairs), show_progress_bar=False), np.float32
        )
        if scores.ndim > 1 and scores.shape[1] > 1:
            raise InputError(
                f"{folder}: returns {scores.shape[1]} numbers for a pair; expected a cross-encoder "
                "that returns one, such as those that rank passages"
            )
        return scores.reshape(-1, 1)

    def similar(
        articles: Sequence[str], posts: Sequence[str], _: NDArray[np.floating]
    ) -> NDArray[np.floating]:
        pairs = [(first_words(article), post) for article in articles for post in posts]
        names = ["\0".join(pair) for pair in pairs]
        scores = cached_values(_CACHE, folder, names, pairs, predicted)
        return scores.reshape(len(articles), len(posts))

    return similar
