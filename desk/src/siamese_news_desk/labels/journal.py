"""Append-only files of JSON lines, and the journal of labels."""

import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict

from filelock import FileLock
from msgspec import Meta, Struct
from msgspec.structs import replace

from siamese_news.data.jsonl import decode_object
from siamese_news.data.lines import BadRow
from siamese_news.data.records import clean_text
from siamese_news.errors import InputError
from siamese_news.utils.checked_json import converted
from siamese_news.utils.files import atomic_write, expect_regular, json_text
from siamese_news.utils.terminal import counted

YES = "yes"
NO = "no"
# The labels of a post; a skipped one counts as not relevant.
SKIP = "skip"

LABELS = (YES, NO, SKIP)
# The common label of a post with both ``yes`` and ``no``: it counts as skipped and is reported.
CONFLICT = "conflict"


def common_label(labels: Iterable[str]) -> str:
    """What several labels of one post say together: one of `LABELS`, `CONFLICT`, or empty.

    A skipped post contradicts no other label.
    """
    different = set(labels)
    certain = different - {SKIP}
    return CONFLICT if len(certain) == 2 else next(iter(certain or different), "")


def conflict_remarks(posts: Sequence[str], meaning: str) -> list[str]:
    """The remark on posts whose labels contradict each other, if there are any."""
    if not posts:
        return []
    return [
        f"{counted(len(posts), 'post')} with labels that contradict each other, such as "
        f"'{posts[0]}': {meaning} until they agree"
    ]


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a file that several processes append to, from reading it to writing it.

    A process that waits sees the lines of the one before. Within one thread it may be held again.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_name(f".{path.name}.lock"), is_singleton=True):
        yield


