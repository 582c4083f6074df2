"""The seeds and posts of a search, each listed on the console before the work starts."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from siamese_news.errors import InputError
from siamese_news.search.query import Query
from siamese_news.utils.files import is_stream
from siamese_news.utils.terminal import counted, echo

if TYPE_CHECKING:
    from siamese_news.data.readers import PostStream
    from siamese_news.data.records import Post
    from siamese_news.model.loading import AnyModel
    from siamese_news.search.file_pool import FilePool
    from siamese_news.search.index.post_index import PostIndex
    from siamese_news.search.pool import Pool
    from siamese_news.search.seeds import Seeds

_SHOWN = 10
_WIDTH = 70
_MANY = 5000  # seeds that are more likely posts


def read_seeds(query: Query) -> "Seeds":
    """Read the seed articles of a search, and list them on the console.

    An article without title and text is skipped with a warning.
    """
    from siamese_news.data.articles import read_articles
    from siamese_news.search.remarks import stub_remarks
    from siamese_news.search.seeds import Seeds
    from siamese_news.text.spaceless import length_of

    if (
        sum("-" in names for names in (query.articles, query.negatives, query.posts))
        > 1
    ):
        raise InputError(
            "standard input (-) is named twice; expected one of articles and posts"
        )
    aside: list[str] = []

    def set_aside(reason: str) -> None:
        aside.append(reason)
        echo(f"article skipped: {reason}")

    negatives = (
        read_articles(query.negatives, set_aside=set_aside) if query.negatives else []
    )
    articles = read_articles(query.articles, set_aside=set_aside)
    seeds = Seeds(
        articles,
        negatives,
        query.one_story,
        aside,
        bool(query.distinct),
    )
    for kind, kind_articles in (("seed", articles), ("not", negatives)):
        lines = []
        for article in kind_articles:
            start = " ".join((article.title or article.text).split())
            start = start if len(start) <= _WIDTH else start[: _WIDTH - 1] + "…"
            lines.append(
                f'{kind} {article.id}: "{start}", {counted(*length_of(article.full_text))}'
            )
        for line in _shortened(lines, f"more ({kind})"):
            echo(line)
    for remark in stub_remarks([*articles, *negatives]):
        echo(remark)
    if len(articles) >= _MANY and not query.one_story:
        echo(
            f"{len(articles):,} articles, with a list each; are --articles and --posts exchanged?"
        )
    return seeds


def open_files(query: Query, **options: Any) -> "PostStream":
    """The posts of a query's files, which are listed on the console; `options` is for `open_posts`."""
    from siamese_news.data.articles import ONLY_ARTICLES
    from siamese_news.data.readers import open_posts
    from siamese_news.data.readers.inputs import plain_suffix

    try:
        posts = open_posts(query.posts, **query.reading(), **options)
    except InputError as error:
        if any(plain_suffix(name) in ONLY_ARTICLES for name in query.posts):
            raise InputError(f"{error}; name articles with --articles") from error
        if indexes := [
            name for name in query.posts if (Path(name) / "manifest.json").is_file()
        ]:
            raise InputError(
                f"{indexes[0]}: is an index; name it with --index"
            ) from error
        raise
    for name in query.posts:
        if name in query.articles:
            echo(f"{name}: is named as articles and as posts; are the names right?")
    for line in described(posts):
        echo(line)
    return posts


def described(posts: "PostStream", max_lines: int = _SHOWN) -> list[str]:
    """At most so many files of posts with their formats and fields, and those left out."""
    files = [
        f"posts {file.source}: {file.described}"
        + (
            f": text from '{file.text_field}', id from '{file.id_field}'"
            if file.text_field
            else ""
        )
        for file in posts.detected
    ]
    columns = [
        f"{path}: skipped; it is a results file of this program"
        for path in posts.skipped.our_files
    ]
    advice = (
        "skipped because of its extension; name the file itself if it contains posts"
    )
    unknown = [f"{path}: {advice}" for path in posts.skipped.unknown]
    # All of these are named at the end.
    unreadable = [f"skipped: {message}" for message in posts.unreadable]
    return [
        *_shortened(files, "more files of posts", max_lines),
        *_shortened(
            [line for file in posts.detected for line in file.remarks],
            "more remarks",
            max_lines,
        ),
        *columns,
        *_shortened(
            unknown, "more files skipped because of their extensions", max_lines
        ),
        *unreadable[:max_lines],
    ]


def file_pool(query: Query, note: Callable[["Post"], None] | None = None) -> "FilePool":
    """The posts of a query's files as a pool, which can be read several times (`FilePool`)."""
    from siamese_news.search.file_pool import FilePool

    out = None if query.out is None or is_stream(query.out) else query.out
    rejected = out and out.with_name(out.name + ".rejected.jsonl")
    stream = open_files(query, rejected=rejected)
    stream.spool()
    pool = FilePool(stream, out=query.out, note=note)
    pool.on_second_pass = lambda reason: echo(
        f"the posts are scored once more: {reason}"
    )
    return pool


def open_pool(query: Query, model: "AnyModel") -> "Pool":
    """The posts of a search: its files, or its index; an `InputError` unless one is named."""
    if bool(query.posts) == bool(query.index):
        raise InputError(
            "expected either --posts or --index, to know which posts to search"
        )
    if query.index is None:
        return file_pool(query)
    if options_given := [name for name, value in query.reading().items() if value]:
        raise InputError(
            f"--{options_given[0].replace('_', '-')} applies to files of posts, not to --index; leave "
            "it out, or pass it to siamese-news index"
        )
    return open_index_of(query.index, model)


def open_index_of(path: Path, model: "AnyModel") -> "PostIndex":
    """Open an index and report its state."""
    from siamese_news.search.index.post_index import open_index

    index = open_index(path, model)
    index.on_second_pass = lambda reason: echo(
        f"the scores depend on all posts: {reason}"
    )
    echo(f"index {path}: {counted(len(index), 'post')}")
    for name in index.manifest.changed_sources():
        echo(
            f"{name}: has changed since the index was built; add new posts with siamese-news index "
            "--add"
        )
    return index


def _shortened(
    lines: Sequence[str], unlisted: str, max_lines: int = _SHOWN
) -> list[str]:
    """The first lines, and the number of further ones."""
    n_unlisted = len(lines) - max_lines
    return [
        *lines[:max_lines],
        *([f"and {n_unlisted:,} {unlisted}"] if n_unlisted > 0 else []),
    ]
