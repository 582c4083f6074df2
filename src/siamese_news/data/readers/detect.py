"""What a file looks like, from its first rows."""

import io
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import orjson

from siamese_news.data.jsonl import decode_object
from siamese_news.data.lines import BadRow, raw_lines
from siamese_news.data.readers.fields import (
    IDS,
    TEXTS,
    Convert,
    Fields,
    Record,
    find_fields,
    generic,
)
from siamese_news.data.readers.inputs import Input, plain_suffix
from siamese_news.data.readers.platforms import PLATFORMS
from siamese_news.data.readers.tables import TABLES, Table, table_layout
from siamese_news.errors import InputError
from siamese_news.utils.files import packing, unpack

Kind = Literal["jsonl", "delimited", "parquet", "empty"]

ROWS = 100
_BYTES = 2**23
_FOREIGN = {
    b"PK\x03\x04": "a zip archive (or an Excel file): unpack it, or save it as CSV UTF-8",
    b"BZh": "packed with bzip2: unpack it first, or pack it with gzip or zstd",
    b"\xfd7zXZ": "packed with xz: unpack it first, or pack it with gzip or zstd",
    b"7z\xbc\xaf": "a 7z archive: unpack it first",
    b"SQLite": "an SQLite database: export the table of posts as CSV",
    b"\xff\xfe": "UTF-16: save it as UTF-8 (in Excel: 'CSV UTF-8')",
    b"\xfe\xff": "UTF-16: save it as UTF-8 (in Excel: 'CSV UTF-8')",
    b"%PDF": "a PDF",
}
_JSON = (".jsonl", ".ndjson", ".json")


@dataclass(frozen=True, slots=True)
class Detected:
    """What a file looks like and what would be read of it.

    Attributes:
        source: the file, as messages call it.
        format: for people, such as ``Bluesky Jetstream``.
        text_field: where the text is.
        id_field: where the id is.
        packed: ``gz``, ``zst`` or nothing.
        kind: how the rows lie in the file.
        fields: the fields of a record; what `find_fields` chose among `names`.
        names: the fields that the first rows have.
        table: how a CSV or TSV is written.
    """

    source: str
    format: str
    text_field: str
    id_field: str
    packed: str
    kind: Kind
    fields: Fields | None = None
    names: tuple[str, ...] = ()
    table: Table | None = None

    def converter(self) -> Convert:
        """What makes posts of this file's records."""
        if self.fields is not None:
            return generic(self.fields)
        return next(p.convert for p in PLATFORMS if p.name == self.format)


def detect(
    source: Input, *, text_field: str | None, id_field: str | None, long_window: bool
) -> Detected:
    """Look at the beginning of an input.

    Args:
        source: a file or pipe; a pipe can be read from its start afterwards.
        text_field: the user's choice of the field for the text.
        id_field: likewise for the id.
        long_window: as `siamese_news.utils.files.unpack`.

    Raises:
        InputError: for what is no file of posts, and where no field fits.
    """
    raw = source.look()
    with raw:
        packed = packing(raw, source.name)
        if raw.peek(4)[:4] == b"PAR1":
            from siamese_news.data.readers.parquet import parquet_columns

            source.spool()  # Parquet is read from its end
            columns = parquet_columns(source)
            fields = find_fields(columns, source.name, text_field=text_field, id_field=id_field)
            return _with(source, "Parquet", packed, "parquet", fields, columns)
        stream = unpack(raw, source.name, long_window=long_window)
        sample = _sample(stream)
    first = next((line for _, line in sample if isinstance(line, bytes) and line.strip()), b"")
    if not sample:
        return Detected(source.name, "empty", "", "", packed, "empty")
    start = first.lstrip()
    for magic, what in _FOREIGN.items():
        if start.startswith(magic):
            raise InputError(
                f"{source.name}: is {what}; expected JSON lines, CSV, TSV or Parquet, plain, gz "
                "or zst"
            )
    suffix = plain_suffix(source.name)
    if start.startswith(b"[") and suffix not in TABLES:
        _refuse_array(source.name, first)
    if start.startswith(b"{") or suffix in _JSON or not start:
        return _json(source.name, sample, packed, text_field, id_field)
    return _delimited(source.name, suffix, sample, packed, text_field, id_field)


