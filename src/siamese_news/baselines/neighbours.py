"""Scores that lean on the scores of similar posts.

Similar posts are relevant to the same queries (the cluster hypothesis); Diaz (CIKM 2005,
"Regularizing ad hoc retrieval scores") moves the scores of a ranking towards those of each
document's neighbours.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from siamese_news.baselines.tfidf import TfIdf
from siamese_news.errors import InputError


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The nearest posts of each of N posts.

    Attributes:
        rows: (N, K) which posts they are.
        similarity: (N, K) their cosines, 0 for posts without a common word.
    """

    rows: NDArray[np.int64]
    similarity: NDArray[np.float32]

    @classmethod
    def of(cls, posts: Sequence[list[str]], count: int) -> "Neighbours":
        """Find the neighbours among the posts by TF-IDF cosine, in N x N floats of memory.

        Args:
            posts: N token lists, e.g. the candidates of a query.
            count: K; N - 1 where there are fewer.
        """
        size = len(posts)
        count = max(0, min(count, size - 1))
        similarity = np.zeros((size, size), np.float32)
        # InputError: no post has a content word, so none has a neighbour.
        with suppress(InputError):
            similarity = TfIdf().fit(posts).scores(posts, 0, size)
        np.fill_diagonal(similarity, -1.0)
        rows = np.argsort(-similarity, axis=1, kind="stable")[:, :count]
        return cls(rows, np.take_along_axis(similarity, rows, axis=1))

    def smooth(self, scores: ArrayLike, share: float) -> NDArray[np.float64]:
        """Standardised scores, mixed with those of the neighbours: (N,).

        (1 - share) x score + share x mean of the neighbours weighted by similarity. The mean counts
        one more neighbour at the average score of all posts, so that a post without similar posts
        is drawn to the average.

        Args:
            scores: (N,) of the same posts.
            share: from 0, which leaves the order of the scores unchanged, to 1.
        """
        values = np.asarray(scores, np.float64)
        values = (values - values.mean()) / max(float(values.std()), 1e-12)
        total = self.similarity.sum(axis=1) + 1.0
        around = (self.similarity * values[self.rows]).sum(axis=1) / total
        mixed: NDArray[np.float64] = (1 - share) * values + share * around
        return mixed
