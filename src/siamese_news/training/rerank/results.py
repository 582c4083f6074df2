"""The reported systems of a ranker, with every setting tuned on validation topics.

A ranker is reported alone, interpolated with a first-stage run, and smoothed over its candidates.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from siamese_news.baselines.tfidf import Neighbors
from siamese_news.metrics import evaluate_run, means
from siamese_news.training.rerank.data import Fold, Qrels, RerankCollection, Run

#: Suffixes of a ranker's name: alone, with the first stage, and smoothed over its pool.
PLAIN, JOINT, NEAR = "", " +QL", " +QL +near"
SUFFIXES = (PLAIN, JOINT, NEAR)
#: Column -> metric of `evaluate_run`.
COLUMNS = {"AP": "AP", "P30": "P@30", "nDCG@10": "nDCG@10"}
#: The released code's range of weights, in steps of 0.0005.
GRID = tuple(np.round(np.arange(0, 0.2001, 0.0005), 4).tolist())
#: Shares of the smoothed score to try.
SHARES = tuple(np.round(np.arange(0, 1, 0.1), 1).tolist())


@dataclass(slots=True)
class Results:
    """The systems that are derived from one ranker on one test year, by their suffix."""

    runs: dict[str, Run]  # of the test topics
    tuned: dict[str, float]  # on validation topics: ``weight`` and, where smoothed, ``share``
    # suffix -> metric -> topic -> figure
    topics: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)

    def row(self) -> dict[str, float]:
        """Mean figures of every system, as columns."""
        averages = {suffix: means(figures) for suffix, figures in self.topics.items()}
        return {
            f"{column}{suffix}": values[metric]
            for suffix, values in averages.items()
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
    neighbors: int,
    plain: Run | None = None,
) -> Results:
    """Add the first stage, then smooth; both are tuned on the fold's validation topics only.

    The scores of validation and test topics are on the scale `scale`, a key of `SCALES`; `first` is
    the first stage's run over both. `plain` is the run that is reported for the ranker alone, in
    place of `test`.
    """
    weight = tune_weight(dev, first, collection.qrels, fold.dev, grid=SCALES[scale][1])
    joint = interpolate(test, first, weight)
    results = Results({PLAIN: plain or test, JOINT: joint}, {"weight": weight})
    if neighbors:
        pools = Pools(dev, collection.posts, fold.dev, count=neighbors)
        share = tune_share(pools, interpolate(dev, first, weight), collection.qrels)
        results.tuned["share"] = share
        pools = Pools(joint, collection.posts, fold.test, count=neighbors)
        results.runs[NEAR] = pools.smooth(joint, share)
    qrels = collection.judged(fold.test)
    results.topics = {suffix: evaluate_run(run, qrels) for suffix, run in results.runs.items()}
    return results


def interpolate(run: Run, other: Run, weight: float) -> Run:
    """Score + weight x other's score (samCNN's released code adds raw query likelihood to p).

    A post that `other` lacks takes the lowest score of `other` for the query.
    """
    mixed: Run = {}
    for query, scores in run.items():
        extra = _aligned(other[query], scores).tolist()
        sums = (score + weight * more for score, more in zip(scores.values(), extra, strict=True))
        mixed[query] = dict(zip(scores, sums, strict=True))
    return mixed


def _aligned(scores: Mapping[str, float], posts: Iterable[str]) -> np.ndarray:
    lowest = min(scores.values(), default=0.0)
    return np.array([scores.get(post, lowest) for post in posts])


def _each(convert: Callable[[float], float]) -> Callable[[Run], Run]:
    """A function that converts every score of a run."""
    return lambda run: {
        query: {post: float(convert(score)) for post, score in scores.items()}
        for query, scores in run.items()
    }


#: Scale of the ranker's scores -> the function that converts a run of log-probabilities to it, and
#: the weights to try on it.
SCALES: dict[str, tuple[Callable[[Run], Run], tuple[float, ...]]] = {
    # The released code.
    "probability": (_each(np.exp), GRID),
    # They keep the best posts apart. 1 - p by expm1: exact where p is near 1; never log 0.
    "log-odds": (
        _each(lambda score: score - np.log(max(-np.expm1(min(score, 0.0)), 1e-7))),
        tuple(np.round(np.arange(0, 3.001, 0.01), 2).tolist()),
    ),
}


def tune_weight(
    run: Run, other: Run, qrels: Qrels, queries: Sequence[str], *, grid: Sequence[float] = GRID
) -> float:
    """The weight of `other` with the best mean AP; of equally good ones the smallest.

    Only the validation topics `queries` are read; `grid` has the weights to try.
    """
    totals = np.zeros(len(grid))
    for query in queries:
        relevant = {post for post, grade in qrels.get(query, {}).items() if grade >= 1}
        # Posts in the order of ties, so that a stable sort breaks them as trec_eval does.
        posts = sorted(run.get(query, {}), reverse=True)
        if not relevant or not posts:
            continue
        base = np.array([run[query][post] for post in posts])
        extra = _aligned(other[query], posts)
        labels = np.array([post in relevant for post in posts])
        scores = base[None] + np.asarray(grid)[:, None] * extra[None]
        order = np.argsort(-np.round(scores, 6), axis=1, kind="stable")[:, :1000]
        hits = labels[order]
        precision = hits.cumsum(axis=1) / np.arange(1, hits.shape[1] + 1)
        totals += (precision * hits).sum(axis=1) / len(relevant)
    return float(grid[int(np.argmax(totals))])


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
            scores = self.neighbors[query].smooth([run[query][post] for post in posts], share)
            smoothed[query] = dict(zip(posts, scores.tolist(), strict=True))
        return smoothed


def tune_share(pools: Pools, run: Run, qrels: Qrels) -> float:
    """The share with the best mean AP over the topics of `pools`; of equal ones the smallest."""
    judged = {query: qrels.get(query, {}) for query in pools.posts}
    figures = [means(evaluate_run(pools.smooth(run, share), judged))["AP"] for share in SHARES]
    return SHARES[int(np.argmax(figures))]
