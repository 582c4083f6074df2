"""Converts values of records to those of posts, such as dates to UTC."""

import html
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any

from siamese_news.data.jsonl import kind, missing, plain_value
from siamese_news.data.lines import BadRow
from siamese_news.data.records import Post, check_id, clean_text
from siamese_news.errors import InputError

_DOTTED = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})(?:[ ,T]+(\d\d:\d\d(?::\d\d)?))?")
_MONTHS = {
    name: f"{number:02}"
    for number, name in enumerate("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), 1)
}
# Abbreviations that mean one zone (IST and BST do not); America's as RFC 822 has them.
_ZONES = {
    zone: int(hours)
    for zone, _, hours in (
        pair.partition("=")
        for pair in "PST=-8 PDT=-7 MST=-7 MDT=-6 CST=-6 CDT=-5 EST=-5 EDT=-4 UTC=0 GMT=0 Z=0 WET=0 "
        "WEST=1 CET=1 CEST=2 EET=2 EEST=3 MSK=3 JST=9 KST=9 AEST=10 AEDT=11".split()
    )
}
# Seconds until the year 5138, then milliseconds, microseconds, nanoseconds.
_UNITS = ((1e11, 1.0), (1e14, 1e3), (1e17, 1e6), (1e20, 1e9))


def iso_date(value: Any) -> str | None:
    """The moment in UTC, whole seconds; None unless `value` is an unambiguous date.

    Reads ISO 8601 (also with ``/``, and with the name of a zone such as ``EDT``), the dates of
    Twitter v1.1 and of e-mail, ``10-Nov-2018 08:19PM``, ``10.11.2018``, ``20181010``,
    ``20181010201924`` and seconds (milli, micro, nano) since 1970. A date without a zone counts as
    UTC. ``10/11/2018`` is the tenth or the eleventh, so it is ambiguous.
    """
    try:
        if type(value) is int and value > 0 and len(str(value)) in (8, 14):
            value = str(value)  # 20181010 is a date, not seconds since 1970
        if isinstance(value, str):
            # By far the most frequent; the parser still has to agree that there is such a day.
            if value[10:11] == "T" and value[-1] == "Z" and len(value) in (20, 24):
                datetime.fromisoformat(value)
                return value[:19] + "Z"
            return _utc(_parse(value.strip()))
        if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
            return _utc(_since_1970(float(value)))
    except (ValueError, OverflowError, OSError, TypeError, IndexError):
        pass
    return None


def iso_seconds(value: int) -> str | None:
    """A Unix time in UTC; None after the year 9999."""
    try:
        return _utc(datetime.fromtimestamp(value, UTC))
    except (ValueError, OverflowError, OSError):
        return None


def _parse(text: str) -> datetime:
    if text.isascii() and text.replace(".", "", 1).lstrip("-").isdigit():
        if len(text) == 8:
            return datetime.strptime(text, "%Y%m%d")
        if len(text) == 14 and text.isdigit():
            return datetime.strptime(text, "%Y%m%d%H%M%S")
        return _since_1970(float(text))
    parts = text.split()
    if len(parts) == 6 and parts[1] in _MONTHS:  # Wed Oct 10 20:19:24 +0000 2018
        _, month, day, time, zone, year = parts
        return datetime.fromisoformat(f"{year}-{_MONTHS[month]}-{day:0>2}T{time}{zone}")
    if text[:4].isdigit():
        if text[4:5] == "/":
            text = text.replace("/", "-", 2)
        start, _, zone = text.rpartition(" ")
        if zone in _ZONES:
            hours = timezone(timedelta(hours=_ZONES[zone]))
            return datetime.fromisoformat(start).replace(tzinfo=hours)
        return datetime.fromisoformat(text)
    dotted = _DOTTED.fullmatch(text)
    if dotted:  # day, month, year
        day, month, year, time = dotted.groups()
        return datetime.fromisoformat(f"{year}-{month:0>2}-{day:0>2}T{time or '00:00'}")
    if text.endswith(("AM", "PM")):  # 10-Nov-2018 08:19PM
        return datetime.strptime(text, "%d-%b-%Y %I:%M%p")
    return parsedate_to_datetime(text)


def _since_1970(value: float) -> datetime:
    for limit, unit in _UNITS:
        if abs(value) < limit:
            return datetime.fromtimestamp(value / unit, UTC)
    raise ValueError(value)


def _utc(moment: datetime) -> str:
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC)
    return moment.replace(microsecond=0, tzinfo=None).isoformat() + "Z"


# 1.23457E+18, which is 1,23457E+18 in half of Europe, and 1234567890123456768.0
_MANGLED = re.compile(r"\d(?:[.,]\d+)?[eE]\+\d+|\d+[.,]0")


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
            "no id", f"field '{name}' is {kind(value)}, expected a string or a whole number"
        )
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
        raise BadRow("bad metadata", f"field 'metadata' is {kind(value)}, expected an object")
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


def put(metadata: dict[str, Any], name: str, value: Any) -> None:
    """Set a name of `fields.METADATA` where the value is one, in its normal shape."""
    value = unwrapped(value) if type(value) is dict else value
    if value is None or value == "":
        return
    if name == "created_at":
        value = iso_date(value)
        if value is not None:
            metadata[name] = value
    elif isinstance(value, str):
        metadata[name] = clean_text(value)
    elif type(value) is int or (name == "group" and isinstance(value, bool | float)):
        metadata[name] = str(value)


def post_of(post_id: str, text: str, record: Mapping[str, Any], paths: str, **others: Any) -> Post:
    """A post with metadata by the names of `fields.METADATA`; `put` drops unusable values.

    They are at `paths` in its record, such as ``author=user.name|user.id lang``, of which the first
    that has a value counts; `others` are values.
    """
    metadata: dict[str, Any] = {}
    for name, options in _parsed(paths):
        put(metadata, name, next(filter(None, (inside(record, *path) for path in options)), None))
    for name, value in others.items():
        put(metadata, name, value)
    return Post(post_id, text, metadata)


@cache
def _parsed(paths: str) -> list[tuple[str, list[list[str]]]]:
    pairs = (pair.partition("=") for pair in paths.split())
    return [
        (name, [path.split(".") for path in (found or name).split("|")]) for name, _, found in pairs
    ]


_BREAK = re.compile(r"<br[^<>]*>|</p>", re.IGNORECASE)
# `<` is excluded inside: many of them take no quadratic time, and servers escape a real one.
_TAG = re.compile(r"</?[a-zA-Z!][^<>]*>")


def without_html(text: str) -> str:
    """The text of simple HTML: breaks and paragraphs end lines, other tags vanish."""
    if "<" in text:
        text = _TAG.sub("", _BREAK.sub("\n", text)).strip()
    return unescaped(text)


def unescaped(text: str) -> str:
    """The text with HTML references resolved."""
    return html.unescape(text) if "&" in text else text
