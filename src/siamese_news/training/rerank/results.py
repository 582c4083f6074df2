"""The reported systems of a ranker, with every setting tuned on validation topics."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from siamese_news.baselines.tfidf import Neighbours
from siamese_news.errors import InputError
from siamese_news.metrics import evaluate_run, means
from siamese_news.training.rerank.data import Fold, RerankCollection
from siamese_news.training.rerank.interpolation import SCALES, interpolate, tune_weight

Run = dict[str, dict[str, float]]

#: Suffixes of a ranker's name: alone, with the first stage, and smoothed over its pool.
PLAIN, JOINT, NEAR = "", " +QL", " +QL +near"
SUFFIXES = (PLAIN, JOINT, NEAR)
#: Column -> metric of `evaluate_run`.
COLUMNS = {"AP": "AP", "P30": "P@30", "nDCG@10": "nDCG@10"}


@dataclass(slots=True)
class Results:
    """The systems that are derived from one ranker on one test year.

    Attributes:
        runs: suffix -> run of the test topics.
        tuned: what was tuned on validation topics: ``weight`` and, where smoothed, ``share``.
        topics: suffix -> metric -> topic -> figure.
    """

    runs: dict[str, Run]
    tuned: dict[str, float]
    topics: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)

    def row(self) -> dict[str, float]:
        """Mean figures of every system, as columns."""
        means_by_suffix = {suffix: means(figures) for suffix, figures in self.topics.items()}
        return {
            f"{column}{suffix}": values[metric]
            for suffix, values in means_by_suffix.items()
            for column, metric in COLUMNS.items()
        }


def combine(
    collection: RerankCollection,
    fold: Fold,
    dev: Run,
    test: Run,
    *,
    first: Run,
    scale: str,
    neighbours: int,
    plain: Run | None = None,
) -> Results:
    """Add the first stage, then smooth; both are tuned on the fold's validation topics only.

    Args:
        collection: posts and judgements.
        fold: the topics of training, validation and test.
        dev: scores of validation topics on the scale of `SCALES[scale]`.
        test: scores of test topics, likewise.
        first: the first stage's run over validation and test topics.
        scale: a key of `SCALES`, for its grid of weights.
        neighbours: similar posts per post to smooth over; 0: no smoothing.
        plain: the run that is reported for the ranker alone; None takes `test`.
    """
    weight = tune_weight(dev, first, collection.qrels, fold.dev, grid=SCALES[scale][1])
    joint = interpolate(test, first, weight)
    results = Results({PLAIN: plain or test, JOINT: joint}, {"weight": weight})
    if neighbours:
        pools = Pools(dev, collection.posts, fold.dev, count=neighbours)
        share = tune_share(pools, interpolate(dev, first, weight), collection.qrels)
        results.tuned["share"] = share
        pools = Pools(joint, collection.posts, fold.test, count=neighbours)
        results.runs[NEAR] = pools.smooth(joint, share)
    qrels: Mapping[str, Any] = {query: collection.qrels.get(query, {}) for query in fold.test}
    results.topics = {suffix: evaluate_run(run, qrels) for suffix, run in results.runs.items()}
    return results


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
        """The run of these topics with every score moved towards those of similar posts."""
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


def tune_share(pools: Pools, run: Run, qrels: Qrels) -> float:
    """The share with the best mean AP over the topics of `pools`; of equal ones the smallest.

    Args:
        pools: pools of the validation topics; no other topic is read.
        run: the scores of these topics.
        qrels: judgements.

    Raises:
        InputError: no topic has a relevant post.
    """
    judged = {query: qrels.get(query, {}) for query in pools.posts}
    precisions = [
        means(evaluate_run(pools.smooth(run, share), judged)).get("AP") for share in SHARES
    ]
    if any(value is None for value in precisions):
        raise InputError(f"none of the {len(judged)} validation topics has a relevant post")
    return float(SHARES[int(np.argmax(np.array(precisions, np.float64)))])
