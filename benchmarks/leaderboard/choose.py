"""Choices on dev pools, before any test is scored."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.leaderboard.lock import Lock
from benchmarks.leaderboard.rows import Row
from benchmarks.leaderboard.systems import Ground, Mix, mixed, open_row
from benchmarks.pools import Pool, Score, evaluate_pools

OBJECTIVE = ("links", "links_micro", "topic", "event", "teasers", "headlines")
"""The choice is by the mean of these figures, as far as they exist."""


def choose(ground: Ground, row: Row, lock: Lock, pools: Sequence[Pool]) -> None:
    """Lock a row: its options as given, or the best of its mixture weights by the mean dev figure.

    Args:
        ground: what rows share.
        row: the row.
        lock: the lock that gets the entry.
        pools: the dev pools; not read for a row without weights.
    """
    if not row.weights:
        lock.put(row, {}, "fixed in rows.yaml; nothing was chosen")
        return
    systems = open_row(ground, row, {"weight": 0.0})
    # Both parts are scored once; each weight only adds their scores.
    parts = [
        [
            [part(pool.articles, pool.posts)[0] for part in system.parts]
            for pool in pools
        ]
        for system in systems
        if isinstance(system, Mix)
    ]
    tried: list[dict[str, Any]] = []
    for weight in row.weights:
        figures_by_seed = [
            evaluate_pools(pools, _replay(scored, weight)) for scored in parts
        ]
        figures = {
            name: float(np.mean([one[name] for one in figures_by_seed]))
            for name in figures_by_seed[0]
        }
        mean = float(np.mean([figures[name] for name in OBJECTIVE if name in figures]))
        print(f"{row.name}, weight {weight:g}: {mean:.4f}", flush=True)
        rounded = {name: round(value, 4) for name, value in figures.items()}
        tried.append({"weight": weight, "mean": round(mean, 5), "figures": rounded})
    best = max(tried, key=lambda one: one["mean"])
    by = {"mean of": list(OBJECTIVE), "tried": tried}
    lock.put(row, {"weight": best["weight"]}, by)


def _replay(scored: list[list[np.ndarray]], weight: float) -> Score:
    """A scorer that returns the stored scores of the pools, in their order."""
    pools = iter([mixed(one, other, weight) for one, other in scored])
    return lambda articles, posts: next(pools)
