"""Standard input as the source of a stream, and the parts of every source.

A source yields a `Batch` about every second, perhaps an empty one, and can be continued from the
cursor of any of them.
"""

import io
import os
import queue
import sys
import threading
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from siamese_news.data.lines import LINE_CAP
from siamese_news.data.readers.detect import Detected, detect
from siamese_news.data.readers.encodings import as_utf8
from siamese_news.data.readers.fields import Choice
from siamese_news.data.readers.inputs import Input
from siamese_news.data.readers.rows import Counts, Rejection, json_rows, post_blocks
from siamese_news.data.records import Post
from siamese_news.errors import InputError
from siamese_news.utils.checked_json import Count
from siamese_news.utils.files import reading, unpack

TICK = 1.0
"""Seconds between two looks at a source that is idle."""

_READ = 2**20

_OTHER = (
    "begins like the stream of the earlier run, but differs; pipe the same stream again, or what "
    "follows it, or start over with another --out"
)

Cursor = dict[str, Count]
"""A place in a source, by names of its own."""


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
        chosen = {
            n: fields.get(n)
            for n in ("text_field", "id_field", "date_field", "encoding", "date_format")
        }
        self.found: Detected = detect(self._source, Choice(**chosen))

    def __call__(
        self, data: bytes, cursor: Cursor, line_offset: int, *events: Event
    ) -> Batch:
        """The posts of complete lines, which follow `line_offset` others and end at the cursor."""
        counts = Counts()
        posts = list[Post]()
        rejections = list[Rejection]()
        stream = as_utf8(io.BufferedReader(io.BytesIO(data)), self.found.encoding)
        rows = (
            (line + line_offset, record, row)
            for line, record, row in json_rows(stream, None)
        )
        for block, _, bad in post_blocks(rows, self._source, self.found, counts):
            posts += block
            rejections += bad
        return Batch(posts, cursor, rejections, counts, events)


def standard_input(cursor: Cursor, fields: Mapping[str, Any]) -> Iterator[Batch]:
    """JSON lines from standard input, plain or packed, until it ends.

    A pipe cannot be rewound. If it begins with the same line as in the run that left the cursor, it
    is considered the same stream, and the part that was committed is skipped; otherwise it is
    considered the continuation.
    """
    name = "standard input"
    seen = dict(cursor)
    head = b""
    skip = -1
    crc = 0
    reader: LineReader | None = None
    events: list[Event] = []
    for lines in _piped():
        if lines and skip < 0:
            seen, skip, events = _beginning(name, lines, seen)
        head += lines[: max(seen.get("looked", 0) - len(head), 0)]
        if skip > 0:
            crc = zlib.crc32(lines[:skip], crc)
            skip_later = max(skip - len(lines), 0)
            lines = lines[skip:]
            skip = skip_later
            if not skip and crc != seen["crc"]:
                raise InputError(f"{name}: {_OTHER}")
        if not lines:
            yield Batch([], seen, events=events)
        else:
            reader = reader or LineReader(name, head, fields)
            wide = reader.found.encoding.startswith(("utf-16", "utf-32"))
            if reader.found.kind != "jsonl" or reader.found.packed or wide:
                raise InputError(
                    f"{name}: is {reader.found.described}; expected JSON lines in UTF-8 or "
                    "another encoding of bytes; search other files with siamese-news filter"
                )
            line_offset = seen["lines"]
            seen = {**seen, "bytes": seen["bytes"] + len(lines)}
            seen |= {
                "crc": zlib.crc32(lines, seen["crc"]),
                "lines": line_offset + lines.count(b"\n"),
            }
            yield reader(lines, seen, line_offset, *events)
        events = []
    if skip > 0:
        raise InputError(f"{name}: {_OTHER}")


def _beginning(
    name: str, lines: bytes, seen: dict[str, Any]
) -> tuple[dict[str, Any], int, list[Event]]:
    """The cursor of a stream that begins with these lines, and how many bytes of it to skip.

    `seen` is the cursor of the run before; an event tells what became of it.
    """
    first_line_crc = zlib.crc32(lines.partition(b"\n")[0])
    skip = seen["bytes"] if seen.get("first") == first_line_crc else 0
    if skip:
        skipped = f"{name}: begins as before; earlier posts are skipped"
        return seen, skip, [Event("skipped", skipped)]
    continued = Event("continued", f"{name}: read as the continuation of earlier input")
    fresh = {
        "bytes": 0,
        "crc": 0,
        "lines": seen.get("lines", 0),
        "first": first_line_crc,
        "looked": min(len(lines), _READ),
    }
    return fresh, 0, [continued] if seen else []


def _piped() -> Iterator[bytes]:
    """Complete lines of standard input; empty bytes if none came for a second."""
    chunks: queue.Queue[bytes | BaseException] = queue.Queue(8)
    threading.Thread(target=_pump, args=(chunks,), daemon=True).start()
    held = b""
    while True:
        try:
            chunk = chunks.get(timeout=TICK)
        except queue.Empty:
            yield b""
            continue
        if isinstance(chunk, BaseException):
            with reading("standard input"):
                raise chunk
        if not chunk:
            break
        lines, held = cut(held + chunk)
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
