"""Dates as people and spreadsheets write them: the order of day and month, and months by name."""

import re
import unicodedata
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from functools import cache
from importlib import import_module
from typing import Any

from siamese_news.errors import InputError

# Orders of day, month and year that a user can name instead of a pattern of ``strptime``.
ORDERS = ("dmy", "mdy", "ymd")

# Abbreviations that mean one zone (IST and BST do not); America's as RFC 822 has them.
ZONES = {
    zone: int(hours)
    for zone, _, hours in (
        pair.partition("=")
        for pair in "PST=-8 PDT=-7 MST=-7 MDT=-6 CST=-6 CDT=-5 EST=-5 EDT=-4 UTC=0 GMT=0 Z=0 WET=0 "
        "WEST=1 CET=1 CEST=2 EET=2 EEST=3 MSK=3 WIB=7 WITA=8 WIT=9 JST=9 KST=9 AEST=10 AEDT=11".split()
    )
}
_LONGEST = 80
_NUMBERS = re.compile(r"(?<!\d)(\d{1,4})([./-]) ?(\d{1,2})\2 ?(\d{1,4})(?!\d)")
_SLASHED = re.compile(r"(?<!\d)(\d{1,2})[/-](\d{1,2})[/-](?:\d{4}|\d\d)(?!\d)")
_CLOCK = re.compile(
    r"(?<!\d)([01]?\d|2[0-4])(?::| ?h ?)([0-5]?\d)(?!\d)(?:[:.](\d\d)(?:\.\d+)?)?",
    re.I,
)
# Without these words or a year before it, ``14.05`` is the fourteenth of May.
_POINTED = re.compile(
    r"(?:\b(?:klo|kl\.?|pukul|ore|um)|(?<=\d{4}),?) (\d{1,2})\.(\d\d)(?:\.(\d\d))?(?![.\d])",
    re.I,
)
_AM, _PM = "am", "pm"
# Names of the halves of a day that dateparser lacks, and those that are other words elsewhere.
_HALVES = {_AM: {"上午", "午前"}, _PM: {"下午", "午後", "午后", "du."}}
_NO_HALVES = {"de", "du", "em", "in", "to"}
# Only after a clock: the 2026 of 13-11-2026 is a year.
_OFFSET = re.compile(
    r"(?::|h ?)\d\d[^+-]*?( ?(?:GMT|UTC)?([+-]\d\d:?\d\d)(?: \(.*\))?)$"
)
_CAPITALS = re.compile(r"\b[A-Z]{2,5}\b")
# Marks are in words of India; points in abbreviations of Thai.
_WORD = re.compile(r"[^\s\d.,;:/()+'’\"_-]+")
_THAI_POINT = re.compile(r"(?<=[\u0e00-\u0e7f])\.(?=[\u0e00-\u0e7f])")
_EAST_ASIAN = str.maketrans("年월月년日일時时点點시分분", "--" + "--" + "  :::::  ")
_VIETNAMESE = re.compile(
    r"(\d{1,2}) +(?:tháng|thg) +(\d{1,2}),?(?: +năm)? +(\d{4})", re.I
)
# Without the point after the day that Croatian has, whose listopad is October.
_POLISH = re.compile(r"(?<=\d )listopada\b", re.I)
_THAI = re.compile("[\u0e00-\u0e7f]")
_ENGLISH = (
    "january february march april may june july august september october november december"
).split()
_LANGUAGES = (
    "af ar az be bg bn bs ca cs cy da de el en es et eu fa fi fr ga gl gu he hi hr hu hy id is it "
    "ka kk km kn ko lo lt lv mk ml mn mr ms my nb ne nl pa pl ps pt ro ru si sk sl sq sr sv sw ta "
    "te th tr uk ur uz vi zu"
).split()


def written_date(text: str, order: str = "") -> datetime:
    """The moment that a text writes with numbers, or with a month's name in any of 70 languages.

    Of ``10/11/2018``, `order` says which is the day; without it only a number above 12 does. Days
    come first where points are between the numbers.

    Raises:
        ValueError: it is not a date, or could be two.

    Example:
        >>> from siamese_news.data.readers.dates import written_date
        >>> texts = ("13/11/2026", "20 novembre 2026, 14h05", "2026年11月20日")
        >>> [f"{written_date(text):%d.%m.%y}" for text in texts]
        ['13.11.26', '20.11.26', '20.11.26']
    """
    if len(text) > _LONGEST:
        raise ValueError(text)
    if not text.isascii():
        pairs = zip(
            text, (unicodedata.decimal(letter, None) for letter in text), strict=True
        )
        text = "".join(c if digit is None else str(digit) for c, digit in pairs)
        text = " ".join(re.sub(r"- +", "-", text.translate(_EAST_ASIAN)).split())
    text = _POINTED.sub(
        lambda match: " " + ":".join(filter(None, match.groups())),
        _VIETNAMESE.sub(r"\1.\2.\3", text),
    )
    zone = None
    if offset := _OFFSET.search(text):
        zone = datetime.strptime(offset[2], "%z").tzinfo
        text = text[: offset.start(1)]
    clock = _CLOCK.search(text)
    hour, minute, second = (
        (int(clock[n] or 0) for n in (1, 2, 3)) if clock else (0, 0, 0)
    )
    day = text
    if clock:
        front, end = text[: clock.start()].rstrip(), text[clock.end() :].lstrip()
        if hour <= 12 and re.search(r"[^\W\d_]\.?$|^[^\W\d_]", f"{front}\n{end}", re.M):
            for half, hours in ((_AM, 0), (_PM, 12)):
                begins, ends = _half(half)
                if ends.search(front) or begins.match(end):
                    front, end = ends.sub("", front), begins.sub("", end, 1)
                    hour = hour % 12 + hours
        day = f"{front} {end}"
    if re.search(r"\d:\d", day):  # no time of a day
        raise ValueError(text)
    for name in _CAPITALS.findall(day):
        if name not in ZONES and not _months().get(name.lower()):
            raise ValueError(name)
        zone = timezone(timedelta(hours=ZONES[name])) if name in ZONES else zone
    year, month, number = _day(day, order)
    if year > 2343 and _THAI.search(text):
        year -= 543  # of the Buddhist era
    return datetime(year, month, number, hour, minute, second, tzinfo=zone)


