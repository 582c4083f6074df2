"""The detected format of a file, and what the user said about it."""

from dataclasses import dataclass, field
from typing import Any, Literal

from siamese_news.data.readers.encodings import UTF8
from siamese_news.data.readers.fields import Convert, Fields, Record, generic, value_at
from siamese_news.data.readers.formats import Format
from siamese_news.data.readers.tables import Table
from siamese_news.data.readers.values import put
from siamese_news.data.records import Post

Kind = Literal["jsonl", "json", "delimited", "parquet", "sheet", "empty"]


@dataclass(frozen=True, slots=True)
class Choice:
    """The user's choices about fields and encoding; None is left to detection.

    Attributes:
        text_field: where the text is.
        id_field: where the id is.
        date_field: where the date is.
        encoding: of text files.
    """

    text_field: str | None = None
    id_field: str | None = None
    date_field: str | None = None
    encoding: str | None = None


@dataclass(frozen=True, slots=True)
class Detected:
    """The format of a file and what would be read from it.

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
        encoding: of a text file.
        prefix: where the records of a JSON document are, as ijson writes it.
        skip: what precedes a JSON document.
        known: the known format of the records; None where the fields were guessed.
        date_field: the user's choice.
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
    encoding: str = UTF8
    prefix: str = ""
    skip: str = ""
    known: Format | None = field(default=None, repr=False)
    date_field: str | None = None

    @property
    def described(self) -> str:
        """The format, its compression, and its encoding unless that is UTF-8."""
        packed = f", packed with {self.packed}" if self.packed else ""
        return f"{self.format}{packed}{f', {self.encoding}' if self.encoding != UTF8 else ''}"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a Parquet file that are needed."""
        found = self.fields
        if found is None:
            assert self.known is not None
            if self.known.columns is None:
                return self.names
            found = self.known.columns.fields(self.names)
        others = [name for name in (found.title, found.spare, self.date_field) if name]
        wanted = [*found.texts, *found.ids, *found.metadata.values(), *others]
        tops = dict.fromkeys(n if n in self.names else n.split(".")[0] for n in wanted)
        return tuple(name for name in tops if name in self.names)

    def converter(self) -> Convert:
        """What makes posts of this file's records."""
        if self.fields is not None:
            return generic(self.fields)
        assert self.known is not None
        convert = self.known.converter(self.names)
        return convert if self.date_field is None else _dated(convert, self.date_field)


def _dated(convert: Convert, name: str) -> Convert:
    """Posts with the date of the user's field."""

    def dated(record: Record) -> Any:
        made = convert(record)
        if isinstance(made, Post):
            metadata = {k: v for k, v in made.metadata.items() if k != "created_at"}
            put(metadata, "created_at", value_at(record, name))
            return Post(made.id, made.text, metadata)
        return made

    return dated
