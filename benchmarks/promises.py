"""What a certificate, an audit and a rule of recall promise, replayed on labeled and made pools.

``python -m benchmarks.promises [--families 2000] [--lists FOLDER] [--results boston.run --qrels
$D/crisislex-boston/qrels/test.tsv] --out made``: `benchmarks.replays` replays certificates on a
labeled pool. This adds corpora that were made to be hard, audits, recall bounds, a stopping rule,
the picture of posts returned against labels spent, and, on the development lists of `dev_lists`
(searched once and kept in FOLDER), what the labels bring that a certificate does not need.
"""

import argparse
import json
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from functools import partial
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.dev_lists import DevList, dev_lists, long_lists
from benchmarks.line_chart import Line, line_chart
from benchmarks.replay import (
    generator_of,
    random_order,
    replay,
    tables_of,
)
from benchmarks.replays import LabeledPool, Record, naive_size, read_pool
from siamese_news.utils.markdown import markdown_table
from siamese_news_desk.decide.bounds.hypergeometric import (
    interval,
    lower_bound,
    recall_bound,
)
from siamese_news_desk.decide.plan.design import (
    FIRST,
    first_set,
    nested_sets,
    planned_nulls,
)

_LARGEST = 20_001  # posts of the largest generated pool, plus one
_NAMED = 20_000  # the population of a recall bound
_RECALLS = (0.8, 0.9)
_POSITIVES = (50, 100, 200)
_FIND = (500, 1000, 2000)
_PICTURE = 100  # replays behind a picture
_ERROR = 0.05


def border(
    generator: np.random.Generator, target: Fraction, budget: int = 0
) -> LabeledPool:
    """The least favorable case: every set has the errors that its test must rule out.

    A set may have slightly more, because a larger set cannot have fewer errors than a smaller one.
    Without a budget every set misses the target by one post.
    """
    sizes = nested_sets(
        -_ranks(generator).astype(np.float64), first_size=first_set(budget)
    )
    errors = np.maximum.accumulate(planned_nulls(sizes, target, budget))
    relevant = np.ones(int(sizes[-1]), bool)
    relevant[: errors[0]] = False
    relevant[: sizes[0]] = generator.permutation(relevant[: sizes[0]])
    for end, more in zip(sizes[1:].tolist(), np.diff(errors).tolist(), strict=True):
        relevant[end - more : end] = False
    return _pool("border", relevant)


_Chance = Callable[[np.random.Generator, float, NDArray[np.int64]], NDArray[np.float64]]
"""Generator, target and ranks -> the probability that the post at each rank is relevant."""


def _drawn(
    name: str,
    chance: _Chance,
    generator: np.random.Generator,
    target: Fraction,
    budget: int = 0,
) -> LabeledPool:
    probability = chance(generator, float(target), _ranks(generator))
    return _pool(name, generator.random(len(probability)) < probability)


