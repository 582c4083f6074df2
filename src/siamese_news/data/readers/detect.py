"""Detect the format of a file from its first rows."""

import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from siamese_news.data.jsonl import decode_object
from siamese_news.data.lines import BadRow
from siamese_news.data.readers import delimited
from siamese_news.data.readers.changed_ids import refuse_rounded
from siamese_news.data.readers.dates import order_of
from siamese_news.data.readers.documents import (
    SCRIPT,
    TOO_DEEP,
    Document,
    document_rows,
    find_document,
)
from siamese_news.data.readers.encodings import (
    UTF8,
    as_utf8,
    check_encoding,
    detect_encoding,
)
from siamese_news.data.readers.fields import (
    IDS,
    TEXTS,
    Choice,
    Convert,
    Fields,
    Record,
    UnknownFields,
    check_fields,
    checked,
    find_fields,
    generic,
    linking,
    value_at,
)
from siamese_news.data.readers.formats import Format
from siamese_news.data.readers.inner_posts import inner_posts, with_inner_posts
from siamese_news.data.readers.inputs import Input, plain_suffix
from siamese_news.data.readers.known_formats import known_format, known_table
from siamese_news.data.readers.long_tweets import long_texts, with_long_texts
from siamese_news.data.readers.platforms import ARCHIVE, REDDIT
from siamese_news.data.readers.values import put
from siamese_news.data.readers.values import replace as replace_value
from siamese_news.data.readers.xml_comments import comment_element, xml_rows
from siamese_news.data.records import Post
from siamese_news.errors import InputError
from siamese_news.utils.files import packing, readable_name, unpack

