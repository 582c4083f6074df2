"""Replays on labelled pools: how often a promise is broken, and what it costs in labels."""

import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from multiprocessing import get_context
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_news.decide.bounds.tables import Tables, turn_of
from siamese_news.decide.plan.design import (
    Order,
    errors_due,
    first_set,
    kept_back,
    nested_sets,
    planned_nulls,
)
from siamese_news.decide.simulation.pools import FAMILIES, LabelledPool

_LARGEST = 20_001  # posts of the largest made corpus, and one more
_NAIVE_REGION = 1.5  # times the oracle: where the naive choice draws its labels


@dataclass(frozen=True, slots=True)
class Cell:
    """What replays of one setting came to.

    Attributes:
        pool: the corpus, or a family of them.
        target: precision.
        budget: labels.
        runs: replays.
        share: mean number of posts handed over, as a share of the oracle's; None for a family.
        found: the same of the relevant posts among them.
        tenth: tenth percentile of the share.
        nothing: runs without a certificate.
        labels: mean number of labels spent.
        wrong: runs that handed over a list whose precision is below the target.
        low: lower end of the 99% interval of the share of wrong runs.
        high: upper end.
        naive: share of runs in which the lowest threshold that looks good is wrong.
    """

    pool: str
    target: str
    budget: int
    runs: int
    share: float | None
    found: float | None
    tenth: float | None
    nothing: int
    labels: float
    wrong: int
    low: float
    high: float
    naive: float | None


def interval(hits: int, runs: int, level: float = 0.99) -> tuple[float, float]:
    """The exact interval of a share (Clopper and Pearson)."""
    from scipy.stats import beta

    tail = (1 - level) / 2
    low = float(beta.ppf(tail, hits, runs - hits + 1)) if hits else 0.0
    high = float(beta.ppf(1 - tail, hits + 1, runs - hits)) if hits < runs else 1.0
    return low, high


def generator_of(seed: int, *parts: object) -> np.random.Generator:
    """Random numbers of their own for every setting and run."""
    return np.random.default_rng([seed, *(zlib.crc32(str(part).encode()) for part in parts)])


def random_order(sizes: NDArray[np.int64], generator: np.random.Generator, hold: int) -> Order:
    """A random order for a replay; its keys are made set by set, as far as the walk goes."""

    def keys(start: int, end: int) -> NDArray[np.uint64]:
        return generator.integers(0, 2**63, end - start, dtype=np.int64).astype(np.uint64)

    return Order(sizes, keys, hold=hold)


def tables_of(sizes: NDArray[np.int64], target: Fraction, budget: int, error: float) -> Tables:
    """The tables of a descent."""
    nulls = planned_nulls(sizes, target, budget)
    return Tables(sizes.tolist(), nulls.tolist(), error=error, turn=turn_of(budget))


def naive_size(
    pool: LabelledPool, target: Fraction, oracle: int, budget: int, generator: np.random.Generator
) -> int:
    """The lowest threshold that looks good: no certificate, only what people do.

    Labels are drawn at random from the best posts, half as many again as the oracle returns; that
    this region is known favours the naive choice.

    Args:
        pool: with its truth.
        target: precision.
        oracle: how many posts the oracle returns.
        budget: labels.
        generator: of the draws.
    """
    region = min(len(pool.scores), max(budget, int(_NAIVE_REGION * oracle)))
    drawn = np.sort(generator.choice(region, min(budget, region), replace=False))
    share = np.cumsum(pool.relevant[drawn]) / np.arange(1, len(drawn) + 1)
    good = np.flatnonzero(share >= float(target))
    return int(drawn[good[-1]]) + 1 if len(good) else 0


def replays(
    pool: LabelledPool, target: str, budget: int, seeds: Sequence[int], *, error: float, seed: int
) -> list[tuple["Replay", int]]:
    """Replays on one pool, and the size of the naive choice."""
    share = Fraction(target)
    sizes = nested_sets(pool.scores, first=first_set(budget))
    tables = tables_of(sizes, share, budget, error)
    oracle = pool.oracle(share)
    found = []
    for number in seeds:
        generator = generator_of(seed, pool.name, target, budget, number)
        naive = naive_size(pool, share, oracle, budget, generator)
        order = random_order(sizes, generator, budget)
        found.append((replay(tables, order, pool.relevant, target=share, budget=budget), naive))
    return found


