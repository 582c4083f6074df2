"""Labels on disk before anything else happens: one file that only ever grows."""

import json
import os
import queue
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from siamese_news.errors import InputError

VALUES = ("yes", "no", "skip")
_FIELDS = ("post", "label", "annotator", "note", "copies")


class Conflict(Exception):
    """The label changed since the page showed it.

    Args:
        current: the label that there is; None where it was taken back.
    """

    def __init__(self, current: "Given | None") -> None:
        super().__init__("the label changed in the meantime")
        self.current = current


@dataclass(frozen=True, slots=True)
class Given:
    """One label.

    Attributes:
        number: of its line, from 1.
        post: its id.
        label: ``yes``, ``no`` or ``skip``.
        annotator: who said it.
        note: for oneself.
        at: when, UTC.
        copies: ids of near-duplicates to which it applies as well.
        direct: whether it was said of this very post and not of one it is a copy of.
    """

    number: int
    post: str
    label: str
    annotator: str
    note: str = ""
    at: str = ""
    copies: tuple[str, ...] = ()
    direct: bool = True


@dataclass(slots=True)
class _State:
    """What the lines come to."""

    lines: int = 0
    by_number: dict[int, Given] = field(default_factory=dict)
    # Post -> annotator -> numbers of the labels in force, in the order in which they came.
    said: dict[str, dict[str, list[int]]] = field(default_factory=dict)