ROWS = 100
_BYTES = 2**23
_SHOWN = 5  # rows of a table that are sampled
_PIECE = 2**16
_MORE = 2**20  # of a document or a table that are read beyond the first rows
_EXPECTED = (
    "expected JSON, JSON lines, CSV, TSV, Parquet or Excel (.xlsx), plain, gz or zst"
)
_ITEM = "item"  # the prefix of an array at the top
_AS_TABLE = (
    "put its messages into a table, such as CSV with the columns id, date and text"
)
_DATED = rb"(?:\xe2\x80\x8e)?\[?\d{1,4}[./-]\d{1,2}[./-]\d{2,4},? \d{1,2}[:.]\d\d"
_MESSAGES = {  # by their beginning
    rb"From \S+.* \d\d:\d\d:\d\d .*\r?\n\S+:": f"a mailbox (mbox): {_AS_TABLE}",
    rb"(?i)(?:return-path|received|delivered-to|message-id|subject|x-[\w-]+): .*\r?\n(?:\s.*\r?\n|"
    rb"[\w-]+: .*\r?\n)*[\w-]+: ": f"a message of e-mail (.eml): {_AS_TABLE}",
    _DATED + rb"[^\n]{0,15}?(?:\]| -) \S": f"a WhatsApp chat: {_AS_TABLE}",
    rb'(?is)<!doctype html>.{1,20000}?class="page_wrap"': "a Telegram chat as a web page: export "
    "it again as machine-readable JSON",
}
_FOREIGN = {
    rb"(?s)PK\x03\x04.{26}mimetypeapplication/vnd\.oasis\.opendocument\.spreadsheet": "an OpenDocument "
    "sheet (.ods): save it as .xlsx, or as CSV UTF-8, in LibreOffice",
    rb"(?s)PK\x03\x04.{26}mimetypeapplication/vnd\.oasis\.opendocument": "an OpenDocument text (.odt): "
    "save it as .docx in LibreOffice, and name it with --articles",
    rb"(?s)PK\x03\x04.{26}mimetypeapplication/epub": "an e-book (.epub): convert it to .txt or .docx "
    "with Calibre, and name it with --articles",
    rb"PAR1[^ -~]": "Parquet that is packed once more: unpack it (gunzip, unzstd), Parquet packs its "
    "columns itself",
    rb"(?s)PK\x03\x04.{26}(?:\[Content_Types\]|_rels/|docProps/|word/|xl/|ppt/)": "an office file "
    "(.docx, .pptx, .xlsx): if it is packed once more, unpack it (gunzip, unzstd); name a .docx with "
    "--articles, save posts as .xlsx or CSV UTF-8",
    rb"PK\x03\x04": "a zip archive: unpack it; if a program packs its files so (.pptx, .pages, "
    ".numbers, .xlsb), save it there as .docx, .xlsx or CSV UTF-8",
    rb"window\.YTD\.note_tweet": "the file of long posts of an archive of X, which is read with its "
    "tweets.js: name that file",
    rb"ARROW1\x00|FEA1[^ -~]": "a Feather file: in pandas, read_feather(path).to_parquet(new_path)",
    rb"<stata_dta>|[\x6c-\x77][\x01\x02]\x01\x00": "a data set of Stata (.dta): in pandas, "
    "read_stata(path).to_csv(new_path)",
    rb"\$FL[23]|ASCII SPSS PORT": "a data set of SPSS (.sav, .por): save it as CSV UTF-8, "
    "in SPSS or in PSPP",
    rb"\x80[\x02-\x05]": "a pickle, which may run code when it is opened: whoever made it can write "
    "CSV, JSON lines or Parquet instead",
    rb"(?i)from: \W{0,2}saved by|mime-version:|content-type: multipart/related": "a web archive, "
    "which is read as an article: name it with --articles, and give it the ending .mhtml",
    rb"\xd0\xcf\x11\xe0": "an old file of Excel, Word or Outlook (.xls, .doc, .msg): save it as .xlsx, "
    "CSV UTF-8, .docx or .txt",
    rb"RD[AX][23]\n|[XA]\n\x00\x00\x00[\x02\x03]": "a file of R (.rds, .RData): in R, "
    "write.csv(readRDS(path), new_path, fileEncoding = 'UTF-8')",
    rb"(?s).{12}\xc2\xea\x81\x60": "a data set of SAS (.sas7bdat): in pandas, "
    "read_sas(path).to_csv(new_path)",
    rb"\x89HDF|\x93NUMPY|Obj\x01|ORC[^ -~]": "a file of arrays or columns (HDF5, NumPy, Avro, ORC): "
    "write it as Parquet, CSV or JSON lines with the program that made it",
    rb"(?s)\x89PNG|\xff\xd8\xff|GIF8[79]a|RIFF.{4}(?:WAVE|AVI |WEBP)|\0\0.{2}ftyp": "a picture, a "
    "sound or a video: write its text into a .txt",
    rb"(?s).{60}BOOKMOBI": "an e-book (.mobi): convert it to .txt or .docx with Calibre, and name it "
    "with --articles",
    rb"bplist00": "a web archive of Safari, or a property list: save the page as HTML only, and name "
    "it with --articles",
    rb"Rar!\x1a": "a RAR archive: unpack it first",
    rb"\x1f\x8b|\x28\xb5\x2f\xfd": "packed twice: unpack it once",
    rb"BZh\d1AY": "packed with bzip2: unpack it first, or pack it with gzip or zstd",
    rb"\xfd7zXZ": "packed with xz: unpack it first, or pack it with gzip or zstd",
    rb"7z\xbc\xaf": "a 7z archive: unpack it first",
    rb"(?s)SQLite format 3|.{8}DUCK|\0.{3}Standard (?:Jet|ACE) DB": "a database (SQLite, DuckDB, "
    "Access): export the table of posts as CSV",
    rb"WARC/\d": "an archive of web pages (.warc): save the pages that are meant as HTML",
    rb"%PDF": "a PDF, which is read as an article: name it with --articles, and give it the ending "
    ".pdf",
    rb"\{\\rtf": "a rich text file (.rtf): save it as .docx or .txt, as every word processor does, and "
    "name it with --articles",
    rb"(?s:.{257}ustar[\0 ])": "a tar archive: unpack it",
    rb"(?:<\?xml[^>]*>\s*)?<(?:rss|feed|rdf:RDF)\b": "an RSS or Atom feed: save the pages of "
    "its articles; for posts, put its items into a table",
    rb"(?i)(?:<\?xml[^>]*>\s*)?<(?:(?:!doctype )?html|table)\b": "a web page: name it with --articles, "
    "and give it the ending .html; a table in it, which some programs call .xls, is read if it is "
    "saved as .xlsx or CSV UTF-8",
    rb"<\?xml\b": "XML of another kind than the comments of Disqus and WordPress, or with a document "
    "type, which could declare entities: put its posts into a table",
}
_BOM = b"\xef\xbb\xbf"
_JSON = (".jsonl", ".ndjson", ".json", ".geojson")


