"""The one ranking rule: scores to 6 decimals, ties by post id descending (trec_eval's order).

A score and the rank of its id fit together into one 64-bit key, so that a ranking, a count of
the posts above a post, or a top list is a comparison of integers, with no tie left.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from siamese_news.errors import InputError

NOTHING = np.iinfo(np.int64).min
"""A key below that of every post."""

_LOW = np.int64(0xFFFFFFFF)
_MAGNITUDE = np.int32(0x7FFFFFFF)


def rounded(scores: np.ndarray) -> np.ndarray:
    """Round scores to 6 decimals as a reader of a TREC run sees them.

    trec_eval keeps scores as 32-bit floats, so in addition to the 6 decimals of a run file, two
    scores above 16 also tie if float32 cannot tell them apart. The result printed with 6
    decimals and read again is the result: a written run has exactly these ties. It is float32 of
    the same shape, never -0.

    Raises:
        InputError: a score is NaN, infinite or outside float32.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.rint(np.asarray(scores, dtype=np.float64) * 1e6)
        result = (steps / 1e6).astype(np.float32) + np.float32(0.0)
    finite = np.isfinite(result)
    if not finite.all():
        bad = np.asarray(scores)[~finite].ravel()[0]
        raise InputError(f"a score is {bad!r}; expected finite numbers within float32")
    return result


def id_ranks(ids: Sequence[str]) -> np.ndarray:
    """Rank (P,) of each id in ascending order: the greater, the earlier it comes among ties.

    Raises:
        InputError: an id occurs twice.
    """
    if len(set(ids)) != len(ids):
        ((id, _),) = Counter(ids).most_common(1)
        raise InputError(f"id {id!r} is used twice; ids must be distinct")
    ascending = sorted(range(len(ids)), key=ids.__getitem__)
    ranks = np.empty(len(ids), dtype=np.int64)
    ranks[ascending] = np.arange(len(ids))
    return ranks


def order_of(scores: np.ndarray) -> np.ndarray:
    """Integers (int64, 32 bits used) in the order of float32 scores, equal where those are."""
    bits = np.ascontiguousarray(scores, dtype=np.float32).view(np.int32)
    return np.where(bits >= 0, bits, bits ^ _MAGNITUDE).astype(np.int64)


def sort_keys(scores: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """Keys (..., n) by rounded score, then by id; the greatest key ranks first.

    `scores` (..., n) are rounded here; `ranks` (n,) are those of `id_ranks`.
    """
    return (order_of(rounded(scores)) << 32) | ranks


def scores_of(keys: np.ndarray) -> np.ndarray:
    """The rounded float32 scores that `keys` contain."""
    order = (keys >> 32).astype(np.int32)
    bits = np.where(order >= 0, order, order ^ _MAGNITUDE)
    return bits.astype(np.int32).view(np.float32)


def ranks_of(keys: np.ndarray) -> np.ndarray:
    """The id ranks that `keys` contain."""
    return keys & _LOW


def ranked(
    scores: Mapping[str, float], *, depth: int | None = None
) -> list[tuple[str, float]]:
    """Order one query's posts: rounded score descending, then id descending.

    Args:
        scores: post id -> score.
        depth: keep this many, or all.

    Returns:
        (id, rounded score), best first.

    Example:
        >>> from siamese_news.metrics import ranked
        >>> [post for post, _ in ranked({"p1": 0.5, "p2": 0.5, "p3": 0.9})]
        ['p3', 'p2', 'p1']
    """
    ids = list(scores)
    values = np.fromiter(scores.values(), np.float64, len(ids))
    keys = sort_keys(values, id_ranks(ids))
    order = np.argsort(-keys)[:depth]
    best_scores = scores_of(keys[order]).tolist()
    return [(ids[i], score) for i, score in zip(order, best_scores, strict=True)]


def ranking_figures(
    ranks: np.ndarray,
    grades: np.ndarray,
    all_grades: np.ndarray,
    *,
    ks: Sequence[int] = (10, 30),
    depth: int | None = None,
) -> dict[str, float]:
    """Figures of one ranking.

    All judged relevant posts count in the denominators, including those that were not ranked
    (trec_eval: ``map``, ``P``, ``Rprec``, ``recip_rank``, ``recall``, ``ndcg_cut`` with linear
    gain).

    Args:
        ranks: (n,) ranks from 1 of the relevant posts that were ranked, in any order.
        grades: (n,) their grades, >= 1.
        all_grades: (R,) grades of all relevant posts, R >= 1.
        ks: cuts of precision.
        depth: rank beyond which nothing was retrieved, or None.
    """
    order = np.argsort(ranks)
    ranks = ranks[order]
    grades = grades[order]
    if depth is not None:
        is_retrieved = ranks <= depth
        ranks = ranks[is_retrieved]
        grades = grades[is_retrieved]
    total = len(all_grades)
    precisions = np.arange(1, len(ranks) + 1) / ranks
    top = ranks <= 10
    gain = (grades[top] / np.log2(ranks[top] + 1.0)).sum()
    ideal = np.sort(all_grades)[::-1][:10]
    ideal_ranks = np.arange(1, len(ideal) + 1)
    ideal_gain = (ideal / np.log2(ideal_ranks + 1.0)).sum()
    figures = {
        "AP": float(precisions.sum() / total),
        "Rprec": float((ranks <= total).sum() / total),
        "RR": float(1.0 / ranks[0]) if len(ranks) else 0.0,
        "nDCG@10": float(gain / ideal_gain),
    }
    figures |= {f"P@{k}": float((ranks <= k).sum() / k) for k in ks}
    figures |= {f"R@{k}": float((ranks <= k).sum() / total) for k in (100, 1000)}
    return figures
