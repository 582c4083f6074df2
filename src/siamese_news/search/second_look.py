"""A second look: an encoder reads the best posts of each list, and raises those near the seeds.

The first look ranks every post with words and small vectors. The Star Transformer that ships reads
the best K of a list (another model, such as a transformer, if its folder is named). Let c be a
post's cosine with a seed without half of its density (`density`), and q a high quantile of these K
numbers. Then max(0, c - q) times a weight and the seed's scale (`Scorer.scales`) is added to the
post's score, the largest over the seeds of one story. The sums order the K posts, and the K scores
of the first look are dealt out in this order (`dealt`): how much a model adds depends on the list,
so that the sums of different lists do not compare.

Where the first look says that vectors decide (`Scorer.agreement`), as for comments that answer
without naming the matter, more posts are read, the weight is higher, q falls to the median, and the
scores are smoothed over the posts that the model finds alike. The small vectors that measure this
are of English words. For a seed in another language the vectors of another library's model measure
it by the same rule, on its differences of cosine and density.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from siamese_news.data.records import Post
from siamese_news.errors import InputError
from siamese_news.lexical_head.options import Agreement, Smoothing
from siamese_news.model.cached import cached_values
from siamese_news.model.foreign import library_errors, open_foreign
from siamese_news.model.loading import (
    ExternalModel,
    first_words,
    is_cross_encoder,
    library_of,
    model_of,
    shipped_star,
)
from siamese_news.model.text_model import STAR, TextModel
from siamese_news.scoring import rules
from siamese_news.scoring.candidates import content_keys
from siamese_news.scoring.smoothing import Neighbors
from siamese_news.scoring.vector_store import VectorStore
from siamese_news.search.query import SHIPPED_STAR
from siamese_news.search.seeds import MILLION, Seeds
from siamese_news.text.languages import language_of_seed
from siamese_news.utils.extras import needs

LEAST = 200
"""The least number of posts that are read unless the user sets it."""

MOST = 5000
"""The largest number of posts that are read unless the user sets it."""

SAMPLED = 300
"""Posts of a pool among which the neighbors are that make a post's density."""

_NEAR = 0.1  # a post with this score looks near
_TIMES = 2  # as many posts as look near are read, times this
# The weight of the excess and the quantile that it is over, and both where vectors decide.
_WEIGHT = 0.26
_QUANTILE = 0.95
_DECIDING = 0.6
_MEDIAN = 0.5
# What counts of a density, and the mean of how many nearest posts of a sample it is.
_DENSITY = 0.5
_DENSE = 10
# Where vectors decide: the neighbors of a post, and the weight of their scores in its own.
_SMOOTHING = Smoothing(neighbors=20, least=0.0, exponent=2.0, prior=1e-9, dense=1.0)
_SMOOTHED = 0.6
# How the model of another library measures that for a seed that is not in English.
_AGREEMENT = Agreement()
_CACHE = "second-look"

Floats = NDArray[np.float32]


