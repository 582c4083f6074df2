"""Replays on labeled pools: how often a guarantee is broken, and how many labels it takes.

The loops of `annotate` are computed at once here, because the labels are known; tests compare both.
`LearnThenRandom` is left out, because its cost depends on the texts.
"""

import zlib
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise
from multiprocessing import get_context
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_news.decide.bounds.hypergeometric import interval, lower_bound, recall_bound
from siamese_news.decide.bounds.tables import Tables, turn_of
from siamese_news.decide.plan.design import (
    Order,
    errors_due,
    first_set,
    nested_sets,
    planned_nulls,
    reserved_labels,
)
from siamese_news.decide.simulation.pools import FAMILIES, LabeledPool
from siamese_news.decide.stopping import binomial_place

_LARGEST = 20_001  # posts of the largest generated pool, plus one
_NAIVE_REGION = 1.5  # times the oracle: the naive method draws its labels from these posts


def generator_of(seed: int, *parts: object) -> np.random.Generator:
    """A separate random stream for each setting and run."""
    return np.random.default_rng([seed, *(zlib.crc32(str(part).encode()) for part in parts)])


def random_order(sizes: NDArray[np.int64], generator: np.random.Generator, hold: int) -> Order:
    """A random order for a replay; keys are drawn set by set, only as far as the descent goes."""

    def keys(start: int, end: int) -> NDArray[np.uint64]:
        return generator.integers(0, 2**63, end - start, dtype=np.int64).astype(np.uint64)

    return Order(sizes, keys, hold=hold)


def tables_of(sizes: NDArray[np.int64], target: Fraction, budget: int, error: float) -> Tables:
    """The tables of a descent."""
    nulls = planned_nulls(sizes, target, budget)
    return Tables(sizes.tolist(), nulls.tolist(), error=error, turn=turn_of(budget))


def naive_size(
    pool: LabeledPool, target: Fraction, oracle: int, budget: int, generator: np.random.Generator
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
        size: posts of the returned set; 0 if none is certified.
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
) -> Replay:
    """Label in the random order until the budget is spent, as `annotate` does.

    `relevant` (N,) are the labels by rank; the pool has as many `sets` of the tables, or all.
    """
    sizes = tables.sizes[:sets]
    due = errors_due(sizes, tables.nulls[:sets], target)
    labeled = np.zeros(int(sizes[-1]), bool)
    spent, curve, best = 0, [(0, 0)], (0, 0, 0, 0)
    for number, size in enumerate(sizes.tolist()):
        ranks = order.first(number, min(budget, size))
        bounds = tables.bounds(number, len(ranks))[1:]
        before = int(sizes[number - 1]) if number else 0
        while True:
            found = int((labeled[:before] & ~relevant[:before]).sum())
            missing = max(0, int(due[number - 1]) - found) if number else 0
            left = budget - spent
            new = _requested(
                ranks, bounds, relevant, labeled, left - reserved_labels(missing, budget)
            )
            passed = bool((np.cumsum(~labeled[ranks] | ~relevant[ranks]) <= bounds).any())
            if not passed and not len(new):
                new = np.flatnonzero(~labeled[:before])[::-1][: min(missing, left)]
            if not len(new):
                break
            labeled[new] = True
            spent += len(new)
        errors = np.flatnonzero(labeled[:size] & ~relevant[:size])
        known = np.searchsorted(errors, sizes[: number + passed])
        good = np.flatnonzero(known >= due[: number + passed])
        if len(good):
            chosen = int(sizes[good[-1]])
            hits = int(relevant[:chosen].sum())
            put_in = int((labeled[chosen:size] & relevant[chosen:size]).sum())
            best = (chosen, hits, int(known[good[-1]]), put_in)
        curve.append((spent, best[0] - best[2] + best[3]))
        if not passed:
            break
    return Replay(*best, spent, tuple(curve), np.flatnonzero(labeled))


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
    known = labeled[ranks]
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
        # All of them will be requested anyway, unless an error among them makes the set
        # unreachable; so near the end of the budget, request one at a time.
        count += needed if 8 * needed <= left - count else 1


Record = dict[str, Any]
"""The results of the replays of one setting, or of one promise, by name."""

_Run = tuple[Replay, bool]
"""A replay, and whether the naive threshold of the same run is wrong."""


