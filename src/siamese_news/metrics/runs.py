"""Figures of TREC runs against qrels, per query, as in trec_eval, and their means."""

from collections.abc import Mapping, Sequence

import numpy as np

from siamese_news.metrics.ranking import ranked, ranking_figures

Run = Mapping[str, Mapping[str, float]]
Qrels = Mapping[str, Mapping[str, int]]


def evaluate_run(
    run: Run, qrels: Qrels, *, ks: Sequence[int] = (10, 30), depth: int = 1000
) -> dict[str, dict[str, float]]:
    """Figures of every query of `qrels` that has a relevant post (grade >= 1).

    A post without a grade is not relevant; a relevant post that the run lacks counts in the
    denominators; a query that the run lacks scores 0; a query without relevant posts drops out.

    Args:
        run: query id -> post id -> score; queries that `qrels` lacks are left out.
        qrels: query id -> post id -> grade.
        ks: cuts of precision.
        depth: ranks beyond it are ignored.

    Returns:
        metric name (see `ranking_figures`) -> query id -> value.

    Raises:
        InputError: a score is not finite.

    Example:
        >>> from siamese_news.metrics import evaluate_run
        >>> table = evaluate_run({"q": {"x": 0.9, "y": 0.1}}, {"q": {"y": 1}})
        >>> table["AP"]
        {'q': 0.5}
    """
    table: dict[str, dict[str, float]] = {}
    for query, judged in qrels.items():
        grades = {post: grade for post, grade in judged.items() if grade >= 1}
        if not grades:
            continue
        order = ranked(run.get(query, {}), depth=depth)
        hits = [
            (rank, grades[post])
            for rank, (post, _) in enumerate(order, 1)
            if post in grades
        ]
        ranks, hit_grades = np.array(hits, dtype=np.int64).reshape(-1, 2).T
        all_grades = np.array(list(grades.values()))
        figures = ranking_figures(ranks, hit_grades, all_grades, ks=ks, depth=depth)
        for name, value in figures.items():
            table.setdefault(name, {})[query] = value
    return table


def means(per_query: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Mean of every metric over its queries; the mean of AP is MAP.

    Args:
        per_query: metric name -> query id -> value, such as `evaluate_run` returns.

    Returns:
        metric name -> mean; a metric without a query has none.

    Example:
        >>> from siamese_news.metrics import means
        >>> means({"AP": {"q1": 0.25, "q2": 0.75}})
        {'AP': 0.5}
    """
    return {
        name: float(np.mean(list(values.values())))
        for name, values in per_query.items()
        if values
    }
