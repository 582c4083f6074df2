"""``siamese-news doctor``."""

import json
import tempfile
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, get_args

import typer

from siamese_news.cli.search_inputs import described
from siamese_news.cli.search_options import search_command
from siamese_news.errors import InputError
from siamese_news.search.query import Query
from siamese_news.utils.exits import ending
from siamese_news.utils.terminal import clean, counted

ROWS = 10_000
_SHOWN = 3
_FILES = 20
_WIDTH = 100


@ending(
    exits="Exit codes: 0 success, even if some rows are bad, 2 a file cannot be read."
)
@search_command(
    Query(), ["text_field", "id_field", "date_field", "date_format", "encoding"]
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
    for name in files or []:
        try:
            failed |= _file(name, query)
        except InputError as error:
            failed = True
            _say(f"cannot be read: {error}")
        typer.echo()
    _installed(trying=not files)
    if failed:
        raise typer.Exit(2)


def _say(line: str, indent: int = 0) -> None:
    typer.echo(" " * indent + clean(line))


def _installed(*, trying: bool) -> None:
    """Describe the installation; the packages of the extras are imported if they are tried."""
    import platform
    from importlib import metadata

    from siamese_news.search.cpu_threads import thread_count
    from siamese_news.utils.compiled_loops import load_loops
    from siamese_news.utils.extras import (
        EXTRAS,
        PACKAGE,
        absent,
        broken,
        import_problem,
    )
    from siamese_news.utils.plugins import Kind, added, is_ours, package_of

    try:
        import torch
    except Exception as error:  # whatever its code raises
        problem = import_problem(error, "torch", f"'{PACKAGE}[encoders]'")
        backend = f"only encoders and training need {problem}"
    else:
        device = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
        backend = f"torch {torch.__version__} ({device})"
    _say(
        f"siamese-news {metadata.version('siamese-news')}, Python {platform.python_version()} on "
        f"{platform.system()}, {counted(thread_count(), 'thread')}, {backend}"
    )
    for source in sorted(Path(__file__).parents[1].glob("*/*.c")):
        _say(f"loops of {source.stem}: {load_loops(source)[1]}", 2)
    for kind in get_args(Kind):
        for name, point in added(kind).items():
            if not is_ours(point):
                _say(f"{kind}: {name}, added by the package {package_of(point)}", 2)
    for extra, packages in EXTRAS.items():
        if extra:
            state = "installed" if trying else "present (doctor without files tries it)"
            if missing := absent(packages):
                names = ", ".join(missing)
                state = f"missing {names}: pip install 'siamese-news[{extra}]'"
            elif trying and (problems := broken(packages)):
                state = (
                    f"cannot be imported: {'; '.join(problems)}; pip install --force-reinstall "
                    f"'siamese-news[{extra}]'"
                )
            _say(f"extra {extra}: {state}", 2)


def _file(name: str, query: Query) -> bool:
    """Describe a file or folder; whether some of it cannot be read."""
    from siamese_news.data.articles import ONLY_ARTICLES, read_articles
    from siamese_news.data.readers.detect import MessagesError
    from siamese_news.data.readers.inputs import plain_suffix
    from siamese_news.search.remarks import stub_remarks

    with tempfile.TemporaryDirectory() as folder:
        try:
            return _posts(name, query, Path(folder) / "rejected.jsonl")
        except InputError as error:
            if plain_suffix(name) not in ONLY_ARTICLES or isinstance(
                error, MessagesError
            ):
                raise
    articles = read_articles([name])
    _say(f"{name}: {counted(len(articles), 'article')}")
    for article in articles[:_SHOWN]:
        _say(
            f"{article.id} | {article.title or 'no title'} | {article.text}"[:_WIDTH], 4
        )
    for remark in stub_remarks(articles):
        _say(remark, 2)
    return False


def _posts(name: str, query: Query, rejected: Path) -> bool:
    from siamese_news.data.readers import open_posts

    stream = open_posts([name], rejected=rejected, first_rows=ROWS, **query.reading())
    for line in described(stream, max_lines=100):
        _say(line)
    for file in stream.detected[:_FILES]:
        texts = (
            () if file.fields is None or file.fields.joined else file.fields.texts[1:]
        )
        if alternatives := ", ".join(
            f"'{name}'" for name in texts if name in file.names
        ):
            location = f"{file.source}: " if len(stream.detected) > 1 else ""
            _say(
                f"{location}could be the text as well: {alternatives} (choose with --text-field)",
                2,
            )
    posts = iter(stream)
    samples = list(islice(posts, _SHOWN))
    dates = [
        str(date)
        for p in chain(samples, posts)
        if (date := p.metadata.get("created_at"))
    ]
    _say(f"of the first {ROWS:,} rows of each file: {stream.counts}", 2)
    # Unreadable files are named above.
    for remark in stream.remarks()[bool(stream.unreadable) :]:
        _say(remark, 2)
    if dates:
        n_undated = stream.counts.read - len(dates)
        without = f"; {n_undated:,} without a readable date" if n_undated else ""
        _say(f"dates from {min(dates)[:10]} to {max(dates)[:10]}{without}", 2)
    else:
        _say(
            "no dates were found; if there are any, name their field with --date-field",
            2,
        )
    for post in samples:
        _say(f"{post.id} | {post.text}"[:_WIDTH], 4)
        if post.metadata:
            _say(
                ", ".join(f"{k} {v}" for k, v in post.metadata.items())[: 2 * _WIDTH], 6
            )
    examples: dict[str, dict[str, str]] = {}  # the first of each reason
    for line in (
        rejected.read_text(encoding="utf-8").splitlines() if rejected.exists() else ()
    ):
        row = json.loads(line)
        examples.setdefault(row["reason"], row)
    for row in examples.values():
        _say(f"bad: {row['source']}:{row['line']}: {row['detail']}"[:300], 4)
    return bool(stream.unreadable)
