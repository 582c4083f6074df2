"""The sources of a stream: standard input, and a folder whose files are still being written.

A source yields a `Batch` about every second, perhaps an empty one, and can be continued from the
cursor of any of them.
"""

import io
import os
import queue
import sys
import threading
import time
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import IO, Any

from siamese_news.data.jsonl import decode_object
from siamese_news.data.lines import LINE_CAP, BadRow
from siamese_news.data.readers.detect import Detected, detect
from siamese_news.data.readers.encodings import UTF8, as_utf8, check_encoding
from siamese_news.data.readers.fields import Choice
from siamese_news.data.readers.inputs import LINES, Input, folder_files, is_own
from siamese_news.data.readers.rows import Counts, Rejection, json_rows, post_blocks
from siamese_news.data.readers.stream import SUFFIXES, PostStream
from siamese_news.data.records import Post
from siamese_news.errors import InputError
from siamese_news.utils.files import open_binary, packing, reading, unpack

TICK = 1.0
"""Seconds between two looks at a source that is idle."""

_READ = 2**20
_CHECKED = 2**12  # bytes before the cursor by which a file is recognized
_QUIET = 5.0  # seconds without a change after which a file is complete, if it is read as a whole
_POSTS = 4096

_OTHER = (
    "begins like the stream of the earlier run, but differs; pipe the same stream again, or what "
    "follows it, or start over with another --out"
)

Cursor = dict[str, Any]
Place = dict[str, Any]
Look = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a source: a name to count by, and a sentence for the user."""

    name: str
    message: str


@dataclass(frozen=True, slots=True)
class Batch:
    """The posts that arrived together, in their order; ids may be repeated.

    The cursor is the place in the source after them. With them come the rows that could not be
    used, the counts of other rows, and events.
    """

    posts: Sequence[Post]
    cursor: Cursor
    rejections: Sequence[Rejection] = ()
    counts: Counts = field(default_factory=Counts)
    events: Sequence[Event] = ()


class LineReader:
    """Reads posts from JSON lines as they arrive; `head`, the first ones, tells their format."""

    def __init__(self, name: str, head: bytes, fields: Mapping[str, Any]) -> None:
        self._source = Input(name, None, io.BytesIO(head))
        self.found: Detected = detect(self._source, Choice(**_choices(fields)))

    @property
    def by_line(self) -> bool:
        """Whether lines can be cut at the byte of a line end."""
        wide = self.found.encoding.startswith(("utf-16", "utf-32"))
        return self.found.kind == "jsonl" and not self.found.packed and not wide

    def __call__(self, data: bytes, cursor: Cursor, before: int, *more: Event) -> Batch:
        """The posts of complete lines, which follow `before` others and end at the cursor."""
        counts, posts, rejections = Counts(), list[Post](), list[Rejection]()
        stream = as_utf8(io.BufferedReader(io.BytesIO(data)), self.found.encoding)
        rows = ((line + before, record, row) for line, record, row in json_rows(stream, None))
        for some, _, bad in post_blocks(rows, self._source, self.found, counts):
            posts += some
            rejections += bad
        return Batch(posts, cursor, rejections, counts, more)


def _choices(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The user's choices about fields and encoding."""
    return {n: fields[n] for n in ("text_field", "id_field", "date_field", "encoding")}


def standard_input(cursor: Cursor, fields: Mapping[str, Any]) -> Iterator[Batch]:
    """JSON lines from standard input, plain or packed, until it ends.

    A pipe cannot be rewound. If it begins with the same line as in the run that left the cursor, it
    is considered the same stream, and the part that was committed is skipped; otherwise it is
    considered the continuation.
    """
    name, seen, head, skip, crc = "standard input", dict(cursor), b"", -1, 0
    reader: LineReader | None = None
    events: list[Event] = []
    for lines in _piped(fields):
        if lines and skip < 0:
            first = zlib.crc32(lines.partition(b"\n")[0])
            skip = seen["bytes"] if seen.get("first") == first else 0
            if skip:
                events = [Event("skipped", f"{name}: begins as before; earlier posts are skipped")]
            elif seen:
                events = [Event("continued", f"{name}: read as the continuation of earlier input")]
            if not skip:
                seen = {"bytes": 0, "crc": 0, "lines": seen.get("lines", 0), "first": first}
                seen["looked"] = min(len(lines), _READ)
        head += lines[: max(seen.get("looked", 0) - len(head), 0)]
        if skip > 0:
            crc = zlib.crc32(lines[:skip], crc)
            lines, skip = lines[skip:], max(skip - len(lines), 0)
            if not skip and crc != seen["crc"]:
                raise InputError(f"{name}: {_OTHER}")
        if not lines:
            yield Batch([], seen, events=events)
        else:
            reader = reader or LineReader(name, head, fields)
            if not reader.by_line:
                raise InputError(
                    f"{name}: is {reader.found.described}; expected JSON lines in UTF-8 or "
                    "another encoding of bytes; name a folder with the file as --source"
                )
            before = seen["lines"]
            seen = {**seen, "bytes": seen["bytes"] + len(lines)}
            seen |= {"crc": zlib.crc32(lines, seen["crc"]), "lines": before + lines.count(b"\n")}
            yield reader(lines, seen, before, *events)
        events = []
    if skip > 0:
        raise InputError(f"{name}: {_OTHER}")


