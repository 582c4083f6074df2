"""Dates of every platform into one shape: ``2018-10-10T20:19:24Z``, which sorts as a string."""

import re
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from email.utils import parsedate_to_datetime
from typing import Any

_DOTTED = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})(?:[ ,T]+(\d\d:\d\d(?::\d\d)?))?")
_MONTHS = {
    name: f"{number:02}"
    for number, name in enumerate("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), 1)
}
# Seconds until the year 5138, then milliseconds, microseconds, nanoseconds.
# Abbreviations that mean one zone (IST and BST do not); America's as RFC 822 has them.
_ZONES = {
    "UTC": 0, "GMT": 0, "Z": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6,
    "PST": -8, "PDT": -7, "WET": 0, "WEST": 1, "CET": 1, "CEST": 2, "EET": 2, "EEST": 3, "MSK": 3,
    "JST": 9, "KST": 9, "AEST": 10, "AEDT": 11,
}  # fmt: skip
_UNITS = ((1e11, 1.0), (1e14, 1e3), (1e17, 1e6), (1e20, 1e9))


def iso_date(value: Any) -> str | None:
    """The moment in UTC, whole seconds; None where `value` is no date that has one meaning.

    Read are ISO 8601 (also with ``/``, and with the name of a zone such as ``EDT``), the dates of
    Twitter v1.1 and of e-mail, ``10.11.2018``, ``20181010``, ``20181010201924`` and seconds (milli,
    micro, nano) since 1970. A date without a zone counts as UTC. ``10/11/2018`` is the tenth or the
    eleventh, so it is none.
    """
    try:
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
    """The moment so many seconds after 1970 began; None after the year 9999."""
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
