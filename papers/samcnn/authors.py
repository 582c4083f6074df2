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
from papers.samcnn.runs import RANKERS, ensemble_jobs, ensemble_name, training_jobs
from papers.samcnn.table3 import Figures, mean_of, ranker_systems
from papers.samcnn.variants import ATTENTIVE, CHOSEN, chosen_jobs
from papers.style import new_figure, series
from siamese_news.training.rerank import JOINT, PLAIN

EXPERIMENT = "rerank_authors"
NAMES = ("BiCNN", "QAtt", "PAtt", "PAtt +QL")
SEEDS = "seeds of our means, as chosen and by their recipe"
# 15 epochs without early stopping, against about four, in batches that share more words.
COST = 2.0


def _jobs(setting: Setting) -> list[Job]:
    """Our chosen runs, every ranker by the authors' recipe, and the ensembles of their seeds."""
    rankers = tuple(RANKERS)
    return [
        *chosen_jobs(setting),
        *training_jobs(setting, experiment=EXPERIMENT, cost=COST),
        *ensemble_jobs(setting, experiment=EXPERIMENT, rankers=rankers, cost=COST),
    ]


def ensemble_systems(results: Results) -> dict[str, Figures]:
    """The ensembles of our seeds, alone and with QL: name -> figures."""
    systems: dict[str, Figures] = {}
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
    chosen: Mapping[str, Figures],
    singles: Mapping[str, Figures],
    ensembles: Mapping[str, Figures],
) -> list[dict[str, Any]]:
    """One row a system and year: the printed AP, the two logged ones, and ours."""
    return [
        {
            "system": name,
            "year": str(year),
            "printed": _figure(SYSTEMS[name][year, "AP"].value),
            f"authors, mean of {LOGGED_SEEDS}": _figure(_logged(SINGLES, name, year)),
            f"authors, ensemble of {LOGGED_SEEDS}": _figure(
                _logged(ENSEMBLES, name, year)
            ),
            "ours as chosen, mean": _figure(mean_of(chosen, name, year, "AP")),
            "ours by their recipe, mean": _figure(mean_of(singles, name, year, "AP")),
            "ours by their recipe, ensemble": _figure(
                mean_of(ensembles, name, year, "AP")
            ),
            SEEDS: f"{_seeds(chosen, name, year)}, {_seeds(singles, name, year)}",
        }
        for name in NAMES
        for year in YEARS
    ]


def _seeds(figures: Mapping[str, Figures], name: str, year: int) -> int:
    """How many seeds a mean of ours is of."""
    by_topic = figures.get(name, {}).get((year, "AP"), {})
    return max(map(len, by_topic.values()), default=0)


def _logged(
    figures: Mapping[str, Sequence[float | None]], name: str, year: int
) -> float | None:
    return figures[name][YEARS.index(year)] if name in figures else None


def _figure(value: float | None) -> str | None:
    return None if value is None else f"{value:.4f}"


def _draw(rows: Sequence[Mapping[str, Any]]) -> Any:
    """AP of QAtt and PAtt by year: a mark for the printed figure, each logged one, and ours."""
    names = ("QAtt", "PAtt")
    figure, axes = new_figure(columns=len(names), width=7.0, height=2.6, sharey=True)
    columns = [column for column in rows[0] if column not in ("system", "year", SEEDS)]
    for axis, name in zip(axes, names, strict=True):
        for place, column in enumerate(columns):
            points = [
                (int(row["year"]), float(row[column]))
                for row in rows
                if row["system"] == name and row[column] is not None
            ]
            if points:
                look = {**series(place), "linestyle": "", "markersize": 5}
                axis.plot(*zip(*points, strict=True), label=column, **look)
        axis.set_title(name)
        axis.set_xticks(sorted({int(row["year"]) for row in rows}))
    axes[0].set_ylabel("AP")
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4
    )
    return figure


def _lay_out(results: Results) -> Content:
    chosen = ranker_systems(results, ATTENTIVE, experiment=CHOSEN)
    singles = ranker_systems(results, RANKERS, experiment=EXPERIMENT)
    note = (
        "AP. The authors' figures are of their log. Ours: 100-d GloVe, means over the seeds of the "
        "runs that exist, whose number is in the last column; a dash where none does."
    )
    listed = rows(chosen, singles, ensemble_systems(results))
    table = Table("AP as printed, as logged, and here", listed, note=note)
    if results.setting.data != "shared":
        return Content(tables=[table])
    gaps = [
        ours - logged
        for name, figures in SINGLES.items()
        for year, logged in zip(YEARS, figures, strict=True)
        if logged is not None
        and (ours := mean_of(chosen, name, year, "AP")) is not None
    ]
    if not gaps:
        return Content(tables=[table])
    return Content(
        tables=[table],
        figures=[
            Figure(
                "AP of QAtt and PAtt by year, as printed, as logged and here",
                lambda: _draw(listed),
                "Two panels, a year on the horizontal axis: the printed AP, the authors' mean of "
                "ten single models, their ensemble of ten, and our single models.",
            )
        ],
        outcome=f"Our single models, as chosen, differ from the authors' single models by "
        f"{min(gaps):+.3f} to {max(gaps):+.3f} of AP.",
    )


EXHIBIT = Exhibit(
    paper="samcnn",
    kind="table",
    key="authors",
    title="Single models and ensembles, by the authors' own log",
    remark=(
        "The first author's repository trains ten single models with different seeds and takes "
        "the mean of their probabilities “to get final results”; interpolation and significance "
        "tests read this ensemble. The paper does not mention it. None of the logged figures is "
        "a printed one, so the printed ones come from other runs; that they are ensembles, too, is "
        "likely and not proven. A mean of single models, as in Table 3 here, is "
        "then not what is printed. Their recipe is experiment=rerank_authors: the repository's, at "
        "the sizes of the paper. As chosen: see Other word vectors."
    ),
    published=Published(
        f"{PAPER}, Table 3; {LOGGED}",
        text="The printed figures and those of the log are columns of our table, to be read next "
        "to ours. The log has no single models of BiCNN, and no ensemble of it for 2011.",
    ),
    jobs=_jobs,
    lay_out=_lay_out,
)