def _waves(
    generator: np.random.Generator, target: float, ranks: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Precision rises and falls with rank, around the target."""
    waves = np.sin(np.log1p(ranks) * generator.uniform(2, 5) + generator.uniform(0, 6))
    return np.asarray(target + 0.08 * waves - ranks / len(ranks) * 0.5)


def _falling(
    generator: np.random.Generator, ranks: NDArray[np.int64], top: float, steepness: int
) -> NDArray[np.float64]:
    """The share `top` is relevant at the head, almost nothing in the tail."""
    cut = len(ranks) * generator.uniform(0.1, 0.3)
    return np.asarray(top / (1 + np.exp((ranks - cut) / (cut / steepness))))


_easy = partial(_drawn, "easy", lambda g, target, ranks: _falling(g, ranks, 0.99, 10))


def _ties(
    generator: np.random.Generator, target: Fraction, budget: int = 0
) -> LabeledPool:
    """The easy family with coarse scores."""
    relevant = _easy(generator, target).relevant
    width = int(generator.integers(50, 300))
    return LabeledPool(
        "ties", -(np.arange(len(relevant)) // width).astype(float), relevant
    )


FAMILIES: dict[str, Callable[[np.random.Generator, Fraction, int], LabeledPool]] = {
    "border": border,
    "non-monotone": partial(_drawn, "non-monotone", _waves),
    "easy": _easy,
    "hard": partial(  # the head is hardly better than the target
        _drawn,
        "hard",
        lambda g, target, ranks: _falling(g, ranks, target + g.uniform(-0.02, 0.03), 4),
    ),
    "bimodal": partial(  # two groups of scores; almost all of the upper one is relevant
        _drawn,
        "bimodal",
        lambda g, _, ranks: np.where(
            ranks < int(len(ranks) * g.uniform(0.05, 0.2)), 0.97, 0.02
        ),
    ),
    "few positives": partial(  # no set reaches the target
        _drawn, "few positives", lambda _g, _t, ranks: np.where(ranks < 60, 0.7, 0.002)
    ),
    "ties": _ties,
}
"""Generated pools of 2,000 to 20,000 posts, by name, for a target and a number of labels."""


def _ranks(generator: np.random.Generator) -> NDArray[np.int64]:
    return np.arange(int(generator.integers(2_000, 20_001)))


def _pool(name: str, relevant: NDArray[np.bool_]) -> LabeledPool:
    return LabeledPool(name, -np.arange(len(relevant), dtype=np.float64), relevant)


def family_cell(
    family: str, target: str, budget: int, runs: int, *, seed: int, cores: int = 1
) -> Record:
    """Replay a new pool of a family in each run; the fields are those of `replay_cell`."""
    parts = [part.tolist() for part in np.array_split(np.arange(runs), cores)]
    task = partial(_runs, family, target, budget, seed)
    with ProcessPoolExecutor(cores, mp_context=get_context("spawn")) as processes:
        found = [run for part in processes.map(task, parts) for run in part]
    wrong = sum(misses for _, misses, _ in found)
    low, high = interval(wrong, runs)
    return {
        "pool": family,
        "target": target,
        "budget": budget,
        "runs": runs,
        "nothing": sum(not size for size, _, _ in found),
        "wrong": wrong,
        "low": low,
        "high": high,
        "naive": sum(naive for _, _, naive in found) / runs,
    }


def _runs(
    family: str, target: str, budget: int, seed: int, numbers: Sequence[int]
) -> list[tuple[int, bool, bool]]:
    """Of each run the certified set's size, and whether the list and the naive threshold are wrong."""
    share = Fraction(target)
    found = []
    # Without ties the sets of all pools of a family are the same, except the last one, the pool.
    grid = nested_sets(
        -np.arange(_LARGEST, dtype=np.float64), first_size=first_set(budget)
    )
    shared = tables_of(grid, share, budget, _ERROR)
    for number in numbers:
        generator = generator_of(seed, family, target, budget, number)
        pool = FAMILIES[family](generator, share, budget)
        oracle = pool.oracle(share)
        naive = pool.misses(naive_size(pool, share, oracle, budget, generator), share)
        sizes = nested_sets(pool.scores, first_size=first_set(budget))
        sets = len(sizes) - 1
        tables = shared
        if not sets or not np.array_equal(sizes[:sets], grid[:sets]):
            sets = len(sizes)
            tables = tables_of(sizes, share, budget, _ERROR)
        order = random_order(sizes, generator, budget)
        done = replay(
            tables, order, pool.relevant, target=share, budget=budget, sets=sets
        )
        found.append((done.size, done.misses(share), naive))
    return found


def curve(
    pool: LabeledPool, target: str, budget: int, runs: int, *, error: float, seed: int
) -> list[tuple[int, float]]:
    """Mean number of posts in the list after each number of labels up to the budget."""
    share = Fraction(target)
    first = first_set(budget, share, pool.relevance)
    sizes = nested_sets(pool.scores, first_size=first)
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
    runs = len(broken)
    wrong = sum(broken)
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
    pool: LabeledPool,
    above: int,
    size: int,
    budget: int,
    runs: int,
    *,
    error: float,
    seed: int,
) -> Record:
    """The lower bound on recall at a threshold within the best `size` posts."""
    found = int(pool.relevant[:above].sum())
    missed = int(pool.relevant[above:size].sum())
    truth = found / (found + missed)
    first = budget // 3
    rest = budget - budget // 3
    bounds = []
    for number in range(runs):
        generator = generator_of(seed, "recall", pool.name, above, size, budget, number)
        x = int(generator.hypergeometric(found, above - found, first))
        y = int(generator.hypergeometric(missed, size - above - missed, rest))
        bounds.append(
            recall_bound((above, first, x), (size - above, rest, y), error)[1]
        )
    what = f"recall at {above:,} of the best {size:,}, {budget} labels"
    return _promise(
        pool, what, [bound > truth for bound in bounds], float(np.mean(bounds)), truth
    )


def binomial_place(recall: float, error: float, positives: int) -> int | None:
    """The smallest j for which P(at least j of the positives are in the part) <= `error`, or None.

    Each of them is in the part with probability `recall`.
    """
    from scipy.stats import binom

    positions = np.arange(1, positives + 1)
    good = np.flatnonzero(binom.sf(positions - 1, positives, recall) <= error)
    return int(positions[good[0]]) if len(good) else None


