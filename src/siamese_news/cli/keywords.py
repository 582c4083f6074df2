"""``siamese-news keywords``."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from siamese_news.cli.options import search_command
from siamese_news.cli.outputs import ForceOption, check_query_output, open_output, write_meta
from siamese_news.cli.reading import echo, file_pool, read_seeds
from siamese_news.errors import InputError
from siamese_news.search.cpu_threads import use_threads
from siamese_news.search.query import Query
from siamese_news.utils.terminal import counted


@search_command(
    Query(one_story=True, top=200),
    "posts articles model top out text_field id_field encoding strict threads",
    needs="posts",
    helps={
        "articles": "Seed articles to rank the posts for, instead of --results.",
        "top": "With --articles: number of best posts to accept.",
    },
)
def keywords(
    query: Query,
    results: Annotated[
        Path | None, typer.Option(help="Accepted posts: a results file from rank or filter.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Number of terms to list.")] = 20,
    format: Annotated[
        Literal["table", "jsonl", "csv"], typer.Option(help="Output format.")
    ] = "table",
    force: ForceOption = False,
) -> None:
    """List the words that would have found these posts, for a search by keywords.

    Example: siamese-news keywords --results found.jsonl --posts tweets.jsonl.gz --limit 15

    For each term: how many accepted posts it adds, and how many other posts contain it.
    """
    from siamese_news.search.keywords import find_keywords, write_keywords
    from siamese_news.search.opening import open_query
    from siamese_news.search.rank import search

    use_threads(query.threads)
    if (results is None) == (not query.articles):
        raise InputError("expected either --results or --articles, to know the accepted posts")
    check_query_output(query, results, force=force)
    pool = file_pool(replace(query, out=None))
    if results is None:
        opened = open_query(query, read_seeds(query))
        ranking = search(opened.scorer(), opened.seeds, pool, top=query.top, texts=False)
        for line in pool.summary(ranking.seen):
            echo(line)
        accepted = {post.id for post in ranking.posts()}
    else:
        accepted = _ids(results)
    found = find_keywords(pool, accepted, limit=limit)
    with open_output(query.out, format) as (stream, terminal):
        write_keywords(stream, found, format, terminal=terminal)
    write_meta(query.out)
    if not found.keywords:
        echo("no term is surely more frequent in the accepted posts; accept more posts")
    if query.out is not None:
        echo(f"{query.out}: {counted(len(found.keywords), 'term')}")


def _ids(results: Path) -> set[str]:
    """The ids in a file of results."""
    from siamese_news.labels.results import found_rows

    ids = set()
    for where, row in found_rows(results):
        if "post" not in row:
            raise InputError(
                f"{where}: has no column 'post'; expected a file that rank or filter wrote, for "
                "--results: to search for stories first, name them with --articles"
            )
        ids.add(str(row["post"]))
    return ids
