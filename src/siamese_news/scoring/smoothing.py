"""Smoothing: a post's score leans on the scores of the posts most like it.

Posts that resemble each other tend to be relevant to the same articles (the cluster hypothesis).
Diaz (CIKM 2005, "Regularizing ad hoc retrieval scores") moves a ranking's scores towards those of
each document's neighbors. Here a post with close neighbors takes their mean, and a post without
any keeps its score.
"""

import ctypes
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from siamese_news.lexical_head.options import Smoothing, Widening
from siamese_news.lexical_head.weights import TermWeights
from siamese_news.scoring.candidates import Candidates, Keys, TextTable, content_keys
from siamese_news.scoring.post_features import PostReader, Posts, unit_terms
from siamese_news.scoring.scorer import Neighbor
from siamese_news.text.token_ids import TokenIds
from siamese_news.utils.compiled_loops import load_loops

Score = Callable[[Posts, Sequence[int]], NDArray[np.float32]]
"""Posts and the numbers of some articles -> their scores before smoothing, (articles, P)."""

_ROWS = 256  # of a matrix of similarities, at once


@dataclass(frozen=True, slots=True)
class Neighbors:
    """The neighbors of each of n posts; the weights of each post's sum to 1, or to 0."""

    rows: NDArray[np.int64]  # (n, k) which of the posts they are
    # (n, k) what each counts in the mean, 0 for those too far away.
    weights: NDArray[np.float64]
    gains: NDArray[np.float64]  # (n,) the weight of the mean in the smoothed score

    @classmethod
    def of(
        cls,
        terms: sparse.csr_matrix,
        vectors: NDArray[np.float32],
        options: Smoothing,
        wider: tuple[float, Widening] = (0.0, Widening()),
    ) -> "Neighbors":
        """Find the neighbors of n posts among themselves, by words (n, C) and vectors (n, D).

        Products of `terms` are the lexical similarities; the vectors are unit vectors. `wider` has
        the gate of `Widening`, and its numbers.
        """
        gate, widening = wider
        wide = vectors.astype(np.float64)
        similarity: NDArray[np.float64] = wide @ wide.T
        limit = widening.neighbors if gate else options.neighbors
        threshold = min(options.least, widening.least) if gate else options.least
        search = _Search(
            terms=terms,
            dense=options.dense,
            threshold=threshold,
            count=max(0, min(limit, len(similarity) - 1)),
            # Most posts have too many of these neighbors; single precision sorts them out faster.
            single=bool(gate),
        )
        rows = search.nearest(similarity)
        near = np.take_along_axis(similarity, rows, axis=1)
        weights = _over(near, options.least) ** options.exponent
        if gate:
            weights *= 1 - gate
            weights += gate * _over(near, widening.least) ** widening.exponent
        total = weights.sum(axis=1)
        gains = options.weight * total / (total + options.prior)
        divisors = np.where(total > 0, total, 1.0)
        return cls(rows, weights / divisors[:, None], gains)

    def smooth(self, scores: NDArray[np.floating]) -> NDArray[np.float64]:
        """The smoothed scores of the same posts: (..., n)."""
        around = (scores[..., self.rows] * self.weights).sum(axis=-1)
        smoothed: NDArray[np.float64] = (1 - self.gains) * scores + self.gains * around
        return smoothed


def likeness(
    posts: Posts, weights: TermWeights, options: Smoothing, count: int
) -> float:
    """How much the first of some different posts resemble each other and the rest, from 0 to 1.

    It is the mean of their `Neighbors.gains` where `Smoothing.weight` is 1; see Diaz (SIGIR 2007,
    "Performance prediction using spatial autocorrelation").
    """
    # Without vectors the words alone tell; they must not be less alike for it.
    dense = options.dense if posts.vectors is not None else 0.0
    full = replace(options, weight=1.0, dense=dense)
    near = Neighbors.of(unit_terms(posts, weights), _vectors(posts), full)
    return float(near.gains[:count].mean())


