"""Scores posts as they arrive, and commits the rows together with the place in the source."""

import hashlib
import io
import json
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from siamese_news.data.records import Article, Post
from siamese_news.errors import InputError
from siamese_news.model.base import BLOCK
from siamese_news.search.filter import rows_over
from siamese_news.search.opening import OpenQuery
from siamese_news.search.output import write_rows
from siamese_news.search.partial_results import check_job, read_state
from siamese_news.search.records import Sample, metadata_text
from siamese_news.search.seeds import MILLION, Seeds
from siamese_news.search.watch.sources import Batch, Cursor
from siamese_news.search.watch.window import PostWindow, line_of, posts_in, seeds_key
from siamese_news.utils.files import GrowingFile, atomic_write, write_json
from siamese_news.utils.terminal import counted

_COMMIT, _STATUS = 1.0, 60.0  # seconds
_EARLY = "2000"  # dates before it come from clocks that were not set
_COUNTED = {"duplicates": "duplicate", "gap": "gap"}  # counts of things, and their name for one
_ODD = ("duplicates", "dated before 2000", "dated tomorrow or later", "gap")
_LEAST = 100  # posts of a reference, for an alarm that can be raised
_REMEDY = "start over with another --out"
_STREAMED = ("cluster", "cluster_size")  # columns that need all rows


