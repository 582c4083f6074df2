"""Every figure of saved rerank runs: AP and P30, nDCG@10, smoothed and averaged systems.

    python -m benchmarks.rerank_table multirun/<stamp>/*

The paper itself is made again by ``python -m papers paper=samcnn``.
Data come from SIAMESE_NEWS_DATA.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from siamese_news.errors import InputError
from siamese_news.training.rerank.data import RerankCollection, read_reranking
from siamese_news.training.rerank.table import averaged, full_table, peers, saved
from siamese_news.utils.markdown import markdown_table


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
    hidden = {"vectors", "settings", "job", "overrides", "config"}
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


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="*", type=Path, help="folders of finished runs")
    parser.add_argument("--collection", default="trec-microblog")
    parser.add_argument("--neighbours", type=int, default=20, help="as task.neighbours")
    parser.add_argument("--samples", type=int, default=20_000, help="exchanges per test")
    parser.add_argument(
        "--average", action="append", default=[], metavar="NAME=RANKER,RANKER",
        help="one more line, the mean of these rankers' runs over all seeds",
    )  # fmt: skip
    arguments = parser.parse_args()
    collection = read_reranking(arguments.collection)
    print(
        table3(
            collection, arguments.folders, arguments.average,
            neighbours=arguments.neighbours, samples=arguments.samples,
        )
    )  # fmt: skip


if __name__ == "__main__":
    main()
