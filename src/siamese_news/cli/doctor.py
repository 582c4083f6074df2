"""``siamese-news doctor``."""

import json
import os
import tempfile
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, get_args

import typer

from siamese_news.cli.options import search_command
from siamese_news.errors import InputError
from siamese_news.search.query import Query
from siamese_news.utils.files import cache_folder
from siamese_news.utils.terminal import clean, counted

ROWS = 10_000
_SHOWN = 3
_FILES = 20
_WIDTH = 100


@search_command(
    Query(),
    "model text_field id_field date_field encoding long_window",
    helps={"model": "Model folder to check as well."},
)
def doctor(
    query: Query,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILES]...",
            help="Posts or articles: files, folders, globs, or - for standard input.",
        ),
    ] = None,
) -> None:
    """Show the format of files, the posts that would be read from them, and the installation.

    Example: siamese-news doctor tweets.jsonl.gz comments.csv story.html

    Reads the first 10,000 rows of each file and writes nothing.
    """
    failed = False
    for source in ([query.model] if query.model else []) + (files or []):
        try:
            if isinstance(source, Path):
                _model(source)
            else:
                failed |= _file(source, query)
        except InputError as error:
            failed = True
            _say(f"cannot be read: {error}")
        typer.echo()
    _installed()
    _data()
    if failed:
        raise typer.Exit(2)


def _say(line: str, indent: int = 0) -> None:
    typer.echo(" " * indent + clean(line))


def _installed() -> None:
    import platform
    from importlib import metadata

    from siamese_news.search.cpu_threads import thread_count
    from siamese_news.utils.extras import absent, extras
    from siamese_news.utils.plugins import Kind, added, package_of

    try:
        import torch
    except ImportError:
        backend = "without torch, which only encoders and training need"
    else:
        device = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
        backend = f"torch {torch.__version__} ({device})"
    _say(
        f"siamese-news {metadata.version('siamese-news')}, Python {platform.python_version()} on "
        f"{platform.system()}, {thread_count()} threads, {backend}"
    )
    for kind in get_args(Kind):
        for name, point in added(kind).items():
            _say(f"{kind}: {name}, added by the package {package_of(point)}", 2)
    for extra, packages in extras().items():
        if extra:
            missing = ", ".join(absent(packages))
            advice = f"missing {missing}: pip install 'siamese-news[{extra}]'"
            _say(f"extra {extra}: {advice if missing else 'installed'}", 2)


def _data() -> None:
    from siamese_news.text.vectors import KUMO

    offline = "found" if find_spec(KUMO.replace("-", "_")) else "not installed (extra glove)"
    _say(f"vectors {KUMO}: {offline}", 2)
    for variable, what in (
        ("SIAMESE_NEWS_VECTORS", "other vectors"),
        ("SIAMESE_NEWS_DATA", "collections to train and evaluate on"),
    ):
        folder = os.environ.get(variable)
        state = "not set"
        if folder:
            state = f"{folder}, which is not a folder"
            if Path(folder).is_dir():
                names = sorted(item.name for item in Path(folder).iterdir())
                state = f"{folder}: {', '.join(names[:10]) or 'empty'}"
        _say(f"{variable} ({what}): {state}", 2)
    _say(f"cache of converted vectors: {cache_folder()}", 2)
    try:
        from siamese_news.attention.compiled import library
    except ImportError:  # an extra; the list of extras says that it is missing
        return
    loop, words = library()
    _say(f"loop of ring attention: {words if loop else 'not compiled, ' + words}", 2)


def _model(folder: Path) -> None:
    from siamese_news.model.folder import folder_sha256, read_folder

    config, arrays, words = read_folder(folder)
    numbers = sum(array.size for array in arrays.values())
    _say(f"{folder}: a complete model folder, sha256 {folder_sha256(folder)[:16]}")
    encoder = config.get("encoder") or config.get("ranker") or {}
    kind = encoder.get("class", "unknown") if isinstance(encoder, dict) else "unknown"
    _say(f"{kind}, {len(words):,} words, {numbers:,} numbers", 2)


def _file(name: str, query: Query) -> bool:
    """Describe a file or folder; whether some of it cannot be read."""
    from siamese_news.data.articles import ONLY_ARTICLES, read_articles
    from siamese_news.data.readers.inputs import plain_suffix

    if plain_suffix(name) not in ONLY_ARTICLES:
        with tempfile.TemporaryDirectory() as folder:
            return _posts(name, query, Path(folder) / "rejected.jsonl")
    articles = read_articles([name])
    _say(f"{name}: {counted(len(articles), 'article')}")
    for article in articles[:_SHOWN]:
        _say(f"{article.id} | {article.title or 'no title'} | {article.text}"[:_WIDTH], 4)
    return False


def _posts(name: str, query: Query, rejected: Path) -> bool:
    from siamese_news.data.readers import open_posts

    stream = open_posts([name], rejected=rejected, first_rows=ROWS, **query.reading())
    for found in stream.detected[:_FILES]:
        _say(f"{found.source}: {found.described}")
        if found.text_field:
            _say(f"text from '{found.text_field}', id from '{found.id_field}'", 2)
        texts = () if found.fields is None or found.fields.joined else found.fields.texts[1:]
        if others := ", ".join(f"'{name}'" for name in texts if name in found.names):
            _say(f"could be the text as well: {others} (choose with --text-field)", 2)
    if len(stream.detected) > _FILES:
        _say(f"and {len(stream.detected) - _FILES} more files", 2)
    for path in stream.skipped.own[:_FILES]:
        _say(f"{path}: an earlier result of this program, not read as posts", 2)
    for path in stream.skipped.unknown[:_FILES]:
        _say(f"{path}: skipped because of its extension", 2)
    for message in stream.unreadable[:_FILES]:
        _say(f"cannot be read and would be left out: {message}", 2)
    posts = iter(stream)
    first = list(islice(posts, _SHOWN))
    dates = [str(date) for p in chain(first, posts) if (date := p.metadata.get("created_at"))]
    _say(f"of the first {ROWS:,} rows of each file: {stream.counts}", 2)
    if dates:
        left = stream.counts.read - len(dates)
        without = f"; {left:,} without a readable date" if left else ""
        _say(f"dates from {min(dates)[:10]} to {max(dates)[:10]}{without}", 2)
    else:
        fields = [f.fields.metadata.get("created_at") for f in stream.detected if f.fields]
        advice = "if there are any, name their field with --date-field"
        if named := next(filter(None, fields), None):
            advice = f"write those of '{named}' as 2018-11-10 (10/11/2018 may be two days)"
        _say(f"no dates were found; {advice}", 2)
    for post in first:
        _say(f"{post.id} | {post.text}"[:_WIDTH], 4)
        if post.metadata:
            _say(", ".join(f"{k} {v}" for k, v in post.metadata.items())[: 2 * _WIDTH], 6)
    examples: dict[str, dict[str, str]] = {}  # the first of each reason
    for line in rejected.read_text(encoding="utf-8").splitlines() if rejected.exists() else ():
        row = json.loads(line)
        examples.setdefault(row["reason"], row)
    for row in examples.values():
        _say(f"bad: {row['source']}:{row['line']}: {row['detail']}"[:300], 4)
    return bool(stream.unreadable)
