"""The description of a known format: how to recognise its records and make posts of them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from siamese_news.data.lines import BadRow
from siamese_news.data.readers.fields import (
    Convert,
    Converted,
    Fields,
    Record,
    by_normal_name,
    generic,
    normal,
)
from siamese_news.data.records import Post

# What a converter may stumble over where a record is not in the shape of its format.
SHAPE = (AttributeError, IndexError, KeyError, TypeError, ValueError)
CONTEXT = "@of"
"""The field with the plain values of the enclosing object, for formats that need them."""


@dataclass(frozen=True, slots=True)
class Columns:
    """A format whose records are flat: which column is what.

    Names are written as `siamese_news.data.readers.fields.normal` gives them; a dot leads into an
    object. Of several names, the first that a file has counts.

    Attributes:
        needs: columns by which the format is recognised, all of them.
        texts: the text.
        ids: the id.
        title: a title that comes before the text.
        metadata: a name of `fields.METADATA` -> columns.
    """

    needs: Sequence[str]
    texts: Sequence[str]
    ids: Sequence[str]
    title: str | None = None
    metadata: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def matches(self, record: Record) -> bool:
        """Whether a record has the columns."""
        return set(self.needs) <= _flat(record).keys()

    def fields(self, names: Iterable[str]) -> Fields:
        """The fields of a file with columns `names`."""
        by_normal = by_normal_name(names)

        def have(options: Sequence[str]) -> tuple[str, ...]:
            # A name with a dot may lead into an object, where no column is called so.
            return tuple(
                by_normal.get(option, option)
                for option in options
                if option in by_normal or ("." in option and option.split(".")[0] in by_normal)
            )

        metadata = {target: have(options) for target, options in self.metadata.items()}
        return Fields(
            have(self.texts) or tuple(self.texts),
            have(self.ids) or tuple(self.ids),
            {target: found[0] for target, found in metadata.items() if found},
            title=next(iter(have((self.title,))), None) if self.title else None,
        )


@dataclass(frozen=True, slots=True)
class Format:
    """A known format: an entry of the registry.

    Attributes:
        name: for people.
        recognised: how it is recognised, for people.
        text_field: where the text is, for people.
        id_field: where the id is, likewise.
        matches: whether a record has this shape; None if `columns` decide.
        convert: makes its posts; None if `columns` do.
        columns: of a flat format.
        inside: where the records are in an enclosing object: paths with dots, such as
            ``data.videos``; a list on the way is written ``[]``.
        context: whether a record needs the plain values of the enclosing object, as `CONTEXT`.
        header: the columns of a table without a header.
    """

    name: str
    recognised: str
    text_field: str
    id_field: str
    matches: Callable[[Record], bool] | None = None
    convert: Convert | None = None
    columns: Columns | None = None
    inside: tuple[str, ...] = ()
    context: bool = False
    header: tuple[str, ...] = ()

    def fits(self, record: Record) -> bool:
        """Whether a record, or what it holds inside, has this shape."""
        if self._one(record):
            return True
        return any(self._one(child) for child in self.children(record)[:5])

    def children(self, record: Record) -> list[Record]:
        """The records inside an object around them; none where it is another object."""
        for path in self.inside:
            found = list(_inside(record, path.split("."), self.context))
            if found:
                return found
        return []

    def converter(self, names: Iterable[str]) -> Convert:
        """The function that makes posts of records with the fields `names`."""
        one = self.convert
        if one is None:
            assert self.columns is not None
            one = generic(self.columns.fields(names))
        if not self.inside:
            return one

        def convert(record: Record) -> Converted:
            children = [] if self._one(record) else self.children(record)
            if children:
                return each(one, children)
            if any(_is_empty(record, path.split(".")) for path in self.inside):
                return None  # a page without a post
            return one(record)

        return convert

    def _one(self, record: Record) -> bool:
        if self.matches is not None:
            return self.matches(record)
        return self.columns is not None and self.columns.matches(record)


def each(convert: Convert, records: Iterable[Record]) -> list[Post | BadRow | None]:
    """The posts of a page; a bad record does not affect the others."""
    made: list[Post | BadRow | None] = []
    for record in records:
        try:
            found = convert(record)
        except BadRow as bad:
            made.append(bad)
        except SHAPE as error:
            message = f"a record of the page has another shape ({type(error).__name__})"
            made.append(BadRow("unexpected shape", message))
        else:
            if isinstance(found, list):
                made.extend(found)
            else:
                made.append(found)
    return made


def _inside(value: Any, path: Sequence[str], context: bool) -> Iterator[Record]:
    if not path:
        for item in value if isinstance(value, list) else ():
            if isinstance(item, dict):
                yield item
        return
    name, rest = path[0], path[1:]
    if name == "[]":
        for item in value if isinstance(value, list) else ():
            yield from _inside(item, rest, context)
    elif isinstance(value, dict) and name in value:
        around = plain(value) if context and not rest else None
        for item in _inside(value[name], rest, context):
            yield item if around is None else {**item, CONTEXT: around}


def _is_empty(value: Any, path: Sequence[str]) -> bool:
    """Whether there is an empty list at a place."""
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return False
        value = value[name]
    return value == []


def plain(record: Mapping[str, Any]) -> dict[str, Any]:
    """The values of an object that are neither lists nor objects."""
    return {key: value for key, value in record.items() if not isinstance(value, list | dict)}


def _flat(record: Record) -> dict[str, str]:
    """The names of a record's fields, and of the fields of its objects after a dot."""
    names = {normal(key): key for key in record}
    for key, value in record.items():
        if isinstance(value, dict):
            names.update((f"{normal(key)}.{normal(inner)}", key) for inner in value)
    return names