def random_positives(
    relevant: NDArray[np.bool_],
    keys: NDArray[np.uint64],
    recall: float,
    error: float,
    count: int,
) -> tuple[int, int]:
    """Recall with random positives first (QBCB): the labels, and the depth labeled as a whole.

    Posts are labeled at random until `count` relevant ones are known, which are a random sample of
    all relevant posts. If the part of the ranking down to the j-th of them held less than the
    recall, at least j of them would be in it with a probability below `error` (Lewis, Yang and
    Frieder, CIKM 2021, arXiv 2108.12746).
    """
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
    pool: LabeledPool,
    recall: float,
    counts: Sequence[int],
    runs: int,
    *,
    error: float,
    seed: int,
) -> list[Record]:
    """`random_positives` with each of these numbers of positives that can show the recall."""
    total = int(pool.relevant.sum())
    best = optimum(pool.relevant, recall)
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
        value = float(np.mean(labels))
        truth = float(np.mean(reached))
        found.append(_promise(pool, what, broken, value, truth))
    return found


def find_labels(relevant: NDArray[np.bool_], wanted: int) -> int | None:
    """Labels until so many relevant posts are found down the ranking; None if there are fewer."""
    hits = np.cumsum(relevant)
    return int(np.searchsorted(hits, wanted)) + 1 if hits[-1] >= wanted else None


def _promises(
    pool: LabeledPool,
    highest: str,
    shown: str,
    budgets: Sequence[int],
    runs: int,
    options: Record,
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
            Line(
                "oracle: knows all",
                [(0.0, oracle), (float(budget), oracle)],
                "#555",
                True,
            ),
            Line("certified", ours, "#1a6b3c"),
            Line("naive, if right", naive, "#b5482a"),
        ],
        title=f"Posts returned at precision {target}: {pool.name}",
        x_name="labels spent",
        y_name="posts",
        low=0.0,
        high=oracle * 1.05,
    )


def labels_left(
    lists: Sequence[DevList],
    target: str,
    budget: int,
    runs: int,
    *,
    error: float,
    seed: int,
) -> Record:
    """What the labels bring that the descent does not need, on lists of one collection.

    Mean posts handed over by who stops then and by who labels the best posts, replays without a
    certified set and without a list, false lists, and, where labels are left, how many relevant
    posts join the list.
    """
    share = Fraction(target)
    stopped = []
    spent = []
    came = []
    nothing = empty = wrong = 0
    for dev_list in lists:
        pool = dev_list.pool
        first = first_set(budget, share, pool.relevance)
        sizes = nested_sets(pool.scores, first_size=first)
        tables = tables_of(sizes, share, budget, error)
        for number in range(runs):
            ends = []
            for stop in (True, False):
                generator = generator_of(
                    seed, "left", pool.name, target, budget, number
                )
                order = random_order(sizes, generator, budget)
                ends.append(
                    replay(
                        tables,
                        order,
                        pool.relevant,
                        target=share,
                        budget=budget,
                        stop=stop,
                    )
                )
            before, after = ends
            stopped.append(before.posts if before.size else 0)
            spent.append(after.posts)
            nothing += not after.size
            empty += not after.posts
            wrong += after.misses(share)
            unlabeled = np.setdiff1d(
                np.arange(before.size, len(pool.scores)), before.labeled
            )
            best = unlabeled[: budget - before.labels]
            if len(best):
                came.append(int(pool.relevant[best].sum()))
    replays = runs * len(lists)
    low, high = interval(wrong, replays)
    return {
        "lists": f"{lists[0].group} ({len(lists)})",
        "target": target,
        "labels": budget,
        "stopping": float(np.mean(stopped)),
        "spending": float(np.mean(spent)),
        "nothing certified": f"{nothing} of {replays:,}",
        "empty": empty,
        "false lists": wrong,
        "99% interval": _interval({"low": low, "high": high}),
        "came": float(np.mean(came)) if came else None,
    }


def starts_row(
    lists: Sequence[DevList],
    target: str,
    budget: int,
    runs: int,
    *,
    error: float,
    seed: int,
) -> Record | None:
    """Lists of one collection begun at the usual first set, and where the relevance says.

    Only lists count on which the oracle returns at least `FIRST` posts; None if there are none.
    """
    share = Fraction(target)
    able = [one.pool for one in lists if one.pool.oracle(share) >= FIRST]
    if not able:
        return None
    posts: dict[bool, list[float]] = {False: [], True: []}
    nothing = {False: 0, True: 0}
    wrong = moved = 0
    for pool in able:
        usual = first_set(budget)
        by_relevance = first_set(budget, share, pool.relevance)
        begun = {
            first: _begun_at(first, pool, target, budget, runs, error=error, seed=seed)
            for first in (usual, by_relevance)
        }
        moved += by_relevance > usual
        wrong += begun[by_relevance][2]
        for is_moved, first in ((False, usual), (True, by_relevance)):
            posts[is_moved].append(begun[first][0])
            nothing[is_moved] += begun[first][1]
    replays = runs * len(able)
    low, high = interval(wrong, replays)
    gains = np.subtract(posts[True], posts[False])
    return {
        "lists": f"{lists[0].group} ({len(able)})",
        "target": target,
        "labels": budget,
        "begun further down": moved,
        "usual": float(np.mean(posts[False])),
        "by relevance": float(np.mean(posts[True])),
        "least gain": f"{gains.min():+.3f}",
        "nothing certified": f"{100 * nothing[False] / replays:.0f}%, "
        f"{100 * nothing[True] / replays:.0f}%",
        "false lists": f"{wrong} of {replays:,}",
        "99% interval": _interval({"low": low, "high": high}),
    }


