"""How much of the oracle a descent returns for other first sets, ratios and error spending.

``python -m benchmarks.certify_design --run events.run [--runs 20]``: each article of events-dev is
a pool by itself, if the oracle returns at least 100 of its posts. The run is what ``siamese-news
rank --articles queries.jsonl.gz --posts corpus.jsonl.gz --top 12753 --out events.run`` writes. In
brackets: the share of the replays in which nothing was certified.
"""

import argparse
import os
from fractions import Fraction
from pathlib import Path

import numpy as np

from siamese_news.decide.bounds import tables
from siamese_news.decide.plan.design import first_set, least_errors, nested_sets
from siamese_news.decide.simulation.pools import LabelledPool
from siamese_news.decide.simulation.precision import generator_of, random_order, replay

_CELLS = [
    (".95", 100), (".95", 300), (".95", 1000), (".9", 100), (".9", 300), (".9", 1000),
    (".8", 100), (".8", 300),
]  # fmt: skip
# Name, posts of the first set (or a share of those that score .1 and more, of 100 to 1,000 posts;
# None as `first_set` says), ratio, turn as a share of the budget, power of the spending.
_DESIGNS = [
    ("as it is", None, "1.02", 0.75, 1.0), ("first 100", 100, "1.02", 0.75, 1.0),
    ("first 1/5 of .1", 1 / 5, "1.02", 0.75, 1.0), ("first 1/3 of .1", 1 / 3, "1.02", 0.75, 1.0),
    ("first 1/2 of .1", 1 / 2, "1.02", 0.75, 1.0), ("first 150", 150, "1.02", 0.75, 1.0),
    ("first 200", 200, "1.02", 0.75, 1.0), ("first 300", 300, "1.02", 0.75, 1.0),
    ("ratio 1.05", None, "1.05", 0.75, 1.0), ("ratio 1.1", None, "1.1", 0.75, 1.0),
    ("turn 1/2", None, "1.02", 0.5, 1.0), ("turn 1", None, "1.02", 1.0, 1.0),
    ("power 1/2", None, "1.02", 0.75, 0.5), ("power 1.5", None, "1.02", 0.75, 1.5),
]  # fmt: skip


def pools(run: Path) -> list[LabelledPool]:
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
        found.append(LabelledPool(article, np.array([score for score, _ in rows]), truth))
    return found


def spending(power: float):
    """Error spent with a power of the labels; 1 is the straight line of `tables.spent_by`."""

    def spent_by(labels, size, error, turn):
        t = labels.astype(float)
        if size <= turn:
            spent = error * (t / size) ** power
        else:
            late = tables.KEPT * np.log(np.maximum(t, turn) / turn) / np.log(size / turn)
            spent = error * ((1 - tables.KEPT) * np.minimum(t / turn, 1.0) ** power + late)
        return np.floor(np.minimum(spent, error) * 1e12) / 1e12

    return spent_by


def posts_of_first(first, scores, budget) -> int:
    """A design's first set for a pool."""
    if first is None:
        return first_set(scores, budget)
    if first >= 1:
        return first
    return int(np.clip(first * np.count_nonzero(scores >= 0.1), 100, 1000))


def share(pool, precision, budget, first, ratio, turn, runs) -> tuple[float, float]:
    """Mean share of the oracle's posts, and how often nothing was certified."""
    target = Fraction(precision)
    first = posts_of_first(first, pool.scores, budget)
    sizes = nested_sets(pool.scores, first=first, ratio=Fraction(ratio))
    nulls = [least_errors(size, target) for size in sizes.tolist()]
    own = tables.Tables(sizes.tolist(), nulls, error=0.05, turn=max(1, int(turn * budget)))
    found = []
    for number in range(runs):
        generator = generator_of(77, pool.name, precision, budget, number)
        order = random_order(sizes, generator, budget)
        found.append(replay(own, order, pool.relevant, budget=budget).size)
    return float(np.mean(found)) / pool.oracle(target), float(np.mean(np.array(found) == 0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=20)
    options = parser.parse_args()
    found = pools(options.run)
    print("| design | " + " | ".join(f"{t}, {b:,}" for t, b in _CELLS) + " |")
    print("|---|" + "---:|" * len(_CELLS))
    for name, first, ratio, turn, power in _DESIGNS:
        tables.spent_by = spending(power)
        cells = []
        for precision, budget in _CELLS:
            target = Fraction(precision)
            able = [pool for pool in found if pool.oracle(target) >= 100]
            values = [share(p, precision, budget, first, ratio, turn, options.runs) for p in able]
            mean, nothing = np.mean(values, axis=0)
            cells.append(f"{mean:.3f} ({nothing:.2f})")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
