"""Converts values of records to those of posts, such as dates to UTC."""

import html
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from functools import cache
from typing import Any

from siamese_news.data.jsonl import kind, missing, plain_value
from siamese_news.data.lines import BadRow
from siamese_news.data.readers.dates import (
    END_YEAR,
    ImpossibleDate,
    written_date,
)
from siamese_news.data.records import Post, check_id, clean_text
from siamese_news.errors import InputError

_MONTHS = {
    name: f"{number:02}"
    for number, name in enumerate(
        "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), 1
    )
}
# Which number is a moment from 1979 to 2099, in units of a second since when. No two of the
# spans overlap, and a number in none of them, such as 0 or -1, is no date of a post.
_1601 = datetime(1601, 1, 1, tzinfo=UTC)
_DOT_NET = datetime(1, 1, 1, tzinfo=UTC)
_1970 = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBERS = (
    (
        3.0e4,
        7.3e4,
        1 / 86_400,
        datetime(1899, 12, 30, tzinfo=UTC),
    ),  # Excel: days, with fractions
    (3.0e8, 4.1e9, 1.0, _1970),
    (3.0e11, 4.1e12, 1e3, _1970),
    (3.0e14, 4.1e15, 1e6, _1970),
    (1.2e16, 1.6e16, 1e6, _1601),  # Chrome
    (1.2e17, 1.6e17, 1e7, _1601),  # Windows
    (
        6.2e17,
        6.6e17,
        1e7,
        _DOT_NET,
    ),  # .NET's ticks; as nanoseconds they are all in 1990
    (9.0e17, 4.1e18, 1e9, _1970),
)
# Dates that are one number, by its length; 2018 and 12 digits of milliseconds are others.
_CENTURIES = ("18", "19", "20")
_DIGITS = {4: "%Y", 8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}
_SERIAL = re.compile(r"\d{5}[.,]\d+")
# What programs write for no date at all: the first moments of their calendars, wherever the clock.
_NO_DATES = frozenset(
    "1969-12-31 1970-01-01 1899-12-30 1899-12-31 1900-01-01 1904-01-01".split()
)
_FIRST_YEAR, _END_YEAR = "1800", f"{END_YEAR}"
# The names of `fields.METADATA` whose values are ids of other posts.
LINKS = frozenset("reply_to thread quotes retweet_of".split())
# The metadata with the names of the dates and links that a record has but that cannot be right.
LOST = "@lost"
# The name there of a date that was not understood.
UNREAD = "created_at?"
_ZERO = re.compile(r"-?\d+(?:\.\d+)?$|0000")
# What is between the day and the time in ISO 8601, and at its end.
_TIME = re.compile(r"(?<=\d)T(?=\d)|Z$")
# How years of Iran, of Islam and of Buddhism begin.
_ERAS = ("13", "14", "25")
# What programs write for no value at all.
_NONE = frozenset("nan none null na n/a <na> nat undefined".split())
# What R writes for it. The names of places and groups may be this word.
_NA = "NA"
_NA_IS_NONE = frozenset("lang author url permalink".split())


def iso_date(value: Any, order: str = "") -> str | None:
    """The moment in UTC, whole seconds; None unless `value` is an unambiguous date.

    Reads ISO 8601 (also with ``/``, and with the name of a zone such as ``EDT``), the dates of
    Twitter v1.1 and of e-mail, ``10-Nov-2018 08:19PM``, ``10.11.2018``, ``20181010``,
    ``20181010201924``, seconds (milli, micro, nano) since 1970, and the numbers of Excel, Windows,
    Chrome and .NET, and what `written_date` reads. A date without a zone counts as UTC. Without an
    `order` (see `order_of`, or a pattern of ``strptime``), ``10/11/2018`` is ambiguous. A number
    before 1979 or after 2099 is not a date.
    """
    try:
        if type(value) is int and value > 0 and len(str(value)) in (4, 8, 12, 14):
            value = str(value)  # 20181010 is a date, not seconds since 1970
        if isinstance(value, str):
            if "%" in order:
                with suppress(ValueError):
                    return _utc(datetime.strptime(value.strip(), order))
            # By far the most frequent; the parser still has to agree that there is such a day.
            if value[10:11] == "T" and value[-1] == "Z" and len(value) in (20, 24):
                datetime.fromisoformat(value)
                return value[:19] + "Z"
            return _utc(_parse(value.strip(), order))
        if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
            return _utc(_moment(float(value)))
    except (ValueError, OverflowError, OSError, TypeError, IndexError):
        pass
    return None


