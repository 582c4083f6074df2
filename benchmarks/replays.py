"""Certificates replayed on labeled pools: how long a list is, and how often one is wrong.

``python -m benchmarks.replays --results pool.run --qrels qrels/test.tsv --out FOLDER [--precision .8
.9 .95] [--budget 100 300 1000] [--runs 500]`` replays each precision and number of labels on each
pool, and writes ``replays.md`` and ``replays.json``. A pool is its scored posts, as `rank` writes
them, and the qrels of a BEIR folder.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.replay import (
    generator_of,
    random_order,
    replay,
    tables_of,
)
from siamese_news.data.trec import put_grade, rows_of
from siamese_news.errors import InputError
from siamese_news.utils.files import atomic_write
from siamese_news.utils.markdown import markdown_table
from siamese_news.utils.provenance import provenance
from siamese_news_desk.decide.bounds.hypergeometric import interval
from siamese_news_desk.decide.plan.design import first_set, least_errors, nested_sets
from siamese_news_desk.decide.plan.population import Population

# Times the oracle: the naive method draws its labels from these posts.
_NAIVE_REGION = 1.5
_NO_LIST = "no list has this precision"
_ERROR = 0.05


@dataclass(frozen=True, slots=True)
class LabeledPool:
    """A pool with known labels.

    Attributes:
        scores: (N,) in descending order.
        relevant: (N,) whether each post is.
        relevance: (M,) of the best posts, as the search estimated it, or None.
    """

    name: str
    scores: NDArray[np.float64]
    relevant: NDArray[np.bool_]
    relevance: NDArray[np.float64] | None = None

    def oracle(self, target: Fraction) -> int:
        """The most posts that a threshold can return at the target precision."""
        # A threshold cannot split equal scores.
        ends = np.append(np.flatnonzero(np.diff(self.scores)) + 1, len(self.scores))
        hits = np.cumsum(self.relevant)[ends - 1]
        good = hits * target.denominator >= ends * target.numerator
        return int(ends[good].max()) if good.any() else 0

    def misses(self, size: int, target: Fraction) -> bool:
        """Whether the precision of the best `size` posts is below the target."""
        return size > 0 and int((~self.relevant[:size]).sum()) >= least_errors(
            size, target
        )


def read_pool(results: Path, qrels: Path) -> LabeledPool:
    """Read the results of `rank` for a whole pool, and their qrels as in a BEIR folder.

    Where the results are one list for all articles, a post is relevant if it is relevant to any.

    Raises:
        InputError: for a damaged line, and for qrels of another pool.
    """
    population = Population(results)
    relevant: set[str] = set()
    grades: dict[str, dict[str, int]] = {}
    for where, (article, post, grade) in rows_of(
        qrels, "query-id corpus-id score", "\t"
    ):
        put_grade(grades, where, article, post, grade)
        if grades[article][post] > 0:
            relevant.add(f"{article}\t{post}" if population.pairs else post)
    is_relevant = np.zeros(len(population), bool)
    is_relevant[list(population.ranks_of(sorted(relevant)).values())] = True
    if not is_relevant.any():
        raise InputError(
            f"{qrels}: none of its posts is in {results}; expected qrels of that pool"
        )
    name = qrels.parent.parent.name if qrels.parent.name == "qrels" else results.stem
    return LabeledPool(name, population.scores, is_relevant, population.relevance())


def naive_size(
    pool: LabeledPool,
    target: Fraction,
    oracle: int,
    budget: int,
    generator: np.random.Generator,
) -> int:
    """Posts above the lowest threshold whose precision on a random sample reaches the target.

    This is what people do without a certificate. The labels are drawn from the best posts, 1.5
    times as many as the oracle returns; knowing this region favors the naive method.
    """
    region = min(len(pool.scores), max(budget, int(_NAIVE_REGION * oracle)))
    drawn = np.sort(generator.choice(region, min(budget, region), replace=False))
    share = np.cumsum(pool.relevant[drawn]) / np.arange(1, len(drawn) + 1)
    good = np.flatnonzero(share >= float(target))
    return int(drawn[good[-1]]) + 1 if len(good) else 0


Record = dict[str, Any]
"""The results of the replays of one setting, by name."""


def replay_cell(
    pool: LabeledPool, target: str, budget: int, runs: int, *, error: float, seed: int
) -> Record:
    """Replay a pool.

    Returns:
        ``pool``, ``target``, ``budget`` and ``runs``; the mean ``share`` of the oracle's posts, its
        ``tenth`` percentile, and the share of its relevant posts ``found``, None where no list of
        the pool has that precision; how many runs certified ``nothing``, and how many were
        ``wrong``, with the 99% interval ``low`` to ``high`` of their share; the mean number of
        ``labels``; in which share of the runs the ``naive`` threshold is wrong.
    """
    precision = Fraction(target)
    replays = []
    wrong_naive = 0
    oracle = pool.oracle(precision)
    first = first_set(budget, precision, pool.relevance)
    sizes = nested_sets(pool.scores, first_size=first)
    tables = tables_of(sizes, precision, budget, error)
    for number in range(runs):
        generator = generator_of(seed, pool.name, target, budget, number)
        naive = naive_size(pool, precision, oracle, budget, generator)
        wrong_naive += pool.misses(naive, precision)
        order = random_order(sizes, generator, budget)
        replays.append(
            replay(tables, order, pool.relevant, target=precision, budget=budget)
        )
    share = relevant = tenth = None
    if oracle:
        shares = [replayed.posts / oracle for replayed in replays]
        best = int(pool.relevant[:oracle].sum())
        share = float(np.mean(shares))
        tenth = float(np.quantile(shares, 0.1))
        relevant = float(np.mean([replayed.hits / best for replayed in replays]))
    wrong = sum(replayed.misses(precision) for replayed in replays)
    low, high = interval(wrong, runs)
    return {
        "pool": pool.name,
        "target": target,
        "budget": budget,
        "runs": runs,
        "share": share,
        "found": relevant,
        "tenth": tenth,
        "nothing": sum(not replayed.size for replayed in replays),
        "labels": float(np.mean([replayed.labels for replayed in replays])),
        "wrong": wrong,
        "low": low,
        "high": high,
        "naive": wrong_naive / runs,
    }


def write_tables(folder: Path, cells: Sequence[Record]) -> None:
    """Write ``replays.md`` and ``replays.json`` into a folder."""
    files = {
        "replays.json": json.dumps(
            {"provenance": provenance(), "cells": cells}, indent=1
        ),
        "replays.md": markdown_table(list(map(_row, cells))),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        with atomic_write(folder / name) as stream:
            stream.write(f"{text}\n")


def _row(cell: Record) -> dict[str, str | float | int | None]:
    return {
        "pool": cell["pool"],
        "target": cell["target"],
        "labels": cell["budget"],
        "replays": cell["runs"],
        "share of the oracle": _NO_LIST if cell["share"] is None else cell["share"],
        "tenth percentile": cell["tenth"],
        "of its relevant posts": cell["found"],
        "nothing certified": cell["nothing"],
        "labels spent": round(cell["labels"]),
        "below target": cell["wrong"],
        "99% interval": f"{100 * cell['low']:.1f} to {100 * cell['high']:.1f}%",
        "naive below target": f"{100 * cell['naive']:.0f}%",
    }


def main(arguments: list[str] | None = None) -> None:
    """Replay certificates on the pools that are named."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.replays", description=__doc__
    )
    parser.add_argument("--results", type=Path, nargs="+", required=True)
    parser.add_argument("--qrels", type=Path, nargs="+", required=True)
    parser.add_argument("--out", type=Path, required=True, help="a folder")
    parser.add_argument("--precision", nargs="+", default=[".8", ".9", ".95"])
    parser.add_argument("--budget", type=int, nargs="+", default=[100, 300, 1000])
    parser.add_argument("--runs", type=int, default=500, help="replays of each setting")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    cells = []
    for pool in map(read_pool, options.results, options.qrels):
        for target, budget in product(options.precision, options.budget):
            setting = {"error": _ERROR, "seed": options.seed}
            cell = replay_cell(pool, target, budget, options.runs, **setting)
            cells.append(cell)
            share = _NO_LIST if cell["share"] is None else f"share {cell['share']:.3f}"
            print(
                f"{pool.name} at {target}, {budget} labels: {share}, {cell['wrong']} of "
                f"{options.runs} wrong"
            )
    write_tables(options.out, cells)


if __name__ == "__main__":
    main()