Kind = Literal["jsonl", "json", "xml", "delimited", "parquet", "sheet", "empty"]


@dataclass(frozen=True, slots=True)
class Detected:
    """The format of a file and its fields; the names of both are for people."""

    source: str
    format: str  # such as ``Bluesky Jetstream``
    text_field: str
    id_field: str
    packed: str  # ``gz``, ``zst`` or nothing
    kind: Kind
    choice: Choice = field(default_factory=Choice)
    known_format: Format | None = field(default=None, repr=False)
    # Without a known format: as `find_fields` chose among `names`.
    fields: Fields | None = None
    names: tuple[str, ...] = ()  # the fields that the first rows have
    encoding: str = UTF8
    table: delimited.Table | None = None
    prefixes: tuple[
        str, ...
    ] = ()  # where the records are: paths of ijson, the title of a sheet
    # Of a known format of columns, after a look at the records.
    flat: Fields | None = None
    remarks: tuple[str, ...] = ()  # on fields that are not what their names say
    # Lists of objects that are posts as well, in a JSON of no known format.
    inner: Mapping[tuple[str, ...], Fields] = field(default_factory=dict)
    # Fields that may have such lists in later records.
    empty_names: tuple[str, ...] = ()

    @property
    def described(self) -> str:
        """The format, its compression, and its encoding unless that is UTF-8."""
        packed = f"packed with {self.packed}" if self.packed else ""
        encoding = self.encoding if self.encoding != UTF8 else ""
        return ", ".join(filter(None, (self.format, packed, encoding)))

    @property
    def platform_ids(self) -> bool:
        """Whether a platform gives each id to one post only."""
        return self.known_format is not None and not self.known_format.local_ids

    @property
    def edited(self) -> str:
        """The field with the last edit of a post; empty if the format has none."""
        if fields := self.fields or self.flat:
            return fields.metadata.get("edited_at", "")
        # The monthly dumps are large, and have each post once.
        if self.packed == "zst" and self.format == REDDIT:
            return ""
        return self.known_format.edited if self.known_format else ""

    @property
    def placed(self) -> bool:
        """Whether posts may say in which group, channel or thread they were written."""
        if self.fields is None or self.choice.group_field is not None:
            return True
        names = {
            **self.fields.metadata,
            **self.fields.nested,
            **dict.fromkeys(self.names),
        }
        return not names.keys().isdisjoint(("channel", "thread", "metadata"))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a Parquet file that are needed."""
        fields = self.fields or self.flat
        if fields is None:
            return self.names
        single_fields = (
            fields.title,
            fields.spare,
            self.choice.date_field,
            self.choice.group_field,
        )
        field_names = (
            *fields.texts,
            *fields.ids,
            *fields.metadata.values(),
            *filter(None, single_fields),
        )
        tops = dict.fromkeys(
            n if n in self.names else n.split(".")[0] for n in field_names
        )
        return tuple(name for name in tops if name in self.names)

    def converter(self) -> Convert:
        """The function that makes posts of this file's records."""
        user_fields = {"group": self.choice.group_field}
        if self.fields is not None:  # which has the date as well
            convert = generic(self.fields)
            if self.inner or self.empty_names:
                convert = with_inner_posts(convert, self.inner, self.empty_names)
        else:
            assert self.known_format is not None
            convert = self.known_format.converter(self.names, self.flat)
            if self.known_format.name == ARCHIVE:
                convert = with_long_texts(convert, long_texts(Path(self.source))[0])
            user_fields = {"created_at": self.choice.date_field, **user_fields}
        chosen = {
            target: name for target, name in user_fields.items() if name is not None
        }
        if not chosen:
            return convert
        file_fields = {"platform": self.format, "file": readable_name(self.source)}
        return _with(
            convert,
            chosen,
            {k: v for k, v in file_fields.items() if k not in self.names},
            self.choice.date_format or "?",
        )


