"""All figures of one scored article x post matrix, from two passes over its blocks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from siamese_news.metrics.counts import RankingCounts
from siamese_news.metrics.relevant_pairs import Blocks, Relevance
from siamese_news.metrics.runs import means
from siamese_news.metrics.statistics import percentile_interval, resample_counts
from siamese_news.metrics.top import ALL_ROWS, RankingTop


@dataclass(slots=True)
class Evaluation:
    """The figures that `evaluate_blocks` computes.

    Attributes:
        pooled: P@r, mRP7, mRP8, AP (micro) and AUC over all article-post pairs.
        ceilings: for each of P@r, mRP7, mRP8 the best value that the number of relevant pairs
            allows.
        macro: means of `per_article` over the articles that have a relevant post; AP is MAP.
        per_article: metric -> article id -> value. ``AP`` is of the full ranking, ``AP@d`` of the
            top d that `run` keeps, as trec_eval computes it from the written run.
        intervals: ``macro/<metric>``, ``pooled/AP``, ``pooled/AUC`` -> 95% percentile bootstrap
            over articles; the pooled ones only where there is memory to resample them.
        counts: articles, articles_without_relevant, posts, pairs, relevant, relevant_missing.
        run: article id -> post id -> score, best first, the top `depth` of each article.
    """

    pooled: dict[str, float]
    ceilings: dict[str, float]
    macro: dict[str, float]
    per_article: dict[str, dict[str, float]]
    intervals: dict[str, tuple[float, float]]
    counts: dict[str, int]
    run: dict[str, dict[str, float]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; without the run, which is written as a TREC file."""
        return {
            spec.name: getattr(self, spec.name)
            for spec in fields(self)
            if spec.name != "run"
        }


def evaluate_blocks(
    blocks: Blocks,
    *,
    article_ids: Sequence[str],
    post_ids: Sequence[str],
    qrels: Mapping[str, Mapping[str, int]],
    thresholds: Sequence[int] = ALL_ROWS,
    depth: int = 1000,
    bootstrap: int = 1000,
    seed: int = 0,
) -> Evaluation:
    """Evaluate scores of unique articles x unique posts that need not fit into memory.

    A relevant post that is not among `post_ids` counts in per-article denominators (as in
    trec_eval) and is not a pair of the pooled figures. An article without a relevant post
    counts in the pooled figures and is left out of the per-article means.

    Args:
        blocks: called once for each of two passes; yields (first column, (A, n) scores), and
            over a pass every column once.
        article_ids: (A,) distinct ids.
        post_ids: (P,) distinct ids.
        qrels: article id -> post id -> grade, relevant = grade >= 1, no grade = not relevant.
        thresholds: the r of the pooled P@r.
        depth: how many posts per article `run` keeps.
        bootstrap: resamples of the articles for the intervals, 0 for none.
        seed: of the resampling.

    Returns:
        The figures.

    Raises:
        InputError: an id is used twice, a score is not finite, or no pair is relevant.
        ValueError: the blocks do not cover the matrix exactly once in each pass.

    Example:
        >>> import numpy as np
        >>> from siamese_news.metrics import blocks_of, evaluate_blocks
        >>> scores = np.array([[0.9, 0.1]])
        >>> evaluation = evaluate_blocks(
        ...     blocks_of(lambda start, stop: scores[:, start:stop], 2),
        ...     article_ids=["a"], post_ids=["x", "y"], qrels={"a": {"y": 1}}, bootstrap=0,
        ... )
        >>> evaluation.macro["AP"], list(evaluation.run["a"])
        (0.5, ['x', 'y'])
    """
    relevance = Relevance(article_ids, post_ids, qrels)
    articles, posts = relevance.shape
    top = RankingTop(relevance, thresholds, depth)
    _stream(blocks, top.update, articles, posts)
    counts = RankingCounts(relevance, top.relevant_keys)
    _stream(blocks, counts.update, articles, posts)

    per_article = counts.per_article()
    per_article[f"AP@{depth}"] = counts.per_article(depth)["AP"]
    with_relevant = len(per_article["AP"])
    intervals = _intervals(per_article, counts, articles, bootstrap, seed)
    return Evaluation(
        pooled={**top.compute(), **counts.compute()},
        ceilings=top.ceilings(),
        macro=means(per_article),
        per_article=per_article,
        intervals=intervals,
        counts={
            "articles": articles,
            "articles_without_relevant": articles - with_relevant,
            "posts": posts,
            "pairs": articles * posts,
            "relevant": len(relevance.articles),
            "relevant_missing": relevance.missing,
        },
        run=top.run(),
    )


def _stream(
    blocks: Blocks, update: Callable[[int, np.ndarray], None], rows: int, width: int
) -> None:
    """Pass each block to `update`; a `ValueError` if they are not the whole matrix."""
    covered = np.zeros(width, dtype=bool)
    for first_column, scores in blocks():
        if (
            scores.ndim != 2
            or len(scores) != rows
            or first_column < 0
            or first_column + scores.shape[1] > width
        ):
            raise ValueError(
                f"a block at column {first_column} has shape {scores.shape}; expected ({rows}, n) "
                f"within {width} columns: rows are unique articles, columns unique posts"
            )
        update(first_column, scores)
        is_covered = covered[first_column : first_column + scores.shape[1]]
        if is_covered.any():
            raise ValueError(
                f"the block at column {first_column} repeats a column; expected each once"
            )
        is_covered[:] = True
    if not covered.all():
        raise ValueError(
            f"blocks covered {int(covered.sum())} of {width} columns; expected all of them each "
            "time blocks() is called"
        )


def _intervals(
    per_article: Mapping[str, Mapping[str, float]],
    counts: RankingCounts,
    articles: int,
    samples: int,
    seed: int,
) -> dict[str, tuple[float, float]]:
    intervals: dict[str, tuple[float, float]] = {}
    if not samples:
        return intervals
    for name, values in per_article.items():
        if values:
            data = np.array(list(values.values()))
            draws = resample_counts(len(data), samples, seed) @ data / len(data)
            intervals[f"macro/{name}"] = percentile_interval(draws)
    if counts.resamples:
        weights = resample_counts(articles, samples, seed)
        for name, draws in counts.weighted(weights).items():
            if np.isfinite(draws).any():
                intervals[f"pooled/{name}"] = percentile_interval(draws)
    return intervals
