"""Texts that are scored together, the rankings cut from the scores, and their figures."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from sklearn.metrics import average_precision_score

Score = Callable[[list[str], list[str]], np.ndarray]
"""Full texts of A articles and texts of P posts -> (A, P) scores."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """One list of posts, best first by the mean score over some articles.

    Attributes:
        figure: the figure its average precision counts in.
        group: rankings are averaged within a group (an event), then groups.
        rows: (a,) articles of the pool.
        columns: (n,) posts of the pool.
        relevant: (n,) bool.
    """

    figure: str
    group: str
    rows: np.ndarray
    columns: np.ndarray
    relevant: np.ndarray


@dataclass(frozen=True, slots=True)
class Pool:
    """Texts that are scored together, and the rankings cut from their scores.

    Attributes:
        name: name of the pool.
        articles: A full texts.
        posts: P texts.
        rankings: at least one.
    """

    name: str
    articles: list[str]
    posts: list[str]
    rankings: list[Ranking] = field(repr=False)


def edge_pools(pool: Pool) -> list[Pool]:
    """Edge cases for rules that look at the pool: 1 post, 10 posts, 10 times the same post.

    Args:
        pool: one with at least 10 posts, whose first article and posts are taken.
    """
    first = next(ranking for ranking in pool.rankings if len(ranking.columns) >= 10)
    article = [pool.articles[first.rows[0]]]
    related = first.columns[first.relevant][:3]
    other = first.columns[~first.relevant]
    ten = np.concatenate([related, other])[:10]

    def edge(name: str, posts: Sequence[int], relevant: int) -> Pool:
        places = np.arange(len(posts))
        ranking = Ranking(name, "", np.array([0]), places, places < relevant)
        return Pool(name, article, [pool.posts[post] for post in posts], [ranking])

    return [
        edge("edge: 1 post", related[:1].tolist(), 1),
        edge("edge: 10 posts", ten.tolist(), len(related)),
        edge("edge: identical posts", related[:1].tolist() * 10, 5),
    ]


def evaluate_pools(pools: Sequence[Pool], score: Score) -> dict[str, float]:
    """Figures of a scorer: figure -> mean over groups of the mean average precision.

    If there are ``links``, ``links_micro`` is added: the average precision of all their
    article-post pairs in one list. Equal scores (6 decimals) count as one step.

    Args:
        pools: the pools; each is scored in one call.
        score: the scorer.

    Raises:
        ValueError: scores of another shape, or not finite.
    """
    precisions: dict[str, dict[str, list[float]]] = defaultdict(
        lambda: defaultdict(list)
    )
    links: list[tuple[np.ndarray, np.ndarray]] = []
    for pool in pools:
        scores = np.asarray(score(pool.articles, pool.posts))
        expected = (len(pool.articles), len(pool.posts))
        if scores.shape != expected:
            raise ValueError(
                f"{pool.name}: scores have shape {scores.shape}; expected {expected}"
            )
        if not np.isfinite(scores).all():
            raise ValueError(f"{pool.name}: a score is not finite")
        for ranking in pool.rankings:
            mean = scores[np.ix_(ranking.rows, ranking.columns)].mean(
                axis=0, dtype=np.float64
            )
            values = np.round(mean, 6)
            precision = float(average_precision_score(ranking.relevant, values))
            precisions[ranking.figure][ranking.group].append(precision)
            if ranking.figure == "links":
                links.append((ranking.relevant, values))
    figures = {
        figure: float(np.mean([np.mean(values) for values in groups.values()]))
        for figure, groups in precisions.items()
    }
    if links:
        relevant, values = (np.concatenate(parts) for parts in zip(*links, strict=True))
        figures["links_micro"] = float(average_precision_score(relevant, values))
    return figures