def _day(text: str, order: str) -> tuple[int, int, int]:
    """Year, month and day."""
    if match := _NUMBERS.search(text):
        left_number, sign, middle_number, right_number = match.groups()
        if len(left_number) == 4:
            return int(left_number), int(middle_number), int(right_number)
        if order == "ymd":
            return _year(left_number), int(middle_number), int(right_number)
        left_value, middle_value = int(left_number), int(middle_number)
        if not order and sign != ".":
            if (len(right_number) == 2 and sign == "-") or (
                left_value <= 12 and middle_value <= 12 and left_value != middle_value
            ):
                raise ValueError(text)
        month_first = order == "mdy" or (
            not order and sign != "." and middle_value > 12
        )
        day, month = (
            (middle_value, left_value) if month_first else (left_value, middle_value)
        )
        return _year(right_number), month, day
    words = _words(_POLISH.sub("listopadu", text))
    months = {number for word in words if (number := _months().get(word))}
    if len(months) > 1 and "mar" in words:  # a Tuesday of French, Spanish, Italian
        months.discard(3)
    numbers = re.findall(r"\d+", text)
    if len(months) != 1 or len(numbers) != 2 or len(words) > 5:
        raise ValueError(text)
    if len(numbers[0]) == 4:
        numbers.reverse()
    return _year(numbers[1]), months.pop(), int(numbers[0])


def _year(text: str) -> int:
    """Of two digits, a year of this century."""
    if len(text) == 3 or len(text) < 2:
        raise ValueError(text)
    return int(text) + 2000 * (len(text) == 2)


def _words(text: str) -> list[str]:
    return _WORD.findall(_THAI_POINT.sub("", text.lower()))


@cache
def _half(half: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Where a text begins, and where it ends, with the name of a half of the day."""
    names = _HALVES[half].union(*(_names_in(language)[half] for language in _LANGUAGES))
    spelled = "|".join(
        r"\.? ?".join(map(re.escape, name)) if len(name) < 4 else re.escape(name)
        for name in sorted(names - _NO_HALVES, key=len, reverse=True)
    )
    return (
        re.compile(rf"(?:{spelled})(?!\w)\.?", re.I),
        # A single letter in front of a clock belongs to the year of Arabic.
        re.compile(rf"(?<![^\W\d_])(?!\w\.?$)(?:{spelled})\.?$", re.I),
    )


def _names_in(language: str) -> Any:
    return import_module(f"dateparser.data.date_translation_data.{language}").info


@cache
def _months() -> dict[str, int]:
    """The number of a month by its name; 0 where it is another month in another language."""
    numbers: dict[str, int] = {}
    for language in _LANGUAGES:
        names_of = _names_in(language)
        for number, month in enumerate(_ENGLISH, 1):
            for name in names_of[month]:
                # "de novembre" and "нояб." are a word with others around it.
                word = max(_words(name) or [""], key=len)
                if len(word) > 2 or (len(word) == 2 and not word.isascii()):
                    agrees = numbers.get(word, number) == number
                    numbers[word] = number if agrees else 0
    english = {month[:3]: number for number, month in enumerate(_ENGLISH, 1)}
    return numbers | english | {"listopadu": 11, "listopada": 10}  # Czech, Croatian


def order_of(values: Iterable[Any]) -> str:
    """``dmy`` or ``mdy`` by the numbers above 12 in a column; "" if no date needs it.

    ``?`` if no such number tells, ``!`` if they contradict each other.
    """
    above = {
        (int(match[1]) > 12, int(match[2]) > 12)
        for value in values
        if isinstance(value, str) and (match := _SLASHED.search(value)) is not None
    }
    day_first, month_first = (
        any(pair[position] for pair in above) for position in (0, 1)
    )
    if not above or (day_first and month_first):
        return "!" if above else ""
    return "dmy" if day_first else "mdy" if month_first else "?"


def check_format(date_format: str) -> str:
    """A pattern of ``strptime``, or one of `ORDERS`.

    Raises:
        InputError: it is neither.
    """
    if date_format not in ORDERS and "%" not in date_format:
        raise InputError(
            f"--date-format {date_format}: expected {', '.join(ORDERS)} (the order of day, month "
            "and year), or a pattern such as '%d/%m/%Y %H:%M'"
        )
    return date_format