def _piped(fields: Mapping[str, Any]) -> Iterator[bytes]:
    """Complete lines of standard input; empty bytes if none came for a second.

    After that second, a JSON object without a line end is complete as well.
    """
    chunks: queue.Queue[bytes | BaseException] = queue.Queue(8)
    threading.Thread(target=_pump, args=(chunks,), daemon=True).start()
    held = b""
    while True:
        try:
            more = chunks.get(timeout=TICK)
        except queue.Empty:
            ready, held = (held, b"") if _is_whole(held, fields) else (b"", held)
            yield ready
            continue
        if isinstance(more, BaseException):
            with reading("standard input"):
                raise more
        if not more:
            break
        lines, held = cut(held + more)
        if lines:
            yield lines
    if held:
        yield held


def _pump(chunks: "queue.Queue[bytes | BaseException]") -> None:
    """Put standard input into a queue, with empty bytes at its end."""
    try:
        # A copy of the handle: at exit, Python waits for the lock of sys.stdin, which this thread
        # would hold.
        raw = open(os.dup(sys.stdin.fileno()), "rb")
        stream = unpack(raw)
        while data := stream.read1(_READ):
            chunks.put(data)
        chunks.put(b"")
    except BaseException as error:
        chunks.put(error)


def cut(data: bytes) -> tuple[bytes, bytes]:
    """The complete lines, and the beginning of one that is still being written.

    If that beginning is longer than a line may be, it counts as a line.
    """
    end = data.rfind(b"\n") + 1
    if not end and len(data) > LINE_CAP:
        end = len(data)
    return data[:end], data[end:]


