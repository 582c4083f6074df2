"""Figures by the length of the article."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np


class LengthGroup(NamedTuple):
    """Articles of low <= length < high, how many there are, and their mean figure.

    Example:
        >>> from siamese_news.metrics import by_length
        >>> by_length({"a": 0.4, "b": 0.8}, {"a": 120, "b": 900}, edges=[500])[1].mean
        0.8
    """

    low: float
    high: float
    articles: int
    mean: float


def by_length(
    per_article_values: Mapping[str, float], lengths: Mapping[str, int], edges: Sequence[float]
) -> list[LengthGroup]:
    """Group one per-article figure by article length.

    Args:
        per_article_values: article id -> value, such as ``Evaluation.per_article["AP"]``.
        lengths: article id -> length, at least for these articles.
        edges: ascending inner bounds; n edges give n + 1 groups from 0 to infinity.

    Returns:
        The groups, shortest articles first; an empty group has mean NaN.

    Raises:
        ValueError: where edges do not ascend or an article has no length.

    Example:
        >>> from siamese_news.metrics import by_length
        >>> by_length({"a": 0.4, "b": 0.8}, {"a": 120, "b": 900}, edges=[500])[0]
        LengthGroup(low=0.0, high=500.0, articles=1, mean=0.4)
    """
    bounds = [0.0, *map(float, edges), float("inf")]
    if any(low >= high for low, high in pairwise(bounds)):
        raise ValueError(f"edges={list(edges)}; expected positive numbers, each above the last")
    missing = next((article for article in per_article_values if article not in lengths), None)
    if missing is not None:
        raise ValueError(f"article {missing!r} has a figure and no length; expected one for each")
    groups: list[list[float]] = [[] for _ in bounds[1:]]
    for article, value in per_article_values.items():
        groups[int(np.searchsorted(bounds[1:-1], lengths[article], side="right"))].append(value)
    return [
        LengthGroup(low, high, len(g), float(np.mean(g)) if g else float("nan"))
        for (low, high), g in zip(pairwise(bounds), groups, strict=True)
    ]
