"""What labels teach the order, replayed on labelled pools; see `main`."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.dev_collections import big_pools
from siamese_news.data.sources import open_source
from siamese_news.search.searcher import Searcher

FACT_CHECKS, DRAWS = 100, 8


@dataclass(frozen=True, slots=True)
class RankedPool:
    """One list as `filter` gives it, with the truth.

    Attributes:
        group: the collection.
        name: of the list.
        texts: N, best first.
        scores: (N,)
        clusters: (N,) of near-duplicates.
        relevant: (N,) bool.
    """

    group: str
    name: str
    texts: list[str]
    scores: np.ndarray
    clusters: np.ndarray
    relevant: np.ndarray


def questions() -> Iterator[tuple[str, str, list[str], dict[str, str], set[str]]]:
    """Group, name, seeds, texts of posts by id and the relevant ids of every list."""
    for name, split in (("events-dev", "dev"), ("factcheck-dev", "test")):
        source = open_source(name)
        qrels = source.split(split)
        texts = {post.id: post.text for post in source.posts.values()}
        generator = np.random.default_rng(0)
        names = sorted(qrels)
        seeds = [[one] for one in names] if split == "dev" else [
            generator.choice(names, FACT_CHECKS, replace=False).tolist() for _ in range(DRAWS)
        ]  # fmt: skip
        for number, asked in enumerate(seeds):
            known = {post for one in asked for post, grade in qrels[one].items() if grade > 0}
            called = asked[0] if len(asked) == 1 else f"draw {number}"
            yield name, called, [source.articles[one].full_text for one in asked], texts, known
    for pool in big_pools():
        (ranking,) = (one for one in pool.rankings if one.figure == "big")
        texts = {str(n): text for n, text in enumerate(pool.posts)}
        known = set(map(str, np.flatnonzero(ranking.relevant)))
        yield "usatoday-cnn train", ranking.group, pool.articles, texts, known
    source = open_source("crisislex-boston")
    (known,) = (set(grades) for grades in source.split("test").values())
    texts = {post.id: post.text for post in source.posts.values()}
    yield "crisislex-boston", "", [one.full_text for one in source.articles.values()], texts, known


def ranked_pools(folder: Path) -> list[RankedPool]:
    """The lists, searched once and kept in a folder."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "complete").exists() and not __import__("os").environ.get("PART"):
        searcher = Searcher()
        for number, (group, name, seeds, texts, known) in enumerate(questions()):
            rows = searcher.filter(
                seeds, [{"id": one, "text": text} for one, text in texts.items()], threshold=-4
            )
            table = pa.table({
                "text": [row["text"] for row in rows],
                "score": [row["score"] for row in rows],
                "cluster": [row["cluster"] for row in rows],
                "relevant": [row["post_id"] in known for row in rows],
            }).replace_schema_metadata({"group": group, "name": name})  # fmt: skip
            pq.write_table(table, folder / f"{number:03}.parquet")
        (folder / "complete").touch()
    found = []
    for path in sorted(folder.glob("*.parquet")):
        table = pq.read_table(path)
        meta = table.schema.metadata
        found.append(
            RankedPool(
                meta[b"group"].decode(), meta[b"name"].decode(), table["text"].to_pylist(),
                *(table[name].to_numpy() for name in ("score", "cluster", "relevant")),
            )  # fmt: skip
        )
    return found
