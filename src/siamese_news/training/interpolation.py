"""A ranker's run interpolated with that of the first stage, by a weight tuned on other topics."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from siamese_news.training.rerank_data import Fold, Qrels, RerankCollection, Run

#: The released code's range of weights, in steps of 0.0005.
GRID = tuple(np.round(np.arange(0, 0.2001, 0.0005), 4).tolist())


def interpolate(run: Run, first_stage: Run, weight: float) -> Run:
    """Score + weight x other's score (samCNN's released code adds raw query likelihood to p).

    A post that `first_stage` lacks takes the lowest score of `first_stage` for the query.
    """
    mixed: Run = {}
    for query, scores in run.items():
        first_stage_scores = _aligned(first_stage[query], scores).tolist()
        sums = (
            score + weight * first_stage_score
            for score, first_stage_score in zip(
                scores.values(), first_stage_scores, strict=True
            )
        )
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
    run: Run,
    first_stage: Run,
    qrels: Qrels,
    queries: Sequence[str],
    *,
    grid: Sequence[float] = GRID,
) -> float:
    """The weight of `first_stage` with the best mean AP; of equally good ones the smallest.

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
        extra = _aligned(first_stage[query], posts)
        labels = np.array([post in relevant for post in posts])
        scores = base[None] + np.asarray(grid)[:, None] * extra[None]
        order = np.argsort(-np.round(scores, 6), axis=1, kind="stable")[:, :1000]
        hits = labels[order]
        precision = hits.cumsum(axis=1) / np.arange(1, hits.shape[1] + 1)
        totals += (precision * hits).sum(axis=1) / len(relevant)
    return float(grid[int(np.argmax(totals))])


def interpolated(
    collection: RerankCollection,
    fold: Fold,
    dev: Run,
    test: Run,
    first_stage: Run,
    grid: Sequence[float],
) -> tuple[Run, float]:
    """The run over the test topics with the first stage added, and its weight.

    The weight is one of `grid`, tuned on the fold's validation topics, which `dev` ranks.
    """
    weight = tune_weight(dev, first_stage, collection.qrels, fold.dev, grid=grid)
    return interpolate(test, first_stage, weight), weight
