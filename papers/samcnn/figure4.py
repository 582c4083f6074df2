"""samCNN, Fig. 4: t-SNE of the hidden layer o of the candidates of the paper's best topic."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from papers.exhibit import Content, Exhibit, Figure, Published, Table
from papers.jobs import Job, Results, Setting
from papers.samcnn.figure3 import changes
from papers.samcnn.published import BEST, PAPER
from papers.samcnn.runs import (
    RANKERS,
    YEAR,
    collection_of,
    data_of,
    peers_job,
    training_jobs,
)
from papers.samcnn.variants import ATTENTIVE, chosen_jobs, trained_as_chosen
from papers.style import COLORS, new_figure
from siamese_news.model.reranker import TextRanker
from siamese_news.rerankers import SamCNN
from siamese_news.training.rerank_data import RerankCollection

JOBS = {f"hidden_layer_{option}": option for option in reversed(RANKERS)}


@torch.no_grad()
def hidden_layers(
    model: TextRanker, collection: RerankCollection, query: str
) -> NDArray[np.float32]:
    """The hidden layer o of a samCNN ranker for every candidate of a topic: (posts, H)."""
    assert isinstance(model.ranker, SamCNN)
    model.eval()
    posts = list(collection.candidates[query])
    texts = [collection.posts[post].split() for post in posts]
    urls = [collection.urls[post] for post in posts]
    batches = list(model.batches(collection.queries[query].split(), texts, urls=urls))
    hidden = [
        model.ranker.hidden_layer(model.pair(batch)).numpy() for _, batch in batches
    ]
    order = np.concatenate([rows for rows, _ in batches])
    return np.concatenate(hidden)[np.argsort(order)]


def project(hidden: NDArray[np.float32]) -> list[list[float]]:
    """t-SNE to two dimensions, with a fixed seed."""
    from sklearn.manifold import TSNE

    perplexity = min(30, (len(hidden) - 1) / 3)
    places = TSNE(perplexity=perplexity, init="pca", random_state=0).fit_transform(
        hidden
    )
    return [[round(float(x), 2) for x in place] for place in places]


def separation(
    places: Sequence[Sequence[float]], relevant: Sequence[bool]
) -> float | None:
    """Share of relevant posts whose nearest other post in the plane is relevant too.

    Example:
        >>> separation([[0, 0], [0, 1], [9, 9], [9, 8]], [True, True, True, False])
        0.6666666666666666
    """
    points = np.asarray(places, np.float64)
    labels = np.asarray(relevant, bool)
    if labels.sum() == 0 or len(points) < 2:
        return None
    distances = ((points[labels][:, None] - points[None]) ** 2).sum(axis=2)
    distances[np.arange(labels.sum()), np.flatnonzero(labels)] = np.inf
    return float(labels[distances.argmin(axis=1)].mean())


def _job(setting: Setting, name: str) -> Job:
    option = JOBS[name]
    seed = setting.seeds[0]

    def run(folder: Path, results: Results) -> Mapping[str, Any]:
        collection = collection_of(setting, folder.parent)
        query = (
            BEST
            if BEST in collection.queries
            else changes(results, seeds=(seed,))[0][0]
        )
        grades = collection.qrels.get(query, {})
        model = TextRanker.load(
            trained_as_chosen(setting, folder.parent, option) / "model"
        )
        return {
            "topic": query,
            "relevant": [
                int(grades.get(post, 0) >= 1) for post in collection.candidates[query]
            ],
            "places": project(hidden_layers(model, collection, query)),
        }

    return Job(name, run, minutes=1.0, data=data_of(setting), seeds=(seed,))


def _jobs(setting: Setting) -> list[Job]:
    """PAtt first, which determines the topic; after each ranker its hidden layer."""
    first = Setting(setting.data, setting.seeds[:1])
    wanted = [peers_job(setting)]
    for name, option in JOBS.items():
        jobs_of = chosen_jobs if option in ATTENTIVE else training_jobs
        wanted += jobs_of(first, rankers=(option,), years=(YEAR,))
        wanted.append(_job(setting, name))
    return wanted


def _draw(
    relevant: Sequence[bool], panels: Mapping[str, Sequence[Sequence[float]]]
) -> Any:
    mask = np.array(relevant, bool)
    figure, axes = new_figure(columns=len(panels), width=7.0, height=2.5, squeeze=False)
    for axis, (name, places) in zip(axes[0], panels.items(), strict=True):
        points = np.array(places)
        for shown, color, marker, label in (
            (~mask, COLORS[5], "o", "not relevant"),
            (mask, COLORS[1], "^", "relevant"),
        ):
            axis.scatter(
                *points[shown].T, s=6, c=color, marker=marker, label=label, linewidths=0
            )
        axis.set_title(name)
        axis.set_xticks([])
        axis.set_yticks([])
    axes[0, 0].legend(markerscale=2)
    return figure


def _lay_out(results: Results) -> Content:
    # Left to right as in the paper, which ends with PAtt.
    there = {
        RANKERS[option]: results[name]
        for name, option in reversed(JOBS.items())
        if name in results
    }
    if not there:
        return Content()
    *_, last = there.values()
    topic = last["topic"]
    relevant = [bool(label) for label in last["relevant"]]
    panels = {
        name: one["places"] for name, one in there.items() if one["topic"] == topic
    }
    shares = {name: separation(places, relevant) for name, places in panels.items()}
    column = "relevant posts whose nearest neighbor is relevant"
    rows = [{"ranker": name, column: share} for name, share in shares.items()]
    listed = ", ".join(
        f"{share:.2f} ({name})" for name, share in shares.items() if share is not None
    )
    _, best = max((share, name) for name, share in shares.items() if share is not None)
    agrees = "agrees with" if best == "PAtt" else "contradicts"
    outcome = (
        f"This {agrees} the paper, whose PAtt separates best: the share of relevant posts whose "
        f"nearest neighbor is relevant is {listed}."
    )
    details = (
        f"Topic {topic}: {len(relevant)} candidates, {sum(relevant)} relevant, so that the share "
        f"would be {sum(relevant) / len(relevant):.2f} by chance."
    )
    if topic != BEST:
        details += (
            f" The paper's picture is of topic {BEST}, for which no result is saved."
        )
    return Content(
        tables=[Table("How close together the relevant posts are", rows)],
        figures=[
            Figure(
                f"t-SNE of o for the candidates of topic {topic}",
                lambda: _draw(relevant, panels),
                "A scatter plot for each ranker; triangles are relevant posts. "
                + details,
            )
        ],
        outcome=outcome,
        details=details,
    )


EXHIBIT = Exhibit(
    paper="samcnn",
    kind="figure",
    key="4",
    title="Fig. 4: the hidden layer of a topic's candidates, on a map",
    remark=(
        f"The topic is the paper's, {BEST}. QAtt and PAtt are as chosen (see Other word "
        "vectors), BiCNN has the settings of Table 2; first seed of each. o is the "
        "output of the head's hidden layer after its ReLU, section 2.3; t-SNE with perplexity 30, "
        "from PCA, seed 0. Distances between groups in such a picture mean nothing, so the table "
        "counts neighbors."
    ),
    published=Published(
        f"{PAPER}, Fig. 4",
        text=f"A picture without numbers, of topic {BEST}: BiCNN on the left, QAtt in the middle, "
        "PAtt on the right.",
    ),
    jobs=_jobs,
    lay_out=_lay_out,
)
