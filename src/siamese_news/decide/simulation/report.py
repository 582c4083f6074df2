"""A whole simulation: its tables, its picture, and the files they go to."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

from siamese_news.decide.chart import Line, line_chart
from siamese_news.decide.simulation.pools import FAMILIES, LabelledPool
from siamese_news.decide.simulation.precision import Cell, curve, family_cell, naive_size, pool_cell
from siamese_news.decide.simulation.precision import generator_of as _generator_of
from siamese_news.decide.simulation.stopping import Promise, audits, find_labels, recalls, rules
from siamese_news.utils.files import atomic_write
from siamese_news.utils.markdown import markdown_table
from siamese_news.utils.provenance import provenance

_NAMED = 20_000  # the population of a recall bound
_RECALLS = (0.8, 0.9)
_POSITIVES = (50, 100, 200)
_FIND = (500, 1000, 2000)
_PICTURE = 100  # replays behind a picture


class Simulation:
    """Replays on pools and families, as tables and pictures.

    Args:
        folder: for the files.
        targets: precisions, as typed.
        budgets: numbers of labels.
        runs: replays of each setting of a pool.
        error: 1 - confidence.
        seed: of all random orders.
        cores: processes.
        say: called with a line for every finished setting.
    """

    def __init__(
        self,
        folder: Path,
        *,
        targets: Sequence[str],
        budgets: Sequence[int],
        runs: int,
        error: float,
        seed: int,
        cores: int,
        say: Callable[[str], None],
    ) -> None:
        self._folder = folder
        self._shown = ".9" if ".9" in targets else targets[0]
        self._targets = targets
        self._budgets = budgets
        self._runs = runs
        self._error = error
        self._seed = seed
        self._cores = cores
        self._say = say
        self.cells: list[Cell] = []
        self.made: list[Cell] = []
        self.promises: list[Promise] = []
        self.found: list[dict[str, str | int]] = []
        self._pictures: dict[str, str] = {}

    def pool(self, pool: LabelledPool) -> None:
        """Replay everything on one pool."""
        for target in self._targets:
            for budget in self._budgets:
                cell = pool_cell(
                    pool,
                    target,
                    budget,
                    self._runs,
                    error=self._error,
                    seed=self._seed,
                    cores=self._cores,
                )
                self.cells.append(cell)
                self._say(
                    f"{pool.name} at {target}, {budget} labels: share {cell.share:.3f}, "
                    f"{cell.wrong} of {cell.runs} wrong"
                )
        options: dict[str, Any] = {"error": self._error, "seed": self._seed}
        above = pool.oracle(Fraction(self._targets[-1])) or len(pool.scores) // 10
        named = min(_NAMED, len(pool.scores))
        cut = pool.oracle(Fraction(self._shown)) or above
        for budget in self._budgets:
            if budget <= above:
                self.promises.append(audits(pool, above, budget, self._runs, **options))
            if budget <= min(cut, named - cut):
                self.promises.append(recalls(pool, cut, named, budget, self._runs, **options))
        if len(pool.scores) <= 10 * _NAMED:
            for recall in _RECALLS:
                self.promises += rules(pool, recall, _POSITIVES, self._runs, **options)
        for wanted in _FIND:
            labels = find_labels(pool.relevant, wanted)
            if labels is not None:
                self.found.append({"pool": pool.name, "relevant": wanted, "labels": labels})
        self._draw(pool)

    def families(self, runs: int) -> None:
        """Replay on made corpora, each with seeds of its own."""
        for family in FAMILIES:
            for target in self._targets[1:] or self._targets:
                for budget in self._budgets[:2]:
                    cell = family_cell(
                        family,
                        target,
                        budget,
                        runs,
                        error=self._error,
                        seed=self._seed,
                        cores=self._cores,
                    )
                    self.made.append(cell)
                    self._say(
                        f"{family} at {target}, {budget} labels: {cell.wrong} of {runs} wrong"
                    )

    def write(self) -> None:
        """Write the tables and pictures."""
        self._folder.mkdir(parents=True, exist_ok=True)
        content = {
            "provenance": provenance(),
            "cells": [asdict(cell) for cell in self.cells],
            "families": [asdict(cell) for cell in self.made],
            "promises": [asdict(promise) for promise in self.promises],
            "found": self.found,
        }
        with atomic_write(self._folder / "simulation.json") as stream:
            json.dump(content, stream, indent=1)
            stream.write("\n")
        with atomic_write(self._folder / "simulation.md") as stream:
            stream.write(self.markdown())
        for name, picture in self._pictures.items():
            with atomic_write(self._folder / f"{name}.svg") as stream:
                stream.write(picture)

    def markdown(self) -> str:
        """All tables."""
        parts = []
        for cells in (self.cells, self.made):
            if cells:
                parts.append(markdown_table([_row(cell) for cell in cells]))
        if self.promises:
            parts.append(markdown_table([_promise(promise) for promise in self.promises]))
        if self.found:
            parts.append(markdown_table(self.found))
        return "\n\n".join(parts) + "\n"

    def _draw(self, pool: LabelledPool) -> None:
        """Posts found against labels spent: certified, naive, oracle."""
        target = self._shown
        budget = max(self._budgets)
        ours = curve(
            pool, target, budget, min(self._runs, _PICTURE), error=self._error, seed=self._seed
        )
        share = Fraction(target)
        oracle = float(pool.oracle(share))
        naive: list[tuple[float, float]] = []
        steps = [budget * part // 20 for part in range(1, 21)]
        for labels in steps:
            kept = []
            for number in range(min(self._runs, _PICTURE)):
                generator = _generator_of(self._seed, "picture", pool.name, labels, number)
                size = naive_size(pool, share, int(oracle), labels, generator)
                kept.append(0 if pool.misses(size, share) else size)
            naive.append((labels, sum(kept) / len(kept)))
        self._pictures[f"certified-{pool.name}"] = line_chart(
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


def _row(cell: Cell) -> dict[str, str | float | int | None]:
    row: dict[str, str | float | int | None] = {
        "pool": cell.pool,
        "target": cell.target,
        "labels": cell.budget,
        "replays": cell.runs,
    }
    if cell.share is not None:
        row |= {
            "share of the oracle": cell.share,
            "tenth percentile": cell.tenth,
            "of its relevant posts": cell.found,
        }
    return row | {
        "nothing certified": cell.nothing,
        "labels spent": round(cell.labels),
        "below target": cell.wrong,
        "99% interval": f"{100 * cell.low:.1f} to {100 * cell.high:.1f}%",
        "naive below target": None if cell.naive is None else f"{100 * cell.naive:.0f}%",
    }


def _promise(promise: Promise) -> dict[str, str | float | int]:
    return {
        "pool": promise.pool,
        "promise": promise.what,
        "replays": promise.runs,
        "broken": promise.wrong,
        "99% interval": f"{100 * promise.low:.1f} to {100 * promise.high:.1f}%",
        "mean bound, or labels by optimum": promise.value,
        "truth, or recall reached": promise.truth,
    }