class Journal:
    """A file of JSON lines, which need not exist yet.

    An incomplete last line was never confirmed to anybody and is removed. So are the NULs that a
    power cut leaves in place of what was not on the disk yet; the other lines still count.

    Args:
        path: the file.
        remedy: what a user can do about a line that is damaged.

    Attributes:
        rows: the number (from 1) and the object of each line.

    Raises:
        InputError: for any other damaged line.
    """

    def __init__(self, path: Path, remedy: str = "") -> None:
        self.path = path
        self.rows: list[tuple[int, dict[str, Any]]] = []
        self._remedy = remedy
        self._size = 0
        self._lines = 0
        self._read()

    def _read(self) -> list[tuple[int, dict[str, Any]]]:
        """Read the lines that were added to the file; returns their rows."""
        expect_regular(self.path, "a file of labels or plans")
        content = self.path.read_bytes()[self._size :] if self.path.exists() else b""
        size = content.rfind(b"\n") + 1
        incomplete = content[size:].strip(b"\0")
        if not b'{"'.startswith(incomplete[:2]):  # not a line that we began to write
            raise InputError(
                f"{self.path}: is not a file of labels or plans, because it ends with "
                f"{incomplete[-30:]!r}; {self._remedy or 'use another name'}"
            )
        n_rows = len(self.rows)
        for line in content[:size].split(b"\n")[:-1]:
            self._lines += 1
            text = line.strip(b"\0")
            if line and not text:
                continue
            try:
                row = decode_object(text)
            except BadRow as bad:
                raise self._damaged(self._lines, bad) from bad
            self.rows.append((self._lines, row))
        self._size += size
        return self.rows[n_rows:]

    def replay(
        self, take: Callable[[dict[str, Any]], None], *, added: bool = False
    ) -> None:
        """Pass each line to `take`, which raises an error for a damaged one.

        With `added`, only the lines that another process has added to the file since it was read.
        """
        for number, row in self._read() if added else self.rows:
            try:
                take(row)
            except (ValueError, KeyError, TypeError) as error:
                raise self._damaged(number, error) from error

    def _damaged(self, number: int, error: object) -> InputError:
        remedy = self._remedy or "restore it from a copy"
        return InputError(f"{self.path}:{number}: is damaged ({error}); {remedy}")

    def append(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Append lines, all or none; they are on the disk when this returns.

        Raises:
            InputError: another process has added lines.
        """
        new = [dict(row) for row in rows]
        data = "".join(map(_line, new)).encode()
        with locked(self.path):
            self._write(data)
        self._size += len(data)
        for row in new:
            self._lines += 1
            self.rows.append((self._lines, row))

    def _write(self, data: bytes) -> None:
        with open(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666), "r+b") as stream:
            stream.seek(self._size)
            if b"\n" in stream.read():
                raise InputError(
                    f"{self.path}: another program has written to it in the meantime; run the same "
                    "command again, in one window at a time"
                )
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


class Judgment(Struct, frozen=True, rename={"number": "n"}):
    """One label of one post, and its line in the file.

    Attributes:
        number: of its line, from 1.
        post: its name: its id, or article and id with a tab between them.
        label: one of `LABELS`.
        at: time, UTC.
        copies: names of near-duplicates that it also applies to.
    """

    number: int
    post: str
    label: Annotated[str, Meta(pattern=r"^(yes|no|skip)\Z")]
    annotator: str
    note: str = ""
    at: str = ""
    copies: tuple[str, ...] = ()


class Conflict(Exception):
    """The label has changed since the page showed it; `current` is None if it was removed."""

    def __init__(self, current: Judgment | None) -> None:
        super().__init__("the label changed in the meantime")
        self.current = current


class _OtherRow(TypedDict):
    """The first line of the labels of a plan, or one that removes the label of another line."""

    n: int
    plan: NotRequired[str]
    undo: NotRequired[int]


@dataclass(slots=True)
class _State:
    """The labels after all lines so far."""

    lines: int = 0
    by_number: dict[int, Judgment] = field(default_factory=dict)
    # Post -> annotator -> the valid labels, in the order in which they came.
    by_post: dict[str, dict[str, list[Judgment]]] = field(default_factory=dict)

    def take(self, row: Mapping[str, Any]) -> None:
        """Add a line."""
        new = converted(row, _OtherRow if "plan" in row or "undo" in row else Judgment)
        if row["n"] != self.lines + 1:
            raise ValueError(f"line {self.lines + 1} has the number {row['n']}")
        self.lines += 1
        if "undo" in row and "plan" not in row:
            gone = self.by_number.pop(row["undo"], None)
            if gone is not None:
                for post in (gone.post, *gone.copies):
                    self.by_post[post][gone.annotator].remove(gone)
        if not isinstance(new, Judgment):
            return
        self.by_number[new.number] = new
        for post in (new.post, *new.copies):
            self.by_post.setdefault(post, {}).setdefault(new.annotator, []).append(new)

    def of(self, post: str, annotator: str) -> Judgment | None:
        """See `LabelJournal.of`."""
        # Another thread may add one.
        judgments = list(self.by_post.get(post, {}).get(annotator, []))
        return max(
            judgments,
            key=lambda judgment: (judgment.post == post, judgment.number),
            default=None,
        )

    @classmethod
    def read(cls, journal: Journal) -> "_State":
        """The labels after all lines of a journal."""
        state = cls()
        journal.replay(state.take)
        return state


class LabelJournal:
    """The labels of a project or of a plan, each on the disk before its number is returned.

    Several threads may add labels. A label that replaces another names it, so two tabs cannot
    overwrite each other. Removing a label appends a line too. The file need not exist yet; `plan`
    is the seal of its plan, or empty.

    Raises:
        InputError: for a damaged line other than the last, and for the journal of another plan.
    """

    def __init__(self, path: Path, plan: str = "") -> None:
        self.path = path
        self._guard = threading.Lock()
        self._journal = Journal(path)
        rows = self._journal.rows
        if rows and plan and rows[0][1].get("plan") != plan:
            raise InputError(
                f"{path}:1: has the labels of another plan; name another --labels"
            )
        # Even with nothing to add, this removes an incomplete last line.
        self._journal.append([{"n": 1, "plan": plan}] if plan and not rows else [])
        self._state = _State.read(self._journal)

    @property
    def version(self) -> int:
        """The number of lines; it changes whenever a label does."""
        return self._state.lines

    def add(
        self,
        post: str,
        label: str,
        annotator: str,
        *,
        note: str = "",
        copies: tuple[str, ...] = (),
        seen: int | None = None,
    ) -> Judgment:
        """Write a label (see `Judgment`); it is on the disk when this returns.

        `seen` is the number of this annotator's label of the post that the page showed, 0 for none;
        None skips the check.

        Raises:
            InputError: for an unknown label, and an empty name.
            Conflict: this annotator's label has another number by now.
            OSError: it could not be written, and the journal is unchanged.
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
            judgment = Judgment(
                number, post, label, name, clean_text(note)[:2000], now(), copies
            )
            self._write(_row(judgment))
        return judgment

    def undo(self, annotator: str) -> Judgment | None:
        """Remove the annotator's last label and return it; None if there is none."""
        name = annotator_name(annotator)
        with self._guard:
            newest = next(
                (
                    judgment
                    for judgment in reversed(self._state.by_number.values())
                    if judgment.annotator == name
                ),
                None,
            )
            if newest is None:
                return None
            number = self._state.lines + 1
            self._write(
                {"n": number, "at": now(), "annotator": name, "undo": newest.number}
            )
        return newest

    def of(self, post: str, annotator: str) -> Judgment | None:
        """An annotator's label of a post; one given to it directly precedes one of a copy."""
        return self._state.of(post, annotator)

    def verdict(self, post: str) -> str:
        """The `common_label` of the annotators."""
        return common_label(
            judgment.label for judgment in self.by_annotator(post).values()
        )

    def by_annotator(self, post: str) -> dict[str, Judgment]:
        """The labels of a post by the annotators' names."""
        return {
            name: judgment
            for name in list(self._state.by_post.get(post, {}))
            if (judgment := self.of(post, name)) is not None
        }

    def posts(self) -> list[str]:
        """The posts with labels."""
        return [
            post
            for post, names in list(self._state.by_post.items())
            if any(names.values())
        ]

    def annotators(self) -> list[str]:
        """The names of the annotators, sorted."""
        return sorted(
            {judgment.annotator for judgment in list(self._state.by_number.values())}
        )

    def changes(self) -> list[dict[str, str]]:
        """The labels that were replaced by a different one or removed, newest first.

        Each has ``post``, ``annotator``, the label ``before`` and ``after`` (empty if removed), and
        the time (``at``).
        """
        rows = [row for _, row in list(self._journal.rows)]
        rows_by_number = {row["n"]: row for row in rows}
        label_of: dict[tuple[str, str], str] = {}
        changes = []
        for row in rows:
            labeled = rows_by_number.get(row.get("undo"), row)
            if "label" not in labeled:
                continue
            key = labeled["post"], labeled["annotator"]
            new_label = row.get("label", "")
            old_label = label_of.get(key) or new_label
            if labeled is not row:
                old_label = labeled["label"]
            label_of[key] = new_label
            if old_label != new_label:
                changes.append(
                    {
                        "post": key[0],
                        "annotator": key[1],
                        "at": row.get("at", ""),
                        "before": old_label,
                        "after": new_label,
                    }
                )
        return changes[::-1]

    def _write(self, row: dict[str, Any]) -> None:
        self._journal.append([row])
        self._state.take(row)


def read_judgments(path: Path) -> list[Judgment]:
    """The valid labels of a journal, one for each post and annotator."""
    state = _State.read(Journal(path))
    return [
        replace(judgment, post=post, copies=())
        for post, names in state.by_post.items()
        for name in names
        if (judgment := state.of(post, name)) is not None
    ]


def seal_in(path: Path) -> str:
    """The seal of the plan whose labels a file has; empty if it is the journal of none."""
    if path.suffix.lower() != ".jsonl":
        return ""
    with path.open("rb") as stream, suppress(ValueError, AttributeError):
        return str(json.loads(stream.readline()).get("plan", ""))
    return ""


def write_judgments(path: Path, judgments: Iterable[Judgment], plan: str) -> None:
    """Replace a journal by these labels, for the plan with this seal."""
    with atomic_write(path) as stream:
        stream.write(_line({"n": 1, "plan": plan}))
        for number, judgment in enumerate(judgments, 2):
            stream.write(
                _line(
                    _row(
                        Judgment(
                            number, judgment.post, judgment.label, judgment.annotator
                        )
                    )
                )
            )


def annotator_name(text: str) -> str:
    """A name as the journal stores it."""
    return " ".join(clean_text(text).split())[:60]


def _row(judgment: Judgment) -> dict[str, Any]:
    return {"n": judgment.number} | {
        name: value
        for name in ("at", "post", "label", "annotator", "note", "copies")
        if (value := getattr(judgment, name))
    }


def _line(row: Mapping[str, Any]) -> str:
    return json_text(row) + "\n"


def now() -> str:
    """The time in the format of journals, UTC."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