def _with(
    convert: Convert,
    user_fields: Mapping[str, str],
    file_fields: Mapping[str, str],
    dates: str,
) -> Convert:
    """Posts with the user's fields: name in the metadata -> field of a record, or key of `own`."""

    def added(record: Record) -> Any:
        converted = convert(record)
        posts = converted if isinstance(converted, list) else [converted]
        for number, post in enumerate(posts):
            if isinstance(post, Post):
                metadata = dict(post.metadata)
                for target, name in user_fields.items():
                    value = file_fields.get(name) or metadata.get(name)
                    # Not of a page, which has fields of no single post.
                    if post is converted:
                        value = value_at(record, name) if value is None else value
                        replace_value(metadata, target, value, dates)
                    else:
                        put(metadata, target, value)
                posts[number] = Post(post.id, post.text, metadata)
        return posts if isinstance(converted, list) else posts[0]

    return added


def detect(source: Input, choice: Choice) -> Detected:
    """Look at the beginning of an input; a pipe can be read from its start afterwards.

    Raises:
        UnknownFields: no field fits.
        InputError: it is not a file of posts.
    """
    encoding = None if choice.encoding is None else check_encoding(choice.encoding)
    raw = source.open(look=True)
    with raw:
        packed = packing(raw)
        start = raw.peek(4)[:4]
        look = _Look(source.name, packed, choice)
        if start == b"PAR1":
            return _parquet(source, look)
        if start == b"PK\x03\x04":
            from siamese_news.data.readers.excel import is_sheet

            source.spool()  # a zip archive is read from its end
            if is_sheet(source):
                return _sheet(source, look)
        head, ended = _head(unpack(raw))
        # Before its bytes are taken for a text in UTF-16.
        if comment_element(head) is None:
            refuse_foreign(source.name, head)
        if encoding is None:
            encoding = detect_encoding(head)
        if encoding != UTF8:
            head = as_utf8(io.BufferedReader(io.BytesIO(head)), encoding).read()
    if re.fullmatch(rb"(\s*\[\s*\]\s*)?", head):  # nothing, or an empty list
        return Detected(source.name, "empty", "", "", packed, "empty")
    head = head.removeprefix(_BOM)
    look = replace(look, encoding=encoding, sample=_sample(head, ended))
    if element := comment_element(head):
        return look.comments(element, head)
    first_line = next((line for _, line in look.sample if line.strip()), b"")
    begin = head.lstrip()
    suffix = plain_suffix(source.name)
    is_json = (
        begin[:1] in (b"{", b"[")
        and suffix not in delimited.TABLES
        and not _is_record(first_line)
    )
    if is_json or SCRIPT.match(begin):
        document = find_document(begin, choice)
        if document is not None:
            return look.document(document)
        for prefix in (_ITEM, ""):
            _, row, _ = next(document_rows(io.BytesIO(begin), (prefix,)), (0, None, 0))
            if isinstance(row, BadRow) and row.reason == TOO_DEEP:
                raise InputError(f"{source.name}: {row.message}; {_EXPECTED}")
    if begin.startswith(b"{") or suffix in _JSON or not begin:
        try:
            return look.json()
        except InputError:
            # A line may also be a document around its records.
            inside = look.documents(begin)
            if inside is None:
                raise
            return inside
    return look.delimited(suffix)


