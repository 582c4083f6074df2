"""Replays of certificates on labeled pools: how often one is wrong, and how many labels it takes.

The loop of `annotate` is computed at once here, because the labels are known; tests compare both.
"""

import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_news.data.trec import put_grade, rows_of
from siamese_news.errors import InputError
from siamese_news.utils.files import atomic_write
from siamese_news.utils.markdown import markdown_table
from siamese_news.utils.provenance import provenance
from siamese_news_desk.decide.bounds.hypergeometric import interval
from siamese_news_desk.decide.bounds.tables import Tables, turn_of
from siamese_news_desk.decide.plan.design import (
    Order,
    errors_due,
    first_set,
    least_errors,
    nested_sets,
    planned_nulls,
    reserved_labels,
)
from siamese_news_desk.decide.plan.population import Population

# Times the oracle: the naive method draws its labels from these posts.
_NAIVE_REGION = 1.5
_NO_LIST = "no list has this precision"


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


def generator_of(seed: int, *parts: object) -> np.random.Generator:
    """A separate random stream for each setting and run."""
    return np.random.default_rng(
        [seed, *(zlib.crc32(str(part).encode()) for part in parts)]
    )


def random_order(
    sizes: NDArray[np.int64], generator: np.random.Generator, hold: int
) -> Order:
    """A random order for a replay; keys are drawn set by set, only as far as the descent goes."""

    def keys(start: int, end: int) -> NDArray[np.uint64]:
        return generator.integers(0, 2**63, end - start, dtype=np.int64).astype(
            np.uint64
        )

    return Order(sizes, keys, hold=hold)


def tables_of(
    sizes: NDArray[np.int64], target: Fraction, budget: int, error: float
) -> Tables:
    """The tables of a descent."""
    nulls = planned_nulls(sizes, target, budget)
    return Tables(sizes.tolist(), nulls.tolist(), error=error, turn=turn_of(budget))


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


@dataclass(frozen=True, slots=True)
class Replay:
    """The result of a descent; the counts are those of `certification.Claim`.

    Attributes:
        size: posts of the returned set; 0 if none is certified, and the list is the posts put in.
        relevant: truly relevant posts of the set.
        taken_out: its posts that are left out of the list.
        put_in: posts from further down that are added to the list.
        labels: number of labels spent.
        curve: (labels, posts in the list) after each set.
        labeled: ranks of the labeled posts.
    """

    size: int
    relevant: int
    taken_out: int
    put_in: int
    labels: int
    curve: tuple[tuple[int, int], ...]
    labeled: NDArray[np.int64]

    @property
    def posts(self) -> int:
        """Posts in the list."""
        return self.size - self.taken_out + self.put_in

    @property
    def hits(self) -> int:
        """Relevant posts in the list."""
        return self.relevant + self.put_in

    def misses(self, target: Fraction) -> bool:
        """Whether the set without the posts taken out has a precision below the target."""
        return self.relevant < target * (self.size - self.taken_out)


def replay(
    tables: Tables,
    order: Order,
    relevant: NDArray[np.bool_],
    *,
    target: Fraction,
    budget: int,
    sets: int | None = None,
    stop: bool = False,
) -> Replay:
    """Label in the random order until the budget is spent, as `annotate` does.

    `relevant` (N,) are the labels by rank; the pool has as many `sets` of the tables, or all. With
    `stop`, the labels that the descent does not need are saved.
    """
    sizes = tables.sizes[:sets]
    due = errors_due(sizes, tables.nulls[:sets], target)
    labeled = np.zeros(int(sizes[-1]), bool)
    spent = 0
    curve = [(0, 0)]
    best = (0, 0, 0, 0)
    for number, size in enumerate(sizes.tolist()):
        ranks = order.first(number, min(budget, size))
        bounds = tables.bounds(number, len(ranks))[1:]
        before = int(sizes[number - 1]) if number else 0
        while True:
            errors_seen = int((labeled[:before] & ~relevant[:before]).sum())
            missing = max(0, int(due[number - 1]) - errors_seen) if number else 0
            left = budget - spent
            new = _requested(
                ranks,
                bounds,
                relevant,
                labeled,
                left - reserved_labels(missing, budget),
            )
            passed = bool(
                (np.cumsum(~labeled[ranks] | ~relevant[ranks]) <= bounds).any()
            )
            if not passed and not len(new):
                new = np.flatnonzero(~labeled[:before])[::-1][: min(missing, left)]
            if not (passed or stop or len(new)):
                # The labels that are left go to the best posts below the list.
                new = best[0] + np.flatnonzero(~labeled[best[0] :])[:left]
            if not len(new):
                break
            labeled[new] = True
            spent += len(new)
            best = _list(sizes[: number + passed], due, relevant, labeled)
        best = _list(sizes[: number + passed], due, relevant, labeled)
        curve.append((spent, best[0] - best[2] + best[3]))
        if not passed:
            break
    return Replay(*best, spent, tuple(curve), np.flatnonzero(labeled))


