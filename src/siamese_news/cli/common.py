"""What the commands share: formats, models and timing."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from siamese_news.model.siamese import Model
    from siamese_news.search.query import Query
    from siamese_news.utils.choices import Format

_STAGES = ("reading", "encoding", "scoring")
_ENDINGS: "dict[str, Format]" = {
    ".jsonl": "jsonl", ".csv": "csv", ".parquet": "parquet", ".trec": "trec", ".run": "trec",
    ".txt": "table",
}  # fmt: skip


def format_of(query: "Query", default: "Format | None") -> "Query":
    """The query with the format asked for, else that of the ending of the file's name.

    Raises:
        InputError: the name tells none, and there is no default.
    """
    from dataclasses import replace

    from siamese_news.errors import InputError

    format, out = query.format, query.out
    if format is None and out is not None:
        name = out.name.lower().removesuffix(".gz")
        format = next((known for ending, known in _ENDINGS.items() if name.endswith(ending)), None)
        if format is None:
            raise InputError(
                f"{out}: the name does not tell the format; expected an ending .jsonl, .csv, "
                ".parquet, .trec or .txt, or --format"
            )
    if format == "parquet":
        import pyarrow  # noqa: F401  what is missing is better known before the search
    return replace(query, format=format or default)


def own_model(folder: Path | None) -> "Model":
    """A model of this package, for what looks inside it.

    Raises:
        InputError: the folder is another library's.
    """
    from siamese_news.model.loading import explainable, open_model

    return explainable(open_model(folder))


@contextmanager
def told(timing: bool) -> Iterator[None]:
    """Measure the stages of a command, and say them at its end.

    Args:
        timing: whether it is wanted.
    """
    if not timing:
        yield
        return
    from siamese_news.utils.stopwatch import stopwatch

    with stopwatch() as watch:
        yield
    total = watch.total()
    shares = {stage: watch.seconds.get(stage, 0.0) for stage in _STAGES}
    shares["the rest (starting, writing)"] = total - sum(shares.values())
    parts = ", ".join(f"{name} {seconds / total:.0%}" for name, seconds in shares.items())
    typer.echo(f"time: {parts} of {total:,.1f} s", err=True)