class SecondLook:
    """Orders the best posts of each list of a search anew, by a model that reads them.

    `folder` is that of any model with vectors, or of a cross-encoder; ``star`` is the Star
    Transformer that ships. It reads K `posts` of each list, `most` at most; None lets the scores
    decide: twice as many posts as score .1 or more, from 200 to 5,000, and up to 5,000 where
    vectors decide.

    The `scales` and `agreed` of its methods are those of the seeds by the scorer of the first look
    (`Scorer.scales`, `Scorer.agreement`). A cross-encoder reads as if no vectors decided.
    """

    def __init__(self, folder: Path, seeds: Seeds, posts: int | None = None) -> None:
        self.folder = STAR if folder == SHIPPED_STAR else folder
        self._seeds = seeds
        self._posts = posts
        self.most = posts or MOST
        self._sample: list[str] = []
        self._vectors = None
        if is_cross_encoder(self.folder):
            self._similar = _pairs(self.folder)
        else:
            self._vectors = _Vectors(self.folder)
        # Whether this model tells how far vectors decide for seeds that are not in English.
        self._measures = self._vectors is not None and bool(library_of(self.folder))

    def read_sample(self, posts: Iterable[Post]) -> None:
        """Take the posts of the pool (`Pool.sample`) among which neighbors are looked for."""
        keys = {
            (crc32(post.text.encode("utf-8", "replace")), post.text) for post in posts
        }
        self._sample = [text for _, text in sorted(keys)[:SAMPLED]]

    def reread(
        self,
        number: int,
        scores: NDArray[np.int64],
        order: NDArray[np.intp],
        texts_of: Callable[[NDArray[np.intp]], list[str]],
        scales: NDArray[np.floating],
        agreed: NDArray[np.floating],
        shares: NDArray[np.floating] | None = None,
    ) -> NDArray[np.intp]:
        """(K,) the places that were read in list `number`; their `scores` (P,) are replaced.

        `order` (P,) has all places, best first, and `texts_of` returns the texts of some. Of what
        the posts gain they get these `shares` (P,).
        """
        agreed = self._agreement(number, scores, order, texts_of, agreed)
        reread = order[: self.count(number, scores, agreed)]
        scores[reread] = self.scores(
            number,
            texts_of(reread),
            scores[reread],
            scales,
            agreed,
            1.0 if shares is None else shares[reread],
        )
        return reread

    def least(
        self,
        number: int,
        scores: NDArray[np.int64],
        agreed: NDArray[np.floating],
        top: int,
    ) -> int:
        """The lowest score in millionths with which a post can matter to list `number`.

        `scores` are the best of the list so far, and `top` of it are shown. K follows from the posts
        that look near, so each of those matters until `most` are read anyway.
        """
        count = (
            self.most if self._foreign(number) else self.count(number, scores, agreed)
        )
        depth = max(top, count)
        lowest = np.iinfo(np.int64).min
        if len(scores) >= depth:
            lowest = int(np.partition(scores, -depth)[-depth])
        # A K that the user gave is `most`.
        return lowest if count >= self.most else min(lowest, round(_NEAR * MILLION))

    def count(
        self, number: int, scores: NDArray[np.int64], agreed: NDArray[np.floating]
    ) -> int:
        """K of list `number`, which has these scores in millionths."""
        if self._posts is not None:
            return self._posts
        near = int(np.count_nonzero(scores >= _NEAR * MILLION))
        deciding = round(MOST * float(self._deciding(number, agreed).max()))
        return min(max(_TIMES * near, LEAST, deciding), MOST)

    def scores(
        self,
        number: int,
        texts: Sequence[str],
        first_scores: NDArray[np.int64],
        scales: NDArray[np.floating],
        agreed: NDArray[np.floating],
        shares: NDArray[np.floating] | float = 1.0,
    ) -> NDArray[np.int64]:
        """(K,) scores in millionths of the posts of a list that have these texts, best first.

        `first_scores` (K,) are theirs by the first look, and of what they gain they get these
        `shares` (K,).
        """
        rows = self._rows(number)
        if not texts:
            return first_scores
        deciding = self._deciding(number, agreed)
        vectors = None
        if self._vectors is None:
            articles = [self._seeds.articles[row].full_text for row in rows]
            similar = self._similar(articles, texts).astype(np.float64)
            over = np.full(len(rows), _MEDIAN)
        else:
            vectors, cosines, similar = self._compared(rows, texts)
            over = _QUANTILE - deciding**2 * (_QUANTILE - _MEDIAN)
        floors = [np.quantile(*pair) for pair in zip(similar, over, strict=True)]
        excess = np.maximum(similar - np.array(floors)[:, None], 0)
        if vectors is not None:
            excess[cosines <= 0] = 0  # of a text without a known word, say
        weights = scales[rows] * (_WEIGHT + deciding**2 * (_DECIDING - _WEIGHT))
        best = (weights[:, None] * excess).max(axis=0) * shares
        share = float(deciding.max())
        if vectors is not None and share:
            raised = first_scores / MILLION + best
            options = replace(_SMOOTHING, weight=_SMOOTHED * share)
            wordless = sparse.csr_matrix((len(texts), 0))
            best += Neighbors.of(wordless, vectors, options).smooth(raised) - raised
        return dealt(first_scores, first_scores + np.rint(MILLION * best).astype(int))

    def _density(self, texts: Sequence[str], vectors: Floats) -> NDArray[np.float64]:
        """(K,) the mean cosine of each post to the nearest different texts of the sample.

        A post that is near everything is near nothing in particular (hubness; Radovanović et al.
        2010, "Hubs in Space").
        """
        assert self._vectors is not None
        place_of = {text: column for column, text in enumerate(self._sample)}
        sampled = self._vectors.of_posts(self._sample)
        cosines = vectors @ sampled.T
        for row, text in enumerate(texts):
            if text in place_of:
                cosines[row, place_of[text]] = -1
        # The least of a small sample is the post itself, which counts for nothing.
        nearest = np.sort(cosines, axis=1)[:, 1:][:, -_DENSE:].astype(np.float64)
        return nearest.sum(axis=1) / max(nearest.shape[1], 1)

    def _agreement(
        self,
        number: int,
        scores: NDArray[np.int64],
        order: NDArray[np.intp],
        texts_of: Callable[[NDArray[np.intp]], list[str]],
        agreed: NDArray[np.floating],
    ) -> NDArray[np.floating]:
        """(A,) how far vectors decide: by this model's for seeds that are not in English.

        Cosines of models differ in how far they spread, so they count in standard deviations.
        """
        foreign = self._foreign(number)
        if not foreign or not len(order):
            return agreed
        nearest = order[: min(_AGREEMENT.posts, self.most)]
        _, _, similar = self._compared(foreign, texts_of(nearest))
        similar /= similar.std(axis=1, keepdims=True) + 1e-6
        words = (scores[nearest] / MILLION).astype(np.float32)
        measured = agreed.astype(np.float64)
        measured[foreign] = [
            rules.agreement(_AGREEMENT, words, line) for line in similar
        ]
        return measured

    def _compared(
        self, rows: Sequence[int], texts: Sequence[str]
    ) -> tuple[Floats, Floats, NDArray[np.float64]]:
        """(K, D) vectors of posts, (A, K) cosines with seeds, and these less half of the densities."""
        assert self._vectors is not None
        vectors = self._vectors.of_posts(texts)
        articles = [self._seeds.articles[row].full_text for row in rows]
        cosines = self._vectors.of_articles(articles) @ vectors.T
        return vectors, cosines, cosines - _DENSITY * self._density(texts, vectors)

    def _foreign(self, number: int) -> list[int]:
        """The seeds of a list for which this model measures how far vectors decide."""
        return [
            row
            for row in self._rows(number)
            if self._measures and language_of_seed(self._seeds.articles[row].full_text)
        ]

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
        return np.zeros(len(of_list)) if self._vectors is None else of_list


