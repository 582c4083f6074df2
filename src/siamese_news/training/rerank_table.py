"""The reranking tables: rankers x years, deviation over seeds, the paper's significance marks."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from siamese_news.errors import InputError
from siamese_news.metrics import evaluate_run, randomisation_test
from siamese_news.tables import markdown_table
from siamese_news.training.rerank_data import RerankCollection, make_fold
from siamese_news.training.rerank_interpolation import interpolate, tune_weight

#: Column -> metric of `evaluate_run`.
FIGURES = {"AP": "AP", "P30": "P@30"}
MARKS = "abcdefghijklmnopqrstuvwxyz"


def summarise(rows: Sequence[Mapping[str, Any]]) -> str:
    """Markdown: one line per ranker, AP and P30 by test year, mean (deviation) over seeds.

    Args:
        rows: the rows of `training.rerank.run`.
    """
    years = sorted({row["fold"] for row in rows})
    names = list(dict.fromkeys((row["ranker"], row["vectors"]) for row in rows))
    lines: list[dict[str, Any]] = []
    for suffix in ("", " +QL"):
        for name, vectors in names:
            own = [row for row in rows if (row["ranker"], row["vectors"]) == (name, vectors)]
            line: dict[str, Any] = {"system": name + suffix, "vectors": vectors}
            line["seeds"] = len({row["seed"] for row in own})
            for year in years:
                for figure in FIGURES:
                    values = [row[figure + suffix] for row in own if row["fold"] == year]
                    line[f"{year} {figure}"] = spread(values)
            lines.append(line)
    return markdown_table(lines)


def spread(values: Sequence[float]) -> str | None:
    """Mean, and the sample deviation where there are several values."""
    if not values:
        return None
    mean = f"{np.mean(values):.4f}"
    return mean if len(values) == 1 else f"{mean} ±{np.std(values, ddof=1):.4f}"


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


def peers(collection: RerankCollection, *, share: float, seed: int) -> list[System]:
    """QL, RM3 and MP-HCNN as published, and MP-HCNN + QL.

    The interpolation gets what ours gets: its weight is tuned on the validation topics of the
    other three years, for which the published predictions are out of fold as well.

    Args:
        collection: with the published runs.
        share: of validation topics, as in `make_fold`.
        seed: of their draw.
    """
    years = sorted(set(collection.years.values()))
    found = []
    for name, title in (("ql", "QL"), ("rm3", "RM3"), ("mphcnn", "MP-HCNN (published run)")):
        system = System(title)
        for year in years:
            run = collection.peer(name, [year])
            system.add(year, evaluate_run(run, _qrels(collection, year)))
        found.append(system)
    first, strong = collection.peer("ql", years), collection.peer("mphcnn", years)
    joint = System("MP-HCNN (published run) +QL")
    for year in years:
        fold = make_fold(collection, year, share=share, seed=seed)
        weight = tune_weight(strong, first, collection.qrels, fold.dev)
        own = {query: strong[query] for query in fold.test}
        joint.add(year, evaluate_run(interpolate(own, first, weight), _qrels(collection, year)))
    return [*found, joint]


def saved(folders: Sequence[Path]) -> list[System]:
    """The systems of finished runs, plain and with QL, by their name in ``row.json``.

    Raises:
        InputError: a folder without a finished run.
    """
    systems: dict[str, System] = {}
    for suffix in ("", " +QL"):
        for folder in folders:
            row, topics = _read(folder / "row.json"), _read(folder / "topics.json")
            name = row["ranker"] + suffix
            system = systems.setdefault(name, System(name))
            system.add(int(row["fold"]), topics[f"test{suffix}"])
    return list(systems.values())


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
    is significantly below (Fisher's two-sided paired randomisation test by topic; several seeds
    enter as their mean per topic). Uncorrected for the number of tests, as in the paper.

    Args:
        collection: for the years.
        systems: the lines.
        figures: column -> metric; AP and P30 by default.
        level: of significance.
        samples: random exchanges per test.
    """
    lines: list[dict[str, Any]] = []
    years = sorted(set(collection.years.values()))
    for number, system in enumerate(systems):
        line: dict[str, Any] = {"": MARKS[number], "system": system.name}
        line["seeds"] = max(system.runs.values())
        for year in years:
            for column, metric in (figures or FIGURES).items():
                line[f"{year} {column}"] = _cell(
                    number, systems, metric, collection.of_year(year), level, samples
                )
        lines.append(line)
    return markdown_table(lines)


def _cell(
    number: int,
    systems: Sequence[System],
    metric: str,
    topics: Sequence[str],
    level: float,
    samples: int,
) -> str | None:
    own = _by_topic(systems[number], metric, topics)
    if not own:
        return None
    seeds = np.array(list(own.values()))
    text = spread(seeds.mean(axis=0).tolist())
    above, below = "", ""
    for other, system in enumerate(systems):
        theirs = _by_topic(system, metric, topics)
        if other == number or theirs.keys() != own.keys():
            continue
        mine = np.array([np.mean(own[topic]) for topic in own])
        yours = np.array([np.mean(theirs[topic]) for topic in own])
        if randomisation_test(mine, yours, samples=samples) < level:
            if mine.mean() > yours.mean():
                above += MARKS[other]
            else:
                below += MARKS[other]
    return (
        f"{text}{f' <sup>{above}</sup>' if above else ''}{f' <sub>{below}</sub>' if below else ''}"
    )


def _by_topic(system: System, metric: str, topics: Sequence[str]) -> dict[str, list[float]]:
    values = system.topics.get(metric, {})
    return {topic: values[topic] for topic in topics if topic in values}


def _qrels(collection: RerankCollection, year: int) -> dict[str, dict[str, int]]:
    return {query: collection.qrels.get(query, {}) for query in collection.of_year(year)}


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise InputError(f"{path}: no such file; expected the folder of a finished rerank run")
    value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return value
