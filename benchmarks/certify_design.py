"""How much of the oracle a descent hands over on the development pools, by the rule.

``python -m benchmarks.certify_design --run events.run [--results fact.run --qrels
$D/factcheck-dev/qrels/test.tsv ...] [--runs 20] [--others]``: each article of events-dev is a pool
by itself, if the oracle returns at least 100 of its posts; other files are a pool each. The run is
what ``siamese-news rank --articles queries.jsonl.gz --posts corpus.jsonl.gz --top 12753 --out
events.run`` writes. *Posts* and *relevant* posts of the lists are shares of the oracle's, which
knows every label but cuts by score alone. The rules are *before*, which hands over whole sets, and
*now*, which hands over lists without their labeled errors; with ``--others`` other numbers of
errors to be found, first sets and ratios come as well.
"""

import argparse
import os
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np

from benchmarks.replay import (
    generator_of,
    random_order,
    replay,
    tables_of,
)
from benchmarks.replays import LabeledPool, read_pool
from siamese_news_desk.decide.bounds.hypergeometric import interval
from siamese_news_desk.decide.plan import design
from siamese_news_desk.decide.plan.design import first_set, nested_sets

_CELLS = [
    (target, budget) for target in (".8", ".9", ".95") for budget in (100, 300, 1000)
]
_ERROR = 0.05


def first_before(scores, budget) -> int:
    """Posts of the first set before labeled errors were taken out."""
    near = int(np.count_nonzero(scores >= 0.1))
    if budget < 300 or near * 5 > len(scores):
        return 100
    return int(np.clip(near // 5, 100, 1000))


# Name, constants of the errors to be found (see `planned_nulls`), first set, ratio.
_BEFORE = ("before", 0.0, 0.0, first_before, "1.02")
_NOW = (
    "now",
    design._FOUND,
    design._FOUND_LESS,
    lambda scores, budget: first_set(budget),
    "1.02",
)
_OTHERS = [
    ("none to be found", 0.0, 0.0, *_NOW[3:]),
    ("1 m - 1.5 sqrt m", 1.0, 1.5, *_NOW[3:]),
    ("2 m - 4 sqrt m", 2.0, 4.0, *_NOW[3:]),
    ("3 m - 5 sqrt m", 3.0, 5.0, *_NOW[3:]),
    ("first 100", *_NOW[1:3], lambda scores, budget: 100, "1.02"),
    ("first 200", *_NOW[1:3], lambda scores, budget: 200, "1.02"),
    ("first as before", *_NOW[1:3], first_before, "1.02"),
    ("ratio 1.1", *_NOW[1:4], "1.1"),
]


def pools(run: Path) -> list[LabeledPool]:
    """One for each article, by the qrels."""
    folder = Path(os.environ["SIAMESE_NEWS_DATA"]) / "events-dev"
    relevant: dict[str, set[str]] = {}
    for line in (folder / "qrels" / "dev.tsv").read_text().splitlines()[1:]:
        article, post, grade = line.split("\t")
        if int(grade) > 0:
            relevant.setdefault(article, set()).add(post)
    lists: dict[str, list[tuple[float, str]]] = {}
    with run.open(encoding="utf-8") as stream:
        for line in stream:
            article, _, post, _, score, _ = line.split()
            lists.setdefault(article, []).append((float(score), post))
    found = []
    for article, rows in sorted(lists.items()):
        rows.sort(reverse=True)
        truth = np.array([post in relevant[article] for _, post in rows])
        found.append(
            LabeledPool(article, np.array([score for score, _ in rows]), truth)
        )
    return found


def lists(pool, precision, budget, rule, runs) -> list[tuple[int, int, bool]]:
    """Of each replay: posts handed over, relevant ones among them, whether the list is false."""
    _, design._FOUND, design._FOUND_LESS, first, ratio = rule
    target = Fraction(precision)
    sizes = nested_sets(
        pool.scores, first_size=first(pool.scores, budget), ratio=Fraction(ratio)
    )
    tables = tables_of(sizes, target, budget, _ERROR)
    found = []
    for number in range(runs):
        generator = generator_of(77, pool.name, precision, budget, number)
        order = random_order(sizes, generator, budget)
        done = replay(tables, order, pool.relevant, target=target, budget=budget)
        if rule is _BEFORE:
            found.append((done.size, done.relevant, pool.misses(done.size, target)))
        else:
            found.append((done.posts, done.hits, done.misses(target)))
    return found


def row(
    name: str, group: Sequence[LabeledPool], precision, budget, rule, runs
) -> str | None:
    """Of a table; None where no pool has enough posts at the target."""
    target = Fraction(precision)
    able = [
        pool for pool in group if pool.oracle(target) >= (100 if len(group) > 1 else 1)
    ]
    if not able:
        return None
    shares = []
    hits = []
    nothing = 0
    false = 0
    for pool in able:
        oracle = pool.oracle(target)
        best = int(pool.relevant[:oracle].sum())
        done = lists(pool, precision, budget, rule, runs)
        shares.append(np.mean([posts for posts, _, _ in done]) / oracle)
        hits.append(np.mean([own for _, own, _ in done]) / best)
        nothing += sum(not posts for posts, _, _ in done)
        false += sum(bad for _, _, bad in done)
    count = len(able) * runs
    low, high = interval(false, count)
    return (
        f"| {name} | {precision} | {budget:,} | {rule[0]} | {np.mean(shares):.3f} | "
        f"{np.mean(hits):.3f} | {100 * nothing / count:.0f}% | {false} of {count:,} | "
        f"{100 * low:.1f} to {100 * high:.1f}% |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path)
    parser.add_argument("--results", type=Path, action="append", default=[])
    parser.add_argument("--qrels", type=Path, action="append", default=[])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--others", action="store_true")
    options = parser.parse_args()
    groups = [("events-dev", pools(options.run))] if options.run else []
    for results, qrels in zip(options.results, options.qrels, strict=True):
        pool = read_pool(results, qrels)
        groups.append((pool.name, [pool]))
    print(
        "| pool | target | labels | rule | posts | relevant | nothing | false | 99% interval |"
    )
    print("|---|---:|---:|---|---:|---:|---:|---:|---|")
    for name, group in groups:
        for precision, budget in _CELLS:
            for rule in (_BEFORE, _NOW, *(_OTHERS if options.others else ())):
                line = row(name, group, precision, budget, rule, options.runs)
                if line is not None:
                    print(line, flush=True)


if __name__ == "__main__":
    main()
