"""Files of JSON lines that only grow: any rows, and the labels that people give."""

import json
import os
import queue
import threading
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from siamese_news.errors import InputError
from siamese_news.utils.files import atomic_write

YES, NO, SKIP = "yes", "no", "skip"
"""What a label says of a post; a skipped post counts as not relevant."""

LABELS = (YES, NO, SKIP)
CONFLICT = "conflict"
"""What annotators who contradict each other say together."""


class Journal:
    """JSON lines. A last line without its end was never confirmed to anybody: it is cut off.

    Args:
        path: of the file; need not exist yet.

    Attributes:
        rows: number of the line (from 1) and its object, of every line.

    Raises:
        InputError: for a damaged line that is not the last one.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: list[tuple[int, dict[str, Any]]] = []
        content = path.read_bytes() if path.exists() else b""
        self._size = content.rfind(b"\n") + 1
        for number, line in enumerate(content[: self._size].split(b"\n")[:-1], 1):
            try:
                row = json.loads(line)
                if not isinstance(row, dict):
                    raise TypeError("not an object")
            except (ValueError, TypeError, RecursionError) as error:
                raise self.damaged(number, error) from error
            self.rows.append((number, row))

    def damaged(self, number: int, error: object) -> InputError:
        """What to raise for a line that cannot be used."""
        return InputError(f"{self.path}:{number}: is damaged ({error}); restore it from a copy")

    def append(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add lines; they are on the disk when this returns, all of them or none."""
        new = [dict(row) for row in rows]
        data = "".join(map(_line, new)).encode()
        with open(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666), "r+b") as stream:
            stream.truncate(self._size)
            stream.seek(self._size)
            try:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            except OSError:
                with suppress(OSError):
                    os.truncate(self.path, self._size)
                raise
        self._size += len(data)
        last = self.rows[-1][0] if self.rows else 0
        self.rows += enumerate(new, last + 1)


@dataclass(frozen=True, slots=True)
class Judgment:
    """One label of one post.

    Attributes:
        number: of its line, from 1.
        post: what it is known by: its id, or article and id with a tab between them.
        label: one of `LABELS`.
        annotator: who said it.
        note: for oneself.
        at: when, UTC.
        copies: ids of near-duplicates to which it applies as well.
    """

    number: int
    post: str
    label: str
    annotator: str
    note: str = ""
    at: str = ""
    copies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """A label that was replaced or taken back.

    Attributes:
        post: see `Judgment`.
        annotator: who changed their own label.
        before: the former label.
        after: the new label; empty where it was taken back.
        at: when, UTC.
    """

    post: str
    annotator: str
    before: str
    after: str
    at: str


class Conflict(Exception):
    """The label changed since the page showed it.

    Args:
        current: the label that there is; None where it was taken back.
    """

    def __init__(self, current: Judgment | None) -> None:
        super().__init__("the label changed in the meantime")
        self.current = current


@dataclass(slots=True)
class _State:
    """What the lines come to."""

    lines: int = 0
    by_number: dict[int, Judgment] = field(default_factory=dict)
    # Post -> annotator -> numbers of the labels in force, in the order in which they came.
    said: dict[str, dict[str, list[int]]] = field(default_factory=dict)

    def take(self, row: Mapping[str, Any]) -> None:
        """Add a line.

        Raises:
            ValueError, KeyError, TypeError: for a line that is damaged.
        """
        if row["n"] != self.lines + 1:
            raise ValueError(f"line {self.lines + 1} has the number {row['n']}")
        self.lines += 1
        if "plan" in row:
            return
        if "undo" in row:
            gone = self.by_number.pop(row["undo"], None)
            for post in (gone.post, *gone.copies) if gone else ():
                self.said[post][gone.annotator].remove(gone.number)  # type: ignore[union-attr]
            return
        if row["label"] not in LABELS:
            raise ValueError(f"label {row['label']!r}")
        given = Judgment(
            row["n"],
            row["post"],
            row["label"],
            row["annotator"],
            row.get("note", ""),
            row.get("at", ""),
            tuple(row.get("copies", ())),
        )
        self.by_number[given.number] = given
        for post in (given.post, *given.copies):
            self.said.setdefault(post, {}).setdefault(given.annotator, []).append(given.number)

    @classmethod
    def of(cls, journal: Journal) -> "_State":
        """What the lines of a journal come to.

        Raises:
            InputError: for a damaged line.
        """
        state = cls()
        for number, row in journal.rows:
            try:
                state.take(row)
            except (ValueError, KeyError, TypeError) as error:
                raise journal.damaged(number, error) from error
        return state


