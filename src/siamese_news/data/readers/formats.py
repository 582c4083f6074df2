"""The description of a known format: how to recognize its records and make posts of them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from siamese_news.data.lines import BadRow
from siamese_news.data.readers.fields import (
    PARTS,
    Choice,
    Convert,
    Converted,
    Fields,
    Record,
    by_normal_name,
    first_present,
    generic,
    in_html,
    normal,
    present,
    value_at,
)
from siamese_news.data.readers.values import Deleted, id_value
from siamese_news.data.records import Post

# The errors of a converter whose record does not have the shape of its format.
SHAPE = (AttributeError, IndexError, KeyError, TypeError, ValueError)
# The field with the plain values of the enclosing object, for formats that need them.
CONTEXT = "@of"


@dataclass(frozen=True, slots=True)
class Columns:
    """A format whose records are flat: which column is what.

    Names are written as `siamese_news.data.readers.fields.normal` returns them; a dot leads into an
    object. Of several names, the first that a file has counts.
    """

    needs: Sequence[str]  # all the columns by which the format is recognized
    texts: Sequence[str]
    ids: Sequence[str]
    title: str | None = None  # comes before the text
    # By `fields.METADATA`.
    metadata: Mapping[str, Sequence[str]] = field(default_factory=dict)
    joined: bool = False  # the text is that of all `texts`

    def matches(self, record: Record) -> bool:
        """Whether a record has the columns, some perhaps inside its objects."""
        names = {normal(key) for key in record}
        for key, value in record.items():
            if isinstance(value, dict):
                names.update(f"{normal(key)}.{normal(inner)}" for inner in value)
        return names.issuperset(self.needs)

    def fields(self, names: Iterable[str]) -> Fields:
        """The fields of a file with columns `names`."""
        by_normal = by_normal_name(names)
        return Fields(
            present(by_normal, self.texts) or tuple(self.texts),
            present(by_normal, self.ids) or tuple(self.ids),
            first_present(by_normal, self.metadata),
            title=next(iter(present(by_normal, (self.title,))), None)
            if self.title
            else None,
            joined=self.joined,
            reddit="subreddit" in self.metadata.get("channel", ()),
        )


@dataclass(frozen=True, slots=True)
class Format:
    """A known format: an entry of the registry.

    Its name, how it is `recognized`, and where text and id are, are for people.

    Attributes:
        matches: whether a record has this shape (an error of `SHAPE` means no); None if `columns`
            decide.
        convert: makes its posts; None if `columns` do.
        inside: where the records are in an enclosing object: paths with dots, such as
            ``data.videos``; a list on the way is written ``[]``.
        context: whether a record needs the plain values of the enclosing object, as `CONTEXT`.
        local_ids: whether ids are unique only in a channel, on a server or in a file, so that two
            posts can have one.
        edited: the field of a record with the time of its last edit, by which the versions of a post
            are known.
        flat: whether `matches` and `convert` also fit the rows of a table; `id_field` is then the
            name of a column.
    """

    name: str
    recognized: str
    text_field: str
    id_field: str
    matches: Callable[[Record], bool] | None = None
    convert: Convert | None = None
    columns: Columns | None = None
    inside: tuple[str, ...] = ()
    context: bool = False
    local_ids: bool = False
    flat: bool = False
    edited: str = ""

    def fits(self, record: Record) -> bool:
        """Whether a record, or one of the first records inside it, has this shape."""
        # Most formats have no paths, and every record of a file's first ones is asked about all.
        return self._one(record) or any(
            map(self._one, ((self._inside(record) if self.inside else None) or [])[:5])
        )

    def converter(self, names: Iterable[str], fields: Fields | None = None) -> Convert:
        """The function that makes posts of records with the fields `names`.

        `fields` are those of `columns` after a look at the records.
        """
        convert_record = self.convert
        if convert_record is None:
            assert self.columns is not None
            convert_record = generic(fields or self.columns.fields(names))
        if not self.inside:
            return convert_record

        def convert(record: Record) -> Converted:
            inner_records = None if self._one(record) else self._inside(record)
            if inner_records is None:
                return convert_record(record)
            if not inner_records:  # a page without a post
                return None
            if self.columns is None:
                return each(convert_record, inner_records)
            return each(
                generic(
                    self.columns.fields(
                        dict.fromkeys(name for inner in inner_records for name in inner)
                    )
                ),
                inner_records,
            )

        return convert

    def chosen(self, choice: Choice, records: Sequence[Record]) -> "Format | None":
        """The format with the text and the id in the fields that the user chose.

        It keeps its dates, links and authors. None unless the first `records` are posts of this
        format: the fields of a page are those of several posts.
        """
        texts = choice.texts
        own_id = choice.id_field
        changed = replace(
            self,
            text_field=" + ".join(texts) or self.text_field,
            id_field=own_id or self.id_field,
        )
        if self.columns is not None:
            columns = replace(
                self.columns,
                texts=texts or self.columns.texts,
                ids=(own_id,) if own_id else self.columns.ids,
                title=None if texts else self.columns.title,
                joined=len(texts) > 1,
            )
            return (
                None
                if any(self._inside(record) for record in records)
                else replace(changed, columns=columns)
            )
        convert = self.convert
        assert convert is not None
        if not any(isinstance(_try(convert, record), Post) for record in records):
            return None
        html = bool(texts) and in_html(records, texts[0])
        return replace(
            changed,
            convert=_with_fields(
                convert,
                Fields(texts, (own_id or _ID,), joined=len(texts) > 1, html=html),
            ),
            inside=(),
        )

    def _one(self, record: Record) -> bool:
        matches = self.matches or (self.columns and self.columns.matches)
        try:
            return bool(matches and matches(record))
        except SHAPE:
            return False

    def _inside(self, record: Record) -> list[Record] | None:
        """The records inside a page; None for an object that is not a page."""
        pages = [
            _records(record, path.split("."), self.context) for path in self.inside
        ]
        lists = [page for page in pages if page is not None]
        return [item for page in lists for item in page] if lists else None


# The field with the id that a format gave a post.
_ID = "@id"


def _try(convert: Convert, record: Record) -> Converted:
    try:
        return convert(record)
    except (BadRow, *SHAPE):
        return None


def _with_fields(convert: Convert, fields: Fields) -> Convert:
    """The posts of a format with the text and the id of other fields."""
    convert_fields = generic(fields) if fields.texts else None
    (name,) = fields.ids

    def converted(record: Record) -> Converted:
        post = convert(record)
        if not isinstance(post, Post):
            return post
        if convert_fields is None:
            return Post(
                id_value(value_at(record, name), name), post.text, post.metadata
            )
        chosen = convert_fields({**record, _ID: post.id})
        if not isinstance(chosen, Post):
            return chosen
        parts = {key: value for key, value in chosen.metadata.items() if key == PARTS}
        return Post(chosen.id, chosen.text, {**post.metadata, **parts})

    return converted


def each(
    convert: Convert, records: Iterable[Record]
) -> list[Post | BadRow | Deleted | None]:
    """The posts of a page; a bad record does not affect the others."""
    posts: list[Post | BadRow | Deleted | None] = []
    for record in records:
        try:
            converted = convert(record)
        except BadRow as bad:
            posts.append(bad)
        except SHAPE as error:
            message = f"a record of the page has another shape ({type(error).__name__})"
            posts.append(BadRow("unexpected shape", message))
        else:
            posts.extend(converted if isinstance(converted, list) else [converted])
    return posts


def _records(value: Any, path: Sequence[str], context: bool) -> list[Record] | None:
    """The records of the list at a path; None if it has no list of objects."""
    if not path:
        records = (
            [item for item in value if isinstance(item, dict)]
            if type(value) is list
            else []
        )
        return records if records or value == [] else None
    if path[0] == "[]":
        lists = [
            _records(item, path[1:], context)
            for item in value
            if isinstance(value, list)
        ]
        return (
            [record for page in lists for record in page or ()] if any(lists) else None
        )
    if not isinstance(value, dict) or path[0] not in value:
        return None
    nested = _records(value[path[0]], path[1:], context)
    if nested and context and len(path) == 1:
        around = {
            key: item
            for key, item in value.items()
            if not isinstance(item, list | dict)
        }
        return [{**record, CONTEXT: around} for record in nested]
    return nested
