"""Write results: a table for people, JSON lines, CSV and Parquet for programs, TREC to evaluate."""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import IO, Any

from siamese_news.search.records import RankedPost, metadata_text
from siamese_news.utils.terminal import clean, guarded

Row = Mapping[str, Any]
COLUMNS = (
    "article",
    "rank",
    "score",
    "post",
    "text",
    "cluster",
    "cluster_size",
    "lang",
    "created_at",
    "terms",
    "link",
)
BINARY = ("parquet",)
"""Formats that need a binary stream."""

_BATCH = 8192
_SHOWN = 600  # characters of a post in a table


def write_rows(
    stream: IO[Any],
    rows: Iterable[Row],
    format: str,
    *,
    columns: Sequence[str] = COLUMNS,
    titles: Mapping[str, str] | None = None,
    terminal: bool = False,
    bom: bool = False,
) -> None:
    """Write rows as they come; only a table needs a list of them at once.

    Args:
        stream: where to; binary for the formats in `BINARY`.
        rows: column -> value; what is missing or None is empty.
        format: ``table``, ``jsonl``, ``csv``, ``parquet`` or ``trec``.
        columns: which, in this order; a table and a TREC run have their own.
        titles: of the articles, by id, for a table.
        terminal: whether a person reads the stream; a table is then coloured.
        bom: begin a CSV with a UTF-8 byte order mark, for Excel.
    """
    if format == "table":
        _table(stream, rows, {} if titles is None else titles, terminal)
    elif format == "trec":
        _trec(stream, rows)
    elif format == "csv":
        _csv(stream, rows, columns, bom)
    else:
        _WRITERS[format](stream, rows, columns)


def write_ranking(
    stream: IO[Any], ranking: Iterable[Sequence[RankedPost]], format: str, *, terminal: bool
) -> None:
    """Write the lists of a ranking as they are; see `write_rows`."""
    titles: dict[str, str] = {}

    def rows() -> Iterator[Row]:
        for item in chain.from_iterable(ranking):
            titles[item.article.id] = item.article.title
            yield row_of(item)

    write_rows(stream, rows(), format, titles=titles, terminal=terminal)


def row_of(item: RankedPost) -> dict[str, Any]:
    """The columns that a ranked post has by itself."""
    return {
        "article": item.article.id,
        "rank": item.rank,
        "score": item.score,
        "post": item.post.id,
        "text": item.post.text,
        "lang": metadata_text(item.post, "lang"),
        "created_at": metadata_text(item.post, "created_at"),
        "link": metadata_text(item.post, "permalink"),
    }


def _table(stream: IO[str], rows: Iterable[Row], titles: Mapping[str, str], terminal: bool) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=stream, width=None if terminal else 140, force_terminal=terminal)
    for posts in _lists(rows):
        seeds = {row["article"] for row in posts}
        several = len(seeds) > 1
        copies = any((row.get("cluster_size") or 1) > 1 for row in posts)
        name = "all seeds"
        if not several:
            seed = posts[0]["article"]
            name = clean(f"{seed}: {titles.get(seed) or seed}")
        table = Table(title=Text(name), title_justify="left")
        table.add_column("rank", justify="right")
        table.add_column("score", justify="right")
        if several:
            table.add_column("seed", overflow="fold")
        if copies:
            table.add_column("copies", justify="right")
        table.add_column("post", overflow="fold")
        table.add_column("text", overflow="fold")
        for row in posts:
            cells = [str(row["rank"]), f"{row['score']:.4f}"]
            cells += [clean(row["article"])] if several else []
            cells += [str(row.get("cluster_size") or "")] if copies else []
            text = clean(row.get("text") or "")
            cells += [clean(row["post"]), text if len(text) <= _SHOWN else f"{text[:_SHOWN]} …"]
            # Text, not str: brackets in a post are not markup.
            table.add_row(*map(Text, cells))
        console.print(table)


def _lists(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """The rows of each list; a list begins at rank 1."""
    held: list[Row] = []
    for row in rows:
        if row["rank"] == 1 and held:
            yield held
            held = []
        held.append(row)
    if held:
        yield held


def _trec(stream: IO[str], rows: Iterable[Row]) -> None:
    for row in rows:
        line = f"{row['article']} Q0 {row['post']} {row['rank']} {row['score']:.6f} siamese_news\n"
        stream.write(line)


def _csv(stream: IO[str], rows: Iterable[Row], columns: Sequence[str], bom: bool) -> None:
    if bom:
        stream.write("\ufeff")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(row.get(name)) for name in columns])


def _cell(value: Any) -> Any:
    if isinstance(value, list):
        value = "; ".join(value)  # a term may be two words
    return guarded(value) if isinstance(value, str) else value


def _jsonl(stream: IO[str], rows: Iterable[Row], columns: Sequence[str]) -> None:
    for row in rows:
        record = {name: row.get(name) for name in columns}
        stream.write(json.dumps(record, ensure_ascii=False) + "\n")


def _parquet(stream: IO[bytes], rows: Iterable[Row], columns: Sequence[str]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {
        "rank": pa.int64(),
        "score": pa.float64(),
        "cluster": pa.int64(),
        "cluster_size": pa.int64(),
        "terms": pa.list_(pa.string()),
        "x": pa.float64(),
        "y": pa.float64(),
        "best": pa.float64(),
        "mean3": pa.float64(),
        **dict.fromkeys(("thread_rank", "found", "left_out", "missing", "depth"), pa.int64()),
    }
    schema = pa.schema([(name, types.get(name, pa.string())) for name in columns])
    with pq.ParquetWriter(stream, schema, compression="zstd") as writer:
        left = iter(rows)
        while batch := list(islice(left, _BATCH)):
            held = {name: [row.get(name) for row in batch] for name in columns}
            writer.write_table(pa.table(held, schema=schema))


_WRITERS: dict[str, Callable[[IO[Any], Iterable[Row], Sequence[str]], None]] = {
    "jsonl": _jsonl,
    "parquet": _parquet,
}
