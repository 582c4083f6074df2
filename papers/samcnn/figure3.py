"""samCNN, Fig. 3: the difference in AP between PAtt and QL, topic by topic of 2013."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from papers.exhibit import Content, Exhibit, Figure, Published, Table
from papers.jobs import Job, Results, Setting
from papers.samcnn.published import BEST, PAPER, WORST, WORST_AP, WORST_P30
from papers.samcnn.runs import METRICS, PEERS, YEAR, by_topic, peers_job
from papers.samcnn.variants import CHOSEN, chosen_jobs
from papers.style import COLORS, new_figure

RANKER, NAME = "patt", "PAtt"
PEER = "QL"


def differences(
    ours: Mapping[str, float], theirs: Mapping[str, float]
) -> list[tuple[str, float]]:
    """(topic, our figure minus theirs), largest gain first; of equal ones the lower topic id.

    Example:
        >>> differences({"1": 0.5, "2": 0.25}, {"1": 0.75, "2": 0.0})
        [('2', 0.25), ('1', -0.25)]
    """
    changes = [
        (topic, ours[topic] - theirs[topic]) for topic in ours if topic in theirs
    ]
    return sorted(changes, key=lambda change: (-change[1], change[0]))


def changes(
    results: Results,
    metric: str = "AP",
    *,
    experiment: str = CHOSEN,
    seeds: Sequence[int] | None = None,
) -> list[tuple[str, float]]:
    """`differences` of PAtt, the mean over its seeds, and QL; empty where either is missing.

    `experiment` is the beginning of the names of PAtt's runs.
    """
    values = by_topic(
        results, RANKER, YEAR, "", metric, experiment=experiment, seeds=seeds
    )
    ours = {topic: float(np.mean(seeds)) for topic, seeds in values.items()}
    systems = results[PEERS]["systems"] if PEERS in results else {}
    return differences(ours, systems.get(PEER, {}).get(str(YEAR), {}).get(metric, {}))


def _jobs(setting: Setting) -> list[Job]:
    """The peers, and PAtt as chosen on the year of the figure."""
    chosen = chosen_jobs(setting, rankers=(RANKER,), years=(YEAR,))
    return [peers_job(setting), *chosen]


def _draw(by_topic: Mapping[str, float]) -> Any:
    figure, axis = new_figure(width=7.0, height=2.0)
    colors = [COLORS[0] if value >= 0 else COLORS[1] for value in by_topic.values()]
    axis.bar(range(len(by_topic)), list(by_topic.values()), color=colors, width=0.8)
    axis.axhline(0, color="black", linewidth=0.6)
    axis.set_xticks(range(len(by_topic)), list(by_topic), rotation=90)
    axis.tick_params(axis="x", labelsize=5)
    axis.margins(x=0.01)
    axis.set(xlabel="topic", ylabel=f"AP of {NAME} − {PEER}")
    return figure


def _lay_out(results: Results) -> Content:
    ap = dict(changes(results))
    p30 = dict(changes(results, METRICS["P30"]))
    if not ap:
        return Content()
    said = _sentence(ap, p30)
    rows = [
        {"topic": topic, "AP": value, "P30": p30[topic]} for topic, value in ap.items()
    ]
    return Content(
        tables=[Table(f"{NAME} − {PEER} by topic", rows)],
        figures=[
            Figure(
                f"AP of {NAME} minus that of {PEER}, by topic of {YEAR}",
                lambda: _draw(ap),
                f"Bars in falling order, one a topic, above zero where {NAME} is better. {said}",
            )
        ],
        outcome=_headline(ap),
        details=said,
    )


def _headline(ap: Mapping[str, float]) -> str:
    better, worse = (sum(sign * value > 0 for value in ap.values()) for sign in (1, -1))
    return f"{NAME} is better than {PEER} on {better} topics and worse on {worse}."


def _sentence(ap: Mapping[str, float], p30: Mapping[str, float]) -> str:
    best, *_, worst = ap
    said = f"The best topic is {best} ({ap[best]:+z.4f} AP), the worst {worst} ({ap[worst]:+z.4f} AP)."
    if BEST in ap and WORST in ap:
        said += (
            f" The paper's best, {BEST}, has {ap[BEST]:+z.4f} AP here; its worst, {WORST}, has "
            f"{ap[WORST]:+z.4f} AP and {p30[WORST]:+z.4f} P30 (printed: {WORST_AP:+z.2f} and "
            f"{WORST_P30:+z.2f})."
        )
    return said


EXHIBIT = Exhibit(
    paper="samcnn",
    kind="figure",
    key="3",
    title="Fig. 3: differences by topic",
    remark=(
        f"{NAME} without QL, as chosen (see Other word vectors); no topic of {YEAR} took part in "
        "the choice. Several seeds enter as their mean by topic; Table 4 has the first seed alone."
    ),
    published=Published(
        f"{PAPER}, Fig. 3 and the section on it",
        text=f"A picture: the difference in AP between {NAME} and {PEER} for the topics of {YEAR}. "
        f"{NAME} is better on most of them; the best topic is {BEST}; on the worst, {WORST}, "
        f"{NAME} loses {-WORST_AP:.2f} of AP and {-WORST_P30:.2f} of P30.",
    ),
    jobs=_jobs,
    lay_out=_lay_out,
)
