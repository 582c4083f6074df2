"""samCNN's pictures and tables from saved rerank runs.

    python benchmarks/rerank_figures.py table1
    python benchmarks/rerank_figures.py table3 multirun/<stamp>/*
    python benchmarks/rerank_figures.py figure3 --run OUT/test.run.gz --against OUT/test.run.gz
    python benchmarks/rerank_figures.py figure4 --query 127 --models OUT/model OUT/model OUT/model
    python benchmarks/rerank_figures.py table4 --run OUT/test.run.gz --query 127

Figures need matplotlib (``pip install siamese-news[notebook]``). Data come from SIAMESE_NEWS_DATA.
"""

import argparse
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from siamese_news.data.trec import read_run
from siamese_news.errors import InputError
from siamese_news.metrics import evaluate_run, ranked
from siamese_news.model.reranker import TextRanker
from siamese_news.rerankers.samcnn import SamCNN
from siamese_news.training.rerank.data import RerankCollection, read_reranking
from siamese_news.training.rerank.table import averaged, full_table, peers, saved
from siamese_news.utils.markdown import markdown_table

#: Relevant posts as the paper's Table 1 prints them; 2012 and 2013 look swapped.
PRINTED_RELEVANT = {2011: 1940, 2012: 4298, 2013: 3405, 2014: 6812}
PRINTED_POSTS = {2011: 39780, 2012: 49879, 2013: 46192, 2014: 41579}


def table1(collection: RerankCollection) -> str:
    """Collection statistics, counted and as printed."""
    rows = []
    for year in sorted(set(collection.years.values())):
        topics = collection.of_year(year)
        pool = [(q, p) for q in topics for p in collection.candidates[q]]
        relevant = sum(collection.qrels.get(q, {}).get(p, 0) >= 1 for q, p in pool)
        words = [len(collection.queries[q].split()) for q in topics]
        rows.append(
            {
                "year": str(year),
                "topics": len(topics),
                "candidates": len(pool),
                "candidates, as printed": PRINTED_POSTS.get(year),
                "relevant": relevant,
                "relevant, as printed": PRINTED_RELEVANT.get(year),
                "query words": round(float(np.mean(words)), 2),
                "post words": round(
                    float(np.mean([len(collection.posts[p].split()) for _, p in pool])), 2
                ),
            }
        )
    return markdown_table(rows)


def read_row(folder: Path) -> dict[str, Any]:
    """The row of a finished run."""
    path = folder / "row.json"
    if not path.is_file():
        raise InputError(f"{path}: no such file; expected folders of finished rerank runs")
    row: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return row


def table3(
    collection: RerankCollection,
    folders: list[Path],
    averages: list[str],
    *,
    neighbours: int,
    samples: int,
) -> str:
    """Everything that is reported of saved runs: AP and P30, nDCG@10, and every run."""
    # As the jobs of a multirun were numbered; a shell lists 10 before 2.
    parents = list(dict.fromkeys(folder.parent for folder in folders))
    folders = sorted(folders, key=lambda f: (parents.index(f.parent), len(f.name), f.name))
    rows = {folder: read_row(folder) for folder in folders}
    options = {"share": 0.15, "seed": 0, "neighbours": neighbours}
    systems = [*peers(collection, **options), *saved(folders)]
    for entry in averages:
        name, _, labels = entry.partition("=")
        chosen = [folder for folder in folders if rows[folder]["ranker"] in labels.split(",")]
        systems += averaged(collection, chosen, name, **options)
    hidden = {"vectors", "settings", "job"}
    # As many columns as the fullest row has.
    columns = list(dict.fromkeys(key for row in rows.values() for key in row if key not in hidden))
    runs = [{column: row.get(column) for column in columns} for row in rows.values()]
    return "\n\n".join(
        [
            "### AP and P30 (samCNN's Table 3)",
            full_table(collection, systems, samples=samples),
            "### nDCG@10 on the graded labels",
            full_table(collection, systems, figures={"nDCG@10": "nDCG@10"}, samples=samples),
            "### Every run",
            markdown_table(runs),
        ]
    )


def differences(collection: RerankCollection, run: Path, against: Path) -> list[tuple[str, float]]:
    """(topic, difference in AP), largest gain first."""
    first, second = read_run(run), read_run(against)
    if first.keys() != second.keys():
        raise InputError(f"{run} and {against} have different topics; give runs of one test year")
    qrels = {query: collection.qrels.get(query, {}) for query in first}
    ours, theirs = evaluate_run(first, qrels)["AP"], evaluate_run(second, qrels)["AP"]
    return sorted(((q, ours[q] - theirs[q]) for q in ours), key=lambda item: -item[1])


def figure3(collection: RerankCollection, run: Path, against: Path, out: Path) -> str:
    """Bars of the AP difference by topic."""
    from matplotlib import pyplot

    changes = differences(collection, run, against)
    figure, axes = pyplot.subplots(figsize=(10, 3))
    axes.bar(range(len(changes)), [value for _, value in changes], width=0.8)
    axes.set_xticks(range(len(changes)), [query for query, _ in changes], rotation=90, fontsize=6)
    axes.set_ylabel("difference in AP")
    axes.set_xlabel("topic")
    axes.axhline(0, color="black", linewidth=0.5)
    figure.tight_layout()
    figure.savefig(out, metadata={"Software": None} if out.suffix == ".png" else None)
    best, worst = changes[0], changes[-1]
    return (
        f"{sum(v > 0 for _, v in changes)} topics better, {sum(v < 0 for _, v in changes)} worse; "
        f"best {best[0]} ({best[1]:+.4f}), worst {worst[0]} ({worst[1]:+.4f}): {out}"
    )