def dealt(scores: NDArray[np.int64], order: NDArray[np.int64]) -> NDArray[np.int64]:
    """(K,) the same scores, dealt out so that they rise with `order` (K,).

    Equal places of the order get the mean of their scores, and a higher place is higher by a
    millionth at least.

        >>> dealt(np.array([9, 7, 2]), np.array([30, 60, 30])).tolist()
        [4, 9, 4]
    """
    _, levels, counts = np.unique(order, return_inverse=True, return_counts=True)
    starts = np.cumsum(counts) - counts
    means = np.rint(np.add.reduceat(np.sort(scores), starts) / counts).astype(np.int64)
    rising = np.arange(len(means))
    return (np.maximum.accumulate(means - rising) + rising)[levels]


class _Vectors:
    """Unit vectors by the model of a folder; each text is read once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._store = VectorStore(np.float32)
        if folder != STAR:
            _ = self._model  # what it lacks is reported before the search

    @cached_property
    def _model(self) -> TextModel | ExternalModel:
        # The star takes a fifth of the memory of a search, which needs it last.
        if self._folder == STAR:
            return shipped_star()
        return (ExternalModel if library_of(self._folder) else model_of)(self._folder)

    def of_articles(self, texts: Sequence[str]) -> Floats:
        """(A, D)."""
        return self._model.encode_articles(texts)

    def of_posts(self, texts: Sequence[str]) -> Floats:
        """(K, D)."""
        model = self._model
        if isinstance(model, ExternalModel):
            stored = cached_values(
                _CACHE, self._folder, texts, texts, model.encode_posts
            )
            return stored.astype(np.float32)

        def encoded(rows: list[int]) -> Floats:
            ids = model.token_ids([texts[row] for row in rows])
            # Many texts differ in a link alone.
            _, one_of_each, inverse = np.unique(
                content_keys(ids), return_index=True, return_inverse=True
            )
            return model.encode_ids(ids.take(one_of_each), "post")[inverse]

        # Lists have many posts in common; no text is split into words twice.
        return self._store.of(list(map(hash, texts)), encoded)


Similar = Callable[[Sequence[str], Sequence[str]], NDArray[np.floating]]
"""A articles, K posts -> (A, K) similarities, from 0 to 1."""


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
        with library_errors(folder):
            scores = np.asarray(
                model.predict(list(pairs), show_progress_bar=False), np.float32
            )
        if scores.ndim > 1 and scores.shape[1] > 1:
            raise InputError(
                f"{folder}: returns {scores.shape[1]} numbers for a pair; expected a cross-encoder "
                "that returns one, such as those that rank passages"
            )
        return scores.reshape(-1, 1)

    def similar(articles: Sequence[str], posts: Sequence[str]) -> NDArray[np.floating]:
        pairs = [
            (beginning, post) for beginning in first_words(articles) for post in posts
        ]
        names = ["\0".join(pair) for pair in pairs]
        scores = cached_values(_CACHE, folder, names, pairs, predicted)
        return scores.reshape(len(articles), len(posts))

    return similar
