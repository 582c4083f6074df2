"""``siamese-news keywords``."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from siamese_news.cli.common import bad_input_exits, load_model
from siamese_news.cli.inputs import read_seeds, say_posts
from siamese_news.cli.options import (
    Aggregate,
    EncodingOption,
    IdFieldOption,
    LongWindowOption,
    ModelOption,
    PostsOption,
    StrictOption,
    TextFieldOption,
    ThreadsOption,
)
from siamese_news.cli.outputs import ForceOption, claim, files_read
from siamese_news.cli.progress import Watched
from siamese_news.search.threads import use_threads

if TYPE_CHECKING:
    from siamese_news.data.readers import PostStream


class KeywordFormat(StrEnum):
    """How the list is written."""

    table = "table"
    jsonl = "jsonl"
    csv = "csv"


def keywords(
    posts: PostsOption,
    results: Annotated[
        Path | None, typer.Option(help="Accepted posts: what rank or filter wrote.")
    ] = None,
    articles: Annotated[
        list[str] | None, typer.Option(help="Seed articles, to rank first, instead of --results.")
    ] = None,
    model: ModelOption = None,
    top: Annotated[
        int, typer.Option(min=1, help="With --articles: accept so many of the best posts.")
    ] = 200,
    limit: Annotated[int, typer.Option(min=1, help="Terms to list.")] = 20,
    format: Annotated[KeywordFormat, typer.Option(help="How to write it.")] = KeywordFormat.table,
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

    With each term: how many accepted posts it adds, how many other posts have it too.

    Exit codes: 0 done, 1 output cannot be written, 2 bad input (says what), 130 interrupted.
    """
    with bad_input_exits():
        from siamese_news.data.readers import open_posts
        from siamese_news.errors import InputError
        from siamese_news.search.keywords import find_keywords, write_keywords
        from siamese_news.utils.files import atomic_write

        use_threads(threads)
        if (results is None) == (not articles):
            raise InputError("expected either --results or --articles, to know the accepted posts")
        read = files_read(posts=posts, articles=articles or [], model=model, others=[results])
        claim(out, read, force=force)
        pool = open_posts(
            posts,
            text_field=text_field,
            id_field=id_field,
            encoding=encoding,
            long_window=long_window,
            strict=strict,
        )
        say_posts(pool)
        pool.spool()
        if results is not None:
            accepted = _ids(results)
        else:
            assert articles is not None
            accepted = _best(articles, pool, posts, model, top, strict)
        found = find_keywords(Watched(pool), accepted, limit=limit)
        if out is None:
            write_keywords(sys.stdout, found, format.value, terminal=sys.stdout.isatty())
            return
        with atomic_write(out) as stream:
            write_keywords(stream, found, format.value, terminal=False)
        typer.echo(f"{out}: {len(found.keywords)} terms", err=True)


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


def _best(
    articles: list[str],
    pool: "PostStream",
    posts: list[str],
    model: Path | None,
    top: int,
    strict: bool,
) -> set[str]:
    """The ids of the best posts over all articles."""
    from siamese_news.scoring import open_scorer
    from siamese_news.search.languages import SearchLanguages
    from siamese_news.search.rank import search
    from siamese_news.search.spool import Spool

    seeds = read_seeds(
        articles, None, over=True, aggregate=Aggregate.max, posts=posts, strict=strict
    )
    encoder, _ = load_model(model)
    stop_words = SearchLanguages(seeds.articles).stop_words(encoder)
    watched = Watched(pool)
    ranking = search(
        open_scorer(encoder, seeds.texts, one_story=True, stop_words=stop_words),
        seeds,
        watched,
        top=top,
        texts=False,
        again=watched.again,
        spool=Spool(watch=watched.blocks),
    )
    watched.finish(ranking.scanned)
    return {post.id for post in ranking.posts()}
