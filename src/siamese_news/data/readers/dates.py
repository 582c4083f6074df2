"""Dates of every platform into one shape: ``2018-10-10T20:19:24Z``, which sorts as a string."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

_MONTHS = {
    name: f"{number:02}"
    for number, name in enumerate("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), 1)
}
# Seconds until the year 5138, then milliseconds, microseconds, nanoseconds.
_UNITS = ((1e11, 1.0), (1e14, 1e3), (1e17, 1e6), (1e20, 1e9))


def iso_date(value: Any) -> str | None:
    """The moment in UTC, whole seconds; None where `value` is no date that has one meaning.

    Read are ISO 8601, the dates of Twitter v1.1 and of e-mail, ``20181010``, ``20181010201924`` and
    seconds (milli, micro, nano) since 1970. A date without a zone counts as UTC. ``10/11/2018`` is
    the tenth or the eleventh, so it is none.
    """
    try:
        if isinstance(value, str):
            text = value.strip()
            # By far the most frequent; the parser still has to agree that there is such a day.
            if len(text) in (20, 24) and text[-1] == "Z" and text[10] == "T":
                datetime.fromisoformat(text)
                return text[:19] + "Z"
            return _utc(_parse(text))
        if isinstance(value, int | float) and not isinstance(value, bool):
            return _utc(_since_1970(value))
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
        return datetime.fromisoformat(text.removesuffix(" UTC"))
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
