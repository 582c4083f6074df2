"""From a ranker's scores to the systems that are reported, every setting tuned on validation."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from siamese_news.metrics import evaluate_run, means
from siamese_news.training.rerank.data import Fold, RerankCollection
from siamese_news.training.rerank.interpolation import SCALES, interpolate, tune_weight
from siamese_news.training.rerank.smoothing import Pools, tune_share

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
    grid: tuple[float, ...] | None = None,
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
        grid: other weights to try.
    """
    weight = tune_weight(dev, first, collection.qrels, fold.dev, grid=grid or SCALES[scale][1])
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
