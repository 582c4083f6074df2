"""samCNN as its authors logged it: single models and ensembles of ten, next to ours."""

from collections.abc import Mapping, Sequence
from typing import Any

from papers.exhibit import Content, Exhibit, Figure, Published, Table
from papers.jobs import Job, Results, Setting
from papers.samcnn.published import (
    ENSEMBLES,
    LOGGED,
    LOGGED_SEEDS,
    PAPER,
    SINGLES,
    SYSTEMS,
    YEARS,
)
from papers.samcnn.runs import (
    METRICS,
    RANKERS,
    ensemble_jobs,
    ensemble_name,
    training_jobs,
)
from papers.samcnn.table3 import TopicFigures, mean_of, ranker_systems
from papers.samcnn.variants import ATTENTIVE, CHOSEN, chosen_jobs
from papers.style import new_figure, series
from siamese_news.training.rerank_task import JOINT, PLAIN

EXPERIMENT = "rerank_authors"
SUM = ", sum"  # ends the name of a ranker that sums over the query words
NAMES = ("BiCNN", "QAtt", "QAtt, sum", "PAtt", "PAtt, sum", "PAtt +QL")
SEEDS = "our seeds"
# 15 epochs without early stopping, against about four, in batches that share more words.
COST = 2.0


def _jobs(setting: Setting) -> list[Job]:
    """Our runs as chosen and by the authors' recipe, by mean and by sum, and the ensembles."""
    rankers = tuple(RANKERS)
    return [
        *chosen_jobs(setting),
        *chosen_jobs(setting, rankers=("qatt", "patt"), aggregation="sum"),
        *training_jobs(setting, experiment=EXPERIMENT, cost=COST),
        *training_jobs(
            setting,
            experiment=EXPERIMENT,
            name=f"{EXPERIMENT}_sum",
            rankers=tuple(ATTENTIVE),
            cost=COST,
            more=lambda setting, runs: ["ranker.aggregation=sum"],
        ),
        *ensemble_jobs(setting, experiment=EXPERIMENT, rankers=rankers, cost=COST),
    ]


def single_systems(
    results: Results, rankers: Mapping[str, str], experiment: str
) -> dict[str, TopicFigures]:
    """Our single models by mean and, with ``, sum`` in their names, by sum."""
    by_sum = ranker_systems(results, ATTENTIVE, experiment=f"{experiment}_sum")
    return ranker_systems(results, rankers, experiment=experiment) | {
        name + SUM: figures for name, figures in by_sum.items()
    }


def ensemble_systems(results: Results) -> dict[str, TopicFigures]:
    """The ensembles of our seeds, alone and with QL: name -> figures."""
    systems: dict[str, TopicFigures] = {}
    for suffix in (PLAIN, JOINT):
        for option, name in RANKERS.items():
            figures = {
                (year, metric): {topic: [value] for topic, value in by_topic.items()}
                for year in YEARS
                if (job := ensemble_name(EXPERIMENT, option, year)) in results
                for metric, by_topic in results[job]["topics"][suffix].items()
            }
            if figures:
                systems[name + suffix] = figures
    return systems


def rows(
    chosen: Mapping[str, TopicFigures],
    singles: Mapping[str, TopicFigures],
    ensembles: Mapping[str, TopicFigures],
    column: str = "AP",
) -> list[dict[str, Any]]:
    """One row a system and year: the printed AP or P30, the two logged ones, and ours."""
    metric = METRICS[column]
    return [
        {
            "system": name,
            "year": str(year),
            "printed": _figure(SYSTEMS[name.removesuffix(SUM)][year, column].value),
            f"authors, mean of {LOGGED_SEEDS}": _figure(
                SINGLES.get(name, {}).get((year, column))
            ),
            f"authors, ensemble of {LOGGED_SEEDS}": _figure(
                ENSEMBLES.get(name, {}).get((year, column))
            ),
            "ours as chosen, mean": _figure(mean_of(chosen, name, year, metric)),
            "ours by their recipe, mean": _figure(mean_of(singles, name, year, metric)),
            "ours by their recipe, ensemble": _figure(
                mean_of(ensembles, name, year, metric)
            ),
            SEEDS: f"{_seeds(chosen, name, year)}, {_seeds(singles, name, year)}",
        }
        for name in NAMES
        for year in YEARS
    ]


def _seeds(figures: Mapping[str, TopicFigures], name: str, year: int) -> int:
    """How many seeds a mean of ours is of."""
    by_topic = figures.get(name, {}).get((year, "AP"), {})
    return max(map(len, by_topic.values()), default=0)


def _figure(value: float | None) -> str | None:
    return None if value is None else f"{value:.4f}"