class Watch:
    """A watch, new or continued; the output must be held with `output_lock`.

    Next to the output are a folder ``<out>.watch`` (checkpoint, log, the posts of the window),
    ``<out>.rejected.jsonl`` and ``<out>.metrics.json``. The checkpoint is replaced as a whole and
    holds the cursor, the window and the sizes of all growing files; bytes beyond these sizes are
    cut off when the watch is continued, and written again.

    `read` reads the seeds again at each update of the scores, and `tell` prints a line. `window`
    and `days` bound the window (`PostWindow`). A new output file begins after `rotate` bytes, or
    each ``day``. `alarm_rate` is the chance of a false alarm over the whole stream; the watch ends
    after `idle` seconds without a post. A watch that is `fresh` has committed nothing yet. Its
    `state` identifies the scores of a row: how often they were updated, and a hash of seeds and
    window.
    """

    def __init__(
        self,
        opened: OpenQuery,
        read: Callable[[], Seeds],
        tell: Callable[[str], None],
        *,
        source: str,
        window: int,
        days: float | None = None,
        rotate: int | str | None = None,
        alarm_rate: float = 0.01,
        idle: float | None = None,
    ) -> None:
        assert opened.query.out is not None
        self._opened, self._read, self._tell = opened, read, tell
        self._rotate, self._alarm_rate, self._idle = rotate, alarm_rate, idle
        self._out = opened.query.out
        self._folder = self._out.with_name(self._out.name + ".watch")
        self._path = self._folder / "checkpoint.json"
        job = opened.job([])
        self._job = {
            **{name: job[name] for name in ("version", "model", "threads")},
            "options": opened.query.job(),
            "source": source,
            "window": window,
            "window_days": days,
            "rotate": rotate,
            "alarm_rate": alarm_rate,
        }
        saved = self._saved()
        self.fresh = not saved
        self._folder.mkdir(parents=True, exist_ok=True)
        if not self.fresh:
            articles, negatives = ([Article(**one) for one in some] for some in saved["seeds"])
            self._opened = self._with(replace(opened.seeds, articles=articles, negatives=negatives))
        self.cursor: Cursor = saved.get("cursor", {})
        self.counts: Counter[str] = Counter(saved.get("counts", {}))
        self.generation, self.state = saved.get("generation", 0), saved.get("state", "")
        self._part, self._day = saved.get("part", 1), saved.get("day", _today())
        self._drift = DriftAlarm(alarm_rate, **saved.get("drift", {}))
        paths = {
            "rows": self._part_path(),
            "rejected": self._out.with_name(self._out.name + ".rejected.jsonl"),
            "log": self._folder / "log.jsonl",
        }
        sizes = saved.get("sizes", dict.fromkeys(paths, 0))
        self._files = {name: GrowingFile(paths[name], sizes[name], _REMEDY) for name in paths}
        reference = self._folder / "reference.jsonl"
        known = not self.fresh and reference.exists()
        self._reference = list(posts_in(reference)) if known else []
        self.window = PostWindow(self._folder, self._opened, window, days, saved.get("window"))
        if not self.fresh:
            self._scorer = self.window.scorer()
        self._committed = self._told = self._heard = time.monotonic()
        self._before = 0

    def begin(self, warm: Iterable[Post] = ()) -> None:
        """Start a fresh watch, with an earlier pool in the window; the pool is iterated twice.

        A tenth of the pool, at most 999 posts chosen by the checksums of their ids, stays out of
        the window as the reference for the drift alarm.
        """
        total, sample = 0, Sample()
        for post in warm:
            sample.note(post)
            total += 1
        self._reference = sample.posts[: total // 10]
        if len(self._reference) < _LEAST:
            self._reference = []
            (self._folder / "reference.jsonl").unlink(missing_ok=True)
            self._tell("no drift alarm: it needs a --warm-start of at least 1,000 posts")
        else:
            with atomic_write(self._folder / "reference.jsonl", "wb") as stream:
                stream.writelines(map(line_of, self._reference))
        self.window.warm_up(warm, {post.id for post in self._reference})
        self._settled()
        self.commit()

    def run(self, batches: Iterator[Batch]) -> None:
        """Watch until the source ends, or no post came for long enough.

        All posts that were read are committed before Ctrl-C, SIGTERM and an error of the source
        take effect; if a file cannot be written, the next run reads uncommitted posts again.
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
                if self._idle is not None and not batch.posts and now - self._heard >= self._idle:
                    break
            self.commit()
            self._status(time.monotonic())

    def commit(self) -> None:
        """Flush all rows to the disk, and then record the place in the source."""
        for file in self._growing():
            file.sync()
        seeds = self._opened.seeds
        saved = {
            "job": self._job,
            "cursor": self.cursor,
            "counts": dict(self.counts),
            "generation": self.generation,
            "state": self.state,
            "part": self._part,
            "day": self._day,
            "drift": self._drift.plain(),
            "sizes": {name: file.size for name, file in self._files.items()},
            "seeds": [[asdict(one) for one in some] for some in (seeds.articles, seeds.negatives)],
            "window": self.window.plain(),
        }
        with atomic_write(self._path) as stream:
            stream.write(json.dumps(saved, ensure_ascii=False))
        self.window.tidy()
        self._committed = time.monotonic()
        if self._rotate == "day" and self._day != _today():
            self._turn()

    def close(self) -> None:
        """Close all files."""
        for file in self._growing():
            with suppress(OSError):  # rows that cannot be written are not committed either
                file.close()

    def _growing(self) -> list[GrowingFile | PostWindow]:
        return [*self._files.values(), self.window]

    def _saved(self) -> dict[str, Any]:
        """The checkpoint of an earlier run; empty for none."""
        if not self._path.exists():
            return {}
        saved = read_state(self._path, _REMEDY)
        check_job(self._folder, saved.get("job", {}), self._job, _REMEDY)
        return saved

    def _with(self, seeds: Seeds) -> OpenQuery:
        return OpenQuery(self._opened.query, seeds, self._opened.model, self._opened.which)

    def _take(self, batch: Batch) -> None:
        """Score the posts of a batch, and update the scores when it is due."""
        self._count(batch)
        posts = self._new(batch.posts)
        while some := list(islice(posts, min(self.window.room, BLOCK))):
            room = self.window.room
            self._score(some)
            if len(some) == room:
                self._check_drift()
                self.window.settle()
                self._reread()
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
        """Write the rows of posts that reach the threshold, and add all to the window."""
        query, seeds = self._opened.query, self._opened.seeds
        content = self.window.content(posts)
        scores, best = seeds.combine(self._scorer.scores(content))
        rows = []
        for row in rows_over(self._scorer, self._opened, posts, scores[0], best):
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
        counts["skipped"] += batch.counts.skipped
        counts["empty"] += batch.counts.empty
        for reason, count in batch.counts.reasons.items():
            counts[f"rejected: {reason}"] += count
        for rejection in batch.rejections:
            counts[f"rejected: {rejection.bad.reason}"] += 1
            self._files["rejected"].append(rejection.json_line())
        tomorrow = _utc(datetime.now(UTC) + timedelta(days=1))
        for post in batch.posts:
            date = metadata_text(post, "created_at")
            if date is None:
                counts["without a date"] += 1
            elif date < _EARLY:
                counts["dated before 2000"] += 1
            elif date > tomorrow:
                counts["dated tomorrow or later"] += 1
        for event in batch.events:
            counts[event.name] += 1
            self._note(event.name, message=event.message)

    def _reread(self) -> None:
        """Read the seeds again; the old ones stay if that fails."""
        try:
            seeds = self._read()
        except InputError as error:
            self._note("seeds not read", message=f"the seeds stay as they are: {error}")
            return
        opened = self._with(seeds)
        if seeds_key(opened) != seeds_key(self._opened):
            self._opened = opened
            self.window.ask(opened)
            names = ", ".join(article.id for article in seeds.articles)
            self._note("seeds", message=f"the seeds are now: {names}")

    def _settled(self) -> None:
        """Base the scores on the present window."""
        window = self.window
        self._scorer = window.scorer()
        chunks = [[chunk.start, chunk.sha256] for chunk in window.chunks]
        told = json.dumps([self._job, seeds_key(self._opened), chunks])
        self.generation += 1
        self.state = f"{self.generation}-{hashlib.sha256(told.encode()).hexdigest()[:12]}"
        first = window.chunks[0].start if window.chunks else 0
        self._note(
            "settled",
            state=self.state,
            first=first,
            posts=window.position - first,
            from_date=window.chunks[0].date if window.chunks else None,
            seeds=[article.id for article in self._opened.seeds.articles],
        )
        if isinstance(self._rotate, int) and self._files["rows"].size >= self._rotate:
            self._turn()

    def _check_drift(self) -> None:
        """Compare the posts since the last settling with the reference."""
        if self._reference and self._drift.test(
            self._scores(self._reference), self._scores(self.window.sample.posts)
        ):
            alarm = self._drift.alarm
            assert alarm is not None
            message = (
                f"ALARM: after {counted(self.window.position, 'post')} the stream is no longer "
                f"like the posts of --warm-start (p {alarm['p']:.1g}; chance of a false alarm over "
                f"the whole stream at most {self._alarm_rate:g}): check the threshold, and any "
                "certificate of it, on new posts"
            )
            self._note("alarm", message=message, **alarm)

    def _scores(self, posts: list[Post]) -> NDArray[np.int64]:
        content = self.window.content(posts)
        return self._opened.seeds.combine(self._scorer.scores(content))[0][0]

    def _part_path(self) -> Path:
        if self._rotate is None:
            return self._out
        return self._out.with_name(f"{self._out.stem}-{self._part:04d}{self._out.suffix}")

    def _turn(self) -> None:
        """Begin the next file of the output."""
        self._files["rows"].sync()
        self._files["rows"].close()
        self._part, self._day = self._part + 1, _today()
        self._files["rows"] = GrowingFile(self._part_path(), 0, _REMEDY)

    def _note(self, event: str, *, message: str = "", **values: Any) -> None:
        """Add a line to the log, and print the message for the user."""
        row = {"time": _utc(datetime.now(UTC)), "position": self.window.position, "event": event}
        row |= values | ({"message": message} if message else {})
        self._files["log"].append(orjson.dumps(row) + b"\n")
        if message:
            self._tell(message)

    def _status(self, now: float) -> None:
        """Print the progress, and write it to ``<out>.metrics.json``."""
        counts, passed = self.counts, max(now - self._told, 1e-9)
        rate, silent = (counts["read"] - self._before) / passed, now - self._heard
        rejected = sum(count for name, count in counts.items() if name.startswith("rejected"))
        window = self.window
        first = window.chunks[0].start if window.chunks else window.growing.start
        line = f"{counted(counts['read'], 'post')}, {counts['found']:,} found, "
        line += f"{rate:,.0f} posts/s; "
        line += f"scores {self.state}, by {counted(window.growing.start - first, 'post')}"
        line += f"; {counted(rejected, 'row')} rejected" if rejected else ""
        for name in _ODD:
            if number := counts[name]:
                one = _COUNTED.get(name)
                line += f"; {counted(number, one) if one else f'{number:,} {name}'}"
        line += f"; no post for {silent:,.0f} s" if silent >= _STATUS else ""
        self._tell(line + ("; ALARM: the stream has drifted" if self._drift.alarm else ""))
        metrics = {
            "time": _utc(datetime.now(UTC)),
            "posts_per_second": round(rate, 1),
            "seconds_without_a_post": round(silent, 1),
            "counts": dict(sorted(counts.items())),
            "position": window.position,
            "state": self.state,
            "window": {"first": first, "posts": window.growing.start - first},
            "part": str(self._part_path()),
            "drift": self._drift.plain() | {"reference": len(self._reference)},
            "threshold": self._opened.query.threshold,
        }
        write_json(self._out.with_name(self._out.name + ".metrics.json"), metrics)
        self._told, self._before = now, counts["read"]


class DriftAlarm:
    """Compares the scores of the stream with those of a reference at each update of the scores.

    Both samples are scored by a scorer that learned from neither. If the posts of the reference, of
    the window and of the stream are drawn from one population, the scores are exchangeable, so the
    exact Kolmogorov-Smirnov test is valid at every update, whatever the scorer learned. The n-th
    test, earlier runs included, has the level ``rate / (n (n + 1))``; these add up to `rate`, so
    the chance that there is ever a false alarm is at most `rate`. The first alarm stays.

    Example:
        >>> import numpy as np
        >>> alarm, before = DriftAlarm(0.01), np.linspace(0.0, 0.2, 900)
        >>> alarm.test(before, before + 0.0001), alarm.test(before, before + 0.1)
        (False, True)
    """

    def __init__(self, rate: float, tests: int = 0, alarm: dict[str, Any] | None = None) -> None:
        self._rate, self.tests, self.alarm = rate, tests, alarm

    def test(self, reference: NDArray[Any], stream: NDArray[Any]) -> bool:
        """Whether this test of (R,) and (S,) scores raises the alarm."""
        if self.alarm is not None or not len(reference) or not len(stream):
            return False
        from scipy.stats import ks_2samp

        self.tests += 1
        level = self._rate / (self.tests * (self.tests + 1))
        found = ks_2samp(reference, stream, method="exact")
        if found.pvalue > level:
            return False
        self.alarm = {
            "test": self.tests,
            "p": float(found.pvalue),
            "level": level,
            "distance": float(found.statistic),
        }
        return True

    def plain(self) -> dict[str, Any]:
        """The state for a later run."""
        return {"tests": self.tests, "alarm": self.alarm}


def _utc(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _today() -> str:
    return _utc(datetime.now(UTC))[:10]


@contextmanager
def _deferred() -> Iterator[list[int]]:
    """Note Ctrl-C and SIGTERM in the list, and follow them at the end of the block."""
    came: list[int] = []
    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda number, _: came.append(number)) for number in signals]
    try:
        yield came
    finally:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)
    if came:
        os.kill(os.getpid(), came[0])
