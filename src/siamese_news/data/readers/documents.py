"""Records of one JSON document, streamed: arrays, and objects around them, of any size."""

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice, takewhile
from typing import IO, Any, cast

import ijson

from siamese_news.data.lines import LINE_CAP, BadRow
from siamese_news.data.readers.fields import Choice, Record, find_fields
from siamese_news.data.readers.formats import CONTEXT, Format
from siamese_news.data.readers.known_formats import FORMATS, known_format
from siamese_news.errors import InputError

# The assignment before the JSON in a file of Twitter's archive.
SCRIPT = re.compile(rb"\A\s*window\.[\w.]+\s*=\s*(?=[\[{])")

TOO_DEEP = "nested too deeply"  # the reason of a record that is refused

_CHUNK = 2**14
_DEPTH = 500  # nesting; the longest path of any known format has 8 levels
_SAMPLE = 100
_ITEM = "item"
_WORD = b"-aefiINnty"  # the letters of NaN and -Infinity
# 1,000 is fewer than half of the 4,300 digits at which int() fails, which ijson's parser in C does
# not survive: the part of a number that two chunks hide is then short enough.
_ODD = re.compile(rb"NaN|Infinity|[0-9]{1000}")
_TOKEN = re.compile(
    rb'"(?:[^"\\]|\\.)*+"?|[][{}]|NaN|-?Infinity|[0-9]{1000}', re.DOTALL
)
_STRING_END = re.compile(rb'(?:[^"\\]|\\.)*+"?', re.DOTALL)
# Errors of ijson and the stream under it if the JSON cannot be read further; arithmetic fails at an
# exponent of 20 digits.
_UNREADABLE = (ijson.JSONError, EOFError, OSError, UnicodeDecodeError, ArithmeticError)


@dataclass(frozen=True, slots=True)
class Document:
    """Where the records of a document are.

    The prefixes are as ijson writes them, such as ``data.videos.item``; an empty one is that of
    objects that follow each other.
    """

    prefixes: tuple[str, ...]
    known_format: Format | None
    sample: Sequence[Record]  # the first ones
    unread: tuple[str, ...] = ()  # arrays whose objects could be posts as well

    @property
    def description(self) -> str:
        """For people: the array inside the document that is read, and those that are not."""
        if self.prefixes[0] in ("", _ITEM):
            return "JSON"
        array, *unread = (
            p.removesuffix(f".{_ITEM}") for p in (self.prefixes[0], *self.unread)
        )
        return f"JSON ({'; not read: '.join(filter(None, (array, ', '.join(unread))))})"


def find_document(head: bytes, choice: Choice) -> Document | None:
    """Where the records of a JSON document are, by its beginning; None for another file.

    The known formats are looked for at their places, then an array of objects at the top, objects
    that follow each other, and last the arrays of objects inside the document, in their order.
    If none of these has a text and an id (the user's fields, if any are given), the first that
    has several records counts. A known format can have records in several arrays of a document.
    """
    prefixed = [
        (_prefix(path), known_form)
        for known_form in FORMATS
        for path in known_form.inside
    ]
    # A prefix that is not there costs a pass over the beginning; below an array all begin with it.
    outermost = _ITEM if head.lstrip().startswith(b"[") else ""
    for prefix in dict.fromkeys([_ITEM, *(prefix for prefix, _ in prefixed), ""]):
        if not prefix.startswith(outermost):
            continue
        sample = _sample(
            head,
            prefix,
            context=any(
                known_form.context for at, known_form in prefixed if at == prefix
            ),
        )
        sample_format = known_format(sample) if sample else None
        if sample_format is not None:
            prefixes = [_prefix(path) for path in sample_format.inside]
            further_arrays = [
                p
                for p in prefixes
                if p != prefix and (sample_format.context or _sample(head, p))
            ]
            return Document(
                (prefix, *(further_arrays if prefix in prefixes else ())),
                sample_format,
                sample,
            )
    documents: list[Document] = []
    arrays, objects = _objects(head)
    for prefix in dict.fromkeys([_ITEM, "", *arrays]):
        if sample := _sample(head, prefix):
            documents.append(Document((prefix,), None, sample))
            if prefix in (_ITEM, "") and _fits(documents[-1], choice):
                return documents[-1]
    fitting = [document for document in documents if _fits(document, choice)]
    if not fitting:
        return next(
            (document for document in documents if len(document.sample) > 1),
            documents[0] if documents else None,
        )
    further_arrays = [document.prefixes[0] for document in fitting]
    inside = tuple(f"{prefix}." for prefix in further_arrays)
    around = (
        prefix
        for document in documents
        if further_arrays[0].startswith(f"{(prefix := document.prefixes[0])}.")
        and further_arrays[0] != f"{prefix}.node"  # of an edge of GraphQL
    )
    posts_around = (
        path
        for path in objects
        if _fits(Document((path,), None, _sample(head, path)), choice)
    )
    return replace(
        fitting[0],
        unread=(
            *around,
            *posts_around,
            *(p for p in further_arrays[1:] if not p.startswith(inside)),
        ),
    )


