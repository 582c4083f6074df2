"""samCNN, Fig. 3: by how much AP differs from topic to topic of 2013."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from siamese_news.reproduction.exhibit import Content, Exhibit, Figure, Published, Table
from siamese_news.reproduction.jobs import Job, Results, Setting
from siamese_news.reproduction.samcnn.published import PAPER
from siamese_news.reproduction.samcnn.runs import (
    PEERS,
    YEAR,
    by_topic,
    peers_job,
    training_jobs,
)
from siamese_news.reproduction.style import COLOURS, new_figure

RANKER, NAME = "patt", "PAtt"
AGAINST = ("QL", "MP-HCNN")


def differences(ours: Mapping[str, float], theirs: Mapping[str, float]) -> list[tuple[str, float]]:
    """(topic, our figure minus theirs), largest gain first; of equal ones the lower topic id.

    Args:
        ours: topic -> figure.
        theirs: likewise; a topic that either lacks is left out.

    Example:
        >>> differences({"1": 0.5, "2": 0.25}, {"1": 0.75, "2": 0.0})
        [('2', 0.25), ('1', -0.25)]
    """
    changes = [(topic, ours[topic] - theirs[topic]) for topic in ours if topic in theirs]
    return sorted(changes, key=lambda change: (-change[1], change[0]))


def changes_against(
    results: Results, peer: str, *, seeds: Sequence[int] | None = None
) -> list[tuple[str, float]]:
    """`differences` of PAtt, the mean over its seeds, and a peer; empty where either is missing.

    Args:
        results: of the jobs.
        peer: name of the system to subtract.
        seeds: None takes all of the setting.
    """
    values = by_topic(results, RANKER, YEAR, "", "AP", experiment="rerank_samcnn", seeds=seeds)
    ours = {topic: float(np.mean(seeds)) for topic, seeds in values.items()}
    systems = results[PEERS]["systems"] if PEERS in results else {}
    return differences(ours, systems.get(peer, {}).get(str(YEAR), {}).get("AP", {}))


def jobs(setting: Setting) -> list[Job]:
    """The peers, and PAtt on the year of the figure."""
    return [peers_job(setting), *training_jobs(setting, rankers=(RANKER,), years=(YEAR,))]


def _draw(panels: Mapping[str, Sequence[tuple[str, float]]]) -> Any:
    figure, axes = new_figure(rows=len(panels), width=7.0, height=1.9 * len(panels), squeeze=False)
    for axis, (peer, changes) in zip(axes[:, 0], panels.items(), strict=True):
        values = [value for _, value in changes]
        colours = [COLOURS[0] if value >= 0 else COLOURS[1] for value in values]
        axis.bar(range(len(values)), values, color=colours, width=0.8)
        axis.axhline(0, color="black", linewidth=0.6)
        axis.set_xticks(range(len(changes)), [topic for topic, _ in changes], rotation=90)
        axis.tick_params(axis="x", labelsize=5)
        axis.margins(x=0.01)
        axis.set_ylabel(f"AP of {NAME} − {peer}")
    axes[-1, 0].set_xlabel("topic")
    return figure


def _lay_out(results: Results) -> Content:
    panels = {peer: changes for peer in AGAINST if (changes := changes_against(results, peer))}
    if not panels:
        return Content()
    by_peer = {peer: dict(changes) for peer, changes in panels.items()}
    rows = [
        {"topic": topic}
        | {f"{NAME} − {peer}": values.get(topic) for peer, values in by_peer.items()}
        for topic, _ in next(iter(panels.values()))
    ]
    said = [_sentence(peer, changes) for peer, changes in panels.items()]
    return Content(
        tables=[Table("Difference in AP by topic", rows, note="In the order of the first panel.")],
        figures=[
            Figure(
                f"AP of {NAME} minus that of {' and of '.join(panels)}, by topic of {YEAR}",
                lambda: _draw(panels),
                "Bars in falling order, one a topic, above zero where PAtt is better. "
                + " ".join(said),
            )
        ],
        outcome=" ".join(said),
    )


def _sentence(peer: str, changes: Sequence[tuple[str, float]]) -> str:
    (best, gain), (worst, loss) = changes[0], changes[-1]
    better, worse = (sum(sign * value > 0 for _, value in changes) for sign in (1, -1))
    return (
        f"Against {peer}, {better} topics are better and {worse} worse; the best is {best} "
        f"({gain:+.4f}), the worst {worst} ({loss:+.4f})."
    )


EXHIBIT = Exhibit(
    paper="samcnn",
    kind="figure",
    key="3",
    title="Fig. 3: differences by topic",
    remark=(
        f"{NAME} without QL, trained as Table 2 says; several seeds enter as their mean by topic. "
        "Which baseline the paper subtracts was not at hand, so both peers are drawn."
    ),
    published=Published(
        f"{PAPER}, Fig. 3",
        text="A picture without numbers. The text calls the worst topic 127 in one place, 125 in "
        "another.",
    ),
    jobs=jobs,
    lay_out=_lay_out,
)
