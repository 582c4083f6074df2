"""``siamese-news keywords``."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from siamese_news.cli.options import (
    EncodingOption,
    IdFieldOption,
    LongWindowOption,
    ModelOption,
    PostsOption,
    StrictOption,
    TextFieldOption,
    ThreadsOption,
)
from siamese_news.cli.outputs import ForceOption, check_output, files_read
from siamese_news.cli.reading import echo, read_seeds, say_again, say_posts
from siamese_news.search.query import Query
from siamese_news.search.threads import use_threads
from siamese_news.utils.exits import bad_input_exits

if TYPE_CHECKING:
    from siamese_news.search.files import FilePool


def keywords(
    posts: PostsOption,
    results: Annotated[
        Path | None, typer.Option(help="Accepted posts: a results file from rank or filter.")
    ] = None,
    articles: Annotated[
        list[str] | None,
        typer.Option(help="Seed articles to rank the posts for, instead of --results."),
    ] = None,
    model: ModelOption = None,
    top: Annotated[
        int, typer.Option(min=1, help="With --articles: number of best posts to accept.")
    ] = 200,
    limit: Annotated[int, typer.Option(min=1, help="Number of terms to list.")] = 20,
    format: Annotated[
        Literal["table", "jsonl", "csv"], typer.Option(help="Output format.")
    ] = "table",
    out: Annotated[Path | None, typer.Option(help="File to write (default: the terminal).")] = None,
    force: ForceOption = False,
    text_field: TextFieldOption = None,
    id_field: IdFieldOption = None,
    encoding: EncodingOption = None,
    long_window: LongWindowOption = False,
    strict: StrictOption = False,
    threads: ThreadsOption = None,
) -> None:
    """List the words that would have found these posts, for a search by keywords.

    Example: siamese-news keywords --results found.jsonl --posts tweets.jsonl.gz --limit 15

    For each term: how many accepted posts it adds, and how many other posts contain it.

    Exit codes: 0 success, 1 output cannot be written, 2 bad input, 130 interrupted.
    """
    with bad_input_exits():
        from siamese_news.data.readers import open_posts
        from siamese_news.errors import InputError
        from siamese_news.search.files import FilePool
        from siamese_news.search.keywords import find_keywords, write_keywords
        from siamese_news.utils.files import atomic_write

        use_threads(threads)
        if (results is None) == (not articles):
            raise InputError("expected either --results or --articles, to know the accepted posts")
        read = files_read(posts=posts, articles=articles or [], model=model, others=[results])
        check_output(out, read, force=force)
        query = Query(
            articles=articles or (),
            posts=posts,
            model=model,
            top=top,
            one_story=True,
            text_field=text_field,
            id_field=id_field,
            encoding=encoding,
            long_window=long_window,
            strict=strict,
        )
        source = open_posts(posts, **query.reading())
        say_posts(source)
        source.spool()
        pool = FilePool(source, again=say_again)
        accepted = _best(query, pool) if results is None else _ids(results)
        found = find_keywords(pool, accepted, limit=limit)
        if out is None:
            write_keywords(sys.stdout, found, format, terminal=sys.stdout.isatty())
            return
        with atomic_write(out) as stream:
            write_keywords(stream, found, format, terminal=False)
        echo(f"{out}: {len(found.keywords)} terms")


def _ids(results: Path) -> set[str]:
    """The ids in a file of results, which may hold no text."""
    from siamese_news.data.readers import open_posts
    from siamese_news.errors import InputError
    from siamese_news.utils.terminal import unguarded

    try:
        stream = open_posts([results], id_field="post", text_field="post")
    except InputError as error:
        if "(--text-field)" not in str(error):
            raise
        raise InputError(
            f"{results}: has no column 'post'; expected a file that rank or filter wrote, for "
            "--results: to search for stories first, name them with --articles"
        ) from error
    return {unguarded(post.id) for post in stream}


def _best(query: Query, pool: "FilePool") -> set[str]:
    """The ids of the best posts over all articles."""
    from siamese_news.search.opening import open_query
    from siamese_news.search.rank import search

    opened = open_query(query, read_seeds(query))
    ranking = search(opened.scorer(), opened.seeds, pool, top=query.top, texts=False)
    for line in pool.summary(ranking.scanned):
        echo(line)
    return {post.id for post in ranking.posts()}