def iso_seconds(value: int) -> str | None:
    """A Unix time in UTC; None after the year 9999."""
    try:
        return _utc(datetime.fromtimestamp(value, UTC))
    except (ValueError, OverflowError, OSError):
        return None


def _parse(text: str, order: str = "") -> datetime:
    if text.isascii() and text.replace(".", "", 1).lstrip("-").isdigit():
        if (
            text.isdigit()
            and text[:2] in _CENTURIES
            and (form := _DIGITS.get(len(text)))
        ):
            return datetime.strptime(text, form)
        return _moment(float(text))
    if _SERIAL.fullmatch(text):
        return _moment(float(text.replace(",", ".")))
    parts = text.split()
    if len(parts) == 6 and parts[1] in _MONTHS:  # Wed Oct 10 20:19:24 +0000 2018
        _, month, day, time, zone, year = parts
        with suppress(ValueError):
            return datetime.fromisoformat(
                f"{year}-{_MONTHS[month]}-{day:0>2}T{time}{zone}"
            )
    if text[:4].isdigit():
        if text[4:5] == "/":
            text = text.replace("/", "-", 2)
        text = text.removesuffix(" UTC")  # a date without a zone is one
        if text.isascii():
            try:
                return datetime.fromisoformat(text)
            except ValueError:
                if text[10:11] == "T":  # hardly another form of date
                    raise
    return written_date(text, order)


def _moment(value: float) -> datetime:
    for lowest, end, units, start in _NUMBERS:
        if lowest <= value < end:
            # A fraction of a day is hardly ever a whole number of seconds.
            if units < 1:
                return start + timedelta(seconds=round(value / units))
            return start + timedelta(seconds=value / units)
    raise ValueError(value)


def possible_date(date: str) -> bool:
    """Whether a post may have this date: not the zero of some calendar, nor a year without posts.

    Example:
        >>> from siamese_news.data.readers.values import possible_date
        >>> [possible_date(f"{year}-01-01T00:00:00Z") for year in ("0001", "1970", "2024", "9999")]
        [False, False, True, False]
    """
    return _FIRST_YEAR <= date[:4] < _END_YEAR and date[:10] not in _NO_DATES


def _utc(moment: datetime) -> str:
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC)
    return moment.replace(microsecond=0, tzinfo=None).isoformat() + "Z"


# A whole number after a data frame made it one with a decimal point, and the largest such number
# that has all its digits.
_WHOLE = re.compile(r"(-?\d{1,16})[.,]0+")
_EXACT = 2**53
# 1.23457E+18, which is 1,23457E+18 in half of Europe, 1.23457e18, 1.23457 x 10^18, and
# 1234567890123456768.0
_MANGLED = re.compile(
    r"-?\d+[.,]\d+\s?[eE]\+?\d+|-?\d+[eE]\+\d+|-?\d+(?:[.,]\d+)?\s?[x×*·]\s?10\^?\d+|-?\d+[.,]0+"
)


def whole_number(value: Any) -> str | None:
    """The whole number in a value of a column that a data frame made one of fractions.

    None for another value, and for a number so large that digits were lost.

    Example:
        >>> from siamese_news.data.readers.values import whole_number
        >>> [whole_number(value) for value in ("17.0", 17.0, "17.5", "1859000000000000000.0")]
        ['17', '17', None, None]
    """
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < _EXACT else None
    match = _WHOLE.fullmatch(value) if isinstance(value, str) else None
    return match[1] if match is not None and abs(int(match[1])) < _EXACT else None


class Deleted(Enum):
    """In place of a post whose text was deleted, by its author or by others."""

    DELETED = "deleted"


DELETED = Deleted.DELETED

