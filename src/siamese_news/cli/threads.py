"""``siamese-news threads``."""

from pathlib import Path
from typing import Annotated

import typer

from siamese_news.cli.outputs import (
    ForceOption,
    check_query_output,
    format_of,
    open_output,
    write_meta,
)
from siamese_news.cli.search_inputs import file_pool
from siamese_news.cli.search_options import search_command
from siamese_news.search.query import READING, Query
from siamese_news.utils.provenance import command
from siamese_news.utils.terminal import echo


@search_command(
    Query(),
    ["posts", "out", *READING],
    required=["posts", "out"],
    helps={"out": "File to write: .jsonl, .csv or .parquet."},
)
def threads(
    query: Query,
    results: Annotated[
        Path, typer.Option(help="The posts found: a results file from rank or filter.")
    ],
    posts_per_thread: Annotated[
        int,
        typer.Option(
            "--most",
            min=1,
            help="Most posts of a thread: those found, then the posts they answer, then replies.",
        ),
    ] = 100,
    force: ForceOption = False,
) -> None:
    """Collect the thread of each post found: the posts it answers and the replies to it.

    Example: siamese-news threads --results found.jsonl --posts dump/ --out threads.jsonl

    Threads are ordered by their best post; mean3 is the mean of the best three. siamese-news report
    shows each thread as one entry.
    """
    from siamese_news.data.columns import THREADED
    from siamese_news.data.results import result_meta
    from siamese_news.search.conversations import bring_threads
    from siamese_news.search.result_files import write_rows

    out = query.out
    format = format_of(query, None, ("jsonl", "csv", "parquet")).format
    assert out is not None and format is not None
    check_query_output(query, results, force=force)
    pool = file_pool(query)
    rows, remarks = bring_threads(results, pool, limit=posts_per_thread)
    echo(str(pool.stream.counts))
    with open_output(out, format) as (target, _):
        write_rows(target, rows, format, columns=THREADED)
    meta = result_meta(results)
    lines = "\n".join(filter(None, [meta.get("command"), command()]))
    write_meta(
        out,
        **{
            **meta,
            "command": lines,
            "remarks": [*(meta.get("remarks") or ()), *remarks],
        },
    )
    for line in remarks:
        echo(line)