def replay_cell(
    source: LabeledPool | str,
    target: str,
    budget: int,
    runs: int,
    *,
    error: float,
    seed: int,
    cores: int,
) -> Record:
    """Replay a pool, or a new pool of the family with this name in each run.

    Returns:
        ``pool``, ``target``, ``budget`` and ``runs``; of a pool the mean ``share`` of the oracle's
        posts, its ``tenth`` percentile, and the share of its relevant posts ``found``, None where
        no list of the pool has that precision; how many runs certified ``nothing``, and how many
        were ``wrong``, with the 99% interval ``low`` to ``high`` of their share; the mean number of
        ``labels``; in which share of the runs the ``naive`` threshold is wrong.
    """
    setting = target, budget, error, seed
    task = partial(_runs, source, *setting)
    parts = [part.tolist() for part in np.array_split(np.arange(runs), max(1, min(cores, runs)))]
    if len(parts) == 1:
        found = task(parts[0])
    else:
        with ProcessPoolExecutor(cores, mp_context=get_context("spawn")) as processes:
            found = [run for part in processes.map(task, parts) for run in part]
    precision = Fraction(target)
    share = relevant = tenth = None
    if isinstance(source, LabeledPool) and (oracle := source.oracle(precision)):
        shares = [one.posts / oracle for one, _ in found]
        best = int(source.relevant[:oracle].sum())
        share, tenth = float(np.mean(shares)), float(np.quantile(shares, 0.1))
        relevant = float(np.mean([one.hits / best for one, _ in found]))
    wrong = sum(one.misses(precision) for one, _ in found)
    low, high = interval(wrong, runs)
    return {
        "pool": source if isinstance(source, str) else source.name,
        "target": target,
        "budget": budget,
        "runs": runs,
        "share": share,
        "found": relevant,
        "tenth": tenth,
        "nothing": sum(not one.posts for one, _ in found),
        "labels": float(np.mean([one.labels for one, _ in found])),
        "wrong": wrong,
        "low": low,
        "high": high,
        "naive": sum(naive for _, naive in found) / runs,
    }


def _runs(
    source: LabeledPool | str,
    target: str,
    budget: int,
    error: float,
    seed: int,
    numbers: Sequence[int],
) -> list[_Run]:
    share, found = Fraction(target), []
    fixed = None if isinstance(source, str) else (source, source.oracle(share))
    # Without ties the sets of all pools of a family are the same, except the last one, the pool.
    scores = fixed[0].scores if fixed else -np.arange(_LARGEST, dtype=np.float64)
    grid = nested_sets(scores, first=first_set(budget))
    shared = tables_of(grid, share, budget, error)
    for number in numbers:
        name = fixed[0].name if fixed else source
        generator = generator_of(seed, name, target, budget, number)
        if fixed:
            pool, oracle = fixed
        else:
            pool = FAMILIES[str(source)](generator, share, budget)
            oracle = pool.oracle(share)
        naive = pool.misses(naive_size(pool, share, oracle, budget, generator), share)
        sizes = nested_sets(pool.scores, first=first_set(budget))
        sets, tables = len(sizes) - (fixed is None), shared
        if not sets or not np.array_equal(sizes[:sets], grid[:sets]):
            sets, tables = len(sizes), tables_of(sizes, share, budget, error)
        order = random_order(sizes, generator, budget)
        done = replay(tables, order, pool.relevant, target=share, budget=budget, sets=sets)
        found.append((done, naive))
    return found


def curve(
    pool: LabeledPool, target: str, budget: int, runs: int, *, error: float, seed: int
) -> list[tuple[int, float]]:
    """Mean number of posts in the list after each number of labels up to the budget."""
    share = Fraction(target)
    sizes = nested_sets(pool.scores, first=first_set(budget))
    tables = tables_of(sizes, share, budget, error)
    total = np.zeros(budget + 1)
    for number in range(runs):
        generator = generator_of(seed, "curve", pool.name, target, number)
        order = random_order(sizes, generator, budget)
        done = replay(tables, order, pool.relevant, target=share, budget=budget)
        for (_, before), (labels, posts) in pairwise(done.curve):
            total[labels:] += posts - before
    return [(labels, float(total[labels] / runs)) for labels in range(budget + 1)]