@torch.no_grad()
def hidden_states(model: TextRanker, collection: RerankCollection, query: str) -> np.ndarray:
    """What the head reads for every candidate of a topic: (posts, D)."""
    if not isinstance(model.ranker, SamCNN):
        raise InputError(f"figure4 needs samCNN rankers, got {type(model.ranker).__name__}")
    posts = list(collection.candidates[query])
    texts = [collection.posts[post].split() for post in posts]
    urls = [collection.urls[post] for post in posts]
    states = np.zeros((0, 0))
    for rows, batch in model.batches(collection.queries[query].split(), texts, urls=urls):
        outputs = model.ranker.hidden_layer(model.pair(batch)).numpy()
        if not states.size:
            states = np.zeros((len(posts), outputs.shape[1]), outputs.dtype)
        states[rows] = outputs
    return states


def figure4(collection: RerankCollection, query: str, models: list[Path], out: Path) -> str:
    """t-SNE of the hidden states of one topic's candidates, one panel per model."""
    from matplotlib import pyplot
    from sklearn.manifold import TSNE

    posts = list(collection.candidates[query])
    relevant = np.array([collection.qrels.get(query, {}).get(p, 0) >= 1 for p in posts])
    figure, panels = pyplot.subplots(1, len(models), figsize=(4 * len(models), 4), squeeze=False)
    for folder, axes in zip(models, panels[0], strict=True):
        model = TextRanker.load(folder)
        states = hidden_states(model, collection, query)
        places = TSNE(
            perplexity=min(30, (len(states) - 1) / 3), init="pca", random_state=0
        ).fit_transform(states)
        for mask, colour, name in ((~relevant, "C0", "not relevant"), (relevant, "C3", "relevant")):
            axes.scatter(*places[mask].T, s=6, c=colour, label=name)
        axes.set_title(type(model.ranker).__name__)
        axes.set_xticks([]), axes.set_yticks([])
    panels[0][0].legend(fontsize=8)
    figure.suptitle(f"{query}: {collection.queries[query]}")
    figure.tight_layout()
    figure.savefig(out)
    return f"{len(posts)} posts, {int(relevant.sum())} relevant: {out}"


def table4(collection: RerankCollection, run: Path, query: str) -> str:
    """Which query words the posts of one topic hold, by relevance and by place in the run."""
    words = list(dict.fromkeys(collection.queries[query].split()))
    order = [post for post, _ in ranked(read_run(run)[query])]
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for rank, post in enumerate(order, 1):
        text = set(collection.posts[post].split())
        pattern = " ".join(word for word in words if word in text) or "(none)"
        relevant = collection.qrels.get(query, {}).get(post, 0) >= 1
        counts[pattern]["relevant" if relevant else "not relevant"] += 1
        if rank <= 30:
            counts[pattern]["relevant in top 30" if relevant else "not relevant in top 30"] += 1
    columns = ("relevant", "not relevant", "relevant in top 30", "not relevant in top 30")
    rows = [
        {"words in the post": pattern} | {column: count[column] for column in columns}
        for pattern, count in sorted(counts.items(), key=lambda item: -sum(item[1].values()))
    ]
    return f"Topic {query}: {collection.queries[query]}\n\n{markdown_table(rows)}"


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["table1", "table3", "figure3", "figure4", "table4"])
    parser.add_argument("folders", nargs="*", type=Path, help="folders of finished runs (table3)")
    parser.add_argument("--collection", default="trec-microblog")
    parser.add_argument("--run", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--query", help="topic; table4 takes the worst of figure3 without it")
    parser.add_argument("--models", nargs="*", type=Path, default=[])
    parser.add_argument("--neighbours", type=int, default=20, help="table3: as task.neighbours")
    parser.add_argument("--samples", type=int, default=20_000, help="table3: exchanges per test")
    parser.add_argument(
        "--average", action="append", default=[], metavar="NAME=RANKER,RANKER",
        help="table3: one more line, the mean of these rankers' runs over all seeds",
    )  # fmt: skip
    parser.add_argument("--out", type=Path, default=Path("figure.png"))
    arguments = parser.parse_args()
    collection = read_reranking(arguments.collection)
    if arguments.what == "table1":
        print(table1(collection))
    elif arguments.what == "table3":
        print(
            table3(
                collection, arguments.folders, arguments.average,
                neighbours=arguments.neighbours, samples=arguments.samples,
            )
        )  # fmt: skip
    elif arguments.what == "figure3":
        print(figure3(collection, arguments.run, arguments.against, arguments.out))
    elif arguments.what == "figure4":
        print(figure4(collection, arguments.query, arguments.models, arguments.out))
    else:
        query = arguments.query
        if query is None:
            query = differences(collection, arguments.run, arguments.against)[-1][0]
        print(table4(collection, arguments.run, query))


if __name__ == "__main__":
    main()
