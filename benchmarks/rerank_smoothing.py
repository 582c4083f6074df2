"""Runs smoothed over similar candidates: the rows *+near* of `benchmarks.rerank_table`."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from siamese_news.baselines import TfIdf
from siamese_news.errors import InputError
from siamese_news.metrics import evaluate_run, means
from siamese_news.training.rerank_data import Fold, Qrels, RerankCollection, Run

#: Shares of the smoothed score to try.
SHARES = tuple(np.round(np.arange(0, 1, 0.1), 1).tolist())


def smoothed(
    collection: RerankCollection, fold: Fold, dev: Run, test: Run, *, count: int
) -> Run:
    """The run over a fold's test topics, smoothed over `count` similar candidates for each post.

    The share of the smoothed score is tuned on the validation topics, which `dev` ranks.
    """
    share = tune_share(
        Pools(dev, collection.posts, fold.dev, count=count), dev, collection.qrels
    )
    return Pools(test, collection.posts, fold.test, count=count).smooth(test, share)


class Pools:
    """The candidates of some topics in `run`, each with its `count` nearest neighbors by text."""

    def __init__(
        self, run: Run, posts: Mapping[str, str], queries: Sequence[str], *, count: int
    ) -> None:
        self.posts = {query: list(run[query]) for query in queries if query in run}
        self.neighbors = {
            query: Neighbors.of([posts[post].split() for post in topic_posts], count)
            for query, topic_posts in self.posts.items()
        }

    def smooth(self, run: Run, share: float) -> Run:
        """The run of these topics with every score moved towards those of similar posts."""
        smoothed = {}
        for query, posts in self.posts.items():
            scores = self.neighbors[query].smooth(
                [run[query][post] for post in posts], share
            )
            smoothed[query] = dict(zip(posts, scores.tolist(), strict=True))
        return smoothed


def tune_share(pools: Pools, run: Run, qrels: Qrels) -> float:
    """The share with the best mean AP over the topics of `pools`; of equal ones the smallest."""
    judged = {query: qrels.get(query, {}) for query in pools.posts}
    figures = [
        means(evaluate_run(pools.smooth(run, share), judged))["AP"] for share in SHARES
    ]
    return SHARES[int(np.argmax(figures))]


@dataclass(frozen=True, slots=True)
class Neighbors:
    """The nearest posts of each of N posts, towards whose scores theirs are moved.

    Similar posts are relevant to the same queries (the cluster hypothesis; Diaz, CIKM 2005,
    "Regularizing ad hoc retrieval scores").

    Attributes:
        rows: (N, K) which posts they are.
        similarity: (N, K) their cosines, 0 for posts without a common word.
    """

    rows: NDArray[np.int64]
    similarity: NDArray[np.float32]

    @classmethod
    def of(cls, posts: Sequence[list[str]], count: int) -> "Neighbors":
        """Find the K neighbors by TF-IDF cosine, in N x N floats of memory; all of fewer posts."""
        size = len(posts)
        count = max(0, min(count, size - 1))
        similarity = np.zeros((size, size), np.float32)
        # InputError: no post has a content word, so none has a neighbor.
        with suppress(InputError):
            similarity = TfIdf().fit(posts).scores(posts, 0, size)
        np.fill_diagonal(similarity, -1.0)
        rows = np.argsort(-similarity, axis=1, kind="stable")[:, :count]
        return cls(rows, np.take_along_axis(similarity, rows, axis=1))

    def smooth(self, scores: ArrayLike, share: float) -> NDArray[np.float64]:
        """Standardized scores, mixed with those of the neighbors: (N,).

        (1 - share) x score + share x mean of the neighbors weighted by similarity. The mean counts
        one more neighbor at the average score of all posts, so that a post without similar posts
        is drawn to the average.
        """
        values = np.asarray(scores, np.float64)
        values = (values - values.mean()) / max(float(values.std()), 1e-12)
        total = self.similarity.sum(axis=1) + 1.0
        around = (self.similarity * values[self.rows]).sum(axis=1) / total
        return (1 - share) * values + share * around
