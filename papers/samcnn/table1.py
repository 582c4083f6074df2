"""samCNN, Table 1: the collection, counted and as printed."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from papers.exhibit import Content, Exhibit, Published, Table
from papers.jobs import Job, Results, Setting
from papers.samcnn.published import (
    CANDIDATES,
    PAPER,
    PERCENT_RELEVANT,
    RELEVANT,
    TOPICS,
    YEARS,
)
from papers.samcnn.runs import collection_of, data_of
from siamese_news.training.rerank_data import RerankCollection

JOB = "collection"


def count(collection: RerankCollection) -> list[dict[str, Any]]:
    """One row a year: topics, candidates, relevant ones, words of a query and of a post."""
    rows = []
    for year in sorted(set(collection.years.values())):
        topics = collection.of_year(year)
        pool = [
            (query, post) for query in topics for post in collection.candidates[query]
        ]
        relevant = sum(
            collection.qrels.get(query, {}).get(post, 0) >= 1 for query, post in pool
        )
        words = [len(collection.queries[query].split()) for query in topics]
        lengths = [len(collection.posts[post].split()) for _, post in pool]
        rows.append(
            {
                "year": str(year),
                "topics": len(topics),
                "candidates": len(pool),
                "relevant": relevant,
                "query words": round(float(np.mean(words)), 2),
                "post words": round(float(np.mean(lengths)), 2),
            }
        )
    return rows


def _jobs(setting: Setting) -> list[Job]:
    def run(folder: Path, results: Results) -> Mapping[str, Any]:
        return {"rows": count(collection_of(setting, folder.parent))}

    return [Job(JOB, run, minutes=0.5, data=data_of(setting), seeds=())]


def _as_printed(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with the share of relevant candidates in percent, and two decimals."""
    return {
        "year": row["year"],
        "topics": row["topics"],
        "candidates": row["candidates"],
        "relevant": row["relevant"],
        "%relevant": f"{100 * row['relevant'] / row['candidates']:.2f}",
        "query words": f"{row['query words']:.2f}",
        "post words": f"{row['post words']:.2f}",
    }


def _lay_out(results: Results) -> Content:
    if JOB not in results:
        return Content()
    rows = [_as_printed(row) for row in results[JOB]["rows"]]
    printed = {"candidates": CANDIDATES, "relevant": RELEVANT}
    same = {
        column: sum(row[column] == figures[int(row["year"])] for row in rows)
        for column, figures in printed.items()
    }
    return Content(
        tables=[Table("The collection, counted", rows)],
        outcome=f"In {same['candidates']} of {len(rows)} years there are as many candidates as in "
        f"the paper, in {same['relevant'] or 'none'} as many relevant ones.",
    )


EXHIBIT = Exhibit(
    paper="samcnn",
    kind="table",
    key="1",
    title="Table 1: the collection",
    remark=(
        "Relevant is a grade of 1 or more in NIST's qrels; a post without a grade is not relevant. "
        "The printed counts of relevant posts match no year of the data, and those of 2012 and "
        "2013 look swapped; the candidates, and every AP and P30 of the peers' runs (Table 3), "
        "match exactly."
    ),
    published=Published(
        f"{PAPER}, Table 1",
        [
            Table(
                "As printed",
                [
                    {
                        "year": str(year),
                        "topics": TOPICS[year],
                        "candidates": CANDIDATES[year],
                        "relevant": RELEVANT[year],
                        "%relevant": f"{PERCENT_RELEVANT[year]:.2f}",
                    }
                    for year in YEARS
                ],
            )
        ],
    ),
    jobs=_jobs,
    lay_out=_lay_out,
)
