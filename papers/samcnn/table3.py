"""samCNN, Table 3: AP and P30 of every system and year, with Fisher's randomization test."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from papers.exhibit import Content, Exhibit, Published, Table
from papers.jobs import Job, Results, Setting
from papers.samcnn.published import PAPER, SYSTEMS, YEARS, Printed
from papers.samcnn.runs import (
    METRICS,
    PEERS,
    RANKERS,
    by_topic,
    peers_job,
    training_jobs,
)
from siamese_news.metrics import randomization_test
from siamese_news.training.rerank_task import JOINT, PLAIN

LEVEL, SAMPLES = 0.05, 10_000
MARKS = (
    "≠: the rows, by their numbers in the paper, that a figure differs from significantly "
    "(Fisher's test, p < .05)."
)
# (year, metric) -> topic -> one figure per seed
TopicFigures = Mapping[tuple[int, str], Mapping[str, Sequence[float]]]
NOTE = (
    "↑: significantly above the rows with these numbers (the paper marks every difference, ≠); its "
    "eight rows have its numbers, further ones follow (Fisher's two-sided paired randomization "
    f"test by topic, {SAMPLES:,} exchanges, p < {LEVEL}, uncorrected as in the paper; several "
    "seeds enter as their mean by topic, and print as mean ± deviation). In a row whose years have "
    "different numbers of seeds, each cell says how many it is the mean of."
)


def peer_systems(results: Results) -> dict[str, TopicFigures]:
    """The peers: name -> figures."""
    if PEERS not in results:
        return {}
    return {
        name: {
            (int(year), metric): {
                topic: [value] for topic, value in by_metric[metric].items()
            }
            for year, by_metric in by_year.items()
            for metric in METRICS.values()
        }
        for name, by_year in results[PEERS]["systems"].items()
    }


def ranker_systems(
    results: Results, rankers: Mapping[str, str], *, experiment: str
) -> dict[str, TopicFigures]:
    """Our rankers (option of ``conf/ranker`` -> name), alone and with QL: name -> figures."""
    systems: dict[str, TopicFigures] = {}
    for suffix in (PLAIN, JOINT):
        for option, name in rankers.items():
            figures = {
                (year, metric): values
                for year in YEARS
                for metric in METRICS.values()
                if (
                    values := by_topic(
                        results, option, year, suffix, metric, experiment=experiment
                    )
                )
            }
            if figures:
                systems[name + suffix] = figures
    return systems


def significant(
    values: Sequence[Mapping[str, Sequence[float]]], *, level: float, samples: int
) -> list[tuple[list[int], list[int]]]:
    """Which systems each one is significantly above, and below, by Fisher's randomization test.

    The test is two-sided, paired by topic, and not corrected for the number of tests. Systems with
    different topics are not compared. A system has one figure per seed for each topic, which enter
    as their mean.

    Returns:
        For each system, the places of those below it and of those above it.
    """
    marks: list[tuple[list[int], list[int]]] = [([], []) for _ in values]
    means = [
        {topic: float(np.mean(seeds)) for topic, seeds in figures.items()}
        for figures in values
    ]
    for i, figures in enumerate(means):
        for j in range(i):
            other = means[j]
            if not figures or figures.keys() != other.keys():
                continue
            first = list(figures.values())
            second = [other[topic] for topic in figures]
            if randomization_test(first, second, samples=samples) < level:
                high, low = (i, j) if sum(first) > sum(second) else (j, i)
                marks[high][0].append(low)
                marks[low][1].append(high)
    return [(sorted(below), sorted(above)) for below, above in marks]


def mean_over_topics(values: Mapping[str, Sequence[float]]) -> str | None:
    """The mean over topics; with several seeds (topic -> figures), their mean and deviation."""
    if not values:
        return None
    seeds = np.array(list(values.values())).mean(axis=0)
    return f"{seeds.mean():.4f}" + (
        f" ±{seeds.std(ddof=1):.4f}" if len(seeds) > 1 else ""
    )


def system_rows(
    systems: Mapping[str, TopicFigures], *, samples: int = SAMPLES
) -> list[dict[str, Any]]:
    """One row a system: number, name, seeds, and each figure with its marks.

    A system of the paper's Table 3 has its number there, and the rows go by number; the others
    follow. Where the years of a system have different numbers of seeds, each cell names its own.
    """
    rows: list[dict[str, Any]] = []
    numbers = _numbers(systems)
    systems = {name: systems[name] for name in sorted(systems, key=numbers.__getitem__)}
    by_place = [numbers[name] for name in systems]
    for name, figures in systems.items():
        counts = sorted({_seeds(by_topic) for by_topic in figures.values()})
        rows.append(
            {
                "system": name,
                "row": str(numbers[name]),
                "seeds": ", ".join(map(str, counts)),
            }
        )
    for year in YEARS:
        for column, metric in METRICS.items():
            values = [figures.get((year, metric), {}) for figures in systems.values()]
            marks = significant(values, level=LEVEL, samples=samples)
            for row, own, (below, _) in zip(rows, values, marks, strict=True):
                cell = mean_over_topics(own)
                if cell and "," in row["seeds"]:
                    cell += f" ({_seeds(own)} seed{'s' if _seeds(own) > 1 else ''})"
                if cell and below:
                    cell += f" ↑{','.join(str(by_place[place]) for place in below)}"
                row[f"{year} {column}"] = cell
    return rows


def _numbers(systems: Iterable[str]) -> dict[str, int]:
    """The numbers of some systems in the paper's Table 3; those that it lacks have the next."""
    printed = {name: number for number, name in enumerate(SYSTEMS, start=1)}
    further = [name for name in systems if name not in printed]
    return printed | {
        name: number for number, name in enumerate(further, len(SYSTEMS) + 1)
    }