class LabelJournal:
    """The labels of a project or of a plan, each on the disk before its number is returned.

    Many threads may add labels; lines that come at once are written together, so that one wait for
    the disk serves them all. A label that replaces one names it, so two tabs cannot overwrite each
    other. Taking back is a line too.

    Args:
        path: of the file; need not exist yet.
        plan: the seal of the plan that it belongs to; empty where it belongs to none.

    Raises:
        InputError: for a damaged line that is not the last one, and a journal of another plan.
    """

    def __init__(self, path: Path, plan: str = "") -> None:
        self.path = path
        self._guard = threading.Lock()
        self._journal = Journal(path)
        rows = self._journal.rows
        if rows and plan and rows[0][1].get("plan") != plan:
            raise InputError(f"{path}:1: has the labels of another plan; name another --labels")
        # Even with nothing to add, this cuts off what was never confirmed.
        self._journal.append([{"n": 1, "plan": plan}] if plan and not rows else [])
        self._state = _State.of(self._journal)
        self._waiting: queue.SimpleQueue[tuple[dict[str, Any], Future[None]] | None] = (
            queue.SimpleQueue()
        )
        self._writer = threading.Thread(target=self._write, name="labels", daemon=True)
        self._writer.start()

    @property
    def version(self) -> int:
        """How many lines there are; changes whenever a label does."""
        return self._state.lines

    def add(self, post: str, label: str, annotator: str, **more: Any) -> Judgment:
        """Write a label down; returns when it is on the disk. See `begin`."""
        given, done = self.begin(post, label, annotator, **more)
        done.result()
        return given

    def begin(
        self,
        post: str,
        label: str,
        annotator: str,
        *,
        note: str = "",
        copies: tuple[str, ...] = (),
        seen: int | None = None,
    ) -> "tuple[Judgment, Future[None]]":
        """Hand a label to the writer.

        Args:
            post: see `Judgment`.
            label: one of `LABELS`.
            annotator: a name, so that several people can work on one project.
            note: anything.
            copies: near-duplicates that it applies to as well.
            seen: the number of this annotator's label of the post that the page showed, 0 for none;
                None to write whatever there is.

        Returns:
            The label, and what is done when it is on the disk; confirm it to nobody before.

        Raises:
            InputError: for another label, and an empty name.
            Conflict: this annotator's label is another one by now.
        """
        if label not in LABELS:
            raise InputError(f"label is {label!r}; expected one of {', '.join(LABELS)}")
        name = annotator_name(annotator)
        if not name:
            raise InputError("the annotator has no name; expected a few letters")
        with self._guard:
            current = self.of(post, name)
            if seen is not None and seen != (current.number if current else 0):
                raise Conflict(current)
            number = self._state.lines + 1
            given = Judgment(number, post, label, name, note[:2000], _now(), tuple(copies))
            return given, self._append(_row(given))

    def undo(self, annotator: str) -> Judgment | None:
        """Take back the annotator's last label in force; None where there is none."""
        name = annotator_name(annotator)
        with self._guard:
            mine = [n for n, given in self._state.by_number.items() if given.annotator == name]
            if not mine:
                return None
            last = self._state.by_number[max(mine)]
            number = self._state.lines + 1
            done = self._append({"n": number, "at": _now(), "annotator": name, "undo": last.number})
        done.result()
        return last

    def of(self, post: str, annotator: str) -> Judgment | None:
        """What an annotator says of a post; said of itself counts before said of a copy."""
        numbers = self._state.said.get(post, {}).get(annotator, [])
        found = [self._state.by_number[number] for number in numbers]
        own = [given for given in found if given.post == post]
        return own[-1] if own else found[-1] if found else None

    def verdict(self, post: str) -> str:
        """What all annotators together say: a label, `CONFLICT`, or nothing."""
        labels = {given.label for given in self.by_annotator(post).values()}
        certain = labels - {SKIP}
        if len(certain) == 2:
            return CONFLICT
        return next(iter(certain or labels), "")

    def by_annotator(self, post: str) -> dict[str, Judgment]:
        """The labels of a post by the annotators' names."""
        names = list(self._state.said.get(post, {}))
        return {name: given for name in names if (given := self.of(post, name)) is not None}

    def posts(self) -> list[str]:
        """The posts that have a label."""
        return [post for post, names in list(self._state.said.items()) if any(names.values())]

    def annotators(self) -> list[str]:
        """Who labeled, by name."""
        return sorted({given.annotator for given in list(self._state.by_number.values())})

    def changes(self) -> list[Change]:
        """Every label that was replaced by a different one or taken back, the last one first."""
        given: dict[int, Mapping[str, Any]] = {}
        last: dict[tuple[str, str], str] = {}
        found = []
        for _, row in list(self._journal.rows):
            if (old := given.get(row.get("undo", 0))) is not None:
                key = old["post"], old["annotator"]
                found.append(Change(*key, old["label"], "", row.get("at", "")))
                last.pop(key, None)
            elif "label" in row:
                given[row["n"]], key = row, (row["post"], row["annotator"])
                if (before := last.get(key, row["label"])) != row["label"]:
                    found.append(Change(*key, before, row["label"], row.get("at", "")))
                last[key] = row["label"]
        return found[::-1]

    def close(self) -> None:
        """End the writing."""
        self._waiting.put(None)
        self._writer.join()

    def _append(self, row: dict[str, Any]) -> "Future[None]":
        done: Future[None] = Future()
        done.set_running_or_notify_cancel()  # a request that is given up does not stop the writer
        self._state.take(row)
        self._waiting.put((row, done))
        return done

    def _write(self) -> None:
        while (item := self._waiting.get()) is not None:
            together = [item, *self._all_waiting()]
            try:
                self._journal.append(row for row, _ in together)
            except OSError as error:
                with self._guard:  # go back to what is on the disk, and refuse what was built on it
                    together += self._all_waiting()
                    self._state = _State.of(self._journal)
                for _, done in together:
                    done.set_exception(error)
            else:
                for _, done in together:
                    done.set_result(None)

    def _all_waiting(self) -> "Iterator[tuple[dict[str, Any], Future[None]]]":
        while not self._waiting.empty():
            item = self._waiting.get()
            if item is None:  # the end comes after what is written now
                self._waiting.put(None)
                return
            yield item