def _vectors(posts: Posts) -> NDArray[np.float32]:
    """(P, D); D is 0 where the dense head does not count."""
    if posts.vectors is None:
        return np.zeros((len(posts.ids), 0), np.float32)
    return posts.vectors


def _over(similarity: NDArray[np.float64], threshold: float) -> NDArray[np.float64]:
    """The similarities over `threshold`, and 0 for the others."""
    return np.where(similarity > threshold, np.maximum(similarity, 0.0), 0.0)


@dataclass(frozen=True, slots=True)
class _Search:
    """A search for the nearest of n posts, in C (``neighbors.c``) or, with the same result, here.

    Attributes:
        terms: (n, C), whose products are the similarities by words.
        dense: the weight of those by vectors.
        threshold: the similarity that a neighbor exceeds.
        count: of the neighbors of a post, at most.
        single: whether similarities are compared in single precision.
    """

    terms: sparse.csr_matrix
    dense: float
    threshold: float
    count: int
    single: bool

    def nearest(self, similarity: NDArray[np.float64]) -> NDArray[np.int64]:
        """(n, count) the neighbors of each post, then the post itself.

        From (n, n) products of vectors, `similarity` becomes that by words and vectors, -1 of a post
        to itself.
        """
        nearest = np.tile(np.arange(len(similarity))[:, None], (1, self.count))
        in_single = self.terms.dtype == np.float32 or not self.terms.nnz
        if in_single and _loops() is not None:
            undecided = self._compiled(similarity, nearest)
        else:
            self._complete(similarity)
            undecided = self._few(similarity, nearest)
        rows = np.flatnonzero(undecided)
        for start in range(0, len(rows) if self.count else 0, _ROWS):
            block = rows[start : start + _ROWS]
            among = similarity[block]
            if self.single:
                among = among.astype(np.float32)
            highest_first = np.argpartition(-among, self.count - 1, axis=1)
            nearest[block] = highest_first[:, : self.count]
        return nearest

    def _complete(self, similarity: NDArray[np.float64]) -> None:
        similarity *= self.dense
        turned = self.terms.T.tocsr()
        # A few rows at a time: the sparse product of all takes much memory.
        for start in range(0, len(similarity), _ROWS):
            block = slice(start, start + _ROWS)
            products = (self.terms[block] @ turned).toarray().astype(np.float64)
            similarity[block] += products * (1 - self.dense)
        np.fill_diagonal(similarity, -1.0)

    def _few(
        self, similarity: NDArray[np.float64], nearest: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Fill in the neighbors of posts with at most `count`; (n,) which posts have more."""
        compared = similarity.astype(np.float32) if self.single else similarity
        over = compared > self.threshold
        has_more = over.sum(axis=1) > self.count
        rows, columns = np.nonzero(over & ~has_more[:, None])
        neighbor_ranks = np.arange(len(rows)) - np.searchsorted(rows, rows)
        nearest[rows, neighbor_ranks] = columns
        return has_more

    def _compiled(
        self, similarity: NDArray[np.float64], nearest: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Fill in all neighbors; (n,) which posts have several equally near at the end."""
        terms = self.terms
        posts, features = terms.shape
        undecided = np.zeros(posts, bool)
        arrays = {
            "starts": terms.indptr.astype(np.int32),
            "columns": terms.indices.astype(np.int32),
            "values": terms.data.astype(np.float32),
            "similarities": similarity,
            "nearest": nearest,
            "undecided": undecided,
            "by_feature": np.empty(features + 1, np.int32),
            "posts_of": np.empty(terms.nnz, np.int32),
            "values_of": np.empty(terms.nnz, np.float32),
            "sums": np.empty(posts, np.float32),
            "near": np.empty(posts + 1),
            "near_posts": np.empty(posts + 1, np.int64),
            "best": np.empty(self.count),
        }
        addresses = {name: array.ctypes.data for name, array in arrays.items()}
        loop = _loops()
        assert loop is not None
        loop.find_nearest(
            ctypes.byref(
                _Posts(
                    posts=posts,
                    features=features,
                    count=self.count,
                    dense=self.dense,
                    threshold=self.threshold,
                    single=self.single,
                    **addresses,
                )
            )
        )
        return undecided


@cache
def _loops() -> ctypes.CDLL | None:
    return load_loops(Path(__file__).with_name("neighbors.c"))[0]


class _Posts(ctypes.Structure):
    """``Posts`` of ``neighbors.c``."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("posts", "features", "count")),
        *((name, ctypes.c_void_p) for name in ("starts", "columns", "values")),
        *((name, ctypes.c_double) for name in ("dense", "threshold")),
        ("single", ctypes.c_int64),
        *(
            (name, ctypes.c_void_p)
            for name in (
                "similarities nearest undecided by_feature posts_of values_of sums near "
                "near_posts best"
            ).split()
        ),
    ]


class SmoothedScores:
    """Looks up the smoothed scores of posts by what they say.

    `score` has the scores before smoothing. The similarities are by background weights. `gates`
    (A,) tells how far each article's posts lean on less similar ones too (`Widening`).
    """

    def __init__(
        self,
        candidates: Candidates,
        reader: PostReader,
        score: Score,
        weights: TermWeights,
        options: Smoothing,
        widening: Widening,
        gates: NDArray[np.float64],
    ) -> None:
        self._candidates = candidates
        self._reader = reader
        self._weights = weights
        self._score = score
        self._options = options
        self._widening = widening
        self._gates = gates
        count = candidates.articles
        keys: list[Keys] = [np.zeros(0, np.uint64)] * count
        values: list[NDArray[np.float32]] = [np.zeros(0, np.float32)] * count
        for article, article_keys, _, unsmoothed, near in self._smoothed(range(count)):
            keys[article] = article_keys
            values[article] = near.smooth(unsmoothed).astype(np.float32)
        self._table = TextTable(keys, values)

    def put(self, scores: NDArray[np.float32], posts: Posts) -> None:
        """Replace the scores (A, P) of posts that are among an article's best."""
        articles, columns, values = self._table.find(
            posts.ids, posts.whole_text_vectors
        )
        scores[articles, columns] = values

    def neighbors(self, post: Posts, article: int) -> tuple[float, list[Neighbor]]:
        """The weight of one post's own score in the smoothed one, and its neighbors.

        They are 1 and none for a post that is not among the article's best.
        """
        (key,) = content_keys(post.ids, post.whole_text_vectors)
        for _, keys, texts, unsmoothed, near in self._smoothed([article]):
            for row in np.flatnonzero(keys == key).tolist():
                gain = float(near.gains[row])
                neighbors = zip(near.rows[row].tolist(), near.weights[row], strict=True)
                return 1 - gain, [
                    Neighbor(
                        texts[n],
                        gain * float(weight),
                        float(unsmoothed[n]),
                        self._candidates.vectors([int(keys[n])]),
                    )
                    for n, weight in neighbors
                    if weight
                ]
        return 1.0, []

    def _smoothed(
        self, articles: Sequence[int]
    ) -> Iterator[tuple[int, Keys, TokenIds, NDArray[np.float64], Neighbors]]:
        """Article, and of its best posts the keys, word ids, scores before, and neighbors."""
        candidates = self._candidates
        last_content: tuple[bytes, float] | None = None
        for members, union, lists in candidates.together(articles, candidates.count):
            posts = self._reader.of_candidates(candidates, union.tolist())
            terms = unit_terms(posts, self._weights)
            vectors = _vectors(posts)
            unsmoothed = self._score(posts, members).astype(np.float64)
            for line, article, keys in zip(unsmoothed, members, lists, strict=True):
                rows_in_union = np.searchsorted(union, keys)
                gate = float(self._gates[article])
                content = (keys.tobytes(), gate)
                # Edited versions of one article share its candidates, and so the neighbors.
                if content != last_content:
                    wider = (gate, self._widening)
                    near = Neighbors.of(
                        terms[rows_in_union],
                        vectors[rows_in_union],
                        self._options,
                        wider,
                    )
                    last_content = content
                texts = posts.ids.take(rows_in_union)
                yield article, keys, texts, line[rows_in_union], near