def _promise(
    pool: LabeledPool, what: str, broken: Sequence[bool], value: float, truth: float
) -> Record:
    """The replays of an audit, a recall bound or a stopping rule.

    `value` is the mean of the bound, or of the labels as a multiple of the optimum; `truth` the
    true value behind a bound, or the mean recall that a rule reached.
    """
    runs, wrong = len(broken), sum(broken)
    low, high = interval(wrong, runs)
    record = {"pool": pool.name, "what": what, "runs": runs, "wrong": wrong}
    return record | {"low": low, "high": high, "value": value, "truth": truth}


def audits(
    pool: LabeledPool, size: int, budget: int, runs: int, *, error: float, seed: int
) -> Record:
    """The lower bound on the precision of the best `size` posts."""
    hits = int(pool.relevant[:size].sum())
    bounds = []
    for number in range(runs):
        generator = generator_of(seed, "audit", pool.name, size, budget, number)
        drawn = int(generator.hypergeometric(hits, size - hits, budget))
        bounds.append(lower_bound(size, budget, drawn, error))
    what = f"audit of the best {size:,}, {budget} labels"
    value = float(np.mean(bounds)) / size
    return _promise(pool, what, [bound > hits for bound in bounds], value, hits / size)


def recalls(
    pool: LabeledPool, above: int, size: int, budget: int, runs: int, *, error: float, seed: int
) -> Record:
    """The lower bound on recall at a threshold within the best `size` posts."""
    found, missed = int(pool.relevant[:above].sum()), int(pool.relevant[above:size].sum())
    truth = found / (found + missed)
    first, rest = budget // 3, budget - budget // 3
    bounds = []
    for number in range(runs):
        generator = generator_of(seed, "recall", pool.name, above, size, budget, number)
        x = int(generator.hypergeometric(found, above - found, first))
        y = int(generator.hypergeometric(missed, size - above - missed, rest))
        bounds.append(recall_bound((above, first, x), (size - above, rest, y), error)[1])
    what = f"recall at {above:,} of the best {size:,}, {budget} labels"
    return _promise(pool, what, [bound > truth for bound in bounds], float(np.mean(bounds)), truth)


def random_positives(
    relevant: NDArray[np.bool_], keys: NDArray[np.uint64], recall: float, error: float, count: int
) -> tuple[int, int]:
    """Labels of `stopping.RandomPositives`, and the depth down to which every post is labeled."""
    place = binomial_place(recall, error, count)
    assert place is not None
    order = np.argsort(keys, kind="stable")
    hits = np.flatnonzero(relevant[order])
    if len(hits) < count:
        return len(relevant), len(relevant)
    drawn = int(hits[count - 1]) + 1
    depth = int(np.sort(order[hits[:count]])[place - 1]) + 1
    return depth + int((order[:drawn] >= depth).sum()), depth


def optimum(relevant: NDArray[np.bool_], recall: float) -> int:
    """Labels needed if the recall reached were known at every rank."""
    wanted = -(-Fraction(str(recall)) * int(relevant.sum()) // 1)
    return int(np.searchsorted(np.cumsum(relevant), int(wanted))) + 1


def rules(
    pool: LabeledPool, recall: float, counts: Sequence[int], runs: int, *, error: float, seed: int
) -> list[Record]:
    """`RandomPositives` with each of these numbers of positives that can show the recall."""
    total, best = int(pool.relevant.sum()), optimum(pool.relevant, recall)
    hits = np.cumsum(pool.relevant)
    found: list[Record] = []
    for count in counts:
        if binomial_place(recall, error, count) is None:
            continue
        labels, reached = [], []
        for number in range(runs):
            generator = generator_of(seed, "stop", pool.name, recall, count, number)
            keys = generator.integers(0, 2**63, len(pool.relevant)).astype(np.uint64)
            spent, depth = random_positives(pool.relevant, keys, recall, error, count)
            labels.append(spent / best)
            reached.append(hits[depth - 1] / total)
        broken = [bool(share < recall - 1e-12) for share in reached]
        what = f"recall {recall:g}: {count} random positives first"
        value, truth = float(np.mean(labels)), float(np.mean(reached))
        found.append(_promise(pool, what, broken, value, truth))
    return found


def find_labels(relevant: NDArray[np.bool_], wanted: int) -> int | None:
    """Labels until so many relevant posts are found down the ranking; None if there are fewer."""
    hits = np.cumsum(relevant)
    return int(np.searchsorted(hits, wanted)) + 1 if hits[-1] >= wanted else None
