"""``siamese-news rerank``."""

from typing import Annotated, Literal

import typer

from siamese_news.cli.outputs import (
    ForceOption,
    check_query_output,
    format_of,
    open_output,
    write_meta,
)
from siamese_news.cli.search_options import search_command
from siamese_news.search.cpu_threads import use_threads
from siamese_news.search.query import Query
from siamese_news.utils.terminal import counted, echo


@search_command(
    Query(),
    ["model", "posts", "top", "format", "out"],
    required=["model", "posts"],
    helps={
        "model": "Model folder from training with task=rerank, or a folder of several: "
        "their mean probability.",
        "top": "Number of posts to list.",
    },
)
def rerank(
    search: Query,
    query: Annotated[str, typer.Option(help="Keywords.")],
    first_stage: Annotated[
        Literal["none", "bm25"],
        typer.Option(help="bm25: rerank only the 1,000 best posts by BM25."),
    ] = "none",
    force: ForceOption = False,
) -> None:
    """Rank posts for a keyword query with a trained reranker, such as samCNN.

    Example: siamese-news rerank --model DIR --query "oscars snub affleck" --posts posts.jsonl
    """
    from siamese_news.data.readers import open_posts
    from siamese_news.model.ranker_ensemble import open_ranker
    from siamese_news.search.reranking import rerank_posts
    from siamese_news.search.result_files import row_of, write_rows

    use_threads()
    search = format_of(search, "table")
    check_query_output(search, force=force)
    assert search.model is not None and search.format is not None
    reranked = rerank_posts(
        open_ranker(search.model),
        query,
        list(open_posts(search.posts, strict=True)),
        top=search.top,
        first_stage=first_stage,
    )
    with open_output(search.out, search.format) as (stream, terminal):
        write_rows(
            stream,
            map(row_of, reranked),
            search.format,
            titles={"query": query},
            terminal=terminal,
        )
    write_meta(search.out)
    if search.out is not None:
        echo(f"{search.out}: {counted(len(reranked), 'post')}")
