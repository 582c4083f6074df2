"""AST paper, Fig. 2: t-SNE of the posts of the ten most shared articles, for each encoder."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from papers.ast.sweep import (
    ENCODERS,
    Encoder,
    data_of,
    first_jobs,
    first_model,
    overrides,
    splits,
)
from papers.exhibit import Content, Exhibit, Figure, Published, Table
from papers.jobs import Job, Results, Setting
from papers.style import COLORS, MARKERS, new_figure
from papers.training_runs import compose_training

ARTICLES = 10
NEIGHBORS = 5
COLUMNS = 4  # pictures side by side


def _name(encoder: Encoder) -> str:
    return f"places_{encoder.option}"


def _jobs(setting: Setting) -> list[Job]:
    split = splits(setting)[0]
    jobs = first_jobs(setting, split, [encoder.option for encoder in ENCODERS])
    for encoder in ENCODERS:
        run = partial(_place, setting, encoder, split)
        jobs.append(
            Job(_name(encoder), run, 0.2, data_of(setting, split), setting.seeds[:1])
        )
    return jobs


def _place(
    setting: Setting, encoder: Encoder, split: str, folder: Path, results: Results
) -> Mapping[str, Any]:
    """Places on the map, and how many neighbors in the encoder's own space are of one article."""
    from siamese_news.model.siamese import Model
    from siamese_news.training.datamodule import SiameseDataModule

    model = Model.load(first_model(encoder, split, folder.parent, results))
    config = compose_training(overrides(setting, encoder, split))
    test = SiameseDataModule(data=config["data"], seed=0).test
    if test is None:
        raise RuntimeError("the data has no test set")
    chosen = most_shared(test.qrels)
    texts = {post.id: post.text for post in test.posts}
    posts = [(post, place) for place, (_, own) in enumerate(chosen) for post in own]
    vectors = model.encode_posts([texts[post] for post, _ in posts])
    owners = np.array([place for _, place in posts])
    coordinates = on_a_map(vectors)
    return {
        "articles": [
            {"article": article, "posts": len(own)} for article, own in chosen
        ],
        "points": [
            [round(at[0], 3), round(at[1], 3), owner]
            for at, owner in zip(coordinates, owners.tolist(), strict=True)
        ],
        "purity": purity(vectors, owners),
        "chance": float(((np.bincount(owners) / len(owners)) ** 2).sum()),
    }


def most_shared(qrels: Mapping[str, Mapping[str, int]]) -> list[tuple[str, list[str]]]:
    """The ten articles with the most posts, and their posts; a post of two counts for the first."""
    relevant = {
        article: [post for post, grade in judged.items() if grade >= 1]
        for article, judged in qrels.items()
    }
    order = sorted(relevant, key=lambda article: (-len(relevant[article]), article))[
        :ARTICLES
    ]
    seen: set[str] = set()
    chosen = []
    for article in order:
        own = [post for post in relevant[article] if post not in seen]
        seen.update(own)
        chosen.append((article, own))
    return chosen


def purity(vectors: np.ndarray, owners: np.ndarray) -> float:
    """The share of the five nearest posts, by cosine, that are of the same article.

    Vectors (P, D) have unit length or are zero; owners (P,) number the article of each post.
    """
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -np.inf)
    nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :NEIGHBORS]
    return float((owners[nearest] == owners[:, None]).mean())


def _lay_out(results: Results) -> Content:
    there = {
        encoder.title: results[_name(encoder)]
        for encoder in ENCODERS
        if _name(encoder) in results
    }
    if not there:
        return Content()
    rows = [
        {
            "encoder": title,
            "posts": len(values["points"]),
            "5 nearest posts of the same article": values["purity"],
            "by chance": values["chance"],
        }
        for title, values in sorted(
            there.items(), key=lambda entry: -entry[1]["purity"]
        )
    ]
    articles = [
        {"article": str(place + 1), "id": article["article"], "posts": article["posts"]}
        for place, article in enumerate(next(iter(there.values()))["articles"])
    ]
    figure = Figure(
        "t-SNE of the posts of the ten most shared articles",
        lambda: _draw(there),
        "One map of dots for each encoder, a color and marker for each article. The more an "
        "article's dots lie together, the better the encoder tells the articles' posts apart.",
    )
    listed = ", ".join(
        f"{row['encoder']} {row['5 nearest posts of the same article']:.2f}"
        for row in rows
    )
    lowest = rows[-1]["5 nearest posts of the same article"]
    return Content(
        tables=[
            Table(
                "How many of a post's neighbors are of its article", rows, "neighbors"
            ),
            Table("The ten articles", articles, "articles"),
        ],
        figures=[figure],
        outcome=f"With every encoder, {lowest:.2f} or more of a post's five nearest "
        f"posts are of its article ({rows[0]['by chance']:.2f} by chance).",
        details=f"Of a post's five nearest posts, the share that is of its article: {listed}; "
        f"by chance {rows[0]['by chance']:.2f}.",
    )


def _draw(there: Mapping[str, Mapping[str, Any]]) -> Any:
    lines = -(-len(there) // COLUMNS)
    columns = min(COLUMNS, len(there))
    figure, axes = new_figure(
        rows=lines,
        columns=columns,
        width=1.75 * columns,
        height=1.6 * lines + 0.2,
        squeeze=False,
    )
    for axis in axes.flat:
        axis.set_axis_off()
    for axis, (title, values) in zip(axes.flat, there.items(), strict=False):
        axis.set_title(title)
        points = np.array(values["points"], dtype=float)
        for place in range(len(values["articles"])):
            own = points[points[:, 2] == place]
            label = f"article {place + 1}"
            axis.scatter(
                own[:, 0], own[:, 1], s=5, linewidths=0.3, label=label, **_mark(place)
            )
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=5, markerscale=2)
    return figure


def _mark(place: int) -> dict[str, Any]:
    """Ten articles: seven colors, and markers that differ where a color returns."""
    color = COLORS[place % len(COLORS)]
    return {
        "color": color,
        "marker": MARKERS[(place + place // len(COLORS)) % len(MARKERS)],
    }


EXHIBIT = Exhibit(
    paper="ast",
    kind="figure",
    key="2",
    title="Figure 2: t-SNE of the posts of the ten most shared articles",
    published=Published(
        source="Danovitch 2020, Fig. 2",
        text="A map of the posts of the ten most shared articles, without numbers.",
    ),
    remark="Posts of the test of usatoday-cnn split by pair, as the 3,300 held-out samples of the "
    "paper suggest (it does not describe its split): the articles, not the posts, were seen in "
    "training. Models: the first seed of Table 2. Places on a t-SNE map depend on its settings, so "
    "the neighbors are counted in the encoder's own space as well.",
    lay_out=_lay_out,
    jobs=_jobs,
)


def on_a_map(vectors: np.ndarray) -> np.ndarray:
    """(N, 2) coordinates of (N, D) vectors by t-SNE, which keeps neighbors together.

    Equal vectors have one place: a copied post makes no cloud of itself.
    """
    from sklearn.manifold import TSNE

    different, rows = np.unique(vectors.astype(np.float32), axis=0, return_inverse=True)
    perplexity = min(30.0, (len(different) - 1) / 3)
    tsne = TSNE(init="pca", random_state=0, perplexity=perplexity)
    coordinates: np.ndarray = tsne.fit_transform(different)[rows.ravel()]
    return coordinates
