"""``siamese-news doctor``."""

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from siamese_news.cli.options import (
    DateFieldOption,
    EncodingOption,
    IdFieldOption,
    LongWindowOption,
    TextFieldOption,
)

if TYPE_CHECKING:
    from siamese_news.data.records import Post

ROWS = 10_000
_SHOWN = 3
_WIDTH = 100


def doctor(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILES]...",
            help="Posts or articles: files, folders, globs, or - for standard input.",
        ),
    ] = None,
    model: Annotated[Path | None, typer.Option(help="Model folder to check as well.")] = None,
    text_field: TextFieldOption = None,
    id_field: IdFieldOption = None,
    date_field: DateFieldOption = None,
    encoding: EncodingOption = None,
    long_window: LongWindowOption = False,
) -> None:
    """Show the detected format of files, what would be read from them, and what is installed.

    Example: siamese-news doctor tweets.jsonl.gz comments.csv story.html

    Reads the first 10,000 rows of each file and writes nothing.

    Exit codes: 0 success, even if some rows are bad, 2 a file or the model cannot be read.
    """
    from siamese_news.errors import InputError

    failed = False
    checks: list[Any] = [] if model is None else [partial(_model, model)]
    options = {
        "text_field": text_field,
        "id_field": id_field,
        "date_field": date_field,
        "encoding": encoding,
        "long_window": long_window,
    }
    checks += [partial(_file, name, options) for name in files or []]
    for check in checks:
        try:
            failed |= bool(check())
        except InputError as error:
            failed = True
            _say(f"cannot be read: {error}")
        typer.echo()
    _installed()
    _found()
    if failed:
        raise typer.Exit(2)


def _say(line: str, indent: int = 0) -> None:
    from siamese_news.utils.terminal import clean

    typer.echo(" " * indent + clean(line))


def _installed() -> None:
    import platform
    from importlib import metadata
    from typing import get_args

    from siamese_news.search.threads import thread_count
    from siamese_news.utils.extras import absent, extras
    from siamese_news.utils.plugins import Kind, added, package_of

    version = metadata.version("siamese-news")
    _say(
        f"siamese-news {version}, Python {platform.python_version()} on {platform.system()}, "
        f"{thread_count()} threads, {_torch()}"
    )
    for kind in get_args(Kind):
        for name, point in added(kind).items():
            _say(f"{kind}: {name}, added by the package {package_of(point)}", 2)
    for extra, packages in extras().items():
        if not extra:
            continue
        state, missing = "installed", absent(packages)
        if missing:
            state = f"missing {', '.join(missing)}: pip install 'siamese-news[{extra}]'"
        _say(f"extra {extra}: {state}", 2)


def _torch() -> str:
    try:
        import torch
    except ImportError:
        return "without torch, which only encoders and training need"
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    return f"torch {torch.__version__} ({device})"


def _found() -> None:
    from importlib.util import find_spec

    from siamese_news.text.vectors import KUMO
    from siamese_news.utils.files import cache_folder

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
    except ImportError:  # an extra, and the versions above say that it is missing
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


def _file(name: str, options: dict[str, Any]) -> bool:
    """Describe a file or folder; True if some of it cannot be read."""
    from siamese_news.data.articles import ONLY_ARTICLES, read_articles
    from siamese_news.data.readers.inputs import plain_suffix
    from siamese_news.utils.terminal import counted

    if plain_suffix(name) not in ONLY_ARTICLES:
        return _posts(name, options)
    articles = read_articles([name])
    _say(f"{name}: {counted(len(articles), 'article')}")
    for article in articles[:_SHOWN]:
        _say(f"{article.id} | {article.title or 'no title'} | {article.text}"[:_WIDTH], 4)
    return False


def _posts(name: str, options: dict[str, Any]) -> bool:
    import json
    import tempfile
    from itertools import islice

    from siamese_news.data.readers import open_posts

    with tempfile.TemporaryDirectory() as folder:
        rejected = Path(folder) / "rejected.jsonl"
        stream = open_posts([name], rejected=rejected, first_rows=ROWS, **options)
        for found in islice(stream.detected, 20):
            _say(f"{found.source}: {found.described}")
            if found.text_field:
                _say(f"text from '{found.text_field}', id from '{found.id_field}'", 2)
        if len(stream.detected) > 20:
            _say(f"and {len(stream.detected) - 20} files more", 2)
        for path in islice(stream.own, 20):
            _say(f"{path}: an earlier result of this program, not read as posts", 2)
        for path in islice(stream.unknown, 20):
            _say(f"{path}: skipped because of its ending", 2)
        for message in islice(stream.unreadable, 20):
            _say(f"cannot be read and would be left out: {message}", 2)
        first: list[Post] = []
        dates: list[str] = []
        for post in stream:
            if len(first) < _SHOWN:
                first.append(post)
            if date := post.metadata.get("created_at"):
                dates.append(str(date))
        _say(f"of the first {ROWS:,} rows of each file: {stream.counts}", 2)
        _say(_dates(dates, stream.counts.read), 2)
        for post in first:
            _say(f"{post.id} | {post.text}"[:_WIDTH], 4)
            if post.metadata:
                _say(", ".join(f"{k} {v}" for k, v in post.metadata.items())[: 2 * _WIDTH], 6)
        if rejected.exists():
            shown: set[str] = set()
            with rejected.open(encoding="utf-8") as lines:
                for line in lines:
                    row = json.loads(line)
                    if row["reason"] not in shown:
                        shown.add(row["reason"])
                        _say(f"bad: {row['source']}:{row['line']}: {row['detail']}"[:300], 4)
    return bool(stream.unreadable)


def _dates(dates: list[str], posts: int) -> str:
    if not dates:
        return "no dates were found; if there are any, name their field with --date-field"
    left = posts - len(dates)
    without = f"; {left:,} without a readable date" if left else ""
    return f"dates from {min(dates)[:10]} to {max(dates)[:10]}{without}"
