"""Relevance by twenty labels: the calibration error of a list and F1 at .5, before and with them.

    python -m benchmarks.twenty_labels --cache FILE [--draws 2]

``--cache`` is the file of scored pools that ``python -m benchmarks.calibration --cache FILE`` writes.
Each list is given the relevance of a table that no pool of its kind was in, whether it is known there
or not; of each pool the first six lists with 40 relevant posts or more among their best are taken.
The error is that of the 300 best posts; F1 is divided by that of the best cut.
"""

import argparse
import pickle
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.calibration import Scored, fitted
from siamese_news.utils.markdown import markdown_table
from siamese_news.utils.provenance import provenance
from siamese_news_desk.decide.own_relevance import LABELS, OwnRelevance, spread
from siamese_news_desk.labels.matching import Label, Labels, SampledPost

Floats = NDArray[np.float64]
Truth = NDArray[np.bool_]

_LISTS = 6  # of a pool
_RELEVANT = 40
_POSTS = 100  # a shorter list is read
_ERROR = 300


class _List:
    """A list as `OwnRelevance.of` takes it, whose posts are named by their ranks."""

    path = Path("list")

    def ranks_of(self, names: list[str]) -> dict[str, int]:
        return {name: int(name) for name in names}


def error_and_f1(relevance: Floats, truth: Truth) -> tuple[float, float]:
    """The calibration error of the best posts, and F1 at .5 over that of the best cut."""
    values, right = relevance[:_ERROR], truth[:_ERROR]
    bins = np.minimum((values * 10).astype(int), 9)
    error = sum(
        abs((values[bins == place] - right[bins == place]).sum()) for place in range(10)
    )
    sizes = np.arange(1, len(truth) + 1)
    best = (2 * np.cumsum(truth) / (sizes + truth.sum())).max()
    kept = relevance >= 0.5
    f1 = 2 * truth[kept].sum() / (kept.sum() + truth.sum())
    return float(error / len(values)), float(f1 / best)


def by_labels(relevance: Floats, truth: Truth, seed: int) -> Floats:
    """The relevance of a list by labels of posts drawn with this seed."""
    labels = Labels()
    for rank in spread(relevance, LABELS, seed):
        sampled = SampledPost("", str(rank))
        labels.of[str(rank)] = Label(sampled, "yes" if truth[rank] else "no")
    population: Any = _List()
    own = OwnRelevance.of((population, "relevance", relevance), labels)
    return own.map.relevance(relevance)


def measured(pools: list[Scored], draws: int) -> list[dict[str, Any]]:
    """The figures by kind, and of all lists."""
    figures: dict[str, list[tuple[float, ...]]] = {}
    for kind in dict.fromkeys(pool.kind for pool in pools):
        table = fitted([pool for pool in pools if pool.kind != kind])
        for pool in pools:
            lists = [
                row
                for row, truth in enumerate(pool.relevant)
                if truth.sum() >= _RELEVANT and len(truth) >= _POSTS
            ]
            for row in lists[:_LISTS] if pool.kind == kind else ():
                relevance = table.relevance(pool.best[row], pool.evidence[row])
                truth = pool.relevant[row]
                before = error_and_f1(relevance, truth)
                own = [
                    error_and_f1(by_labels(relevance, truth, seed), truth)
                    for seed in range(draws)
                ]
                mean = np.mean(own, axis=0).tolist()
                figures.setdefault(kind, []).append((*before, *mean))
    figures["all"] = [figure for several in figures.values() for figure in several]
    names = ("error", "F1", f"error, {LABELS} labels", f"F1, {LABELS} labels")
    return [
        {"kind": kind, "lists": len(several)}
        | {
            name: f"{value:.3f}"
            for name, value in zip(names, np.mean(several, axis=0), strict=True)
        }
        for kind, several in figures.items()
    ]


def main(arguments: list[str] | None = None) -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.twenty_labels", description=__doc__
    )
    parser.add_argument(
        "--cache", type=Path, required=True, help="file of scored pools"
    )
    parser.add_argument("--draws", type=int, default=2, help="of the posts to label")
    given = parser.parse_args(arguments)
    pools: list[Scored] = pickle.loads(given.cache.read_bytes())
    print(markdown_table(measured(pools, given.draws)))
    about = provenance()
    print(
        about["command"], about["date"], about["revision"], about["machine"], sep=" · "
    )


if __name__ == "__main__":
    main()