def _list(
    passed: NDArray[np.int64],
    due: NDArray[np.int64],
    relevant: NDArray[np.bool_],
    labeled: NDArray[np.bool_],
) -> tuple[int, int, int, int]:
    """The first four fields of a `Replay`, by the sizes of the sets that `passed`."""
    errors = np.flatnonzero(labeled & ~relevant[: len(labeled)])
    labeled_errors = np.searchsorted(errors, passed)
    good = np.flatnonzero(labeled_errors >= due[: len(passed)])
    size = int(passed[good[-1]]) if len(good) else 0
    removed = int(labeled_errors[good[-1]]) if len(good) else 0
    put_in = int((labeled[size:] & relevant[size : len(labeled)]).sum())
    return size, int(relevant[:size].sum()), removed, put_in


def _requested(
    ranks: NDArray[np.int64],
    bounds: NDArray[np.int32],
    relevant: NDArray[np.bool_],
    labeled: NDArray[np.bool_],
    left: int,
) -> NDArray[np.int64]:
    """The posts of a set to label until it passes, or cannot pass with the labels left.

    With j more labels, the count after t labels is the number of errors known by then plus the
    number of posts still without a label; the smallest number of those that must turn out relevant
    is requested. `ranks` are in the order of the set, `bounds` its table after 1, 2, ... labels.
    """
    labels_there = labeled[ranks]
    new = ranks[~labels_there]
    wrong = ~relevant[ranks]
    gaps = np.cumsum(~labels_there)
    old = np.cumsum(labels_there & wrong)
    more = np.cumsum(~labels_there & wrong)
    count = 0
    while True:
        waiting = np.maximum(gaps - count, 0)
        seen = (
            more
            if count >= len(new)
            else np.minimum(more, int((~relevant[new[:count]]).sum()))
        )
        short = old + seen + waiting - bounds
        able = short[short <= waiting]
        needed = int(able.min()) if len(able) else left + 1
        if needed <= 0 or count + needed > left:
            return new[:count]
        # All of them will be requested anyway, unless an error among them makes the set
        # unreachable; so near the end of the budget, request one at a time.
        count += needed if 8 * needed <= left - count else 1


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
    sizes = nested_sets(pool.scores, first=first)
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


def simulate(
    folder: Path,
    pools: Sequence[LabeledPool],
    *,
    targets: Sequence[str],
    budgets: Sequence[int],
    runs: int,
    error: float,
    seed: int,
    say: Callable[[str], None],
) -> None:
    """Replay each target (precision) and budget (number of labels) on each pool, `runs` times.

    Writes ``simulation.md`` and ``simulation.json`` into a folder; `say` gets a line for each
    finished setting.
    """
    cells = []
    for pool in pools:
        for target in targets:
            for budget in budgets:
                cell = replay_cell(pool, target, budget, runs, error=error, seed=seed)
                cells.append(cell)
                lines = (
                    _NO_LIST if cell["share"] is None else f"share {cell['share']:.3f}"
                )
                what = f"{pool.name} at {target}, {budget} labels"
                say(f"{what}: {lines}, {cell['wrong']} of {runs} wrong")
    files = {
        "simulation.json": json.dumps(
            {"provenance": provenance(), "cells": cells}, indent=1
        ),
        "simulation.md": markdown_table(list(map(_row, cells))),
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