def _parquet(source: Input, look: "_Look") -> Detected:
    """A Parquet file by its columns; its values are decoded only where these do not tell enough."""
    from siamese_news.data.readers.parquet import parquet_columns, parquet_rows

    source.spool()  # Parquet is read from its end
    names = parquet_columns(source)

    def first_rows(columns: Sequence[str], count: int) -> list[Record]:
        return _good(
            islice(parquet_rows(source, tuple(columns), lambda share: None), count)
        )

    try:
        detected = look.detected("Parquet", "parquet", names)
    except UnknownFields:
        records = first_rows(names, _SHOWN)
    else:
        fields = detected.fields or detected.flat
        links = {
            *linking(fields),
            *([] if fields is None else [fields.metadata.get("created_at")]),
        }
        records = first_rows([name for name in names if name in links], ROWS)
    return look.detected("Parquet", "parquet", names, records=records)


def _sheet(source: Input, look: "_Look") -> Detected:
    """A sheet of an Excel or OpenDocument file."""
    from siamese_news.data.readers.excel import sheet_layout

    title, table, description, records = sheet_layout(source, look.choice)
    return look.detected(
        description,
        "sheet",
        [name for name in table.names if name],
        records=records,
        table=table,
        prefixes=(title,),
    )


class MessagesError(InputError):
    """A file of messages in a form that is not read."""


def refuse_foreign(name: str, head: bytes, expected: str = _EXPECTED) -> None:
    """Refuse a file of another kind; the message names the kind and the remedy."""
    begin = head.removeprefix(_BOM).lstrip()
    for shapes, refusal in ((_MESSAGES, MessagesError), (_FOREIGN, InputError)):
        for shape, advice in shapes.items():
            if re.match(shape, begin):
                raise refusal(f"{name}: is {advice}; {expected}")


def _head(stream: io.BufferedReader) -> tuple[bytes, bool]:
    """The beginning of a file, its first rows and some more, and whether that is all of it."""
    head = bytearray()
    ended = False
    lines = 0
    # In pieces, not lines: those before a fault in a packed file count.
    with suppress(EOFError, OSError):  # which is reported when the file is read
        while not ended and lines < ROWS and len(head) < _BYTES:
            piece = stream.read1(_PIECE)
            ended = not piece
            lines += piece.count(b"\n")
            head += piece
        # Rows of JSON lines are enough, however slowly a pipe brings more of them.
        if not ended and not _is_record(bytes(head).partition(b"\n")[0]):
            while len(head) < _MORE and not ended:
                piece = stream.read1(_MORE)
                ended = not piece
                head += piece
        return bytes(head), ended
    return bytes(head) or b"\n", True


def _with_order(
    fields: Fields | None, choice: Choice, records: Sequence[Record]
) -> Fields | None:
    """The fields with the form of the dates: the user's, or what the first of them tell."""
    if fields is None or "created_at" not in fields.metadata:
        return fields
    dates = (value_at(record, fields.metadata["created_at"]) for record in records)
    return replace(fields, dates=choice.date_format or order_of(dates))


def _is_record(line: bytes) -> bool:
    """Whether a line is one complete JSON object."""
    try:
        decode_object(line)
    except BadRow:
        return False
    return True


def _sample(head: bytes, ended: bool) -> list[tuple[int, bytes]]:
    """The first lines with their numbers; a last line that may be cut off is left out."""
    lines = head.split(b"\n")
    cut_line = lines.pop()
    if cut_line and (ended or not lines):
        lines.append(cut_line)
    return [(number, line) for number, line in enumerate(lines[:ROWS], 1)]


