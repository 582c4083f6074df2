"""The seeds and posts of a search, each listed on the console before the work starts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from pathlib import Path

    from siamese_news.data.readers import PostStream
    from siamese_news.data.records import Article
    from siamese_news.model.loading import AnyModel
    from siamese_news.search.index.pool import PostIndex
    from siamese_news.search.pool import Pool
    from siamese_news.search.query import Query
    from siamese_news.search.seeds import Decided, Seeds
    from siamese_news.search.window import Window

_SHOWN = 10
_WIDTH = 70


def read_seeds(query: "Query") -> "Seeds":
    """Read the seed articles of a search and list them on the console.

    Unless the query is strict, an article without title and text is skipped with a warning.
    """
    from siamese_news.data.articles import read_articles
    from siamese_news.errors import InputError
    from siamese_news.search.remarks import stub_remarks
    from siamese_news.search.seeds import Seeds

    if sum("-" in names for names in (query.articles, query.negatives, query.posts)) > 1:
        raise InputError("standard input (-) is named twice; expected one of articles and posts")
    aside: list[str] = []

    def set_aside(reason: str) -> None:
        aside.append(reason)
        echo(f"article skipped (--strict stops here): {reason}")

    keep = None if query.strict else set_aside
    pushing = read_articles(query.negatives, set_aside=keep) if query.negatives else []
    pulling = read_articles(query.articles, set_aside=keep)
    seeds = Seeds(pulling, pushing, query.one_story, query.aggregate, aside)
    _say_seeds(seeds.articles, seeds.negatives)
    for remark in stub_remarks([*seeds.articles, *seeds.negatives]):
        echo(remark)
    return seeds


def open_pool(query: "Query", model: "AnyModel") -> "Pool":
    """The posts of a search: its files, or its index.

    Raises:
        InputError: not exactly one of the two, or what is wrong with it.
    """
    from siamese_news.cli.outputs import rejected_file
    from siamese_news.data.readers import open_posts
    from siamese_news.errors import InputError
    from siamese_news.search.files import FilePool

    if bool(query.posts) == bool(query.index):
        raise InputError("expected either --posts or --index, to know which posts to search")
    if query.index is None:
        stream = open_posts(query.posts, rejected=rejected_file(query.out), **query.reading())
        say_posts(stream)
        stream.spool()
        return FilePool(stream, out=query.out, again=say_again)
    if given := [name for name, value in query.reading().items() if value]:
        raise InputError(
            f"--{given[0].replace('_', '-')} applies to files of posts, not to --index; leave it "
            "out, or pass it to siamese-news index"
        )
    return open_index_of(query.index, model)


def open_index_of(path: "Path", model: "AnyModel") -> "PostIndex":
    """Open an index and report its state."""
    from siamese_news.search.index.pool import open_index

    index = open_index(path, model)
    index.again = lambda reason: echo(f"the scores depend on all posts: {reason}")
    echo(f"index {path}: {len(index):,} posts")
    for name in index.manifest.changed_sources():
        echo(
            f"{name}: has changed since the index was built; add new posts with siamese-news index "
            "--add"
        )
    return index


def say_again(reason: str) -> None:
    """Report why another pass is needed."""
    echo(f"the posts are scored once more: {reason}")


def say_found(summary: "Sequence[str]", decided: "Decided", window: "Window") -> None:
    """Report what was read, what the search looked for, and how many posts have no date."""
    for line in summary:
        echo(line)
    if said := str(decided):
        echo(said)
    if window.undated:
        total = window.undated + window.dated
        what = "left out" if window.dated_only else "kept; --dated-only leaves them out"
        echo(f"{window.undated:,} of {total:,} posts have no readable date: {what}")


def _say_seeds(seeds: "Sequence[Article]", negatives: "Sequence[Article]") -> None:
    """List the articles: id, title or first words, and number of words."""
    for kind, articles in (("seed", seeds), ("not", negatives)):
        for article in articles[:_SHOWN]:
            words = len(article.full_text.split())
            start = " ".join((article.title or article.text).split())
            start = start if len(start) <= _WIDTH else start[: _WIDTH - 1] + "…"
            echo(f'{kind} {article.id}: "{start}", {words:,} word{"" if words == 1 else "s"}')
        if len(articles) > _SHOWN:
            echo(f"and {len(articles) - _SHOWN:,} more ({kind})")


def say_posts(posts: "PostStream") -> None:
    """List the files of posts, their formats, and what was skipped."""
    for found in posts.detected[:_SHOWN]:
        fields = f": text from '{found.text_field}', id from '{found.id_field}'"
        echo(f"posts {found.source}: {found.described}{fields if found.text_field else ''}")
    if len(posts.detected) > _SHOWN:
        echo(f"and {len(posts.detected) - _SHOWN:,} more files of posts")
    for path in posts.own:
        echo(f"{path}: skipped; it is a results file of this program")
    for path in posts.unknown[:_SHOWN]:
        echo(f"{path}: skipped because of its extension; name the file itself if it contains posts")
    if len(posts.unknown) > _SHOWN:
        echo(f"and {len(posts.unknown) - _SHOWN:,} more files skipped because of their extensions")
    for message in posts.unreadable[:_SHOWN]:  # all of them are named at the end
        echo(f"skipped (--strict stops here): {message}")


def echo(line: str) -> None:
    """Print a line on standard error, without control characters."""
    from siamese_news.utils.terminal import clean

    typer.echo(clean(line), err=True)
