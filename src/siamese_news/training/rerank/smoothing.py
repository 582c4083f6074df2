"""Smoothing a run over similar candidates; the share is tuned on validation queries only."""

from collections.abc import Mapping, Sequence

import numpy as np

from siamese_news.baselines.neighbours import Neighbours
from siamese_news.errors import InputError
from siamese_news.metrics import evaluate_run, means

Run = Mapping[str, Mapping[str, float]]
Qrels = Mapping[str, Mapping[str, int]]

#: Shares to try.
SHARES = tuple(np.round(np.arange(0, 1, 0.1), 1).tolist())


class Pools:
    """The candidates of some queries with their nearest neighbours."""

    def __init__(
        self, run: Run, posts: Mapping[str, str], queries: Sequence[str], *, count: int
    ) -> None:
        """Find the neighbours.

        Args:
            run: topic id -> post id -> score; its posts are the candidates.
            posts: post id -> text, split at spaces.
            queries: the topics whose candidates are used.
            count: neighbours per post.
        """
        self.posts = {query: list(run[query]) for query in queries if query in run}
        self.neighbours = {
            query: Neighbours.of([posts[post].split() for post in topic_posts], count)
            for query, topic_posts in self.posts.items()
        }

    def smooth(self, run: Run, share: float) -> dict[str, dict[str, float]]:
        """Those topics of the run with every score moved towards those of similar posts."""
        return {
            query: dict(
                zip(
                    topic_posts,
                    self.neighbours[query]
                    .smooth([run[query][post] for post in topic_posts], share)
                    .tolist(),
                    strict=True,
                )
            )
            for query, topic_posts in self.posts.items()
        }


def tune_share(pools: Pools, run: Run, qrels: Qrels, *, grid: Sequence[float] = SHARES) -> float:
    """The share with the best mean AP over the topics of `pools`; of equal ones the smallest.

    Args:
        pools: pools of the validation topics; no other topic is read.
        run: the scores of these topics.
        qrels: judgements.
        grid: shares to try.

    Raises:
        InputError: no topic has a relevant post.
    """
    judged = {query: qrels.get(query, {}) for query in pools.posts}
    precisions = [means(evaluate_run(pools.smooth(run, share), judged)).get("AP") for share in grid]
    if any(value is None for value in precisions):
        raise InputError(f"none of the {len(judged)} validation topics has a relevant post")
    return float(grid[int(np.argmax(np.array(precisions, np.float64)))])
