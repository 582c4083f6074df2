"""Figures of one system on one test."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from siamese_news.data.sources import EvaluationSet
from siamese_news.metrics import blocks_of, evaluate_blocks
from siamese_news.metrics.statistics import percentile_interval, resample_counts

BOOTSTRAP = 1000


@dataclass(frozen=True)
class Figures:
    """The figures that the table needs, as plain values that can be saved as JSON.

    Attributes:
        ap: article id -> average precision; one entry where all articles are one story.
        micro: average precision of all pairs in one list.
        auc: ROC-AUC of all pairs.
        micro_interval: 95% bootstrap of `micro` over articles.
        seeds: where all articles are one story: article id -> AP of the ranking by it alone.
        posts: number of scored posts.
        seconds: CPU seconds to encode and score them.
    """

    ap: dict[str, float]
    micro: float
    auc: float
    micro_interval: list[float]
    seeds: dict[str, float]
    posts: int
    seconds: float


def mean_ap(figures: Figures) -> float:
    """MAP: the mean of the average precision over articles."""
    return float(np.mean(list(figures.ap.values())))


def figures_of(scores: np.ndarray, seconds: float, test: EvaluationSet) -> Figures:
    """Evaluate scores.

    Args:
        scores: (A, P) over the articles and posts of the test.
        seconds: CPU seconds that scoring took.
        test: the test.
    """
    ids = [article.id for article in test.articles]
    seeds: dict[str, float] = {}
    if test.one_story:
        (relevant,) = test.qrels.values()
        shared = dict.fromkeys(ids, relevant)
        seeds = dict(_evaluate(scores, ids, shared, test, 0).per_article["AP"])
        ids = list(test.qrels)
        scores = scores.mean(axis=0, keepdims=True)
    evaluation = _evaluate(
        scores, ids, test.qrels, test, 0 if test.one_story else BOOTSTRAP
    )
    return Figures(
        ap=dict(evaluation.per_article["AP"]),
        micro=evaluation.pooled["AP"],
        auc=evaluation.pooled["AUC"],
        micro_interval=list(evaluation.intervals.get("pooled/AP", ())),
        seeds=seeds,
        posts=len(test.posts),
        seconds=seconds,
    )


def _evaluate(
    scores: np.ndarray, ids: list[str], qrels: Any, test: EvaluationSet, bootstrap: int
) -> Any:
    return evaluate_blocks(
        blocks_of(lambda start, stop: scores[:, start:stop], len(test.posts)),
        article_ids=ids,
        post_ids=[post.id for post in test.posts],
        qrels=qrels,
        bootstrap=bootstrap,
    )


def event_interval(
    ap: dict[str, float], event_of: dict[str, str]
) -> tuple[float, float]:
    """95% bootstrap of the mean over articles, whole events drawn (a cluster bootstrap)."""
    events = sorted({event_of[article] for article in ap})
    sums = np.zeros(len(events))
    sizes = np.zeros(len(events))
    for article, value in ap.items():
        place = events.index(event_of[article])
        sums[place] += value
        sizes[place] += 1
    counts = resample_counts(len(sums), samples=1000, seed=0)
    return percentile_interval(counts @ sums / (counts @ sizes))