def _sample(stream: io.BufferedReader) -> list[tuple[int, bytes | BadRow]]:
    sample = []
    size = 0
    # No line is skipped, since what is read of a pipe is kept.
    for number, line in raw_lines(stream, skip=0):
        sample.append((number, line))
        size += 0 if isinstance(line, BadRow) else len(line)
        if len(sample) >= ROWS or size >= _BYTES:
            break
    return sample


def _refuse_array(name: str, line: bytes) -> None:
    try:
        whole = isinstance(orjson.loads(line), list)
    except orjson.JSONDecodeError:
        whole = line.strip() in (b"[", b"[{")
    if (whole and b"{" in line) or line.strip() == b"[":
        raise InputError(
            f"{name}:1: one JSON array, expected one object on each line; convert it, for example "
            f"with jq -c '.[]' FILE"
        )


def _records(sample: list[tuple[int, bytes | BadRow]]) -> Iterator[tuple[int, Record]]:
    for number, line in sample:
        if isinstance(line, bytes) and line.strip():
            try:
                yield number, decode_object(line)
            except BadRow:
                continue


def _json(
    name: str,
    sample: list[tuple[int, bytes | BadRow]],
    packed: str,
    text_field: str | None,
    id_field: str | None,
) -> Detected:
    records = list(_records(sample))
    if text_field is None and id_field is None:
        shapes = Counter(
            platform.name
            for _, record in records
            for platform in [next((p for p in PLATFORMS if p.matches(record)), None)]
            if platform is not None
        )
        for found, count in shapes.most_common(1):
            if count * 10 >= len(records):
                shape = next(p for p in PLATFORMS if p.name == found)
                return Detected(name, found, shape.text_field, shape.id_field, packed, "jsonl")
    names = tuple(dict.fromkeys(key for _, record in records for key in record))
    inner = [m for _, record in records if isinstance(m := record.get("metadata"), dict)]
    if not records:  # every row will be rejected, and say why
        fields = Fields((text_field,) if text_field else TEXTS, (id_field,) if id_field else IDS)
    else:
        fields = find_fields(
            names,
            f"{name}:{records[0][0]}",
            text_field=text_field,
            id_field=id_field,
            nested=dict.fromkeys(key for metadata in inner for key in metadata),
        )
    beir = "_id" in names and "text" in names and ("title" in names or "metadata" in names)
    kind = "BEIR corpus" if beir else "JSON lines"
    return Detected(name, kind, fields.texts[0], fields.ids[0], packed, "jsonl", fields, names)


def _delimited(
    name: str,
    suffix: str,
    sample: list[tuple[int, bytes | BadRow]],
    packed: str,
    text_field: str | None,
    id_field: str | None,
) -> Detected:
    lines = [
        (number, line.decode("utf-8", "surrogateescape"))
        for number, line in sample
        if isinstance(line, bytes) and line.strip()
    ]
    number = lines[0][0]
    table = table_layout([line for _, line in lines], suffix)
    names = table.names
    if not names or (len(names) == 1 and suffix not in TABLES and text_field is None):
        raise InputError(
            f"{name}:{number}: neither JSON lines nor a table with a header (the first line is "
            f"{lines[0][1].strip()[:60]!r}); "
            "expected JSON lines, CSV, TSV or Parquet, plain, gz or zst"
        )
    fields = find_fields(names, f"{name}:{number}", text_field=text_field, id_field=id_field)
    kind = "TSV" if table.delimiter == "\t" else "CSV"
    return Detected(
        name, kind, fields.texts[0], fields.ids[0], packed, "delimited", fields, names, table
    )


def _with(
    source: Input, format: str, packed: str, kind: Kind, fields: Fields, names: list[str]
) -> Detected:
    return Detected(
        source.name, format, fields.texts[0], fields.ids[0], packed, kind, fields, tuple(names)
    )
