"""A whole simulation: its tables, its pictures, and their files."""

import json
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from siamese_news.decide.chart import Line, line_chart
from siamese_news.decide.simulation.pools import FAMILIES, LabeledPool
from siamese_news.decide.simulation.replays import (
    Record,
    audits,
    curve,
    find_labels,
    generator_of,
    naive_size,
    recalls,
    replay_cell,
    rules,
)
from siamese_news.utils.files import atomic_write
from siamese_news.utils.markdown import markdown_table
from siamese_news.utils.provenance import provenance

_NAMED = 20_000  # the population of a recall bound
_RECALLS = (0.8, 0.9)
_POSITIVES = (50, 100, 200)
_FIND = (500, 1000, 2000)
_PICTURE = 100  # replays behind a picture

_NO_LIST = "no list has this precision"

_Row = dict[str, str | float | int | None]


def simulate(
    folder: Path,
    pools: Sequence[LabeledPool],
    *,
    families: int,
    targets: Sequence[str],
    budgets: Sequence[int],
    runs: int,
    error: float,
    seed: int,
    cores: int,
    say: Callable[[str], None],
) -> None:
    """Replay on pools and on generated pools, and write tables and pictures into a folder.

    Each target (precision) and budget (number of labels) is replayed `runs` times on each pool, and
    on `families` generated pools of each family. `say` gets a line for each finished setting.
    """
    options: dict[str, Any] = {"error": error, "seed": seed}
    shown = ".9" if ".9" in targets else targets[0]
    cells: list[Record] = []
    promises: list[Record] = []
    found: list[_Row] = []
    pictures: dict[str, str] = {}
    for pool in pools:
        for target in targets:
            for budget in budgets:
                cell = replay_cell(pool, target, budget, runs, cores=cores, **options)
                cells.append(cell)
                share = cell["share"]
                said = _NO_LIST if share is None else f"share {share:.3f}"
                what = f"{pool.name} at {target}, {budget} labels"
                say(f"{what}: {said}, {cell['wrong']} of {runs} wrong")
        promises += _promises(pool, targets[-1], shown, budgets, runs, options)
        found += [
            {"pool": pool.name, "relevant": wanted, "labels": labels}
            for wanted in _FIND
            if (labels := find_labels(pool.relevant, wanted)) is not None
        ]
        name = f"certified-{pool.name}"
        pictures[name] = _picture(pool, shown, max(budgets), min(runs, _PICTURE), error, seed)
    generated: list[Record] = []
    for family in FAMILIES if families else ():
        for target in targets[1:] or targets:
            for budget in budgets[:2]:
                cell = replay_cell(family, target, budget, families, cores=cores, **options)
                generated.append(cell)
                say(f"{family} at {target}, {budget} labels: {cell['wrong']} of {families} wrong")
    tables = [
        [_row(cell, shares=True) for cell in cells],
        [_row(cell, shares=False) for cell in generated],
        [_promise(promise) for promise in promises],
        found,
    ]
    content = {
        "provenance": provenance(),
        "cells": cells,
        "families": generated,
        "promises": promises,
        "found": found,
    }
    files = {
        "simulation.json": json.dumps(content, indent=1) + "\n",
        "simulation.md": "\n\n".join(markdown_table(rows) for rows in tables if rows) + "\n",
        **{f"{name}.svg": picture for name, picture in pictures.items()},
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        with atomic_write(folder / name) as stream:
            stream.write(text)


def _promises(
    pool: LabeledPool,
    highest: str,
    shown: str,
    budgets: Sequence[int],
    runs: int,
    options: dict[str, Any],
) -> list[Record]:
    """Audits and recall bounds of each budget that the pool is large enough for, then the rules."""
    found = []
    above = pool.oracle(Fraction(highest)) or len(pool.scores) // 10
    named = min(_NAMED, len(pool.scores))
    cut = pool.oracle(Fraction(shown)) or above
    for budget in budgets:
        if budget <= above:
            found.append(audits(pool, above, budget, runs, **options))
        if budget <= min(cut, named - cut):
            found.append(recalls(pool, cut, named, budget, runs, **options))
    if len(pool.scores) <= 10 * _NAMED:
        for recall in _RECALLS:
            found += rules(pool, recall, _POSITIVES, runs, **options)
    return found


def _picture(
    pool: LabeledPool, target: str, budget: int, runs: int, error: float, seed: int
) -> str:
    """Posts returned against labels spent: certified, naive, and the oracle."""
    ours = curve(pool, target, budget, runs, error=error, seed=seed)
    share = Fraction(target)
    oracle = float(pool.oracle(share))
    naive: list[tuple[float, float]] = []
    for labels in (budget * part // 20 for part in range(1, 21)):
        kept = []
        for number in range(runs):
            generator = generator_of(seed, "picture", pool.name, labels, number)
            size = naive_size(pool, share, int(oracle), labels, generator)
            kept.append(0 if pool.misses(size, share) else size)
        naive.append((labels, sum(kept) / len(kept)))
    return line_chart(
        [
            Line("oracle: knows all", [(0.0, oracle), (float(budget), oracle)], "#555", True),
            Line("certified", ours, "#1a6b3c"),
            Line("naive, if right", naive, "#b5482a"),
        ],
        title=f"Posts returned at precision {target}: {pool.name}",
        x_name="labels spent",
        y_name="posts",
        low=0.0,
        high=oracle * 1.05,
    )


def _row(cell: Record, *, shares: bool) -> _Row:
    row: _Row = {
        "pool": cell["pool"],
        "target": cell["target"],
        "labels": cell["budget"],
        "replays": cell["runs"],
    }
    if shares:
        none = cell["share"] is None
        row |= {
            "share of the oracle": _NO_LIST if none else cell["share"],
            "tenth percentile": cell["tenth"],
            "of its relevant posts": cell["found"],
        }
    return row | {
        "nothing certified": cell["nothing"],
        "labels spent": round(cell["labels"]),
        "below target": cell["wrong"],
        "99% interval": _interval(cell),
        "naive below target": f"{100 * cell['naive']:.0f}%",
    }


def _promise(promise: Record) -> _Row:
    return {
        "pool": promise["pool"],
        "promise": promise["what"],
        "replays": promise["runs"],
        "broken": promise["wrong"],
        "99% interval": _interval(promise),
        "mean bound, or labels by optimum": promise["value"],
        "truth, or recall reached": promise["truth"],
    }


def _interval(record: Record) -> str:
    return f"{100 * record['low']:.1f} to {100 * record['high']:.1f}%"