def _seeds(values: Mapping[str, Sequence[float]]) -> int:
    """The number of seeds behind the figures of one year."""
    return max(len(seeds) for seeds in values.values())


def published_rows(names: Sequence[str] = tuple(SYSTEMS)) -> list[dict[str, Any]]:
    """The systems as printed, each figure with the rows that it differs from significantly."""
    numbers = _numbers(names)
    return [
        {"system": name, "row": str(numbers[name])}
        | {
            f"{year} {column}": _printed(SYSTEMS[name][year, column])
            for year in YEARS
            for column in METRICS
        }
        for name in names
    ]


def _printed(figure: Printed) -> str:
    rows = ",".join(map(str, figure.rows))
    return f"{figure.value:.4f}" + (f" ≠{rows}" if rows else "")


def mean_of(
    systems: Mapping[str, TopicFigures], name: str, year: int, metric: str
) -> float | None:
    """The mean of a system over topics and seeds, if it has any."""
    values = systems.get(name, {}).get((year, metric))
    return (
        float(np.mean([np.mean(seeds) for seeds in values.values()]))
        if values
        else None
    )


def _jobs(setting: Setting) -> list[Job]:
    return [peers_job(setting), *training_jobs(setting)]


def headline(systems: Mapping[str, TopicFigures]) -> str:
    """Which rows are as printed, and how far PAtt is from its printed AP, in a sentence."""
    gaps = [
        SYSTEMS["PAtt"][year, "AP"].value - mean
        for year in YEARS
        if (mean := mean_of(systems, "PAtt", year, "AP")) is not None
    ]
    if not gaps:
        return ""
    same = as_printed(systems)
    start = f"As printed: {', '.join(same)}; our" if same else "Our"
    return (
        f"{start} single models of PAtt are {min(gaps):.3f} to {max(gaps):.3f} of AP below the "
        "printed row."
    )


def details(systems: Mapping[str, TopicFigures]) -> str:
    """Which rows are as printed, and how often QAtt and PAtt are above QL, in sentences."""
    same = as_printed(systems)
    sentences = [
        f"As printed to four places, all {sum(same.values())} figures: {', '.join(same)}."
    ] * bool(same)
    attentive = (_against_ql(systems, name) for name in ("QAtt", "PAtt"))
    return " ".join([*sentences, *filter(None, attentive)])


def as_printed(systems: Mapping[str, TopicFigures]) -> dict[str, int]:
    """The systems of the paper's Table 3 with the printed figures -> how many figures that is."""
    same = {}
    for name, printed in SYSTEMS.items():
        equal = [
            f"{mean:.4f}" == f"{printed[year, column].value:.4f}"
            for year in YEARS
            for column, metric in METRICS.items()
            if (mean := mean_of(systems, name, year, metric)) is not None
        ]
        if equal and all(equal):
            same[name] = len(equal)
    return same


def _against_ql(systems: Mapping[str, TopicFigures], name: str) -> str:
    """In how many years a ranker alone is above QL in AP, as it is in the paper."""
    pairs = {
        year: (mean_of(systems, name, year, "AP"), mean_of(systems, "QL", year, "AP"))
        for year in YEARS
    }
    there = {
        year: (a, b)
        for year, (a, b) in pairs.items()
        if a is not None and b is not None
    }
    if not there:
        return ""
    above = sum(ours > ql for ours, ql in there.values())
    return f"{name} alone, above QL in the paper, is above it in {above} of {len(there)} years."


def _lay_out(results: Results) -> Content:
    systems = {
        **peer_systems(results),
        **ranker_systems(results, RANKERS, experiment="rerank_samcnn"),
    }
    if not systems:
        return Content()
    shared = results.setting.data == "shared"
    return Content(
        tables=[Table("AP and P30", system_rows(systems), note=NOTE)],
        outcome=headline(systems) if shared else "",
        details=details(systems) if shared else "",
    )


EXHIBIT = Exhibit(
    paper="samcnn",
    kind="table",
    key="3",
    title="Table 3: effectiveness",
    remark=(
        "QL, RM3 and MP-HCNN are the published runs, evaluated again; MP-HCNN +QL is the published "
        "run with a weight of QL that is tuned on 15% of the topics of each other year, as for our "
        "own rankers. BiCNN, QAtt and PAtt are trained here as Table 2 says, with 100-d GloVe 6B "
        "for the paper's 300-d GloVe. Ours are means of single models that average over the query "
        "words; printed QAtt is near the authors' own models that sum over them (below, Single "
        "models and ensembles). Of the printed rows, QL, RM3 and MP-HCNN are reproduced in every "
        "figure; BiCNN, QAtt and PAtt are not. Other word vectors, further below, close part of "
        "the gap of QAtt and PAtt."
    ),
    published=Published(
        f"{PAPER}, Table 3", [Table("As printed", published_rows(), note=MARKS)]
    ),
    jobs=_jobs,
    lay_out=_lay_out,
)