def _fits(document: Document, choice: Choice) -> bool:
    """Whether the records have a text and an id."""
    names = dict.fromkeys(key for record in document.sample for key in record)
    try:
        find_fields(names, "", replace(choice, date_field=None))
    except InputError:
        return False
    return True


def document_rows(
    stream: IO[bytes], prefixes: Sequence[str], *, context: bool = False
) -> Iterator[tuple[int, Record | BadRow, Any]]:
    """Yield (number of the record from 1, record, the record again) of a document in UTF-8.

    With `context` each record has the plain values before its array, as `CONTEXT`.
    """
    number = 0
    chunks = _Chunks(stream)
    try:
        records = (
            _records(chunks, prefixes, context)
            if context or len(prefixes) > 1
            else ijson.items(chunks, prefixes[0], multiple_values=True, buf_size=_CHUNK)
        )
        for record in records:
            number += 1
            chunks.begin()
            if isinstance(record, dict):
                yield number, record, record
            else:
                yield (
                    number,
                    BadRow("not an object", "expected an object with fields"),
                    record,
                )
    except BadRow as bad:
        yield number + 1, bad, ""
    except _UNREADABLE as error:
        message = (
            f"after record {number:,} the JSON cannot be read further "
            f"({' '.join(str(error).split())[:120]}); the rest of the file is not read: fetch or make "
            "it again"
        )
        yield number + 1, BadRow("damaged file", message), ""


def _records(
    chunks: "_Chunks", prefixes: Sequence[str], context: bool
) -> Iterator[Any]:
    """The objects of several arrays, in their order; slower than `ijson.items`."""
    around: dict[str, Any] = {}
    parents = {prefix.rpartition(".")[0].rpartition(".")[0] for prefix in prefixes}
    builder: Any = None
    for path, event, value in ijson.parse(
        chunks, multiple_values=True, buf_size=_CHUNK
    ):
        if builder is not None:
            builder.event(event, value)
            if path in prefixes and event == "end_map":
                yield {**builder.value, CONTEXT: around} if context else builder.value
                builder = None
        elif path in prefixes and event == "start_map":
            builder = ijson.ObjectBuilder()
            builder.event(event, value)
        elif path in parents and event == "start_map":
            around = {}
        elif (
            event in ("string", "number", "boolean")
            and path.rpartition(".")[0] in parents
        ):
            around[path.rpartition(".")[2]] = value


def _sample(head: bytes, prefix: str, *, context: bool = False) -> list[Record]:
    good = takewhile(
        lambda row: not isinstance(row[1], BadRow),
        document_rows(io.BytesIO(head), (prefix,), context=context),
    )
    return [cast(Record, record) for _, record, _ in islice(good, _SAMPLE)]