def pool_cell(
    pool: LabelledPool, target: str, budget: int, runs: int, *, error: float, seed: int, cores: int
) -> Cell:
    """Replay one pool."""
    parts = np.array_split(np.arange(runs), max(1, min(cores, runs)))
    found = _spread(
        replays,
        [(pool, target, budget, part.tolist()) for part in parts],
        {"error": error, "seed": seed},
        cores,
    )
    share = Fraction(target)
    oracle = pool.oracle(share)
    done = [one for one, _ in found]
    wrong = sum(one.misses(share) for one in done)
    naive = sum(pool.misses(size, share) for _, size in found)
    shares = [one.posts / oracle for one in done] if oracle else [0.0]
    best = max(1, int(pool.relevant[:oracle].sum()))
    return Cell(
        pool.name,
        target,
        budget,
        runs,
        float(np.mean(shares)),
        float(np.mean([one.hits / best for one in done])),
        float(np.quantile(shares, 0.1)),
        sum(not one.posts for one in done),
        float(np.mean([one.labels for one in done])),
        wrong,
        *interval(wrong, runs),
        naive / runs,
    )


def family_runs(
    family: str, target: str, budget: int, seeds: Sequence[int], *, error: float, seed: int
) -> list[tuple[int, int, bool, bool]]:
    """(posts, labels, wrong, naive is wrong): a corpus of its own for every run."""
    share = Fraction(target)
    # Without ties the sets of all corpora begin alike, but for the last one, the whole corpus.
    grid = nested_sets(-np.arange(_LARGEST, dtype=np.float64), first=first_set(budget))
    shared = tables_of(grid, share, budget, error)
    found = []
    for number in seeds:
        generator = generator_of(seed, family, target, budget, number)
        pool = FAMILIES[family](generator, share, budget)
        naive = naive_size(pool, share, pool.oracle(share), budget, generator)
        sizes = nested_sets(pool.scores, first=first_set(budget))
        sets = len(sizes) - 1
        tables = shared
        if not sets or not np.array_equal(sizes[:-1], grid[:sets]):
            tables, sets = tables_of(sizes, share, budget, error), len(sizes)
        order = random_order(sizes, generator, budget)
        done = replay(tables, order, pool.relevant, target=share, budget=budget, sets=sets)
        wrong, looks = done.misses(share), pool.misses(naive, share)
        found.append((done.posts, done.labels, wrong, looks))
    return found


def family_cell(
    family: str, target: str, budget: int, runs: int, *, error: float, seed: int, cores: int
) -> Cell:
    """Replay a family of made corpora."""
    parts = np.array_split(np.arange(runs), max(1, min(cores, runs)))
    found = _spread(
        family_runs,
        [(family, target, budget, part.tolist()) for part in parts],
        {"error": error, "seed": seed},
        cores,
    )
    wrong = sum(bad for _, _, bad, _ in found)
    return Cell(
        family,
        target,
        budget,
        runs,
        None,
        None,
        None,
        sum(not posts for posts, *_ in found),
        float(np.mean([labels for _, labels, *_ in found])),
        wrong,
        *interval(wrong, runs),
        sum(bad for *_, bad in found) / runs,
    )


def curve(
    pool: LabelledPool, target: str, budget: int, runs: int, *, error: float, seed: int
) -> list[tuple[int, float]]:
    """Mean number of posts in the list after so many labels of those planned."""
    share = Fraction(target)
    sizes = nested_sets(pool.scores, first=first_set(budget))
    tables = tables_of(sizes, share, budget, error)
    total = np.zeros(budget + 1)
    for number in range(runs):
        generator = generator_of(seed, "curve", pool.name, target, number)
        order = random_order(sizes, generator, budget)
        done = replay(tables, order, pool.relevant, target=share, budget=budget)
        known = np.zeros(budget + 1)
        for labels, posts in done.curve:
            known[labels:] = posts
        total += known
    return [(labels, float(total[labels] / runs)) for labels in range(budget + 1)]


def _spread(
    task: Callable[..., list[Any]],
    parts: list[tuple[Any, ...]],
    options: dict[str, Any],
    cores: int,
) -> list[Any]:
    """The results of the parts, in order; each in a process of its own if there are several."""
    if cores == 1 or len(parts) == 1:
        return [row for part in parts for row in task(*part, **options)]
    with ProcessPoolExecutor(cores, mp_context=get_context("spawn")) as pool:
        waiting = [pool.submit(task, *part, **options) for part in parts]
        return [row for one in waiting for row in one.result()]