# "[deleted]", "[removed]", "[ Removed by Reddit ]", "[deleted by user]"
_LONGEST = 120
_DELETED_TEXT = re.compile(
    r"\[\s*(?:deleted|removed)(?:\s+by\b[^\[\]]{0,80})?\s*\]", re.IGNORECASE
)


def is_deleted(text: str) -> bool:
    """Whether Reddit wrote this in place of a deleted text."""
    return len(text) < _LONGEST and _DELETED_TEXT.fullmatch(text.strip()) is not None


def text_value(value: Any, name: str) -> str:
    """A text, cleaned.

    Raises:
        BadRow: it is not a string.
    """
    if type(value) is not str:
        raise BadRow("no text", f"field '{name}' is {kind(value)}, expected a string")
    return clean_text(value)


def id_value(value: Any, name: str) -> str:
    """An id, digit for digit.

    Raises:
        BadRow: it is not a string or whole number, or not a valid id.
    """
    if type(value) is int:
        return str(value)
    if isinstance(value, float | Decimal):
        raise BadRow(
            "id lost digits",
            f"field '{name}' is a number with a decimal point, which holds 15 digits; go back to "
            "where the ids are whole, and write them as strings",
        )
    if not isinstance(value, str):
        raise BadRow(
            "no id",
            f"field '{name}' is {kind(value)}, expected a string or a whole number",
        )
    value = value.strip()  # databases pad a column of fixed width with blanks
    if value.isalnum():
        return str(value)
    if _MANGLED.fullmatch(value):
        raise BadRow(
            "id lost digits",
            f"field '{name}' is '{value[:80]}': a spreadsheet or a data frame made a rounded "
            "number of it; go back to the file from before that",
        )
    try:
        return check_id(str(value), f"field '{name}'")
    except InputError as error:
        raise BadRow("unusable id", str(error)) from None


def text_of(record: Mapping[str, Any], *names: str) -> str:
    """The text in the first of the fields that a record has; see `text_value`."""
    return text_value(*_first(record, names))


def id_of(record: Mapping[str, Any], *names: str) -> str:
    """The id in the first of the fields that a record has; see `id_value`."""
    return id_value(*_first(record, names))


def _first(record: Mapping[str, Any], names: Sequence[str]) -> tuple[Any, str]:
    for name in names:
        if name in record:
            return record[name], name
    raise BadRow("missing field", missing(names, record))


def metadata_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record's own ``metadata`` as plain values; empty if it has none.

    Raises:
        BadRow: it is not an object.
    """
    value = record.get("metadata")
    if value is None or value == "":
        return {}
    if not isinstance(value, dict):
        raise BadRow(
            "bad metadata", f"field 'metadata' is {kind(value)}, expected an object"
        )
    return dict(plain_value(value))


def inside(value: Any, *names: str) -> Any:
    """The value at a path through objects; None if anything on the path is not an object."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def unwrapped(value: Any) -> Any:
    """The value in an object of MongoDB, such as ``{"$oid": "65…"}``; another value as it is."""
    while type(value) is dict and len(value) == 1 and next(iter(value))[:1] == "$":
        (value,) = value.values()
    return value


def put(metadata: dict[str, Any], name: str, value: Any, order: str = "") -> None:
    """Set a name of `fields.METADATA` where the value is one; `order` is that of `iso_date`."""
    value = unwrapped(value) if type(value) is dict else value
    if value is None or value == "":
        return
    if name == "created_at":
        date = iso_date(value, order)
        if date is not None and ("1971" <= date < _END_YEAR or possible_date(date)):
            metadata[name] = date
        elif isinstance(value, str | int | float) and str(value).lower() not in _NONE:
            unread = isinstance(value, str) and not _impossible(value, order)
            if date is not None:
                unread = date.startswith(_ERAS)
            _lose(metadata, UNREAD if unread else name)
        elif isinstance(value, dict | list) and value:
            _lose(metadata, UNREAD)
    elif name == "edited_at":
        if (date := iso_date(value)) is not None:
            metadata[name] = date
    elif name in LINKS and isinstance(value, str | float):
        _put_link(metadata, name, value)
    elif isinstance(value, str):
        if value != _NA or name not in _NA_IS_NONE:
            metadata[name] = clean_text(value)
    elif type(value) is int or (name == "group" and isinstance(value, bool | float)):
        metadata[name] = str(value)


