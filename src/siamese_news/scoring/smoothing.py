"""The smoothed scores of each article's best posts, and who smoothed them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from siamese_news.lexical_head import Smoothing, TermWeights
from siamese_news.scoring.candidates import Candidates, Keys, content_keys
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
        keys, values, articles = [], [], []
        found = self._smoothed(range(candidates.articles), (score, *others))
        for article, own, _, before, near in found:
            keys.append(own)
            values.append(near.smooth(before).astype(np.float32))
            articles.append(np.full(len(own), article, np.int32))
        flat = np.concatenate([*keys, np.zeros(0, np.uint64)])
        order = np.argsort(flat, kind="stable")
        self._keys: Keys = flat[order]
        empty = np.zeros((1 + len(others), 0), np.float32)
        self._values, *self._others = np.concatenate([*values, empty], axis=1)[:, order]
        self._articles = np.concatenate([*articles, np.zeros(0, np.int32)])[order]

    def reaching(self, least: float) -> list[list[Keys]]:
        """By the scores and by each of the others: of each article the texts that reach `least`."""
        found = []
        for values in (self._values, *self._others):
            good = np.rint(values.astype(np.float64) * 1e6) >= round(least * 1e6)
            found.append(
                [self._keys[good & (self._articles == n)] for n in range(self._candidates.articles)]
            )
        return found

    def put(self, scores: NDArray[np.float32], read: Posts) -> None:
        """Replace the scores (A, P) of posts that are among an article's best."""
        if not len(self._keys) or not len(read.ids):
            return
        keys = content_keys(read.ids, read.said)
        start = np.searchsorted(self._keys, keys, side="left")
        counts = np.searchsorted(self._keys, keys, side="right") - start
        total = int(counts.sum())
        if not total:
            return
        posts = np.repeat(np.arange(len(read.ids)), counts)
        within = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
        found = np.repeat(start, counts) + within
        scores[self._articles[found], posts] = self._values[found]

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
