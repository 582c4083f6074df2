"""What a file looks like, from its first rows."""

import io
import re
import zlib
from collections.abc import Iterator, Sequence
from itertools import islice

from siamese_news.data.jsonl import decode_object
from siamese_news.data.lines import LINE_CAP, BadRow
from siamese_news.data.readers.detected import Choice, Detected, Kind
from siamese_news.data.readers.documents import Document, find_document
from siamese_news.data.readers.encodings import UTF8, as_utf8, check_encoding, detect_encoding
from siamese_news.data.readers.fields import (
    IDS,
    TEXTS,
    Fields,
    Record,
    UnknownFields,
    check_fields,
    find_fields,
)
from siamese_news.data.readers.formats import Format
from siamese_news.data.readers.inputs import Input, plain_suffix
from siamese_news.data.readers.registry import FORMATS, known_format, known_table
from siamese_news.data.readers.tables import TABLES, table_layout, table_rows
from siamese_news.errors import InputError
from siamese_news.utils.files import packing, unpack

ROWS = 100
_BYTES = 2**23
_SHOWN = 5  # rows of a table that give samples
_MORE = 2**20  # of a document or a table that are looked at beyond the first rows
_EXPECTED = "expected JSON, JSON lines, CSV, TSV, Parquet or Excel (.xlsx), plain, gz or zst"
_FOREIGN = {
    b"PK\x03\x04": "a zip archive: unpack it",
    b"\xd0\xcf\x11\xe0": "an old Excel file (.xls): save it as .xlsx or as CSV UTF-8",
    b"BZh": "packed with bzip2: unpack it first, or pack it with gzip or zstd",
    b"\xfd7zXZ": "packed with xz: unpack it first, or pack it with gzip or zstd",
    b"7z\xbc\xaf": "a 7z archive: unpack it first",
    b"SQLite": "an SQLite database: export the table of posts as CSV",
    b"%PDF": "a PDF",
}
_AS_TABLE = "put its messages into a table, such as CSV with the columns id, date and text"
_DATED = rb"(?:\xe2\x80\x8e)?\[?\d{1,4}[./-]\d{1,2}[./-]\d{2,4},? \d{1,2}[:.]\d\d"
_SHAPES = {  # by their first line
    rb"From \S+.* \d\d:\d\d:\d\d .*\r?\n\S+:": f"a mailbox (mbox): {_AS_TABLE}",
    _DATED + rb"[^\n]{0,15}?(?:\]| -) \S": f"a WhatsApp chat: {_AS_TABLE}",
    rb"(?:<\?xml[^>]*>\s*)?<(?:rss|feed|rdf:RDF)\b": "an RSS or Atom feed, which is read as "
    "articles (--articles); for posts, put its items into a table",
    rb"(?i)(?:<\?xml[^>]*>\s*)?<(?:!doctype )?html": "a web page, which is read as an article "
    "(--articles)",
}
_TAR, _TAR_AT = b"ustar", 257
_JSON = (".jsonl", ".ndjson", ".json")
_SCRIPT = re.compile(rb"\s*window\.[\w.]+\s*=\s*(?=[\[{])")


def detect(source: Input, choice: Choice, *, long_window: bool) -> Detected:
    """Look at the beginning of an input.

    Args:
        source: a file or pipe; a pipe can be read from its start afterwards.
        choice: what the user said of it.
        long_window: as `siamese_news.utils.files.unpack`.

    Raises:
        UnknownFields: where no field fits.
        InputError: for what is no file of posts.
    """
    encoding = None if choice.encoding is None else check_encoding(choice.encoding)
    raw = source.look()
    with raw:
        packed = packing(raw, source.name)
        start = raw.peek(4)[:4]
        if start == b"PAR1":
            from siamese_news.data.readers.parquet import parquet_columns, parquet_rows

            source.spool()  # Parquet is read from its end
            names = parquet_columns(source)
            try:
                return _flat(source.name, "Parquet", packed, "parquet", names, choice)
            except UnknownFields:  # only now are values decoded
                rows = islice(parquet_rows(source, tuple(names), lambda share: None), _SHOWN)
                records = [record for _, record, _ in rows if not isinstance(record, BadRow)]
                return _flat(
                    source.name, "Parquet", packed, "parquet", names, choice, records=records
                )
        if start == b"PK\x03\x04" and _is_sheet(source):
            from siamese_news.data.readers.sheets import sheet_layout

            names, what, records = sheet_layout(source)
            return _flat(source.name, what, packed, "sheet", names, choice, records=records)
        head, ended = _head(unpack(raw, source.name, long_window=long_window))
        _refuse_foreign(source.name, head)  # before its bytes are taken for a text in UTF-16
        if encoding is None:
            encoding = detect_encoding(head)
        if encoding != UTF8:
            head = as_utf8(io.BufferedReader(io.BytesIO(head)), encoding).read()
    sample = _sample(head.removeprefix(b"\xef\xbb\xbf"), ended)
    first = next((line for _, line in sample if isinstance(line, bytes) and line.strip()), b"")
    if not head:
        return Detected(source.name, "empty", "", "", packed, "empty")
    begin = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    suffix = plain_suffix(source.name)
    script = _SCRIPT.match(begin)
    if script or (begin[:1] in (b"{", b"[") and suffix not in TABLES and not _is_record(first)):
        skip = script.group().decode() if script else ""
        document = find_document(begin[len(skip) :], choice.text_field, choice.id_field)
        if document is not None:
            return _document(source.name, document, packed, choice, encoding, skip)
    if begin.startswith(b"{") or suffix in _JSON or not begin:
        try:
            return _json(source.name, sample, packed, choice, encoding)
        except InputError:
            # A line may also be a document around its records.
            found = _documents(source.name, begin, sample, packed, choice, encoding)
            if found is None:
                raise
            return found
    return _delimited(source.name, suffix, sample, packed, choice, encoding)


