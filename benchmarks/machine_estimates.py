"""The same promise from a machine's verdicts and labels of people: how many labels it takes.

``python -m benchmarks.machine_estimates --lists FOLDER [--draws 200]`` (FOLDER as made by
benchmarks.learning; needs ``pip install ppi-python``). Each list is in the order of search and
machine joined, as `feedback --verdicts` writes it without labels. Two promises:

1. "at least .9 of this list are relevant", with an error of at most .05, of a list of which .95 are
   (how often it is made) and of one of which .895 are (how often it is false);
2. how many posts of the whole pool are relevant, with a 95% interval.

The exact bound uses a plain random sample and no verdicts. PPI++ (Angelopoulos, Duchi and Zrnic
2023, the authors' package) adds the verdicts of all posts. Active inference (Zrnic and Candes 2024,
which confidence-driven inference uses) labels posts where the order is unsure more often, and
weights them. The latter two rest on a normal approximation.
"""

import argparse
from collections import defaultdict
from functools import cache
from pathlib import Path

import numpy as np
from scipy.stats import norm

from benchmarks.learning import ERRORS, FIRST_GROUPS, made, ranked_pools
from benchmarks.measure import machine as this_machine
from siamese_news_desk.decide.bounds.hypergeometric import lower_bound, upper_bound
from siamese_news_desk.decide.learning import unjudged

TARGET, ERROR = 0.9, 0.05
TRUE = (0.95, 0.895)  # shares of relevant posts: the promise is kept, and just not kept
WAYS = ("exact", "PPI++", "active")
SIZES = (50, 100, 200, 300)
LEAST = 100  # posts of a list about which a promise is made
MACHINES = list(ERRORS)[:4]


@cache
def least(size: int, drawn: int, relevant: int, error: float) -> int:
    return lower_bound(size, drawn, relevant, error)


@cache
def most(size: int, drawn: int, relevant: int, error: float) -> int:
    return upper_bound(size, drawn, relevant, error)


def prediction_powered(
    relevant: np.ndarray, verdicts: np.ndarray, rows: np.ndarray, error: float
) -> tuple[float, float]:
    """Interval of the share of relevant posts."""
    from ppi_py import ppi_mean_ci

    rest = np.ones(len(relevant), bool)
    rest[rows] = False
    low, high = ppi_mean_ci(
        relevant[rows].astype(float), verdicts[rows], verdicts[rest], alpha=2 * error
    )
    return float(low[0]), float(high[0])


def active(
    relevant: np.ndarray,
    verdicts: np.ndarray,
    order: np.ndarray,
    count: int,
    error: float,
    generator: np.random.Generator,
) -> tuple[float, float]:
    """The same from about so many labels, more of them where the order is unsure."""
    odds = (order - np.quantile(order, 1 - verdicts.mean())) / (order.std() or 1)
    share = 1 / (1 + np.exp(-np.clip(2 * odds, -30, 30)))
    unsure = np.sqrt(share * (1 - share)) + 0.1  # part at random, as the authors advise
    chance = np.minimum(1, count * unsure / unsure.sum())
    asked = generator.random(len(chance)) < chance
    values = verdicts + np.where(asked, (relevant - verdicts) / chance, 0)
    half = norm.ppf(1 - error) * values.std() / np.sqrt(len(values))
    return float(values.mean() - half), float(values.mean() + half)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lists", type=Path, required=True)
    parser.add_argument("--draws", type=int, default=200)
    arguments = parser.parse_args()
    print(this_machine())
    promised: dict[tuple[str, float, int, str], list[float]] = defaultdict(list)
    counted: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for pool in ranked_pools(arguments.lists, FIRST_GROUPS):
        if pool.group == "crisislex-boston":
            continue
        for name in MACHINES:
            verdicts = made(pool, *ERRORS[name])
            scores = unjudged(pool.scores, {}, verdicts).scores
            order = np.argsort(-scores, kind="stable")
            relevant = pool.relevant[order]
            said = verdicts[order]
            scores = scores[order]
            precision = np.cumsum(relevant) / np.arange(1, len(relevant) + 1)
            generator = np.random.default_rng(0)
            for true in TRUE:
                known = np.flatnonzero(precision >= true)
                size = int(known[-1]) + 1 if len(known) else 0
                if size < LEAST or precision[size - 1] > true + 0.004:
                    continue
                for count in (one for one in SIZES if one <= size // 2):
                    made_it = np.zeros(3)
                    for _ in range(arguments.draws):
                        rows = generator.choice(size, count, replace=False)
                        hits = int(relevant[rows].sum())
                        exact = least(size, count, hits, ERROR) / size
                        powered, _ = prediction_powered(
                            relevant[:size], said[:size], rows, ERROR
                        )
                        unsure, _ = active(
                            relevant[:size],
                            said[:size],
                            scores[:size],
                            count,
                            ERROR,
                            generator,
                        )
                        made_it += np.array([exact, powered, unsure]) >= TARGET
                    for way, share in zip(WAYS, made_it / arguments.draws, strict=True):
                        promised[name, true, count, way].append(share)
            size = len(relevant)
            true_count = int(relevant.sum())
            for _ in range(arguments.draws):
                rows = generator.choice(size, SIZES[-1], replace=False)
                hits = int(relevant[rows].sum())
                found = (
                    tuple(
                        b(size, SIZES[-1], hits, ERROR / 2) / size
                        for b in (least, most)
                    ),
                    prediction_powered(relevant, said, rows, ERROR / 2),
                    active(relevant, said, scores, SIZES[-1], ERROR / 2, generator),
                )
                for way, (low, high) in zip(WAYS, found, strict=True):
                    inside = (
                        low * size <= true_count + 1e-6
                        and high * size >= true_count - 1e-6
                    )
                    counted[name, way].append(
                        (inside, (high - low) / 2 * size / true_count)
                    )
    print(
        "\n| machine | labels | " + " | ".join(f"{w}: made, false" for w in WAYS) + " |"
    )
    print("|---|---:|---|---|---|")
    for name in MACHINES:
        for count in SIZES:
            cells = []
            for way in WAYS:
                good, bad = (
                    promised.get((name, true, count, way), []) for true in TRUE
                )
                worst = f" (worst list {max(bad):.0%})" if bad else ""
                cells.append(f"{np.mean(good):.0%}, {np.mean(bad):.1%}{worst}")
            print(f"| {name} | {count} | {' | '.join(cells)} |")
    print(
        f"\n| machine | {' | '.join(f'{w}: covers, half-width' for w in WAYS)} |\n|---|---|---|---|"
    )
    for name in MACHINES:
        cells = [
            f"{np.mean([a for a, _ in counted[name, way]]):.1%}, "
            f"±{np.mean([b for _, b in counted[name, way]]):.0%}"
            for way in WAYS
        ]
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