def _names(records: Sequence[Record]) -> list[str]:
    return list(dict.fromkeys(key for record in records for key in record))


def _good(rows: Iterable[tuple[int, Record | BadRow, Any]]) -> list[Record]:
    return [record for _, record, _ in rows if not isinstance(record, BadRow)]


@dataclass(frozen=True, slots=True)
class _Look:
    """A file whose beginning was read: its name, packing, encoding, and first lines by number."""

    name: str
    packed: str
    choice: Choice
    encoding: str = UTF8
    sample: Sequence[tuple[int, bytes]] = ()

    def _chosen(
        self, recognized: Format | None, records: Sequence[Record]
    ) -> Format | None:
        """A known format with the fields that the user chose."""
        guessing = not self.choice.text_field and self.choice.id_field is None
        return (
            recognized
            if recognized is None or guessing
            else recognized.chosen(self.choice, records)
        )

    def document(self, document: Document) -> Detected:
        """One JSON document with the records inside."""
        return self.detected(
            document.description,
            "json",
            _names(document.sample),
            platform=self._chosen(document.known_format, document.sample),
            records=document.sample,
            prefixes=document.prefixes,
        )

    def comments(self, element: str, head: bytes) -> Detected:
        """XML with comments."""
        records = _good(islice(xml_rows(io.BytesIO(head), element), ROWS))
        if not records:
            raise InputError(
                f"{self.name}: is an export without a comment; {_EXPECTED}"
            )
        return self.detected(
            "XML",
            "xml",
            _names(records),
            platform=self._chosen(known_format(records), records),
            records=records,
            prefixes=(element,),
        )

    def documents(self, head: bytes) -> Detected | None:
        """Lines that are each a document around records with the fields, such as an API's pages.

        None without such records, and for several lines that have ids themselves: these are posts
        whose text was not found, and the records in them are something else.
        """
        lines = [line for _, line in self.sample if line.strip()]
        names = _names([record for _, record in self._records()])
        if not names or (
            len(lines) > 1 and any(field.lower() in IDS for field in names)
        ):
            return None
        document = find_document(head, self.choice)
        if document is None:
            return None
        try:
            return self.document(document)
        except InputError:
            if len(document.sample) > len(lines):
                raise  # the records inside are rows, whatever their fields are called
            return None

    def json(self) -> Detected:
        """JSON lines."""
        numbered = list(self._records())
        records = [record for _, record in numbered]
        names = _names(records)
        platform = self._chosen(known_format(records), records)
        if not records:  # every row will be rejected with its reason
            own_id = self.choice.id_field
            return self.detected(
                "JSON lines",
                "jsonl",
                (),
                fields=Fields(self.choice.texts or TEXTS, (own_id,) if own_id else IDS),
            )
        beir = (
            "_id" in names
            and "text" in names
            and ("title" in names or "metadata" in names)
        )
        description = "BEIR corpus" if beir else "JSON lines"
        return self.detected(
            description,
            "jsonl",
            names,
            platform=platform,
            location=(f"{self.name}:{numbered[0][0]}"),
            records=records,
        )

    def delimited(self, suffix: str) -> Detected:
        """A CSV or TSV."""
        lines = [
            (number, line.decode("utf-8", "surrogateescape"))
            for number, line in self.sample
            if line.strip()
        ]
        if not lines:
            raise InputError(
                f"{self.name}:1: the first {len(self.sample)} lines are empty; {_EXPECTED}"
            )
        table = delimited.table_layout([line for _, line in lines], suffix)
        number = lines[min(table.header_row, len(lines) - 1)][0]
        names = table.names
        start = lines[0][1].strip()
        mac = "\r" in start and start.replace("\r", "").isprintable()
        ends = "; its lines end as on old Macs: save it as CSV UTF-8" if mac else ""
        if not names or (
            len(names) == 1
            and suffix not in delimited.TABLES
            and not self.choice.text_field
        ):
            raise InputError(
                f"{self.name}:{number}: neither JSON nor a table with a header (the first line is "
                f"{start[:60]!r}{ends}); {_EXPECTED}"
            )
        records = _good(
            delimited.table_rows(
                io.BytesIO(b"\n".join(line for _, line in self.sample)), table
            )
        )
        description = "TSV" if table.delimiter == "\t" else "CSV"
        location = f"{self.name}:{number}"
        try:
            return self.detected(
                description,
                "delimited",
                names,
                location=location,
                records=records,
                table=table,
            )
        except UnknownFields as error:
            if not names[0].isdigit():
                raise
            raise InputError(
                f"{location}: expected the names of the columns, but the line begins with "
                f"'{names[0][:60]}'; add a line with names such as id, date and text above it"
            ) from error

    def detected(
        self,
        description: str,
        kind: Kind,
        names: Sequence[str],
        *,
        platform: Format | None = None,
        fields: Fields | None = None,
        location: str | None = None,
        records: Sequence[Record] = (),
        **layout: Any,
    ) -> Detected:
        """A file in a known format, or whose fields are found by their names."""
        choice = self.choice
        location = location or self.name
        flat: Fields | None = None
        inner: Mapping[tuple[str, ...], Fields] = {}
        empty_names: list[str] = []
        remarks: list[str] = []
        if (
            len(records) == 1
            and len(names) > 1
            and kind in ("json", "jsonl")
            and platform is None
            and all(isinstance(value, dict) for value in records[0].values())
        ):
            raise InputError(
                f"{location}: is one object of objects, by column or by id; expected an object "
                'for each post (in pandas: to_json(path, orient="records", lines=True))'
            )
        if platform is None and fields is None and kind not in ("jsonl", "json"):
            platform = self._chosen(known_table(names), records)
        if platform is not None:
            check_fields(names, choice, self.name)
            description = platform.name
            text = platform.text_field
            own_id = platform.id_field
            if platform.name == ARCHIVE:
                remarks = long_texts(Path(self.name))[1]
            if platform.columns is not None:
                flat, remarks = checked(
                    platform.columns.fields(names), records, location
                )
            elif platform.flat:
                refuse_rounded(
                    [record.get(own_id) for record in records], own_id, location
                )
        else:
            if fields is None:
                fields = find_fields(names, location, choice, records[:_SHOWN])
                fields, remarks = checked(fields, records, location)
                if kind in ("json", "jsonl", "delimited"):
                    inner, unread = inner_posts(records, location, html=fields.html)
                    empty_names = [
                        name
                        for name in names
                        if name
                        not in (
                            *linking(fields),
                            *fields.metadata.values(),
                            *fields.texts,
                        )
                        and not any(record.get(name) for record in records)
                    ]
                    remarks += unread
            text = " + ".join(fields.texts) if fields.joined else fields.texts[0]
            own_id = fields.ids[0]
            description += " with texts in HTML" if fields.html else ""
            texts = fields.texts[: None if fields.joined else 1]
            date = fields.metadata.get("created_at", own_id)
            delimited.refuse_repeated(names, (*texts, own_id, date), location)
        flat = _with_order(flat, choice, records)
        fields = _with_order(fields, choice, records)
        return Detected(
            self.name,
            description,
            text,
            own_id,
            self.packed,
            kind,
            choice,
            platform,
            fields,
            tuple(names),
            self.encoding,
            flat=flat,
            remarks=tuple(remarks),
            inner=inner,
            empty_names=tuple(empty_names),
            **layout,
        )

    def _records(self) -> Iterator[tuple[int, Record]]:
        """The records among the first lines, with the numbers of their lines."""
        for number, line in self.sample:
            if line.strip():
                with suppress(BadRow):
                    yield number, decode_object(line)
