"""Scores posts as they arrive, and commits the rows together with the place in the source."""

import io
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import msgspec

from siamese_news.data.records import Post
from siamese_news.errors import InputError
from siamese_news.model.text_model import BLOCK
from siamese_news.scoring import Scorer
from siamese_news.search.filtering import rows_over
from siamese_news.search.opened_query import OpenQuery
from siamese_news.search.partial_results import check_job
from siamese_news.search.result_files import write_rows
from siamese_news.search.seeds import MILLION
from siamese_news.search.watch.stream_sources import Batch, Cursor
from siamese_news.search.watch.window import PostWindow
from siamese_news.utils.checked_json import read_state, write_state
from siamese_news.utils.exits import ENDING
from siamese_news.utils.files import GrowingFile
from siamese_news.utils.terminal import counted

_COMMIT = 1.0  # seconds
_STATUS = 60.0  # seconds
# Counts on the console, and the name of one.
_ODD = {
    "duplicates": "duplicate",
    "gap": "gap",
}
_REMEDY = "start over with another --out"
_STREAMED = ("cluster", "cluster_size")  # columns that need all rows


class Watch:
    """A watch, new or continued; the output must be held with `output_lock`.

    Next to the output are a folder ``<out>.watch`` (checkpoint, log, the posts of the window) and
    ``<out>.rejected.jsonl``. The checkpoint is replaced as a whole and holds the cursor, the window
    and the sizes of all growing files; bytes beyond these sizes are cut off when the watch is
    continued, and written again.

    `tell` prints a line, and the window has at most `window` posts. The watch ends after `idle`
    seconds without a post. A watch that is `fresh` has committed nothing yet. Its `state`, in each
    row, says how often the scores were updated before it.
    """

    def __init__(
        self,
        opened: OpenQuery,
        tell: Callable[[str], None],
        *,
        source: str,
        window: int,
        idle: float | None = None,
    ) -> None:
        assert opened.query.out is not None
        self._opened = opened
        self._tell = tell
        self._idle = idle
        self._out = opened.query.out
        self._folder = self._out.with_name(self._out.name + ".watch")
        self._path = self._folder / "checkpoint.json"
        self._job = {**opened.job([source]), "window": window}
        saved = self._saved()
        self.fresh = saved is None
        self._folder.mkdir(parents=True, exist_ok=True)
        self.cursor: Cursor = saved["cursor"] if saved else {}
        self.counts = Counter[str](saved["counts"] if saved else {})
        self.state = saved["state"] if saved else 0
        paths = {
            "rows": self._out,
            "rejected": self._out.with_name(self._out.name + ".rejected.jsonl"),
            "log": self._folder / "log.jsonl",
        }
        sizes = saved["sizes"] if saved else dict.fromkeys(paths, 0)
        self._files = {
            name: GrowingFile(paths[name], sizes[name], _REMEDY) for name in paths
        }
        self.window = PostWindow(
            self._folder, opened, window, saved["window"] if saved else None
        )
        if not self.fresh:
            self._use(self.window.scorer())
        self._committed = self._told = self._heard = time.monotonic()
        self._read_at_status = self.counts["read"]

    def begin(self, warm: Iterable[Post] = ()) -> None:
        """Start a fresh watch, with an earlier pool in the window."""
        self.window.warm_up(warm)
        self._settled()
        self.commit()

    def run(self, batches: Iterator[Batch]) -> None:
        """Watch until the source ends, or no post came for long enough.

        All posts that were read are committed before Ctrl-C, a signal that ends the process and an
        error of the source take effect; if a file cannot be written, the next run reads uncommitted
        posts again.
        """
        with _deferred() as stopped:
            while not stopped:
                try:
                    batch = next(batches, None)
                except InputError:
                    self.commit()
                    raise
                if batch is None:
                    break
                self._take(batch)
                self.cursor = batch.cursor
                now = time.monotonic()
                if batch.posts:
                    self._heard = now
                if now - self._committed >= _COMMIT:
                    self.commit()
                if now - self._told >= _STATUS:
                    self._status(now)
                if (
                    self._idle is not None
                    and not batch.posts
                    and now - self._heard >= self._idle
                ):
                    break
            self.commit()
            self._status(time.monotonic())

    def commit(self) -> None:
        """Flush all rows to the disk, and then record the place in the source."""
        for file in self._growing():
            file.sync()
        saved = {
            "job": self._job,
            "cursor": self.cursor,
            "counts": dict(self.counts),
            "state": self.state,
            "sizes": {name: file.size for name, file in self._files.items()},
            "window": self.window.plain(),
        }
        write_state(self._path, saved)
        self.window.tidy()
        self._committed = time.monotonic()

    def close(self) -> None:
        """Close all files."""
        for file in self._growing():
            # Rows that cannot be written are not committed either.
            with suppress(OSError):
                file.close()

    def _growing(self) -> list[GrowingFile | PostWindow]:
        return [*self._files.values(), self.window]

    def _saved(self) -> dict[str, Any] | None:
        """The checkpoint of an earlier run; None without one."""
        if not self._path.exists():
            return None
        saved = read_state(self._path, dict[str, Any], _REMEDY)
        check_job(self._folder, saved["job"], self._job, _REMEDY)
        return saved

    def _take(self, batch: Batch) -> None:
        """Score the posts of a batch, and update the scores when it is due."""
        self._count(batch)
        posts = self._new(batch.posts)
        while block := list(islice(posts, min(self.window.room, BLOCK))):
            room = self.window.room
            self._score(block)
            if len(block) == room:
                self.window.settle()
                self._settled()

    def _new(self, posts: Sequence[Post]) -> Iterator[Post]:
        """The posts whose ids are not in the window."""
        for post in posts:
            if post.id in self.window.known:
                self.counts["duplicates"] += 1
            else:
                self.window.known.add(post.id)
                yield post

    def _score(self, posts: list[Post]) -> None:
        """Write the rows of posts that the query keeps, and add all to the window."""
        query = self._opened.query
        seeds = self._opened.seeds
        content = self.window.content(posts)
        scores, best = seeds.combine(self._scorer.scores(content))
        rows = []
        for row in rows_over(
            self._scorer, self._opened, self._cut, posts, scores[0], best
        ):
            self.counts["found"] += 1
            row |= {"rank": self.counts["found"], "score": row["score"] / MILLION}
            rows.append(row | {"state": self.state})
        if rows:
            text = io.StringIO()
            columns = [name for name in query.columns if name not in _STREAMED]
            write_rows(text, rows, "jsonl", columns=[*columns, "state"])
            self._files["rows"].append(text.getvalue().encode())
        self.window.add(posts, content)
        self.counts["read"] += len(posts)

    def _count(self, batch: Batch) -> None:
        counts = self.counts
        counts["skipped"] += batch.counts.skipped + batch.counts.deleted
        counts["empty"] += batch.counts.empty
        for reason, count in batch.counts.reasons.items():
            counts[f"rejected: {reason}"] += count
        for rejection in batch.rejections:
            counts[f"rejected: {rejection.bad.reason}"] += 1
            self._files["rejected"].append(rejection.json_line())
        for event in batch.events:
            counts[event.name] += 1
            self._note(event.name, message=event.message)

    def _settled(self) -> None:
        """Base the scores on the present window."""
        window = self.window
        self._use(window.scorer())
        self.state += 1
        window_start = window.chunks[0].start if window.chunks else 0
        self._note(
            "settled",
            state=self.state,
            first=window_start,
            posts=window.position - window_start,
        )

    def _use(self, scorer: Scorer) -> None:
        """Score by what this scorer learned from the window."""
        self._scorer = scorer
        self._cut = self._opened.cut(scorer)

    def _note(self, event: str, *, message: str = "", **values: Any) -> None:
        """Add a line to the log, and print the message for the user."""
        now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        row = {"time": now, "position": self.window.position, "event": event}
        row |= values | ({"message": message} if message else {})
        self._files["log"].append(msgspec.json.encode(row) + b"\n")
        if message:
            self._tell(message)

    def _status(self, now: float) -> None:
        """Print the progress."""
        counts = self.counts
        passed = max(now - self._told, 1e-9)
        rate = (counts["read"] - self._read_at_status) / passed
        silent = now - self._heard
        rejected = sum(
            count for name, count in counts.items() if name.startswith("rejected")
        )
        window = self.window
        window_start = window.chunks[0].start if window.chunks else window.growing.start
        facts = [
            f"{counted(counts['read'], 'post')}, {counts['found']:,} found, {rate:,.0f} posts/s",
            f"scores {self.state}, by {counted(window.growing.start - window_start, 'post')}",
            f"{counted(rejected, 'row')} rejected" * bool(rejected),
            *(counted(counts[name], _ODD[name]) for name in _ODD if counts[name]),
            f"no post for {silent:,.0f} s" * (silent >= _STATUS),
        ]
        self._tell("; ".join(filter(None, facts)))
        self._told = now
        self._read_at_status = counts["read"]


@contextmanager
def _deferred() -> Iterator[list[int]]:
    """Note Ctrl-C and `ENDING` in the list, and follow them at the end of the block."""
    came: list[int] = []
    handlers = {
        number: signal.signal(number, lambda number, _: came.append(number))
        for number in (signal.SIGINT, *ENDING)
        if signal.getsignal(number) != signal.SIG_IGN
    }
    try:
        yield came
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if came:
        os.kill(os.getpid(), came[0])
