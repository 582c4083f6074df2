"""A stream of posts out of any number of files: read in order, counted, each id once."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from siamese_news.data.jsonl import decode_object, not_an_object
from siamese_news.data.lines import BadRow, raw_lines
from siamese_news.data.readers.detect import detect
from siamese_news.data.readers.detected import Choice, Detected
from siamese_news.data.readers.documents import document_rows
from siamese_news.data.readers.duplicates import SeenIds
from siamese_news.data.readers.encodings import as_utf8
from siamese_news.data.readers.fields import LINE, Convert, Record
from siamese_news.data.readers.formats import SHAPE
from siamese_news.data.readers.inputs import Input, find_inputs
from siamese_news.data.readers.own import as_written
from siamese_news.data.readers.rejected import Counts, RejectedFile, Rejection, shown
from siamese_news.data.readers.tables import table_rows
from siamese_news.data.records import Post
from siamese_news.errors import InputError
from siamese_news.utils.files import unpack

SUFFIXES = (
    ".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".tab", ".parquet", ".pq", ".xlsx", ".js",
)  # fmt: skip

# Posts whose ids are looked up together; so few that they stay in the processor's cache.
_BLOCK = 256
Rows = Iterator[tuple[int, Record | BadRow, Any]]


class PostStream:
    """Posts of several files, one after the other, as often as they are asked for.

    Every ``iter()`` reads from the start and counts anew; one at a time. A pipe gives one pass, or
    more after `spool`. Memory is bounded whatever comes: lines
    are capped, and of the ids only hashes are held (`SeenIds`).

    Attributes:
        detected: what each input looks like, in reading order.
        counts: of the present or last pass.
        total_bytes: of all files on disk; None where a pipe is among them.
        own: files that were passed over, because a command of ours wrote them.
        unknown: files of a folder that were passed over for their ending.
    """

    def __init__(
        self,
        inputs: Sequence[Input],
        *,
        choice: Choice,
        own: Sequence[Path] = (),
        unknown: Sequence[Path] = (),
        long_window: bool = False,
        strict: bool = False,
        rejected: Path | None = None,
        first_rows: int | None = None,
    ) -> None:
        self._first_rows = first_rows
        self._inputs = list(inputs)
        self._long_window = long_window
        self._strict = strict
        self._rejected = rejected
        self.detected: list[Detected] = [
            detect(source, choice, long_window=long_window) for source in self._inputs
        ]
        self.own, self.unknown = list(own), list(unknown)
        if all(found.kind == "empty" for found in self.detected):
            raise InputError(
                f"{self.detected[0].source}: the file is empty, expected at least one post"
            )
        self.counts = Counts()
        self._done = 0
        self._raw: Any = None
        self._share = 0

    @property
    def total_bytes(self) -> int | None:
        """Bytes of all files, as they lie on disk; None where a pipe is among them."""
        sizes = [source.size for source in self._inputs]
        return None if None in sizes else sum(size or 0 for size in sizes)

    @property
    def bytes_read(self) -> int:
        """How much of `total_bytes` the present pass has read."""
        return self._done + (self._raw.tell() if self._raw is not None else self._share)

    def spool(self) -> None:
        """Make a second pass possible: call before the first; only pipes are copied."""
        for source in self._inputs:
            source.spool()

    def __iter__(self) -> Iterator[Post]:
        counts = self.counts = Counts()
        self._done = 0
        kept = RejectedFile(self._rejected)
        seen = SeenIds()
        first: Rejection | None = None
        try:
            for source, found in zip(self._inputs, self.detected, strict=True):
                rows = islice(self._rows(source, found), self._first_rows)
                for posts, lines, rejections in _blocks(rows, source, found, counts):
                    good, again = _without_duplicates(posts, lines, seen, source)
                    for rejection in sorted([*rejections, *again], key=lambda r: r.line):
                        first = first or rejection
                        if self._strict:
                            raise InputError(_words(rejection))
                        reason = rejection.bad.reason
                        counts.reasons[reason] = counts.reasons.get(reason, 0) + 1
                        kept.write(rejection)
                    counts.read += len(good)
                    counts.empty += sum(not post.text.strip() for post in good)
                    yield from good
            if not counts.read:
                if first is not None:
                    raise InputError(f"{_words(first)} (no row could be used: {counts})")
                raise InputError(f"{self._inputs[0].name}: no post in the file; {counts}")
        except BaseException as error:
            kept.close(error)
            raise
        else:
            kept.close()
        finally:
            seen.close()

    def _rows(self, source: Input, found: Detected) -> Rows:
        if found.kind in ("parquet", "sheet"):
            from siamese_news.data.readers.parquet import parquet_rows
            from siamese_news.data.readers.sheets import sheet_rows

            if found.kind == "sheet":
                yield from as_written(sheet_rows(source), found.names)
            else:
                yield from parquet_rows(source, found.columns, self._progress(source))
            self._done, self._share = self._done + (source.size or 0), 0
        elif found.kind != "empty":
            raw = self._raw = source.open()
            try:
                stream = unpack(raw, source.name, long_window=self._long_window)
                stream = as_utf8(stream, found.encoding)
                if found.kind == "jsonl":
                    yield from _json_rows(stream)
                elif found.kind == "json":
                    context = found.known is not None and found.known.context
                    yield from document_rows(stream, found.prefix, context=context, skip=found.skip)
                elif found.table is not None:
                    yield from as_written(table_rows(stream, found.table), found.table.names)
                self._done += source.size or raw.tell()
            finally:
                self._raw = None
                raw.close()

    def _progress(self, source: Input) -> Callable[[float], None]:
        size = source.size or 0

        def progress(share: float) -> None:
            self._share = int(share * size)

        return progress


def open_posts(
    sources: Sequence[str | Path],
    *,
    text_field: str | None = None,
    id_field: str | None = None,
    date_field: str | None = None,
    encoding: str | None = None,
    long_window: bool = False,
    strict: bool = False,
    rejected: Path | None = None,
    first_rows: int | None = None,
) -> PostStream:
    """Open dumps of posts of any known shape; what they look like is decided here.

    Read are the formats of `siamese_news.data.readers.registry`, BEIR corpora, any other JSON, JSON
    lines, CSV, TSV, Parquet and Excel file; plain, gzip or zstd; standard input.

    Args:
        sources: files, folders, globs, ``-``; a folder's files are read in the order of their
            names.
        text_field: where the text is, if detection is not enough; a dot leads into an object.
        id_field: where the id is, likewise; ``line`` numbers the rows of data without ids.
        date_field: where the date is, likewise.
        encoding: what the text files are written in; else by a look at each.
        long_window: allow zstd windows up to 2 GiB.
        strict: the first bad row is an error instead of being counted.
        rejected: file for the bad rows.
        first_rows: read only so many rows of each file.

    Raises:
        InputError: for what is not there or is no file of posts, and where no field fits. While
            reading: for the first bad row if `strict`, and where nothing at all could be used.
    """
    if not sources:
        raise InputError("no posts came, expected at least one file, folder, glob or -")
    own: list[Path] = []
    unknown: list[Path] = []
    return PostStream(
        find_inputs(sources, SUFFIXES, own=own, unknown=unknown),
        choice=Choice(text_field, id_field, date_field, encoding),
        own=own,
        unknown=unknown,
        long_window=long_window,
        strict=strict,
        rejected=rejected,
        first_rows=first_rows,
    )


def _words(rejection: Rejection) -> str:
    return f"{rejection.source}:{rejection.line}: {rejection.bad.message}"


def _json_rows(stream: Any) -> Rows:
    for number, line in raw_lines(stream):
        if isinstance(line, BadRow):
            yield number, line, b""
            continue
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError:
            # Lone surrogates, raw control characters, NaN: the slow decoder takes them.
            if not line.strip():
                continue
            try:
                record = decode_object(line)
            except BadRow as bad:
                record = bad
        if type(record) is not dict and not isinstance(record, BadRow):
            record = not_an_object(record)
        yield number, record, line


def _blocks(
    rows: Rows, source: Input, found: Detected, counts: Counts
) -> Iterator[tuple[list[Post], list[int], list[Rejection]]]:
    """Posts, their lines, and rejections, many at a time."""
    if found.kind == "empty":
        return
    convert = found.converter()
    numbered = found.id_field == LINE and LINE not in found.names
    name = "_".join(source.name.split())
    posts: list[Post] = []
    lines: list[int] = []
    rejections: list[Rejection] = []
    for line, record, row in rows:
        try:
            if isinstance(record, BadRow):
                raise record
            if numbered:
                record[LINE] = f"{name}:{line}"
            try:
                made: Any = convert(record)
            except (BadRow, RecursionError, *SHAPE):
                made = _convert(convert, record, row, found)
        except BadRow as bad:
            rejections.append(Rejection(source.name, line, bad, shown(row)))
        else:
            if type(made) is Post:
                posts.append(made)
                lines.append(line)
            elif made is None:
                counts.skipped += 1
            else:
                for item in made:
                    if isinstance(item, BadRow):
                        rejections.append(Rejection(source.name, line, item, shown(row)))
                    else:
                        posts.append(item)
                        lines.append(line)
        if len(posts) + len(rejections) >= _BLOCK:
            yield posts, lines, rejections
            posts, lines, rejections = [], [], []
    yield posts, lines, rejections


def _convert(convert: Convert, record: Record, row: Any, found: Detected) -> Any:
    """A record that could not be converted, once more: what it is after all, or what is wrong."""
    try:
        return _shaped(convert, record, found)
    except BadRow:
        if not isinstance(row, bytes):
            raise
    # orjson makes a rounded number of an integer beyond 64 bits: the other decoder keeps digits.
    return _shaped(convert, decode_object(row), found)


def _shaped(convert: Convert, record: Record, found: Detected) -> Any:
    """The converted record; whatever a converter stumbles over makes it a bad row."""
    try:
        return convert(record)
    except RecursionError as error:
        raise BadRow("nested too deeply", "nested too deeply; expected a flat object") from error
    except SHAPE as error:
        raise BadRow(
            "unexpected shape", f"not in the shape of {found.format} ({type(error).__name__})"
        ) from error


def _without_duplicates(
    posts: list[Post], lines: list[int], seen: SeenIds, source: Input
) -> tuple[list[Post], list[Rejection]]:
    again = seen.add([post.id for post in posts])
    if not again:
        return posts, []
    rejections = []
    for index in again:
        post = posts[index]
        bad = BadRow(
            "duplicate id", f"the id '{post.id}' was already used; ids must differ: remove one"
        )
        row = shown({"id": post.id, "text": post.text})
        rejections.append(Rejection(source.name, lines[index], bad, row))
    gone = set(again)
    return [post for index, post in enumerate(posts) if index not in gone], rejections
