"""Write results: a table for people, JSON lines, CSV and Parquet for programs, TREC to evaluate."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import IO, TYPE_CHECKING, Any

from siamese_news.data.columns import KINDS, RANKED, Kind, ResultRow
from siamese_news.search.ranked_posts import RankedPost, post_columns
from siamese_news.utils.csv_files import write_csv
from siamese_news.utils.terminal import clean, shown_relevance

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

Row = Mapping[str, Any]
BINARY = ("parquet",)
"""Formats that need a binary stream."""

_BATCH = 8192
_SHOWN = 600  # characters of a post in a table


def write_rows(
    stream: IO[Any],
    rows: Iterable[Row],
    format: str,
    *,
    columns: Sequence[str] = RANKED,
    titles: Mapping[str, str] | None = None,
    terminal: bool = False,
) -> None:
    """Write rows as they come; only a table needs a list of them at once.

    Missing and None values are empty. The formats in `BINARY` need a stream of bytes. A table and a
    TREC run have columns of their own; a table shows the articles' titles, which go by id, and is
    colored on a terminal.
    """
    if format == "table":
        _table(stream, rows, {} if titles is None else titles, terminal)
    elif format == "trec":
        for row in rows:
            location = f"{row['article']} Q0 {row['post']} {row['rank']}"
            stream.write(f"{location} {row['score']:.6f} siamese_news\n")
    elif format == "csv":
        cells = ((_cell(row.get(name)) for name in columns) for row in rows)
        write_csv(stream, columns, cells)
    elif format == "jsonl":
        for row in rows:
            record = {name: row.get(name) for name in columns}
            stream.write(json.dumps(record, ensure_ascii=False) + "\n")
    else:
        _parquet(stream, rows, columns)


def row_of(item: RankedPost) -> ResultRow:
    """The columns of a ranked post that need no other post."""
    return {
        "article": item.article.id,
        "rank": item.rank,
        "score": item.score,
        "relevance": item.relevance,
        **post_columns(item.post),
    }


def console(stream: IO[str], terminal: bool) -> "Console":
    """A console that prints tables: as wide as the terminal, or 140 columns."""
    from rich.console import Console

    return Console(
        file=stream, width=None if terminal else 140, force_terminal=terminal
    )


def empty_table(title: str, columns: Iterable[str], texts: Collection[str]) -> "Table":
    """A table without rows; `texts` are the columns that are not aligned as numbers."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title), title_justify="left")
    for name in columns:
        table.add_column(
            name, justify="left" if name in texts else "right", overflow="fold"
        )
    return table


def add_row(table: "Table", cells: Iterable[str], style: str = "") -> None:
    """Add a row whose cells are plain text: brackets in a post are not markup."""
    from rich.text import Text

    table.add_row(*map(Text, cells), style=style)


def _table(
    stream: IO[str], rows: Iterable[Row], titles: Mapping[str, str], terminal: bool
) -> None:
    for posts in _lists(rows):
        seed = posts[0]["article"]
        several = any(row["article"] != seed for row in posts)
        copies = any((row.get("cluster_size") or 1) > 1 for row in posts)
        title = "all seeds" if several else clean(f"{seed}: {titles.get(seed) or seed}")
        optional_columns = ["seed"] * several + ["copies"] * copies
        likely = ["relevance"] * any(row.get("relevance") is not None for row in posts)
        columns = ["rank", "score", *likely, *optional_columns, "post", "text"]
        table = empty_table(title, columns, texts=("seed", "post", "text"))
        for row in posts:
            text = clean(row.get("text") or "")
            relevance = row.get("relevance")
            cells = {
                "rank": str(row["rank"]),
                "score": f"{row['score']:.4f}",
                "relevance": "" if relevance is None else shown_relevance(relevance),
                "seed": clean(row["article"]),
                "copies": str(row.get("cluster_size") or ""),
                "post": clean(row["post"]),
                "text": text if len(text) <= _SHOWN else f"{text[:_SHOWN]} …",
            }
            add_row(table, [cells[name] for name in columns])
        console(stream, terminal).print(table)


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


def _cell(value: Any) -> Any:
    # A term may be two words.
    return "; ".join(value) if isinstance(value, list) else value


def _parquet(stream: IO[bytes], rows: Iterable[Row], columns: Sequence[str]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    types: dict[Kind, Any] = {
        "text": pa.string(),
        "number": pa.float64(),
        "whole": pa.int64(),
        "terms": pa.list_(pa.string()),
    }
    schema = pa.schema([(name, types[KINDS.get(name, "text")]) for name in columns])
    with pq.ParquetWriter(stream, schema, compression="zstd") as writer:
        stream_rows = iter(rows)
        while batch := list(islice(stream_rows, _BATCH)):
            values = {name: [row.get(name) for row in batch] for name in columns}
            writer.write_table(pa.table(values, schema=schema))