class LabelLog:
    """The labels of a project: JSON lines, each on the disk before its number is returned.

    Many threads may append; their lines are written together where they come at once, so that one
    wait for the disk serves them all. A label that replaces one must name it, so two tabs cannot
    overwrite each other. Taking back is a line too.

    Args:
        path: of the file; need not be there yet.

    Raises:
        InputError: for a damaged line that is not the last one. An unfinished last line was never
            confirmed to anybody; it is cut off.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._guard = threading.Lock()
        self._cut()
        self._state = self._read()
        # Unbuffered: what could not be written must not come back with the next line.
        self._stream = path.open("ab", buffering=0)
        self._waiting: queue.SimpleQueue[tuple[list[bytes], Future[None]] | None] = (
            queue.SimpleQueue()
        )
        self._writer = threading.Thread(target=self._write, name="labels", daemon=True)
        self._writer.start()

    @property
    def version(self) -> int:
        """How many lines there are; changes whenever a label does."""
        return self._state.lines

    def add(self, post: str, label: str, annotator: str, **more: Any) -> Given:
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
    ) -> "tuple[Given, Future[None]]":
        """Hand a label to the writer.

        Args:
            post: its id.
            label: ``yes``, ``no`` or ``skip``.
            annotator: a name, so that several can work on one project.
            note: anything.
            copies: near-duplicates it is said of as well.
            seen: the number of this annotator's label of the post that the page showed, 0 for none;
                None to write whatever there is.

        Returns:
            The label, and what is done when it is on the disk; nobody may be told of it before.

        Raises:
            InputError: for another label, and an empty name.
            Conflict: this annotator's label is another one by now.
        """
        if label not in VALUES:
            raise InputError(f"label is {label!r}; expected one of {', '.join(VALUES)}")
        name = " ".join(annotator.split())[:60]
        if not name:
            raise InputError("the annotator has no name; expected a few letters")
        with self._guard:
            current = self.of(post, name)
            if seen is not None and seen != (current.number if current else 0):
                raise Conflict(current)
            number = self._state.lines + 1
            given = Given(number, post, label, name, note[:2000], _now(), tuple(copies))
            return given, self._append({"n": number, "at": given.at, **_plain(given)})

    def undo(self, annotator: str) -> Given | None:
        """Take back the annotator's last label that stands; None where there is none."""
        name = " ".join(annotator.split())[:60]
        with self._guard:
            mine = [n for n, given in self._state.by_number.items() if given.annotator == name]
            if not mine:
                return None
            last = self._state.by_number[max(mine)]
            number = self._state.lines + 1
            done = self._append({"n": number, "at": _now(), "annotator": name, "undo": last.number})
        done.result()
        return last

    def of(self, post: str, annotator: str) -> Given | None:
        """What an annotator says of a post; said of itself counts before said of a copy."""
        numbers = self._state.said.get(post, {}).get(annotator, [])
        found = [self._state.by_number[number] for number in numbers]
        own = [given for given in found if given.post == post]
        return own[-1] if own else found[-1] if found else None

    def verdict(self, post: str) -> str:
        """What all annotators together say: a label, ``conflict``, or nothing."""
        labels = {given.label for given in self.by_annotator(post).values()}
        certain = labels - {"skip"}
        if len(certain) == 2:
            return "conflict"
        return next(iter(certain or labels), "")

    def by_annotator(self, post: str) -> dict[str, Given]:
        """The labels of a post by the annotators' names."""
        names = list(self._state.said.get(post, {}))
        return {name: given for name in names if (given := self.of(post, name)) is not None}

    def posts(self) -> list[str]:
        """The posts that have a label."""
        return [post for post, names in list(self._state.said.items()) if any(names.values())]

    def annotators(self) -> list[str]:
        """Who labelled, by name."""
        return sorted({given.annotator for given in list(self._state.by_number.values())})

    def close(self) -> None:
        """End the writing."""
        self._waiting.put(None)
        self._writer.join()
        self._stream.close()

    def _append(self, row: dict[str, Any]) -> "Future[None]":
        done: Future[None] = Future()
        done.set_running_or_notify_cancel()  # a request that is given up does not stop the writer
        _take(self._state, row)
        self._waiting.put(([json.dumps(row, ensure_ascii=False).encode() + b"\n"], done))
        return done

    def _write(self) -> None:
        for lines, waiting in self._batches():
            size = os.fstat(self._stream.fileno()).st_size
            try:
                rest = memoryview(b"".join(lines))
                while rest:
                    rest = rest[self._stream.write(rest) :]
                os.fsync(self._stream.fileno())
            except OSError as error:
                self._fail(size, waiting, error)
            else:
                for done in waiting:
                    done.set_result(None)

    def _fail(self, size: int, waiting: list["Future[None]"], error: OSError) -> None:
        """Go back to what is on the disk, and refuse what was built on more."""
        with self._guard:
            while not self._waiting.empty():
                item = self._waiting.get()
                if item is None:
                    self._waiting.put(None)
                    break
                waiting.append(item[1])
            os.truncate(self.path, size)
            self._state = self._read()
        for done in waiting:
            done.set_exception(error)

    def _batches(self) -> Iterator[tuple[list[bytes], list["Future[None]"]]]:
        """What is waiting, all at once."""
        while (item := self._waiting.get()) is not None:
            lines, waiting = list(item[0]), [item[1]]
            while not self._waiting.empty():
                item = self._waiting.get()
                if item is None:
                    yield lines, waiting
                    return
                lines += item[0]
                waiting.append(item[1])
            yield lines, waiting

    def _read(self) -> _State:
        state = _State()
        if self.path.exists():
            for number, line in enumerate(self.path.read_bytes().splitlines(), 1):
                _take(state, self._checked(line, number))
        return state

    def _checked(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            row = json.loads(line)
            if row["n"] != number:
                raise ValueError(f"line {number} has the number {row['n']}")
            if "undo" not in row and row["label"] not in VALUES:
                raise ValueError(f"label {row['label']!r}")
            str(row["annotator"]), row["undo" if "undo" in row else "post"]
            return dict(row)
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{self.path}:{number}: is damaged ({error}); restore the file from a copy: a "
                "label that is lost here would be lost without a word"
            ) from error

    def _cut(self) -> None:
        """Remove a last line without its end."""
        if not self.path.exists():
            return
        with self.path.open("r+b") as stream:
            content = stream.read()
            end = content.rfind(b"\n") + 1
            if end < len(content):
                stream.truncate(end)
                os.fsync(stream.fileno())


def _plain(given: Given) -> dict[str, Any]:
    row = {name: getattr(given, name) for name in _FIELDS}
    return {name: value for name, value in row.items() if value not in ("", ())}


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _take(state: _State, row: dict[str, Any]) -> None:
    state.lines += 1
    if "undo" in row:
        gone = state.by_number.pop(row["undo"], None)
        for post in (gone.post, *gone.copies) if gone else ():
            state.said[post][gone.annotator].remove(gone.number)  # type: ignore[union-attr]
        return
    given = Given(
        row["n"], row["post"], row["label"], row["annotator"], row.get("note", ""),
        row.get("at", ""), tuple(row.get("copies", ())),
    )  # fmt: skip
    state.by_number[given.number] = given
    for post in (given.post, *given.copies):
        state.said.setdefault(post, {}).setdefault(given.annotator, []).append(given.number)
