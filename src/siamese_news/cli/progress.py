"""How far a command is, and what share of the time went into what."""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from siamese_news.utils.stopwatch import timed_items

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from siamese_news.data.readers import PostStream
    from siamese_news.data.records import Post
    from siamese_news.search.spool import Block


PROGRESS = "SIAMESE_NEWS_PROGRESS"
"""Set to ``json``, this variable makes progress a JSON line on stderr, for programs that watch."""

_STEP = 512  # posts between two looks at the clock
_SECONDS = 0.25  # between two JSON lines


@contextmanager
def _shown(turn: int, total: int | None) -> "Iterator[Callable[[int, int], None]]":
    """What shows how much of a pass is done, of `total`, and how many posts these are."""
    started = shown = time.monotonic()

    def report(done: int, posts: int) -> None:
        nonlocal shown
        if (now := time.monotonic()) - shown < _SECONDS:
            return
        shown = now
        row = {
            "pass": turn, "done": done, "total": total, "posts": posts,
            "seconds": round(now - started, 2),
        }  # fmt: skip
        typer.echo(json.dumps(row), err=True)

    if os.environ.get(PROGRESS) == "json":
        yield report
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[count]}"),
    )
    name = "posts" if turn == 1 else f"posts, pass {turn}"
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task(name, total=total, count="")
        yield lambda done, posts: progress.update(bar, completed=done, count=f"{posts:,}")


class Watched:
    """Posts, with a progress bar where a person watches.

    Args:
        posts: the posts; each pass is a bar.
    """

    def __init__(self, posts: "PostStream") -> None:
        self._posts = posts
        self._passes = 0
        self._started = time.monotonic()

    def __iter__(self) -> "Iterator[Post]":
        self._passes += 1
        with _shown(self._passes, self._posts.total_bytes) as show:
            for number, post in enumerate(timed_items(self._posts, "reading"), 1):
                if number % _STEP == 0:
                    show(self._posts.bytes_read, number)
                yield post

    def blocks(self, blocks: "Iterable[Block]", posts: int) -> "Iterator[Block]":
        """A pass over so many posts that are not read again, with the same bar."""
        self._passes += 1
        done = 0
        with _shown(self._passes, posts) as show:
            for block in timed_items(blocks, "reading"):
                yield block
                done += len(block.posts)
                show(done, done)

    def again(self, reason: str) -> None:
        """Say why it takes another pass."""
        typer.echo(f"the posts are scored once more: {reason}", err=True)

    def finish(self, scored: int) -> None:
        """Say what was read and how fast."""
        seconds = max(time.monotonic() - self._started, 1e-9)
        typer.echo(
            f"{self._posts.counts}; {scored:,} scored in {seconds:,.1f} s "
            f"({scored / seconds:,.0f} posts/s)",
            err=True,
        )

    def counts(self) -> dict[str, int]:
        """What was read, in plain values."""
        counts = self._posts.counts
        duplicates = counts.reasons.get("duplicate id", 0)
        return {
            "read": counts.read,
            "rejected": counts.rejected - duplicates,
            "duplicates": duplicates,
            "skipped": counts.skipped,
            **({"unreadable": counts.unreadable} if counts.unreadable else {}),
        }


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