def read_judgments(path: Path) -> list[Judgment]:
    """The labels of a journal that are in force, one for each post and annotator.

    Raises:
        InputError: for a damaged file.
    """
    state = _State.of(Journal(path))
    return [
        Judgment(last.number, post, last.label, last.annotator, last.note, last.at)
        for post, names in state.said.items()
        for numbers in names.values()
        if numbers
        for last in [
            max(
                (state.by_number[number] for number in numbers),
                key=lambda given: (given.post == post, given.number),
            )
        ]
    ]


def write_judgments(path: Path, labels: Mapping[str, str], annotator: str, plan: str = "") -> None:
    """Write a journal anew, with one label of each post.

    Args:
        path: of the file; it is replaced.
        labels: by post, one of `LABELS` each.
        annotator: whose they are.
        plan: the seal of the plan that they belong to.
    """
    rows: list[Mapping[str, Any]] = [{"n": 1, "plan": plan}] if plan else []
    for number, (post, label) in enumerate(labels.items(), len(rows) + 1):
        rows.append(_row(Judgment(number, post, label, annotator)))
    with atomic_write(path) as stream:
        stream.writelines(map(_line, rows))


def annotator_name(text: str) -> str:
    """A person's name as the journal keeps it."""
    return " ".join(text.split())[:60]


def _row(given: Judgment) -> dict[str, Any]:
    row = {
        "n": given.number,
        "at": given.at,
        "post": given.post,
        "label": given.label,
        "annotator": given.annotator,
        "note": given.note,
        "copies": given.copies,
    }
    return {name: value for name, value in row.items() if value not in ("", ())}


def _line(row: Mapping[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
