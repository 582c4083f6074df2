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
from siamese_news.decide.plan.design import Order, first_set, least_errors, nested_sets
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
        share: mean share of the oracle's posts; None for a family.
        informed: the share that a single test would give whose set the truth chose: see
            `informed_share`; None for a family.
        tenth: its tenth percentile.
        nothing: runs without a certificate.
        labels: mean number of labels spent.
        wrong: runs that returned a threshold whose precision is below the target.
        low: lower end of the 99% interval of the share of wrong runs.
        high: upper end.
        naive: share of runs in which the lowest threshold that looks good is wrong.
    """

    pool: str
    target: str
    budget: int
    runs: int
    share: float | None
    informed: float | None
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
    nulls = [least_errors(size, target) for size in sizes.tolist()]
    return Tables(sizes.tolist(), nulls, error=error, turn=turn_of(budget))


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
) -> list[tuple[int, int, int]]:
    """(size, labels, naive size) of replays on one pool."""
    share = Fraction(target)
    sizes = nested_sets(pool.scores, first=first_set(pool.scores, budget))
    tables = tables_of(sizes, share, budget, error)
    oracle = pool.oracle(share)
    found = []
    for number in seeds:
        generator = generator_of(seed, pool.name, target, budget, number)
        naive = naive_size(pool, share, oracle, budget, generator)
        done = replay(tables, random_order(sizes, generator, budget), pool.relevant, budget=budget)
        found.append((done.size, done.labels, naive))
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
    sizes = [size for size, _, _ in found]
    wrong = sum(pool.misses(size, share) for size in sizes)
    naive = sum(pool.misses(size, share) for _, _, size in found)
    shares = [size / oracle for size in sizes] if oracle else [0.0]
    return Cell(
        pool.name, target, budget, runs, float(np.mean(shares)),
        informed_share(pool, target, budget, error=error), float(np.quantile(shares, 0.1)),
        sum(not size for size in sizes), float(np.mean([labels for _, labels, _ in found])),
        wrong, *interval(wrong, runs), naive / runs,
    )  # fmt: skip


def informed_share(pool: LabelledPool, target: str, budget: int, *, error: float) -> float:
    """What all labels in one exact test would give, if one knew beforehand which set to test.

    The expected share of the oracle's posts: those of a set times the chance that a fixed number of
    labels, drawn from it at random, certifies it (hypergeometric), for the best of the nested sets.
    Nobody can choose so well without the labels; it tells how much the scores allow.
    """
    from scipy.stats import hypergeom

    share = Fraction(target)
    oracle = pool.oracle(share)
    sizes = nested_sets(pool.scores)
    sizes = sizes[sizes <= oracle]
    if not len(sizes):
        return 0.0
    nulls = np.array([least_errors(size, share) for size in sizes.tolist()])
    errors = np.cumsum(~pool.relevant)[sizes - 1]
    drawn = np.minimum(budget, sizes)
    allowed = hypergeom.ppf(error, sizes, nulls, drawn)
    allowed -= hypergeom.cdf(allowed, sizes, nulls, drawn) > error
    passes = np.where(allowed >= 0, hypergeom.cdf(allowed, sizes, errors, drawn), 0.0)
    return float((passes * sizes).max() / oracle)


def family_runs(
    family: str, target: str, budget: int, seeds: Sequence[int], *, error: float, seed: int
) -> list[tuple[int, int, bool, bool]]:
    """(size, labels, wrong, naive is wrong): a corpus of its own for every run."""
    share = Fraction(target)
    # Without ties the sets of all corpora begin alike, but for the last one, the whole corpus.
    grid = nested_sets(-np.arange(_LARGEST, dtype=np.float64))
    shared = tables_of(grid, share, budget, error)
    found = []
    for number in seeds:
        generator = generator_of(seed, family, target, budget, number)
        pool = FAMILIES[family](generator, share)
        naive = naive_size(pool, share, pool.oracle(share), budget, generator)
        sizes = nested_sets(pool.scores, first=first_set(pool.scores, budget))
        sets = len(sizes) - 1
        tables = shared
        if not sets or not np.array_equal(sizes[:-1], grid[:sets]):
            tables, sets = tables_of(sizes, share, budget, error), len(sizes)
        order = random_order(sizes, generator, budget)
        done = replay(tables, order, pool.relevant, budget=budget, sets=sets)
        wrong, looks = pool.misses(done.size, share), pool.misses(naive, share)
        found.append((done.size, done.labels, wrong, looks))
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
        family, target, budget, runs, None, None, None, sum(not size for size, *_ in found),
        float(np.mean([labels for _, labels, *_ in found])), wrong, *interval(wrong, runs),
        sum(bad for *_, bad in found) / runs,
    )  # fmt: skip


def curve(
    pool: LabelledPool, target: str, budget: int, runs: int, *, error: float, seed: int
) -> list[tuple[int, float]]:
    """Mean number of certified posts after so many labels."""
    share = Fraction(target)
    sizes = nested_sets(pool.scores, first=first_set(pool.scores, budget))
    tables = tables_of(sizes, share, budget, error)
    total = np.zeros(budget + 1)
    for number in range(runs):
        generator = generator_of(seed, "curve", pool.name, target, number)
        done = replay(tables, random_order(sizes, generator, budget), pool.relevant, budget=budget)
        known = np.zeros(budget + 1)
        for labels, size in done.curve:
            known[labels:] = size
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
        size: posts of the last certified set; 0 where none is.
        labels: how many were spent.
        curve: (labels, size) each time a set was certified.
        labelled: ranks of the labelled posts.
    """

    size: int
    labels: int
    curve: tuple[tuple[int, int], ...]
    labelled: NDArray[np.int64]


def replay(
    tables: Tables,
    order: Order,
    relevant: NDArray[np.bool_],
    *,
    budget: int,
    sets: int | None = None,
) -> Replay:
    """Label in the random order until the budget is spent, as `annotate` does.

    Args:
        tables: of the sets.
        order: of their posts.
        relevant: (N,) the truth (or an annotator's answer) by rank.
        budget: labels to spend.
        sets: how many of the tables' sets the corpus has; None for all.
    """
    sizes = tables.sizes[:sets]
    labelled = np.zeros(int(sizes[-1]), bool)
    spent = certified = 0
    curve: list[tuple[int, int]] = []
    for number, size in enumerate(sizes.tolist()):
        ranks = order.first(number, min(budget, size))
        known = labelled[ranks]
        new = ranks[~known]
        hits = np.concatenate([[0], np.cumsum(relevant[new])])
        # After j new labels the count at t is errors + gaps; see descent._needed.
        gaps = np.cumsum(~known)
        short = np.cumsum(~known | ~relevant[ranks]) - tables.bounds(number, len(ranks))[1:]
        count = np.searchsorted(hits, np.maximum(short, 0))
        good = count <= np.minimum(gaps, budget - spent)
        if not good.any():
            labelled[new[: budget - spent]] = True
            break
        least = int(count[good].min())
        labelled[new[:least]] = True
        spent += least
        certified = size
        curve.append((spent, size))
    found = np.flatnonzero(labelled)
    return Replay(certified, len(found), tuple(curve), found)
