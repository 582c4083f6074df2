"""Pseudo-relevance feedback: each article's best posts, and the vector that they make together."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from siamese_news.lexical_head.features import FIRST_BIGRAM, Ids, mean_factors
from siamese_news.lexical_head.head import TermHead
from siamese_news.lexical_head.options import RocchioFeedback
from siamese_news.lexical_head.weights import TermWeights


class BestPosts:
    """The best different posts of each article so far, whatever the blocks they came in.

    Two posts with the same words in the same order count as one.

    Args:
        articles: how many.
        options: how many posts, and what their score must reach.
    """

    def __init__(self, articles: int, options: RocchioFeedback) -> None:
        self.options = options
        # By article: the words' bytes -> millionths, so that equal scores are equal.
        self._kept: list[dict[bytes, int]] = [{} for _ in range(articles)]

    def add(self, scores: NDArray[np.float32], posts: Sequence[Ids]) -> None:
        """Add P posts.

        Args:
            scores: (A, P).
            posts: their word ids.
        """
        millionths = np.rint(scores.astype(np.float64) * 1e6).astype(np.int64)
        least = round(self.options.score * 1e6)
        for kept, row in zip(self._kept, millionths, strict=True):
            full = len(kept) == self.options.posts
            columns = np.flatnonzero(row >= (min(kept.values()) if full else least))
            for column in columns[np.argsort(-row[columns], kind="stable")].tolist():
                score, words = int(row[column]), posts[column].tobytes()
                kept[words] = max(score, kept.get(words, score))
                if len(kept) > self.options.posts:
                    worst = min(kept, key=lambda words: (kept[words], words))
                    del kept[worst]
                    if worst == words and score < min(kept.values()):
                        break

    def lists(self) -> list[list[Ids]]:
        """The posts of each article, best first; none where there are too few."""
        return [
            [np.frombuffer(words, np.int64) for words, _ in self._ordered(kept)]
            if len(kept) >= self.options.least
            else []
            for kept in self._kept
        ]

    @staticmethod
    def _ordered(kept: dict[bytes, int]) -> list[tuple[bytes, int]]:
        return sorted(kept.items(), key=lambda item: (item[1], item[0]), reverse=True)

    def plain(self) -> dict[str, NDArray[np.int64]]:
        """As arrays: a row (article, millionths, number of words) a post, and all words."""
        rows, words = [], []
        for article, kept in enumerate(self._kept):
            for post, score in self._ordered(kept):
                words.append(np.frombuffer(post, np.int64))
                rows.append((article, score, len(words[-1])))
        flat = np.concatenate([*words, np.zeros(0, np.int64)])
        return {"best": np.array(rows, np.int64).reshape(-1, 3), "words": flat}

    def restore(
        self, best: NDArray[np.int64], words: NDArray[np.int64], of: Sequence[int] | None = None
    ) -> None:
        """Go on from the arrays of `plain`.

        Args:
            best: one of the arrays.
            words: the other.
            of: which of the saved articles each of these stands for; None: they are the same.
        """
        saved: dict[int, dict[bytes, int]] = {}
        texts = np.split(words, np.cumsum(best[:, 2])[:-1]) if len(best) else []
        for (article, score, _), text in zip(best.tolist(), texts, strict=True):
            saved.setdefault(article, {})[text.tobytes()] = score
        which = range(len(self._kept)) if of is None else of
        self._kept = [dict(saved.get(article, {})) for article in which]


def mean_vectors(
    terms: TermHead,
    weights: TermWeights,
    lists: Iterable[Sequence[Ids]],
    columns: Ids,
    factors: Sequence[Sequence[NDArray[np.float32]]] | None = None,
) -> sparse.csr_matrix:
    """The mean vector of each list of posts, shaped like an article's.

    Each post has length 1 in its words and in its pairs; so has their mean, times the share that
    the words and the pairs have in the score. An empty list gives zeros.

    Args:
        terms: the lexical head.
        weights: of the words and pairs.
        lists: A lists of posts, each its word ids.
        columns: sorted ids of features, those of the result.
        factors: of the words of each post; None is 1 for all.

    Returns:
        (A, len(columns)).
    """
    phrases = terms.options.bigram_weight
    parts = []
    for number, posts in enumerate(lists):
        rows, ids, count = terms.distinct(posts)
        means = None
        if factors is not None:
            of_post = [terms.feature_factors(own) for own in factors[number]]
            means = mean_factors([terms.features(post) for post in posts], of_post)
        vectors = weights.posts(rows, ids, count, columns, means)
        paired = columns >= FIRST_BIGRAM
        mean = sparse.csr_matrix((1, len(columns)), dtype=np.float32)
        for group, share in ((~paired, 1 - phrases), (paired, phrases)):
            mine = vectors @ sparse.diags_array(group.astype(np.float32))
            sums = np.asarray(_unit(mine).sum(axis=0)).reshape(1, -1)
            mean = mean + share * _unit(sparse.csr_matrix(sums))
        parts.append(mean)
    return sparse.csr_matrix(sparse.vstack(parts), dtype=np.float32)


def _unit(rows: sparse.csr_matrix) -> sparse.csr_matrix:
    """Rows of length 1; zeros stay zeros."""
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    return sparse.csr_matrix(sparse.diags_array(1 / np.where(lengths > 0, lengths, 1.0)) @ rows)
