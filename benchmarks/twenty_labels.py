"""Relevance by twenty labels: the calibration error of a list and F1 at .5, before and with them.

Ten posts are labeled first, as `siamese-news sample --for relevance` draws them, and then ten that
these labels leave open; next to it, twenty posts are labeled that are all drawn as the first ones.

    python -m benchmarks.twenty_labels --cache FILE [--draws 2] [--machine .9 .05]

``--cache`` is the file of scored pools that ``python -m benchmarks.calibration --cache FILE`` writes.
Each list is given the relevance of a table that no pool of its kind was in. Where that table does not
know it, the figures before the labels are still those of its number, and the labels map the score, as
in a search. Of each pool the first six lists with 40 relevant posts or more among their best are taken.
The error is that of the 300 best posts; F1 is divided by that of the best cut. With ``--machine``, a
machine labels: it finds this share of the relevant posts, and takes this share of the others for
relevant.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.calibration import Scored, fitted, read_pools
from benchmarks.printed_table import print_table
from siamese_news.data.label_map import Mapped
from siamese_news_desk.decide.own_relevance import (
    FEWEST,
    LABELS,
    OwnRelevance,
    next_places,
)
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


def verdicts_of(truth: Truth, machine: Sequence[float], seed: int) -> Truth:
    """What a machine says that finds a share of the relevant posts and takes one of the others."""
    drawn = np.random.default_rng(seed).random(len(truth))
    finds, takes = machine
    return np.where(truth, drawn < finds, drawn < takes)


def by_labels(
    values_of: dict[Mapped, Floats], labeled: Truth, at_once: int, seed: int
) -> Floats:
    """The relevance of a list by twenty labels, `at_once` over the whole list."""
    population: Any = _List()
    labels = Labels()

    def label(places: list[int]) -> None:
        for place in places:
            sampled = SampledPost("", str(place))
            labels.of[str(place)] = Label(sampled, "yes" if labeled[place] else "no")

    estimates = (population, values_of)
    for count in filter(None, (at_once, LABELS - at_once)):
        label(next_places(estimates, list(labels.of), labels, count, seed))
    own = OwnRelevance.of(estimates, labels)
    return own.map.relevance(own.values)


def measured(
    pools: list[Scored], draws: int, machine: Sequence[float]
) -> list[dict[str, Any]]:
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
                values_of: dict[Mapped, Floats] = {}
                if table.knows(pool.evidence[row]):
                    values_of["relevance"] = relevance
                values_of["score"] = pool.best[row]
                means = [
                    np.mean(
                        [
                            error_and_f1(
                                by_labels(
                                    values_of,
                                    verdicts_of(truth, machine, seed),
                                    at_once,
                                    seed,
                                ),
                                truth,
                            )
                            for seed in range(draws)
                        ],
                        axis=0,
                    )
                    for at_once in (LABELS, FEWEST)
                ]
                before = error_and_f1(relevance, truth)
                figure = (*before, *np.concatenate(means).tolist())
                figures.setdefault(kind, []).append(figure)
    figures["all"] = [figure for several in figures.values() for figure in several]
    drawn = ("", f", {LABELS} at once", f", {FEWEST} and {LABELS - FEWEST}")
    names = [f"{figure}{labels}" for labels in drawn for figure in ("error", "F1")]
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
    parser.add_argument(
        "--machine",
        type=float,
        nargs=2,
        default=(1.0, 0.0),
        metavar=("FINDS", "TAKES"),
        help="shares of the relevant and of the other posts that it calls relevant",
    )
    given = parser.parse_args(arguments)
    pools = read_pools(given.cache)
    print_table(measured(pools, given.draws, given.machine))


if __name__ == "__main__":
    main()
