"""Posts that say how far they are."""

import json
import os
import time
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from siamese_news.data.readers import PostStream
    from siamese_news.data.records import Post

PROGRESS = "SIAMESE_NEWS_PROGRESS"
"""Set to ``json``, this variable makes progress a JSON line on stderr, for programs that watch."""

_STEP = 512  # posts between two looks at the clock
_SECONDS = 0.25  # between two JSON lines


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
        if os.environ.get(PROGRESS) == "json":
            self._passes += 1
            yield from self._reported()
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._passes += 1
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[count]}"),
        )
        turn = "posts" if self._passes == 1 else f"posts, pass {self._passes}"
        console = Console(stderr=True)
        with Progress(*columns, console=console, transient=True) as progress:
            bar = progress.add_task(turn, total=self._posts.total_bytes, count="")
            for number, post in enumerate(self._posts, 1):
                if number % _STEP == 0:
                    progress.update(bar, completed=self._posts.bytes_read, count=f"{number:,}")
                yield post

    def _reported(self) -> "Iterator[Post]":
        started = shown = time.monotonic()
        for number, post in enumerate(self._posts, 1):
            if number % _STEP == 0 and (now := time.monotonic()) - shown >= _SECONDS:
                shown = now
                row = {
                    "pass": self._passes, "done": self._posts.bytes_read,
                    "total": self._posts.total_bytes, "posts": number,
                    "seconds": round(now - started, 2),
                }  # fmt: skip
                typer.echo(json.dumps(row), err=True)
            yield post

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
        }