class Folder:
    """The files of a folder, in the order of their names, as they grow and as new ones appear.

    A file of JSON lines is read line by line while it is written. Any other file is read as a whole
    when it has not changed for five seconds and, if it is compressed, is complete.
    """

    def __init__(self, folder: Path, cursor: Cursor, fields: Mapping[str, Any]) -> None:
        self._folder, self._fields = folder, fields
        self._files: dict[str, Place] = dict(cursor.get("files", {}))
        self._looks: dict[str, Look] = {}
        self._readers: dict[str, LineReader] = {}
        self._told: set[str] = set()
        self._events: list[Event] = []

    def __iter__(self) -> Iterator[Batch]:
        while True:
            if not self._folder.is_dir():
                self._tell("missing", f"{self._folder}: does not exist now; waiting for it")
            paths = folder_files(self._folder, SUFFIXES)[0]
            for path in paths:
                try:
                    yield from self._read(path)
                except FileNotFoundError:
                    self._tell("vanished", f"{path}: vanished while it was read")
                except (InputError, OSError) as error:
                    where = "" if str(path) in str(error) else f"{path}: "
                    self._tell("unreadable", f"skipped for now: {where}{error}")
                    self._readers.pop(self._name(path), None)
            there = {self._name(path) for path in paths}
            self._files = {name: at for name, at in self._files.items() if name in there}
            yield self._batch(Batch([], self._cursor()))
            time.sleep(TICK)

    def _read(self, path: Path) -> Iterator[Batch]:
        name, found = self._name(path), path.stat()
        look = (found.st_size, found.st_mtime_ns)
        at = self._files.get(name)
        if self._looks.get(name) == look or not found.st_size:
            return
        if at is not None and not self._same(path, at, found.st_size):
            had = at["offset"]
            self._tell("replaced", f"{path}: changed within the {had:,} bytes read; read anew")
            self._readers.pop(name, None)
            at = None
        with path.open("rb") as stream:
            head = stream.read(at["looked"] if at is not None and not at["whole"] else _READ)
        self._looks[name] = look
        if at is None and is_own(path):
            self._tell("own", f"{path}: skipped; it is a results file of this program")
        elif (at is not None and at["whole"]) or not self._is_lines(path, head):
            yield from self._whole(path, at, look)
        else:
            yield from self._lines(path, at, head, look)

    def _is_lines(self, path: Path, head: bytes) -> bool:
        """Whether a file holds JSON lines, by its name or its first line."""
        raw: Any = io.BufferedReader(io.BytesIO(head))
        if packing(raw) or head[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return False
        return path.suffix.lower() in LINES or _is_whole(head.split(b"\n")[0], self._fields)

    def _lines(self, path: Path, at: Place | None, head: bytes, look: Look) -> Iterator[Batch]:
        name = self._name(path)
        at = at or {"whole": False, "offset": 0, "lines": 0, "looked": 0}
        with path.open("rb") as stream:
            stream.seek(at["offset"])
            for lines in self._written(stream, path, look):
                if not at["looked"]:
                    head, at = lines[:_READ], {**at, "looked": min(len(lines), _READ)}
                if name not in self._readers:
                    self._readers[name] = LineReader(str(path), head, self._fields)
                    if not self._readers[name].by_line:
                        yield from self._whole(path, None, look)
                        return
                before, size = at["lines"], at["offset"] + len(lines)
                at = {**at, "offset": size, "lines": before + lines.count(b"\n")}
                at["check"] = self._check(path, size)
                self._files[name] = at
                yield self._batch(self._readers[name](lines, self._cursor(), before))

    def _whole(self, path: Path, at: Place | None, look: Look) -> Iterator[Batch]:
        name, taken = self._name(path), 0 if at is None else at["posts"]
        if not self._quiet(path, look):
            return
        with open_binary(path) as stream:
            try:
                while stream.read(_READ):
                    pass
            except (EOFError, zlib.error) as error:
                self._tell("incomplete", f"{path}: is not complete yet ({error})")
                return
        if at is not None and at["done"]:
            return
        stream_of = PostStream(path, **_choices(self._fields))
        posts = islice(stream_of, taken, None)
        size = look[0]
        done = {"whole": True, "done": False, "offset": size, "check": self._check(path, size)}
        while some := list(islice(posts, _POSTS)):
            taken += len(some)
            self._files[name] = {**done, "posts": taken}
            yield self._batch(Batch(some, self._cursor()))
        self._files[name] = {**done, "posts": taken, "done": True}
        yield self._batch(Batch([], self._cursor(), counts=stream_of.counts))

    def _written(self, stream: IO[bytes], path: Path, look: Look) -> Iterator[bytes]:
        """Complete lines, and a last JSON object without a line end, which is complete as well.

        Another last line may be torn, so it is left until its rest is written, and reported.
        """
        held = b""
        while data := stream.read(_READ):
            lines, held = cut(held + data)
            if lines:
                yield lines
        if _is_whole(held, self._fields):
            yield held
        elif held.strip() and self._quiet(path, look):
            self._tell(
                "unfinished",
                f"{path}: its last line has no end and is not a whole JSON object; it is read "
                "once its rest, or a line end, is written",
            )

    def _quiet(self, path: Path, look: Look) -> bool:
        """Whether a file has not changed for a while; if it has, it is looked at again."""
        quiet = not 0 <= time.time() - look[1] / 1e9 < _QUIET
        if not quiet:
            self._looks.pop(self._name(path), None)
        return quiet

    def _same(self, path: Path, at: Place, size: int) -> bool:
        """Whether the part of a file that was read is unchanged."""
        if size < at["offset"] or (at["whole"] and size != at["offset"]):
            return False
        return at["check"] == self._check(path, at["offset"])

    def _check(self, path: Path, size: int) -> int:
        with path.open("rb") as stream:
            stream.seek(max(size - _CHECKED, 0))
            return zlib.crc32(stream.read(min(size, _CHECKED)))

    def _name(self, path: Path) -> str:
        return str(path.relative_to(self._folder))

    def _cursor(self) -> Cursor:
        return {"files": dict(self._files)}

    def _tell(self, name: str, message: str) -> None:
        """Add an event, if it is new."""
        if message not in self._told:
            self._told.add(message)
            self._events.append(Event(name, message))

    def _batch(self, batch: Batch) -> Batch:
        events, self._events = self._events, []
        return replace(batch, events=events) if events else batch


def _is_whole(line: bytes, fields: Mapping[str, Any]) -> bool:
    """Whether a line is one JSON object, to which nothing can be added."""
    stream: Any = io.BufferedReader(io.BytesIO(line.removeprefix(BOM_UTF8)))
    try:
        decode_object(as_utf8(stream, check_encoding(fields["encoding"] or UTF8)).read())
    except BadRow:
        return False
    return True
