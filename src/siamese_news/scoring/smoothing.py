"""The smoothed scores of each article's best posts, and who smoothed them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from siamese_news.lexical_head import Smoothing, TermWeights
from siamese_news.scoring.candidates import Candidates, Keys, TextTable, content_keys
from siamese_news.scoring.features import PostReader, Posts, unit_terms
from siamese_news.scoring.neighbors import Neighbors

Ids = NDArray[np.int64]
Score = Callable[[Posts, Sequence[int]], NDArray[np.float32]]
"""Posts and the numbers of some articles -> their scores before smoothing, (articles, P)."""

# Candidates of several articles are read together while they are at most so many.
_TOGETHER = 20_000


@dataclass(frozen=True, slots=True)
class Influence:
    """A neighbor of a post.

    Attributes:
        ids: its word ids.
        weight: what a unit of its score adds to the post's smoothed score.
        score: its own score, before smoothing.
        said: (1, D) its vector, if an encoder of whole texts gave it.
    """

    ids: Ids
    weight: float
    score: float
    said: NDArray[np.float16] | None


class SmoothedScores:
    """Looks up the smoothed scores of posts by what they say.

    Args:
        candidates: each article's best posts.
        reader: of posts.
        score: scores before smoothing.
        weights: background weights, for the similarities.
        options: the numbers.
        others: other scores before smoothing, of which only `reaching` tells.
    """

    def __init__(
        self,
        candidates: Candidates,
        reader: PostReader,
        score: Score,
        weights: TermWeights,
        options: Smoothing,
        others: Sequence[Score] = (),
    ) -> None:
        self._candidates, self._reader, self._weights = candidates, reader, weights
        self._score, self._options = score, options
        count = candidates.articles
        self._keys: list[Keys] = [np.zeros(0, np.uint64)] * count
        empty = np.zeros((1 + len(others), 0), np.float32)
        self._values: list[NDArray[np.float32]] = [empty] * count
        for article, own, _, before, near in self._smoothed(range(count), (score, *others)):
            self._keys[article] = own
            self._values[article] = near.smooth(before).astype(np.float32)
        self._table = TextTable(self._keys, [values[0] for values in self._values])

    def reaching(self, least: float) -> list[list[Keys]]:
        """By the scores and by each of the others: of each article the texts that reach `least`."""
        good = [np.rint(own.astype(np.float64) * 1e6) >= round(least * 1e6) for own in self._values]
        return [
            [keys[own[by]] for keys, own in zip(self._keys, good, strict=True)]
            for by in range(len(good[0]) if good else 0)
        ]

    def put(self, scores: NDArray[np.float32], read: Posts) -> None:
        """Replace the scores (A, P) of posts that are among an article's best."""
        articles, places, found = self._table.find(read.ids, read.said)
        scores[articles, places] = found

    def influences(self, post: Posts, article: int) -> tuple[float, list[Influence]]:
        """What the smoothed score of a post is made of.

        Args:
            post: it alone.
            article: the article's number.

        Returns:
            The weight of the post's own score, and its neighbors; 1 and none for a post that is not
            among the article's best.
        """
        (key,) = content_keys(post.ids, post.said)
        for _, keys, texts, (before,), near in self._smoothed([article], (self._score,)):
            (found,) = np.nonzero(keys == key)
            if not len(found):
                break
            place = int(found[0])
            gain = float(near.gains[place])
            pairs = zip(near.rows[place].tolist(), near.weights[place].tolist(), strict=True)
            vectors = self._candidates.vectors
            return 1 - gain, [
                Influence(texts[row], gain * weight, float(before[row]), vectors([int(keys[row])]))
                for row, weight in pairs
                if weight
            ]
        return 1.0, []

    def _smoothed(
        self, articles: Sequence[int], by: Sequence[Score]
    ) -> Iterator[tuple[int, Keys, list[Ids], NDArray[np.float64], Neighbors]]:
        """Article, and of its best posts the keys, word ids, scores before, and neighbors.

        The scores before are (S, P), by S functions.
        """
        last: tuple[bytes, Neighbors] | None = None
        for some in self._groups(articles):
            lists = {article: self._candidates.best(article)[0] for article in some}
            union = np.unique(np.concatenate(list(lists.values())))
            if not len(union):
                continue
            texts = [self._candidates.text(key) for key in union.tolist()]
            posts = self._reader.of_ids(texts, self._candidates.vectors(union.tolist()))
            terms = unit_terms(posts, self._weights)
            vectors = posts.vectors
            if vectors is None:
                vectors = np.zeros((len(texts), 0), np.float32)
            before = np.stack([score(posts, some) for score in by], axis=1).astype(np.float64)
            for lines, (article, keys) in zip(before, lists.items(), strict=True):
                if not len(keys):
                    continue
                places = np.searchsorted(union, keys)
                # Edited versions of one article share its candidates.
                if last is None or last[0] != keys.tobytes():
                    near = Neighbors.of(terms[places], vectors[places], self._options)
                    last = (keys.tobytes(), near)
                own = [texts[place] for place in places.tolist()]
                yield article, keys, own, lines[:, places], last[1]

    def _groups(self, articles: Sequence[int]) -> Iterator[list[int]]:
        """Articles with at most `_TOGETHER` candidates, or one article."""
        group: list[int] = []
        total = 0
        for article in articles:
            count = len(self._candidates.best(article)[0])
            if group and total + count > _TOGETHER:
                yield group
                group, total = [], 0
            group.append(article)
            total += count
        if group:
            yield group