def _impossible(text: str, order: str) -> bool:
    """Whether a text is a date that no calendar has, or a zero: not one of an unknown form."""
    with suppress(ValueError, OverflowError):
        try:
            written_date(_TIME.sub(" ", text.strip()), order)
        except ImpossibleDate:
            return True
    return _ZERO.match(text) is not None


def replace(metadata: dict[str, Any], name: str, value: Any, order: str = "") -> None:
    """Set a name as `put` does, whatever it was and whether it was lost."""
    metadata.pop(name, None)
    lost = [
        lost_name
        for lost_name in metadata.pop(LOST, ())
        if lost_name.rstrip("?") != name
    ]
    if lost:
        metadata[LOST] = lost
    put(metadata, name, value, order)


def _put_link(metadata: dict[str, Any], name: str, value: str | float) -> None:
    link = whole_number(value) or value
    if isinstance(link, float) or _MANGLED.fullmatch(link):
        if link == link:  # not NaN
            _lose(metadata, name)
    elif link.lower() not in _NONE:
        metadata[name] = clean_text(link)


def _lose(metadata: dict[str, Any], name: str) -> None:
    metadata.setdefault(LOST, []).append(name)


def post_of(
    post_id: str, text: str, record: Mapping[str, Any], paths: str, **values: Any
) -> Post:
    """A post with metadata by the names of `fields.METADATA`; `put` drops unusable values.

    They are at `paths` in its record, such as ``author=user.name|user.id lang``, of which the first
    that has a value counts; `values` are further ones.
    """
    metadata: dict[str, Any] = {}
    for name, options in _parsed(paths):
        put(
            metadata,
            name,
            next(filter(None, (inside(record, *path) for path in options)), None),
        )
    for name, value in values.items():
        put(metadata, name, value)
    return Post(post_id, text, metadata)


@cache
def _parsed(paths: str) -> list[tuple[str, list[list[str]]]]:
    pairs = (pair.partition("=") for pair in paths.split())
    return [
        (name, [path.split(".") for path in (value or name).split("|")])
        for name, _, value in pairs
    ]


# What a browser does not show: two kinds of tags with their content.
_UNSEEN = re.compile(
    r"<(script|style)\b[^<>]*>[^<]*+(?:<(?!/?(?:script|style)\b)[^<]*+)*+</\1\s*>", re.I
)
# Every tag keeps words apart but those inside a line; a hyphen is in names that a page makes up.
_INLINE = (
    r"(?:a|span|b|i|em|strong|abbr|acronym|bdi|bdo|big|cite|code|data|del|dfn|font|img|ins|kbd|mark|nobr|q|ruby"
    r"|rb|samp|small|strike|sub|sup|s|time|tt|u|var|wbr|[a-z]+[:-][\w:-]*)(?=[\s/>])"
)
# Tags between two lines; Hacker News has only the opening one of a paragraph.
_BREAK = re.compile(
    rf"<(?:br\b[^<>]*>|/?(?!{_INLINE})[a-z][^<>]*>\s*(?:</?(?!br\b|{_INLINE})[a-z][^<>]*>\s*)*)",
    re.IGNORECASE,
)
# `<` is excluded inside: many of them take no quadratic time, and servers escape a real one.
_TAG = re.compile(r"</?[a-zA-Z!][^<>]*>")


def without_html(text: str) -> str:
    """The text of simple HTML: other tags than those inside a line end lines, and all vanish."""
    if "<" in text:
        text = _TAG.sub("", _BREAK.sub("\n", _UNSEEN.sub("\n", text))).strip()
    return unescaped(text)


# No character has a number of so many digits; `html.unescape` fails on thousands of them.
_NO_CHARACTER = re.compile(r"&#\d{11,};?")


def unescaped(text: str) -> str:
    """The text with HTML references resolved; one to a number that no character has is U+FFFD."""
    if "&" not in text:
        return text
    if "&#" in text:
        text = _NO_CHARACTER.sub("\ufffd", text)
    return html.unescape(text)
