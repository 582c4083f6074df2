"""Every figure of saved rerank runs: AP and P30, nDCG@10, smoothed and averaged systems.

    python -m benchmarks.rerank_table multirun/<stamp>/*

The paper itself is made again by ``python -m papers paper=samcnn``.
Data come from SIAMESE_NEWS_DATA.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from papers.samcnn.table3 import mean_over_topics, significant

from benchmarks.rerank_smoothing import smoothed
from siamese_news.data.trec import read_run
from siamese_news.errors import InputError
from siamese_news.metrics import evaluate_run
from siamese_news.training.interpolation import GRID, SCALES, interpolate, interpolated
from siamese_news.training.rerank_data import (
    Fold,
    RerankCollection,
    make_fold,
    read_reranking,
)
from siamese_news.training.rerank_task import JOINT, PLAIN
from siamese_news.utils.markdown import markdown_table

Run = dict[str, dict[str, float]]

#: A ranker alone, with the first stage, and smoothed over its candidates.
SUFFIXES = (PLAIN, JOINT, NEAR := " +QL +near")

#: Column -> metric of `evaluate_run`.
FIGURES = {"AP": "AP", "P30": "P@30"}
MARKS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(slots=True)
class System:
    """One line of the full table.

    Attributes:
        name: as printed.
        topics: metric -> topic -> one value per seed.
        runs: year -> how many seeds.
    """

    name: str
    topics: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    runs: dict[int, int] = field(default_factory=dict)

    def add(self, year: int, figures: Mapping[str, Mapping[str, float]]) -> None:
        """Add the figures of one run on one year."""
        self.runs[year] = self.runs.get(year, 0) + 1
        for metric, values in figures.items():
            table = self.topics.setdefault(metric, {})
            for topic, value in values.items():
                table.setdefault(topic, []).append(value)


def peers(
    collection: RerankCollection, *, share: float, seed: int, neighbors: int
) -> list[System]:
    """QL, RM3 and MP-HCNN as published, MP-HCNN + QL, and MP-HCNN + QL smoothed.

    The published predictions are treated as ours are: weight and share are tuned on the validation
    topics of the other three years, for which the predictions are out of fold as well.

    Args:
        collection: with the published runs.
        share: of validation topics, as in `make_fold`.
        seed: seed of the draw of validation topics.
        neighbors: similar posts to smooth over.
    """
    years = sorted(set(collection.years.values()))
    systems_of_peers = []
    for name, title in (("ql", "QL"), ("rm3", "RM3")):
        system = System(title)
        for year in years:
            run = collection.peer(name, [year])
            system.add(year, evaluate_run(run, _qrels(collection, year)))
        systems_of_peers.append(system)
    first = collection.peer("ql", years)
    strong = collection.peer("mphcnn", years)
    systems = {
        suffix: System(f"MP-HCNN (published run){suffix}") for suffix in SUFFIXES
    }
    for year in years:
        fold = make_fold(collection, year, share=share, seed=seed)
        test_run = {query: strong[query] for query in fold.test}
        runs = _derived(collection, fold, strong, test_run, first, GRID, neighbors)
        for suffix, run in runs.items():
            systems[suffix].add(year, evaluate_run(run, _qrels(collection, year)))
    return [*systems_of_peers, *systems.values()]


def _derived(
    collection: RerankCollection,
    fold: Fold,
    dev: Run,
    test: Run,
    first: Run,
    grid: Sequence[float],
    neighbors: int,
) -> dict[str, Run]:
    """The systems that are derived from one ranker on one test year, by their suffix."""
    joint, weight = interpolated(collection, fold, dev, test, first, grid)
    runs = {PLAIN: test, JOINT: joint}
    if neighbors:
        mixed = interpolate(dev, first, weight)
        runs[NEAR] = smoothed(collection, fold, mixed, joint, count=neighbors)
    return runs


def saved(
    collection: RerankCollection,
    folders: Sequence[Path],
    *,
    share: float,
    seed: int,
    neighbors: int,
) -> list[System]:
    """The systems of finished runs by their name in ``row.json``: alone, with QL, and smoothed.

    Raises:
        InputError: a folder without a finished run.
    """
    systems: dict[str, System] = {}
    first = collection.peer("ql", sorted(set(collection.years.values())))
    for suffix in SUFFIXES if neighbors else (PLAIN, JOINT):
        for folder in folders:
            row = _read(folder / "row.json")
            year = int(row["fold"])
            name = row["ranker"] + suffix
            if suffix == NEAR:
                convert, _ = SCALES[row["config"]["task"]["interpolation"]]
                dev = interpolate(
                    convert(read_run(folder / "dev.run.gz")), first, row["weight"]
                )
                fold = make_fold(collection, year, share=share, seed=seed)
                joint = read_run(folder / "test+ql.run.gz")
                near = smoothed(collection, fold, dev, joint, count=neighbors)
                figures = evaluate_run(near, _qrels(collection, year))
            else:
                figures = _read(folder / "topics.json")[f"test{suffix}"]
            systems.setdefault(name, System(name)).add(year, figures)
    return list(systems.values())


def average(runs: Sequence[Run]) -> dict[str, dict[str, float]]:
    """The mean score of several runs over the same posts (seed averaging)."""
    first, *rest = runs
    return {
        query: {
            post: (score + sum(run[query][post] for run in rest)) / len(runs)
            for post, score in scores.items()
        }
        for query, scores in first.items()
    }


def averaged(
    collection: RerankCollection,
    folders: Sequence[Path],
    name: str,
    *,
    share: float,
    seed: int,
    neighbors: int,
    scale: str = "log-odds",
) -> list[System]:
    """The mean of several saved runs per year (seeds, rankers), alone, with QL, and smoothed.

    Args:
        collection: the collection.
        folders: of finished runs; those of one test year are averaged.
        name: of the line in the table.
        share: of validation topics, as the runs were trained with.
        seed: of their draw.
        neighbors: similar posts to smooth over; 0: no smoothing.
        scale: what is averaged and interpolated, a key of `SCALES`.

    Raises:
        InputError: `folders` is empty.
    """
    if not folders:
        raise InputError(
            f"{name}: there is no run to average; expected folders of finished runs"
        )
    by_year: dict[int, list[Path]] = {}
    for folder in folders:
        by_year.setdefault(int(_read(folder / "row.json")["fold"]), []).append(folder)
    systems = {suffix: System(f"{name}{suffix}") for suffix in SUFFIXES}
    first = collection.peer("ql", sorted(set(collection.years.values())))
    for year, year_folders in sorted(by_year.items()):
        dev, test = (
            average(
                [
                    SCALES[scale][0](read_run(folder / f"{part}.run.gz"))
                    for folder in year_folders
                ]
            )
            for part in ("dev", "test")
        )
        fold = make_fold(collection, year, share=share, seed=seed)
        runs = _derived(collection, fold, dev, test, first, SCALES[scale][1], neighbors)
        for suffix, run in runs.items():
            systems[suffix].add(year, evaluate_run(run, _qrels(collection, year)))
    return [system for system in systems.values() if system.runs]


def full_table(
    collection: RerankCollection,
    systems: Sequence[System],
    *,
    figures: Mapping[str, str] | None = None,
    level: float = 0.05,
    samples: int = 20_000,
) -> str:
    """Markdown: every system, every year, with significance as the paper prints it.

    A superscript names the systems that a figure is significantly above, a subscript those that it
    is significantly below (Fisher's two-sided paired randomization test by topic; several seeds
    enter as their mean per topic). Uncorrected for the number of tests, as in the paper.

    Args:
        collection: for the years.
        systems: the lines.
        figures: column -> metric; AP and P30 by default.
        level: of significance.
        samples: random exchanges per test.
    """
    lines: list[dict[str, Any]] = [
        {"": MARKS[number], "system": system.name, "seeds": max(system.runs.values())}
        for number, system in enumerate(systems)
    ]
    for year in sorted(set(collection.years.values())):
        for column, metric in (figures or FIGURES).items():
            values = [
                _by_topic(system, metric, collection.of_year(year))
                for system in systems
            ]
            for line, cell in zip(lines, _column(values, level, samples), strict=True):
                line[f"{year} {column}"] = cell
    return markdown_table(lines)


def _column(
    values: Sequence[Mapping[str, Sequence[float]]], level: float, samples: int
) -> list[str | None]:
    """One figure of one year for every system, with its marks."""
    cells: list[str | None] = []
    marks = significant(values, level=level, samples=samples)
    for own_values, (lower, higher) in zip(values, marks, strict=True):
        if not own_values:
            cells.append(None)
            continue
        cell = mean_over_topics(own_values) or ""
        for tag, places in (("sup", lower), ("sub", higher)):
            if places:
                cell += f" <{tag}>{''.join(sorted(MARKS[place] for place in places))}</{tag}>"
        cells.append(cell)
    return cells


def _by_topic(
    system: System, metric: str, topics: Sequence[str]
) -> dict[str, list[float]]:
    values = system.topics.get(metric, {})
    return {topic: values[topic] for topic in topics if topic in values}


def _qrels(collection: RerankCollection, year: int) -> dict[str, dict[str, int]]:
    return {
        query: collection.qrels.get(query, {}) for query in collection.of_year(year)
    }


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise InputError(
            f"{path}: no such file; expected the folder of a finished rerank run"
        )
    value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return value


def table3(
    collection: RerankCollection,
    folders: list[Path],
    averages: list[str],
    *,
    neighbors: int,
    samples: int,
) -> str:
    """Everything that is reported of saved runs: AP and P30, nDCG@10, and every run."""
    # As the jobs of a multirun were numbered; a shell lists 10 before 2.
    parents = list(dict.fromkeys(folder.parent for folder in folders))
    folders = sorted(
        folders, key=lambda f: (parents.index(f.parent), len(f.name), f.name)
    )
    rows = {folder: _read(folder / "row.json") for folder in folders}
    options = {"share": 0.15, "seed": 0, "neighbors": neighbors}
    systems = [*peers(collection, **options), *saved(collection, folders, **options)]
    for entry in averages:
        name, _, labels = entry.partition("=")
        chosen = [
            folder for folder in folders if rows[folder]["ranker"] in labels.split(",")
        ]
        systems += averaged(collection, chosen, name, **options)
    hidden = {"vectors", "settings", "job", "overrides", "config"}
    # As many columns as the fullest row has.
    columns = list(
        dict.fromkeys(key for row in rows.values() for key in row if key not in hidden)
    )
    runs = [{column: row.get(column) for column in columns} for row in rows.values()]
    return "\n\n".join(
        [
            "### AP and P30 (samCNN's Table 3)",
            full_table(collection, systems, samples=samples),
            "### nDCG@10 on the graded labels",
            full_table(
                collection, systems, figures={"nDCG@10": "nDCG@10"}, samples=samples
            ),
            "### Every run",
            markdown_table(runs),
        ]
    )


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folders", nargs="*", type=Path, help="folders of finished runs"
    )
    parser.add_argument("--collection", default="trec-microblog")
    parser.add_argument(
        "--neighbors", type=int, default=20, help="candidates to smooth over"
    )
    parser.add_argument(
        "--samples", type=int, default=20_000, help="exchanges per test"
    )
    parser.add_argument(
        "--average",
        action="append",
        default=[],
        metavar="NAME=RANKER,RANKER",
        help="one more line, the mean of these rankers' runs over all seeds",
    )
    arguments = parser.parse_args()
    collection = read_reranking(arguments.collection)
    print(
        table3(
            collection,
            arguments.folders,
            arguments.average,
            neighbors=arguments.neighbors,
            samples=arguments.samples,
        )
    )


if __name__ == "__main__":
    main()