def _refuse_foreign(name: str, head: bytes) -> None:
    """Say what a file of another kind is, and what to do with it."""
    begin = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    found = [what for magic, what in _FOREIGN.items() if begin.startswith(magic)]
    found += [what for shape, what in _SHAPES.items() if re.match(shape, begin)]
    if head[_TAR_AT : _TAR_AT + len(_TAR)] == _TAR:
        found.append("a tar archive: unpack it")
    if found:
        raise InputError(f"{name}: is {found[0]}; {_EXPECTED}")


def _is_sheet(source: Input) -> bool:
    from siamese_news.data.readers.sheets import is_sheet

    source.spool()  # a zip archive is read from its end
    return is_sheet(source)


def _head(stream: io.BufferedReader) -> tuple[bytes, bool]:
    """The beginning of a file, and whether that is all of it: rows, and some more of a file."""
    found = bytearray()
    ended = False
    try:
        for _ in range(ROWS):
            line = stream.readline(LINE_CAP + 1)
            found += line[:_BYTES]
            ended = not line
            if ended or len(found) >= _BYTES:
                break
        # Rows of JSON lines are enough, however slowly a pipe brings more of them.
        if not ended and not _is_record(bytes(found).partition(b"\n")[0]):
            while len(found) < _MORE and not ended:
                more = stream.read1(_MORE)
                found += more
                ended = not more
    except (EOFError, OSError, zlib.error):
        return bytes(found) or b"\n", True  # what is damaged is said when it is read
    return bytes(found), ended


def _is_record(line: bytes) -> bool:
    """Whether a line is a JSON object by itself."""
    try:
        return bool(line.strip()) and bool(decode_object(line) or True)
    except BadRow:
        return False


def _sample(head: bytes, ended: bool) -> list[tuple[int, bytes | BadRow]]:
    """The first lines; one that is cut off by the end of what was looked at is none."""
    lines = head.split(b"\n")
    last = lines.pop()
    if last and (ended or not lines):
        lines.append(last)
    return [(number, line) for number, line in enumerate(lines[:ROWS], 1)]


def _records(sample: list[tuple[int, bytes | BadRow]]) -> Iterator[tuple[int, Record]]:
    for number, line in sample:
        if isinstance(line, bytes) and line.strip():
            try:
                yield number, decode_object(line)
            except BadRow:
                continue


def _document(
    name: str, found: Document, packed: str, choice: Choice, encoding: str, skip: str
) -> Detected:
    names = _names(found.sample)
    place = f" ({found.prefix.removesuffix('.item')})" if "." in found.prefix else ""
    if found.known is not None and choice.text_field is None and choice.id_field is None:
        return _known(
            name,
            found.known,
            packed,
            "json",
            names,
            choice,
            encoding=encoding,
            prefix=found.prefix,
            skip=skip,
        )
    return _flat(
        name,
        f"JSON{place}",
        packed,
        "json",
        names,
        choice,
        records=found.sample,
        encoding=encoding,
        prefix=found.prefix,
        skip=skip,
    )


def _documents(
    name: str,
    head: bytes,
    sample: list[tuple[int, bytes | BadRow]],
    packed: str,
    choice: Choice,
    encoding: str,
) -> Detected | None:
    """Lines that are each a document around records with the fields, such as an API's pages.

    None for what has no such records, and for several lines with ids of their own: these are posts
    whose text was not found, and what lies in them is something else.
    """
    lines = [line for _, line in sample if not isinstance(line, bytes) or line.strip()]
    names = _names([record for _, record in _records(sample)])
    if not names or (len(lines) > 1 and any(field.lower() in IDS for field in names)):
        return None
    document = find_document(head, choice.text_field, choice.id_field)
    if document is None:
        return None
    try:
        return _document(name, document, packed, choice, encoding, "")
    except InputError:
        if len(document.sample) > len(lines):
            raise  # what is inside are rows, whatever their fields are called
        return None


