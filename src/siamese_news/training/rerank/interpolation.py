"""Interpolating a ranker with a first-stage run; the weight is tuned on validation queries only."""

from collections.abc import Mapping, Sequence

import numpy as np

from siamese_news.errors import InputError

Run = Mapping[str, Mapping[str, float]]
Qrels = Mapping[str, Mapping[str, int]]

#: The released code's range of weights, in steps of 0.0005.
GRID = tuple(np.round(np.arange(0, 0.2001, 0.0005), 4).tolist())


def interpolate(run: Run, other: Run, weight: float) -> dict[str, dict[str, float]]:
    """Score + weight x other's score (samCNN's released code adds raw query likelihood to p).

    A post that `other` lacks takes the lowest score that `other` gives for the query.

    Args:
        run: topic id -> post id -> p(relevant).
        other: the run that is added.
        weight: of `other`.

    Raises:
        InputError: `other` lacks a topic.
    """
    return {
        query: {
            post: score + weight * extra
            for (post, score), extra in zip(
                scores.items(), _aligned(other, query, list(scores)).tolist(), strict=True
            )
        }
        for query, scores in run.items()
    }


def probabilities(run: Run) -> dict[str, dict[str, float]]:
    """A run of log-probabilities as probabilities."""
    return {
        query: {post: float(np.exp(score)) for post, score in scores.items()}
        for query, scores in run.items()
    }


def log_odds(run: Run) -> dict[str, dict[str, float]]:
    """A run of log-probabilities as log-odds, which keep the best posts apart."""
    return {
        query: {
            # 1 - p by expm1: exact where p is near 1; never log 0.
            post: float(score - np.log(max(-np.expm1(min(score, 0.0)), 1e-7)))
            for post, score in scores.items()
        }
        for query, scores in run.items()
    }


#: Scale of the ranker's scores -> the function that converts log-probabilities to it, and the
#: weights to try on it.
SCALES = {
    # The released code.
    "probability": (probabilities, GRID),
    "log-odds": (log_odds, tuple(np.round(np.arange(0, 3.001, 0.01), 2).tolist())),
}


def tune_weight(
    run: Run, other: Run, qrels: Qrels, queries: Sequence[str], *, grid: Sequence[float] = GRID
) -> float:
    """The weight with the best mean AP over `queries`; of equally good ones the smallest.

    Args:
        run: topic id -> post id -> p(relevant).
        other: the run that is added.
        qrels: judgements.
        queries: validation topics; no other topic is read.
        grid: weights to try.

    Raises:
        InputError: no topic of `queries` has a relevant post.
    """
    totals = np.zeros(len(grid))
    counted = 0
    for query in queries:
        relevant = {post for post, grade in qrels.get(query, {}).items() if grade >= 1}
        if not relevant:
            continue
        counted += 1
        # Posts in the order of ties, so that a stable sort breaks them as trec_eval does.
        posts = sorted(run.get(query, {}), reverse=True)
        if not posts:
            continue
        base = np.array([run[query][post] for post in posts])
        extra = _aligned(other, query, posts)
        labels = np.array([post in relevant for post in posts])
        scores = base[None] + np.asarray(grid)[:, None] * extra[None]
        order = np.argsort(-np.round(scores, 6), axis=1, kind="stable")[:, :1000]
        hits = labels[order]
        precision = hits.cumsum(axis=1) / np.arange(1, hits.shape[1] + 1)
        totals += (precision * hits).sum(axis=1) / len(relevant)
    if not counted:
        raise InputError(f"none of the {len(queries)} validation topics has a relevant post")
    return float(grid[int(np.argmax(totals))])


def _aligned(other: Run, query: str, posts: Sequence[str]) -> np.ndarray:
    if query not in other:
        raise InputError(
            f"the run to interpolate with lacks topic {query}; expected every topic reranked"
        )
    scores = other[query]
    lowest = min(scores.values(), default=0.0)
    return np.array([scores.get(post, lowest) for post in posts])