def _draw(rows: Sequence[Mapping[str, Any]]) -> Any:
    """AP of QAtt and PAtt by year: a mark for the printed figure, each logged one, and ours."""
    names = {"QAtt": "QAtt, mean", "PAtt": "PAtt, mean"}
    names |= {name + SUM: name + SUM for name in names}
    figure, axes = new_figure(
        rows=2, columns=2, width=5.0, height=4.4, sharex=True, sharey=True
    )
    columns = [column for column in rows[0] if column not in ("system", "year", SEEDS)]
    for axis, (name, title) in zip(axes.flat, names.items(), strict=True):
        for place, column in enumerate(columns):
            points = [
                (int(row["year"]), float(row[column]))
                for row in rows
                if row["system"] == name and row[column] is not None
            ]
            if points:
                look = {**series(place), "linestyle": "", "markersize": 5}
                axis.plot(*zip(*points, strict=True), label=column, **look)
        axis.set_title(title)
        axis.set_xticks(sorted({int(row["year"]) for row in rows}))
    figure.supylabel("AP", fontsize=8)
    figure.legend(
        *axes.flat[0].get_legend_handles_labels(), loc="outside upper center", ncols=2
    )
    return figure


def _lay_out(results: Results) -> Content:
    chosen = single_systems(results, ATTENTIVE, CHOSEN)
    singles = single_systems(results, RANKERS, EXPERIMENT)
    ensembles = ensemble_systems(results)
    note = (
        "QAtt and PAtt without “sum” average over the query words. The authors' figures are of "
        "their log. Ours: 100-d GloVe, means over the seeds of the runs that exist, whose numbers "
        "(as chosen, by their recipe) are in the last column; a dash where none does."
    )
    tables = [
        Table(
            f"{column} as printed, as logged, and here",
            rows(chosen, singles, ensembles, column),
            name=column.lower(),
            note=note,
        )
        for column in ("AP", "P30")
    ]
    if results.setting.data != "shared":
        return Content(tables=tables)
    listed = tables[0].rows
    return Content(
        tables=tables,
        figures=[
            Figure(
                "AP of QAtt and PAtt by year, as printed, as logged and here",
                lambda: _draw(listed),
                "Four panels, a year on the horizontal axis: the printed AP, the authors' mean of "
                "ten single models, their ensemble of ten, our single models and our ensemble.",
            )
        ],
        outcome=f"Printed QAtt is within {max(_printed_gaps('QAtt, sum')):.3f} of AP of the "
        "authors' own single models by sum, and up to "
        f"{max(_printed_gaps('QAtt')):.3f} from those by mean.",
        details=_ours_beside(chosen),
    )


def _printed_gaps(name: str) -> list[float]:
    """How far the printed AP is from the logged mean of single models, for each year."""
    printed = SYSTEMS[name.removesuffix(SUM)]
    return [
        abs(printed[year, "AP"].value - logged)
        for year in YEARS
        if (logged := SINGLES[name][year, "AP"]) is not None
    ]


def _ours_beside(chosen: Mapping[str, TopicFigures]) -> str:
    """Our single models against the logged ones: a sentence for each system."""
    sentences = []
    for name, log in SINGLES.items():
        gaps = {
            year: ours - logged
            for year in YEARS
            if (logged := log[year, "AP"]) is not None
            and (ours := mean_of(chosen, name, year, "AP")) is not None
        }
        if gaps:
            years = ", ".join(f"{gap:+.3f} in {year}" for year, gap in gaps.items())
            sentences.append(f"{name}: {years}.")
    if not sentences:
        return ""
    return (
        "AP of our single models, as chosen, minus that of the authors' own single models. "
        + " ".join(sentences)
    )


EXHIBIT = Exhibit(
    paper="samcnn",
    kind="table",
    key="authors",
    title="Single models and ensembles, by the authors' own log",
    remark=(
        "The paper says that a post's vectors for the query words are averaged. In the code that "
        "made the authors' log, the option embed weighs them by a softmax over a dimension of "
        "size one: every weight is 1, so the vectors are summed (here: ranker.aggregation=sum). "
        "The first author's repository also trains ten single models with different seeds and "
        "takes the mean of their probabilities “to get final results”, which the paper does not "
        "mention. None of the logged figures is a printed one. Their recipe is "
        "experiment=rerank_authors: the repository's, at the sizes of the paper. Its posts are "
        "another version of the data, in the order of time; ours are in the order of QL. As "
        "chosen: see Other word vectors."
    ),
    published=Published(
        f"{PAPER}, Table 3; {LOGGED}",
        text="The printed figures and those of the log are columns of our table, to be read next "
        "to ours. The log has no single models of BiCNN, and no ensemble of it for 2011.",
    ),
    jobs=_jobs,
    lay_out=_lay_out,
)