def _names(records: Sequence[Record]) -> list[str]:
    return list(dict.fromkeys(key for record in records for key in record))


def _json(
    name: str,
    sample: list[tuple[int, bytes | BadRow]],
    packed: str,
    choice: Choice,
    encoding: str,
) -> Detected:
    numbered = list(_records(sample))
    records = [record for _, record in numbered]
    names = _names(records)
    if choice.text_field is None and choice.id_field is None:
        known = known_format(records)
        if known is not None:
            return _known(name, known, packed, "jsonl", names, choice, encoding=encoding)
    if not records:  # every row will be rejected, and say why
        texts = (choice.text_field,) if choice.text_field else TEXTS
        fields = Fields(texts, (choice.id_field,) if choice.id_field else IDS)
        return Detected(
            name,
            "JSON lines",
            fields.texts[0],
            fields.ids[0],
            packed,
            "jsonl",
            fields,
            encoding=encoding,
        )
    beir = "_id" in names and "text" in names and ("title" in names or "metadata" in names)
    return _flat(
        name,
        "BEIR corpus" if beir else "JSON lines",
        packed,
        "jsonl",
        names,
        choice,
        where=f"{name}:{numbered[0][0]}",
        records=records,
        encoding=encoding,
    )


def _delimited(
    name: str,
    suffix: str,
    sample: list[tuple[int, bytes | BadRow]],
    packed: str,
    choice: Choice,
    encoding: str,
) -> Detected:
    lines = [
        (number, line.decode("utf-8", "surrogateescape"))
        for number, line in sample
        if isinstance(line, bytes) and line.strip()
    ]
    if not lines:
        raise InputError(f"{name}:1: the first {len(sample)} lines are empty; {_EXPECTED}")
    header = next((f.header for f in FORMATS if f.header and _headless(lines[0][1], f)), ())
    table = table_layout([line for _, line in lines], suffix, header=header)
    number = lines[min(table.header_row, len(lines) - 1)][0]
    names = table.names
    if not names or (len(names) == 1 and suffix not in TABLES and choice.text_field is None):
        raise InputError(
            f"{name}:{number}: neither JSON nor a table with a header (the first line is "
            f"{lines[0][1].strip()[:60]!r}); {_EXPECTED}"
        )
    kind = "TSV" if table.delimiter == "\t" else "CSV"
    body = b"\n".join(line for _, line in sample if isinstance(line, bytes))
    rows = table_rows(io.BytesIO(body), table)
    records = [record for _, record, _ in islice(rows, _SHOWN) if not isinstance(record, BadRow)]
    return _flat(
        name,
        kind,
        packed,
        "delimited",
        names,
        choice,
        where=f"{name}:{number}",
        records=records,
        table=table,
        encoding=encoding,
    )


def _headless(line: str, known: Format) -> bool:
    cells = line.rstrip("\r\n").split("\t")
    return len(cells) == len(known.header) and bool(re.match(r"\d{14}-T?\d+$", cells[0]))


def _known(
    name: str,
    known: Format,
    packed: str,
    kind: Kind,
    names: Sequence[str],
    choice: Choice,
    **others: object,
) -> Detected:
    check_fields(names, {"--date-field": choice.date_field}, name)
    return Detected(
        name,
        known.name,
        known.text_field,
        known.id_field,
        packed,
        kind,
        names=tuple(names),
        known=known,
        date_field=choice.date_field,
        **others,  # type: ignore[arg-type]
    )


def _flat(
    name: str,
    what: str,
    packed: str,
    kind: Kind,
    names: Sequence[str],
    choice: Choice,
    *,
    where: str | None = None,
    records: Sequence[Record] = (),
    **others: object,
) -> Detected:
    """A file whose records have fields with names: of a known tool, or guessed."""
    if choice.text_field is None and choice.id_field is None and kind not in ("jsonl", "json"):
        known = known_table(names)
        if known is not None:
            return _known(name, known, packed, kind, names, choice, **others)
    fields = find_fields(
        names,
        where or name,
        text_field=choice.text_field,
        id_field=choice.id_field,
        date_field=choice.date_field,
        records=records,
    )
    return Detected(
        name,
        what,
        fields.texts[0],
        fields.ids[0],
        packed,
        kind,
        fields,
        tuple(names),
        **others,  # type: ignore[arg-type]
    )
