"""``siamese-news keywords``."""

from dataclasses import replace
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
from siamese_news.errors import InputError
from siamese_news.search.query import Query
from siamese_news.utils.terminal import counted, echo


@search_command(
    Query(),
    ["posts", "format", "out", "text_field", "id_field", "encoding"],
    required=["posts"],
    formats=["table", "jsonl", "csv"],
    helps={"posts": "The posts that were searched."},
)
def keywords(
    query: Query,
    results: Annotated[
        Path, typer.Option(help="Accepted posts: a results file from rank or filter.")
    ],
    limit: Annotated[int, typer.Option(min=1, help="Number of terms to list.")] = 20,
    force: ForceOption = False,
) -> None:
    """List the words that would have found these posts, for a search by keywords.

    Example: siamese-news keywords --results found.jsonl --posts tweets.jsonl.gz --limit 15

    For each term: how many accepted posts it adds, and how many other posts contain it.
    """
    from siamese_news.search.keyword_list import find_keywords, write_keywords

    query = format_of(query, "table", ("table", "jsonl", "csv"))
    check_query_output(query, results, force=force)
    pool = file_pool(replace(query, out=None))
    texts = _texts(results)
    keyword_list = find_keywords(pool, texts, limit=limit, texts=texts.values())
    with open_output(query.out, str(query.format)) as (stream, terminal):
        write_keywords(stream, keyword_list, str(query.format), terminal=terminal)
    write_meta(query.out)
    if not keyword_list.keywords:
        echo("no term is surely more frequent in the accepted posts; accept more posts")
    if query.out is not None:
        echo(f"{query.out}: {counted(len(keyword_list.keywords), 'term')}")


def _texts(results: Path) -> dict[str, str]:
    """The ids in a file of results, with the texts of the posts, or empty ones."""
    from siamese_news.data.results import found_rows

    texts = {}
    for location, row in found_rows(results):
        if "post" not in row:
            raise InputError(
                f"{location}: has no column 'post'; expected a file that rank or filter wrote, for "
                "--results"
            )
        texts[str(row["post"])] = str(row.get("text") or "")
    return texts
