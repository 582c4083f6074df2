"""What the commands share: formats, exit codes, progress and writing."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from siamese_news.data.records import Post
    from siamese_news.search.rank import RankedPost


class Format(StrEnum):
    """How a ranking is written."""

    table = "table"
    jsonl = "jsonl"
    csv = "csv"
    trec = "trec"


@contextmanager
def bad_input_exits() -> Iterator[None]:
    """Bad input ends the process with exit code 2 and its message, without a traceback."""
    from siamese_news.errors import InputError

    try:
        yield
    except InputError as error:
        typer.echo(f"siamese-news: {error}", err=True)
        raise typer.Exit(2) from error


def use_threads(threads: int | None) -> None:
    """Limit torch to so many CPU threads; None leaves it as it is."""
    import torch

    if threads:
        torch.set_num_threads(threads)


def write(ranking: "list[list[RankedPost]]", format: Format, out: Path | None) -> None:
    """Write a ranking to a file, whole or not at all, or to the terminal."""
    from siamese_news.files import atomic_write
    from siamese_news.search.output import write_ranking

    if out is None:
        write_ranking(sys.stdout, ranking, format.value, terminal=sys.stdout.isatty())
        return
    with atomic_write(out) as stream:
        write_ranking(stream, ranking, format.value, terminal=False)
    typer.echo(f"{out}: {sum(map(len, ranking))} posts for {len(ranking)} seeds", err=True)


def counted(posts: "Iterable[Post]") -> "Iterator[Post]":
    """Show progress where a person watches."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield from progress.track(posts, description="posts")