def _begun_at(
    first: int,
    pool: LabeledPool,
    target: str,
    budget: int,
    runs: int,
    *,
    error: float,
    seed: int,
) -> tuple[float, int, int]:
    """The mean share of the oracle's posts, and how many plans certify nothing or are wrong."""
    share = Fraction(target)
    sizes = nested_sets(pool.scores, first_size=first)
    tables = tables_of(sizes, share, budget, error)
    shares = []
    nothing = wrong = 0
    for number in range(runs):
        generator = generator_of(seed, "starts", pool.name, target, budget, number)
        order = random_order(sizes, generator, budget)
        done = replay(tables, order, pool.relevant, target=share, budget=budget)
        shares.append(min(1.0, done.posts / pool.oracle(share)))
        nothing += not done.size
        wrong += done.misses(share)
    return float(np.mean(shares)), nothing, wrong


def _shown(promise: Record) -> Record:
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, nargs="*", default=[])
    parser.add_argument("--qrels", type=Path, nargs="*", default=[])
    parser.add_argument("--lists", type=Path, help="folder of the development lists")
    parser.add_argument(
        "--starts", type=Path, help="folder of the long lists; of all lists, alone"
    )
    parser.add_argument(
        "--families", type=int, default=0, help="corpora of each family"
    )
    parser.add_argument("--precision", nargs="*", default=[".8", ".9", ".95"])
    parser.add_argument("--budget", type=int, nargs="*", default=[100, 300, 1000])
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("made"), help="folder")
    given = parser.parse_args()
    if given.starts:
        every = [*dev_lists(given.lists), *long_lists(given.starts)]
        options = {"error": _ERROR, "seed": given.seed}
        for group in dict.fromkeys(dev_list.group for dev_list in every):
            members = [dev_list for dev_list in every if dev_list.group == group]
            cells = [
                starts_row(members, target, budget, given.runs, **options)
                for target in given.precision
                for budget in given.budget
            ]
            if any(cells):
                print(markdown_table([cell for cell in cells if cell]), flush=True)
        return
    given.out.mkdir(parents=True, exist_ok=True)
    shown = ".9" if ".9" in given.precision else given.precision[0]
    promises: list[Record] = []
    found: list[Record] = []
    for pool in map(read_pool, given.results, given.qrels):
        options = {"error": _ERROR, "seed": given.seed}
        budgets = given.budget, given.runs, options
        promises += _promises(pool, given.precision[-1], shown, *budgets)
        found += [
            {"pool": pool.name, "relevant": wanted, "labels": labels}
            for wanted in _FIND
            if (labels := find_labels(pool.relevant, wanted)) is not None
        ]
        runs = min(given.runs, _PICTURE)
        picture = _picture(pool, shown, max(given.budget), runs, _ERROR, given.seed)
        (given.out / f"certified-{pool.name}.svg").write_text(picture, encoding="utf-8")
    cells = [
        family_cell(
            family,
            target,
            budget,
            given.families,
            seed=given.seed,
            cores=os.cpu_count() or 1,
        )
        for family in (FAMILIES if given.families else ())
        for target in given.precision
        for budget in given.budget
    ]
    families = [
        {
            "family": cell["pool"],
            "target": cell["target"],
            "labels": cell["budget"],
            "nothing certified": cell["nothing"],
            "below target": f"{cell['wrong']:,} of {cell['runs']:,}",
            "99% interval": _interval(cell),
            "naive below target": f"{100 * cell['naive']:.0f}%",
        }
        for cell in cells
    ]
    left = []
    lists = list(dev_lists(given.lists)) if given.lists else []
    for group in sorted({dev_list.group for dev_list in lists}):
        members = [dev_list for dev_list in lists if dev_list.group == group]
        for target in given.precision:
            for budget in given.budget:
                left.append(
                    labels_left(
                        members,
                        target,
                        budget,
                        given.runs,
                        error=_ERROR,
                        seed=given.seed,
                    )
                )
    tables = [families, list(map(_shown, promises)), found, left]
    print("\n\n".join(markdown_table(rows) for rows in tables if rows))
    content = {"families": cells, "promises": promises, "found": found, "left": left}
    (given.out / "promises.json").write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
