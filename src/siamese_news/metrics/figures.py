"""Per-article figures from the ranks of the relevant posts, as trec_eval computes them."""

from collections.abc import Sequence

import numpy as np


def ranking_figures(
    ranks: np.ndarray,
    grades: np.ndarray,
    all_grades: np.ndarray,
    *,
    ks: Sequence[int] = (10, 30),
    recalls: Sequence[int] = (100, 1000),
    ndcg: int = 10,
    depth: int | None = None,
) -> dict[str, float]:
    """Figures of one ranking.

    All judged relevant posts count in the denominators, also those that were not ranked
    (trec_eval: ``map``, ``P``, ``Rprec``, ``recip_rank``, ``recall``, ``ndcg_cut`` with linear
    gain).

    Args:
        ranks: (n,) ranks from 1 of the relevant posts that were ranked, in any order.
        grades: (n,) their grades, >= 1.
        all_grades: (R,) grades of all relevant posts, R >= 1.
        ks: cuts of precision.
        recalls: cuts of recall.
        ndcg: cut of nDCG.
        depth: rank beyond which nothing was retrieved, or None.

    Returns:
        AP, Rprec, RR, P@k, R@k and nDCG@k by name.

    Example:
        >>> import numpy as np
        >>> from siamese_news.metrics import ranking_figures
        >>> ones = np.array([1, 1])
        >>> figures = ranking_figures(np.array([1, 4]), ones, ones)  # relevant posts at 1 and 4
        >>> figures["AP"], figures["RR"], figures["P@10"]
        (0.75, 1.0, 0.2)
    """
    order = np.argsort(ranks)
    ranks, grades = ranks[order], grades[order]
    if depth is not None:
        ranks, grades = ranks[ranks <= depth], grades[ranks <= depth]
    total = len(all_grades)
    top = ranks <= ndcg
    ideal = np.sort(all_grades)[::-1][:ndcg]
    figures = {
        "AP": float((np.arange(1, len(ranks) + 1) / ranks).sum() / total),
        "Rprec": float((ranks <= total).sum() / total),
        "RR": float(1.0 / ranks[0]) if len(ranks) else 0.0,
        f"nDCG@{ndcg}": float(
            (grades[top] / np.log2(ranks[top] + 1.0)).sum()
            / (ideal / np.log2(np.arange(2, len(ideal) + 2))).sum()
        ),
    }
    figures |= {f"P@{k}": float((ranks <= k).sum() / k) for k in ks}
    figures |= {f"R@{k}": float((ranks <= k).sum() / total) for k in recalls}
    return figures
