"""``--timing``: what share of the time went into what."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

STAGES = ("reading", "encoding", "scoring")

TimingOption = Annotated[
    bool,
    typer.Option(
        "--timing",
        help="Say at the end what share of the time went into reading, encoding (text to words and "
        "vectors) and scoring.",
    ),
]


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
    shares = {stage: watch.seconds.get(stage, 0.0) for stage in STAGES}
    shares["the rest (starting, writing)"] = total - sum(shares.values())
    parts = ", ".join(f"{name} {seconds / total:.0%}" for name, seconds in shares.items())
    typer.echo(f"time: {parts} of {total:,.1f} s", err=True)