def _objects(head: bytes) -> tuple[list[str], list[str]]:
    """The prefixes of objects in the beginning of a document: in arrays, outermost first, and alone."""
    paths: dict[str, None] = {}
    with suppress(*_UNREADABLE, BadRow):
        for path, event, _ in ijson.parse(
            _Chunks(io.BytesIO(head)), multiple_values=True
        ):
            if event == "start_map":
                paths[path] = None
    arrays = [p for p in paths if f".{p}".endswith((f".{_ITEM}", f"{_ITEM}.node"))]
    alone = [path for path in paths if path and _ITEM not in path.split(".")]
    return sorted(arrays, key=lambda path: path.count("."))[:20], alone[:20]


def _prefix(path: str) -> str:
    return ".".join(
        _ITEM if step == "[]" else step for step in [*path.split("."), "[]"]
    )


class _Chunks:
    """The bytes of a document for ijson, which itself bounds neither depth nor length.

    NaN and Infinity, which Python and pandas write and JSON does not have, become null.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._start = True
        self._held = b""
        self._quoted = False
        self._depth = 0
        self._since = 0
        self._bad: BadRow | None = None

    def begin(self) -> None:
        """A record came: the next one may be long again."""
        self._since = 0

    def read(self, size: int = _CHUNK) -> bytes:
        """The next bytes, checked."""
        if size == 0:
            return b""
        if self._bad is not None:
            raise self._bad
        data = self._held + self._stream.read1(_CHUNK)
        ended = len(data) == len(self._held)
        self._held = b""
        if self._start:
            self._start = False
            data = SCRIPT.sub(b"", data.removeprefix(b"\xef\xbb\xbf"), count=1)
        if not ended:
            # An escape and a word such as NaN are not cut in two.
            cut = (
                len(data.rstrip(_WORD))
                if len(data) - len(data.rstrip(_WORD)) <= 9
                else len(data)
            )
            cut -= (cut - len(data[:cut].rstrip(b"\\"))) % 2
            if cut:
                data, self._held = data[:cut], data[cut:]
        self._since += len(data)
        if self._since > LINE_CAP:
            raise BadRow(
                "record too long",
                f"a record is longer than {LINE_CAP:,} bytes; the rest of the file is not read",
            )
        return self._checked(data)

    def _checked(self, data: bytes) -> bytes:
        bare = data.replace(b"\\\\", b"__").replace(b'\\"', b"__")
        parts = bare.split(b'"')
        outside = b" ".join(parts[1 if self._quoted else 0 :: 2])
        opens = outside.count(b"[") + outside.count(b"{")
        if self._depth + opens > _DEPTH or _ODD.search(outside):
            data = self._scanned(data)
        self._depth += opens - outside.count(b"]") - outside.count(b"}")
        self._quoted ^= len(parts) % 2 == 0
        return data

    def _scanned(self, data: bytes) -> bytes:
        """The bytes with null for NaN and Infinity, up to the first record that is refused."""
        pieces: list[bytes] = []
        at = 0
        depth = self._depth
        start = _STRING_END.match(data).end() if self._quoted else 0  # type: ignore[union-attr]
        for match in _TOKEN.finditer(data, start):
            token = match[0]
            depth += (token in (b"[", b"{")) - (token in (b"]", b"}"))
            if depth > _DEPTH or token.isdigit():
                reason, problem = (
                    ("number too long", "a number has 1,000 digits or more")
                    if token.isdigit()
                    else (TOO_DEEP, f"nested deeper than {_DEPTH} levels")
                )
                self._bad = BadRow(
                    reason, f"{problem}; the rest of the file is not read"
                )
                return b"".join(pieces) + data[at : match.start()]
            if token in (b"NaN", b"Infinity", b"-Infinity"):
                pieces.append(data[at : match.start()] + b"null")
                at = match.end()
        return b"".join(pieces) + data[at:]
