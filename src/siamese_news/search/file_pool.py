"""Posts from files, with a progress bar."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from siamese_news.data.readers import PostStream
from siamese_news.data.readers.rows import Counts
from siamese_news.data.records import Post
from siamese_news.search.scan import Block, Spool, StreamPool
from siamese_news.utils.files import is_stream
from siamese_news.utils.processes import PROGRESS
from siamese_news.utils.terminal import counted, verb

_STEP = 512  # posts between two reports of progress
_SECONDS = 0.25  # between two JSON lines
_MANY = 0.2  # share of empty texts from which they are named


@contextmanager
def progress_bar(turn: int, total: int | None) -> Iterator[Callable[[int, int], None]]:
    """The function that reports how much of a pass is done, of `total`, and how many posts."""
    started = reported_at = time.monotonic()

    def report(position: int, posts: int) -> None:
        nonlocal reported_at
        if (now := time.monotonic()) - reported_at < _SECONDS:
            return
        reported_at = now
        row = {
            "pass": turn,
            "done": position,
            "total": total,
            "posts": posts,
            "seconds": round(now - started, 2),
        }
        print(json.dumps(row), file=sys.stderr, flush=True)

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
    console = Console(stderr=True)
    hidden = not console.is_terminal  # where it would be an empty line
    with Progress(
        *columns, console=console, transient=True, disable=hidden
    ) as progress:
        bar = progress.add_task(name, total=total, count="")
        yield lambda position, posts: progress.update(
            bar, completed=position, count=f"{posts:,}"
        )


class FilePool(StreamPool):
    """The posts of files, with a progress bar, or JSON lines if `PROGRESS` is ``json``.

    The spool is on the disk of the output `out`, if there is one. `note` is called with each post
    as it is read.
    """

    def __init__(
        self,
        stream: PostStream,
        *,
        out: Path | None = None,
        note: Callable[[Post], None] | None = None,
    ) -> None:
        super().__init__(
            stream, folder=None if out is None or is_stream(out) else out.parent
        )
        self.stream = stream
        self._note = note
        self._passes = 0
        self._started = time.monotonic()

    def counts(self) -> dict[str, int]:
        """Of the rows of the files."""
        counts = self.stream.counts
        duplicates = counts.reasons.get("duplicate id", 0)
        return {
            "read": counts.read,
            "rejected": counts.rejected - duplicates,
            "duplicates": duplicates,
            "skipped": counts.skipped,
            **({"empty": counts.empty} if counts.empty else {}),
            **({"deleted": counts.deleted} if counts.deleted else {}),
            **({"renamed": counts.renamed} if counts.renamed else {}),
            **({"unreadable": counts.unreadable} if counts.unreadable else {}),
        }

    def summary(self, scored: int, action: str = "scored") -> list[str]:
        """The counts, how many posts were `action` and how fast, and a remark on empty posts."""
        seconds = max(time.monotonic() - self._started, 1e-9)
        counts = self.stream.counts
        speed = (
            f"{scored:,} {action} in {seconds:,.1f} s ({scored / seconds:,.0f} posts/s)"
        )
        return [f"{counts}; {speed}", *empty_remarks(counts)]

    def remarks(self) -> list[str]:
        """Of the reader."""
        return self.stream.remarks()

    def job(self) -> list[Any]:
        """The files as they are now."""
        return [] if self.stream.total_bytes is None else file_versions(self.stream)

    def _read(self) -> Iterator[Post]:
        """A pass over the files."""
        self._passes += 1
        with progress_bar(self._passes, self.stream.total_bytes) as show:
            for number, post in enumerate(self.stream, 1):
                if number % _STEP == 0:
                    show(self.stream.bytes_read, number)
                if self._note is not None:
                    self._note(post)
                yield post

    def _read_again(self, spool: Spool) -> Iterator[Block]:
        """A pass over the spool, with the same bar."""
        self._passes += 1
        n_posts = 0
        with progress_bar(self._passes, spool.posts) as show:
            for block in spool:
                yield block
                n_posts += len(block.posts)
                show(n_posts, n_posts)


def file_versions(stream: PostStream) -> list[Any]:
    """Path, size and time of change of the files of posts."""
    paths = [Path(file.source) for file in stream.detected]
    stats = [(path, path.stat()) for path in paths if path.is_file()]
    return [[str(path), stat.st_size, stat.st_mtime_ns] for path, stat in stats]


def empty_remarks(counts: Counts) -> list[str]:
    """A remark if many posts have no text."""
    if counts.empty < max(1, counts.read * _MANY):
        return []
    return [
        f"{counts.empty:,} of {counted(counts.read, 'post')} {verb(counts.empty, 'have')} no text, "
        "which means a score of 0; if the text is in another field, name it with --text-field"
    ]