@dataclass(frozen=True, slots=True)
class Replay:
    """What a descent came to.

    Attributes:
        size: posts of the set that is handed over; 0 where none is.
        relevant: how many of them are truly relevant.
        taken_out: how many of them were labelled not relevant, and are left out.
        put_in: labelled relevant posts from further down.
        labels: how many were spent.
        curve: (labels, posts in the list) each time a set passed, and at the end.
        labelled: ranks of the labelled posts.
    """

    size: int
    relevant: int
    taken_out: int
    put_in: int
    labels: int
    curve: tuple[tuple[int, int], ...]
    labelled: NDArray[np.int64]

    @property
    def posts(self) -> int:
        """In the list that is handed over."""
        return self.size - self.taken_out + self.put_in

    @property
    def hits(self) -> int:
        """Relevant posts in the list."""
        return self.relevant + self.put_in

    def misses(self, target: Fraction) -> bool:
        """Whether the set without what was taken out has less than the target precision."""
        return self.relevant < target * (self.size - self.taken_out)


def replay(
    tables: Tables,
    order: Order,
    relevant: NDArray[np.bool_],
    *,
    target: Fraction,
    budget: int,
    sets: int | None = None,
) -> Replay:
    """Label in the random order until the budget is spent, as `annotate` does.

    Args:
        tables: of the sets.
        order: of their posts.
        relevant: (N,) the truth (or an annotator's answer) by rank.
        target: the precision.
        budget: labels to spend.
        sets: how many of the tables' sets the corpus has; None for all.
    """
    sizes = tables.sizes[:sets]
    due = errors_due(sizes, tables.nulls[:sets], target)
    labelled = np.zeros(int(sizes[-1]), bool)
    spent, curve, best = 0, [(0, 0)], (0, 0, 0, 0)
    for number, size in enumerate(sizes.tolist()):
        ranks = order.first(number, min(budget, size))
        bounds = tables.bounds(number, len(ranks))[1:]
        before = int(sizes[number - 1]) if number else 0
        while True:
            found = int((labelled[:before] & ~relevant[:before]).sum())
            missing = max(0, int(due[number - 1]) - found) if number else 0
            left = budget - spent
            new = _asked(ranks, bounds, relevant, labelled, left - kept_back(missing, budget))
            passed = bool((np.cumsum(~labelled[ranks] | ~relevant[ranks]) <= bounds).any())
            if not passed and not len(new):
                new = np.flatnonzero(~labelled[:before])[::-1][: min(missing, left)]
            if not len(new):
                break
            labelled[new] = True
            spent += len(new)
        errors = np.flatnonzero(labelled[:size] & ~relevant[:size])
        known = np.searchsorted(errors, sizes[: number + passed])
        good = np.flatnonzero(known >= due[: number + passed])
        if len(good):
            chosen = int(sizes[good[-1]])
            hits = int(relevant[:chosen].sum())
            put_in = int((labelled[chosen:size] & relevant[chosen:size]).sum())
            best = (chosen, hits, int(known[good[-1]]), put_in)
        curve.append((spent, best[0] - best[2] + best[3]))
        if not passed:
            break
    return Replay(*best, spent, tuple(curve), np.flatnonzero(labelled))


def _asked(
    ranks: NDArray[np.int64],
    bounds: NDArray[np.int32],
    relevant: NDArray[np.bool_],
    labelled: NDArray[np.bool_],
    left: int,
) -> NDArray[np.int64]:
    """The posts of a set that are labelled until it passes, or cannot with the labels left.

    With j posts more the count after t labels is the errors that are known by then and the posts
    that still have no label; the least of them that have to be relevant are what is needed.

    Args:
        ranks: of its posts, in its order.
        bounds: after 1, 2, ... labels, its table.
        relevant: (N,) the truth by rank.
        labelled: (N,) which posts have a label.
        left: labels.
    """
    known = labelled[ranks]
    new = ranks[~known]
    wrong = ~relevant[ranks]
    gaps, old = np.cumsum(~known), np.cumsum(known & wrong)
    more, count = np.cumsum(~known & wrong), 0
    while True:
        waiting = np.maximum(gaps - count, 0)
        seen = more if count >= len(new) else np.minimum(more, int((~relevant[new[:count]]).sum()))
        short = old + seen + waiting - bounds
        able = short[short <= waiting]
        needed = int(able.min()) if len(able) else left + 1
        if needed <= 0 or count + needed > left:
            return new[:count]
        # Those that are needed are asked for in any case, unless an error among them uses up what
        # is left: near the end one at a time.
        count += needed if 8 * needed <= left - count else 1
