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

# Abbreviations that mean one zone (IST, BST and CST do not); America's as RFC 822 has them.
ZONES = {
    zone: int(hours)
    for zone, _, hours in (
        pair.partition("=")
        for pair in "PST=-8 PDT=-7 MST=-7 MDT=-6 CDT=-5 EST=-5 EDT=-4 UTC=0 GMT=0 Z=0 WET=0 "
        "WEST=1 CET=1 CEST=2 EET=2 EEST=3 MSK=3 WIB=7 WITA=8 WIT=9 JST=9 KST=9 AEST=10 AEDT=11".split()
    )
}
# Nobody posts in years to come; a clock may be a little wrong.
END_YEAR = max(datetime.now().year, 2026) + 2
_LONGEST = 80
_NUMBERS = re.compile(r"(?<!\d)(\d{1,4})([./-]) ?(\d{1,2})\2 ?(\d{1,4})(?!\d)")
_CLOCK = re.compile(
    r"(?<!\d)([01]?\d|2[0-4])(?::| ?h ?)([0-5]?\d)(?!\d)(?:[:.]([0-5]\d|60)(?:[.,]\d+)?)?",
    re.I,
)
# Times without minutes.
_HOUR = re.compile(r"(?<![\d.,:/-])(\d\d?) ?(?=(?:[ap]\.? ?m\.?|uhr|h)(?!\w))", re.I)
# Without these words or a year before it, ``14.05`` is the fourteenth of May.
_POINTED = re.compile(
    r"(?:\b(?:klo|kl\.?|pukul|ore|um)|(?<=\d{4}),?) (\d{1,2})\.(\d\d)(?:\.(\d\d))?(?![.\d])",
    re.I,
)
# Names of the halves of a day that dateparser lacks, by the hours that they add; those of several
# words in one. A night is on both sides of twelve.
_AM = (
    "a 上午 午前 morning inthemorning vormittags morgens matin dumatin mañana delamañana manhã damanhã "
    "mattina dimattina утра ранку сутринта délelőtt"
)
_PM = (
    "p 下午 午後 午后 afternoon intheafternoon evening intheevening nachmittags abends soir dusoir "
    "delaprèsmidi tarde delatarde datarde pomeriggio delpomeriggio disera дня вечера вечора délután "
    "este popołudniu"
)
# These halves are words of other languages, or days of the week, unless they end a text or, of
# those of Hungarian, begin a time.
_DOUBTFUL = {"de", "du", "em", "in", "sa", "to"}
_NOT_IN_FRONT = _DOUBTFUL - {"de", "du"}
# What is next to a time and does not change it, besides what dateparser knows.
_CONNECTING = (
    "at on um klo kello pukul ore alle ob dne lúc saat clock hs hrs horas στις plkst kell o t em in "
    "du to"
)
_OFFSET = re.compile(
    r"(?::|h ?)\d\d(?:[:.]\d\d)?(?:[.,]\d+)?[^+\d-]*?"
    r"( ?\(?(?:GMT|UTC)?([+-])(\d\d?)(?::?(\d\d))?\)?(?: \(.*\))?)$"
)
_CAPITALS = re.compile(r"\b[A-Z]{2,5}\b")
# Marks are in words of India; points in abbreviations of Thai.
_WORD = re.compile(r"[^\s\d.,;:/()+'’\"״׳_\[\]{}<>|@~*،؛·–—、，。-]+")
_THAI_POINT = re.compile(r"(?<=[\u0e00-\u0e7f])\.(?=[\u0e00-\u0e7f])")
_UNSEEN = re.compile(r"[\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
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
    "af am ar az be bg bn bs ca cs cy da de el en es et eu fa fi fil fr ga gl gu he hi hr hu hy "
    "id is it ja ka kk km kn ko lo lt lv mk ml mn mr ms my nb ne nl or pa pl ps pt ro ru si sk sl "
    "sq sr sv sw ta te th tr ug uk ur uz vi zh zu"
).split()


class ImpossibleDate(ValueError):
    """A date or time that no calendar and no clock has."""


def written_date(text: str, order: str = "") -> datetime:
    """The moment that a text writes with numbers, or with a month's name in any of 76 languages.

    Of ``10/11/2018``, `order` says which is the day; without it only a number above 12 does. Days
    come first where points are between the numbers. Of two digits, a year is not understood where
    the `order` is not one of `ORDERS`, such as the ``?`` of `order_of`.

    Raises:
        ImpossibleDate: no calendar has it.
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
        text = unicodedata.normalize("NFC", _UNSEEN.sub("", text))
        pairs = zip(
            text, (unicodedata.decimal(letter, None) for letter in text), strict=True
        )
        text = "".join(c if digit is None else str(digit) for c, digit in pairs)
        text = " ".join(re.sub(r"- +", "-", text.translate(_EAST_ASIAN)).split())
    text = _POINTED.sub(
        lambda match: " " + ":".join(filter(None, match.groups())),
        _VIETNAMESE.sub(r"\1.\2.\3", text),
    )
    clock = _CLOCK.search(text)
    if clock is None:
        text = _HOUR.sub(r"\1:00 ", text)
        clock = _CLOCK.search(text)
    zone = None
    if offset := _OFFSET.search(text):
        away = timedelta(hours=int(offset[3]), minutes=int(offset[4] or 0))
        zone = timezone(-away if offset[2] == "-" else away)
        text = text[: offset.start(1)]
    day = text
    time = timedelta()
    if clock:
        front, end = text[: clock.start()], text[clock.end() :]
        hour, minute, second = (int(clock[n] or 0) for n in (1, 2, 3))
        hour = _hour_of_day(hour, front, end)
        time = timedelta(hours=hour, minutes=minute, seconds=second)
        day = f"{front} {end}"
    for name in _CAPITALS.findall(day):
        if name in ZONES:
            zone = timezone(timedelta(hours=ZONES[name]))
        elif not _months().get(name.lower()) and name.lower() not in _halves():
            raise ValueError(name)
    if re.search(r"\d:\d", day):
        raise ValueError(text) if clock else ImpossibleDate(text)
    year, month, number = _day(day, order)
    if _THAI.search(text):
        if not re.search(r"\d{4}", day):  # 69 is 2569
            if year % 100 < 43:
                raise ValueError(text)
            year = 2500 + year % 100
        year -= 543 * (year > 2343)  # of the Buddhist era
    try:
        moment = datetime(year, month, number, tzinfo=zone)
    except ValueError as error:
        raise ImpossibleDate(text) from error
    if time > timedelta(days=1):
        raise ImpossibleDate(text)
    return moment + time


def _hour_of_day(hour: int, front: str, end: str) -> int:
    """The hour of a clock by the words between the numbers in `front` and `end` of it.

    Raises:
        ValueError: a word is not known, which could be a half of the day or a zone.
    """
    leading, following = (
        _words(re.split(r"\d", text)[n]) for text, n in ((front, -1), (end, 0))
    )
    at_end = not re.search(r"\d", end)
    names = _halves()
    half = None
    words = [*leading, *following]
    for count in (4, 3, 2, 1):
        ending, beginning = "".join(following[:count]), "".join(leading[-count:])
        if ending in names and (
            ending not in _DOUBTFUL or (at_end and not following[count:])
        ):
            half, words = names[ending], [*leading, *following[count:]]
            break
        # A single letter in front belongs to the year of Arabic, or leads to the time.
        if beginning in names and len(beginning) > 1 and beginning not in _NOT_IN_FRONT:
            half, words = names[beginning], [*leading[:-count], *following]
            break
    # What a half that is another word as well would add; single letters lead to a time.
    doubtful = None if half is not None or hour > 12 else 0 if hour == 12 else 12
    for word in words:
        hours = None if word in ("a", "o", "e") else names.get(word)
        if (word not in _known_words() and (half is None or hours is None)) or (
            hours is not None and hours == doubtful
        ):
            raise ValueError(word)
    if half == 0 and hour > 12:
        raise ValueError(end)
    return hour if half is None or hour > 12 else hour % 12 + half


def _day(text: str, order: str) -> tuple[int, int, int]:
    """Year, month and day."""
    if match := _NUMBERS.search(text):
        if re.search(r"\d", text.replace(match[0], "", 1)):
            raise ValueError(text)
        left_number, sign, middle_number, right_number = match.groups()
        if len(left_number) == 4:
            return int(left_number), int(middle_number), int(right_number)
        if order == "ymd":
            return _year(left_number), int(middle_number), int(right_number)
        left_value, middle_value = int(left_number), int(middle_number)
        short = len(right_number) < 3
        free = order not in ORDERS and sign != "."
        if (short and order and order not in ORDERS) or (
            free
            and (
                (short and sign == "-")
                or (
                    left_value <= 12
                    and middle_value <= 12
                    and left_value != middle_value
                )
            )
        ):
            raise ValueError(text)
        month_first = order == "mdy" or (free and middle_value > 12)
        day, month = (
            (middle_value, left_value) if month_first else (left_value, middle_value)
        )
        return _year(right_number), month, day
    words = _words(_POLISH.sub("listopadu", text))
    months: set[int] = set()
    for count in (1, 2, 3):  # "tháng mười" is October, "tháng mười một" November
        runs = map("".join, zip(*(words[n:] for n in range(count)), strict=False))
        # Hebrew has a letter in front of the names of its months.
        months = {n for run in runs if (n := _months().get(run.lstrip("ב")))} or months
    if len(months) > 1 and "mar" in words:  # a Tuesday of French, Spanish, Italian
        months.discard(3)
    numbers = re.findall(r"\d+", text)
    if len(months) != 1 or len(numbers) != 2 or len(words) > 7:
        raise ValueError(text)
    if len(numbers[0]) == 4:
        numbers.reverse()
    return _year(numbers[1]), months.pop(), int(numbers[0])


def _year(text: str) -> int:
    """Of two digits, a year from 1969 to 2068, as C has it."""
    if len(text) == 3 or len(text) < 2:
        raise ValueError(text)
    year = int(text)
    return year + (1900 if year > 68 else 2000) * (len(text) == 2)


def _words(text: str) -> list[str]:
    return _WORD.findall(_THAI_POINT.sub("", text.lower()))


@cache
def _halves() -> dict[str, int]:
    """The hours that a half of the day adds, by its name in any language."""
    # Plain dates need no names, and importing them takes a twentieth of a short search.
    from dateparser.data.languages_info import language_order

    names = {
        _joined(name): hours
        # Ours count where two languages have one name.
        for language in (*language_order, *_LANGUAGES)
        if "-" not in language
        for half, hours in (("am", 0), ("pm", 12))
        for name in _names_in(language, half)
        if language in _LANGUAGES or _joined(name) not in _known_words()
    }
    return names | dict.fromkeys(_AM.split(), 0) | dict.fromkeys(_PM.split(), 12)


@cache
def _known_words() -> set[str]:
    """The words next to a time that do not change it."""
    keys = "monday tuesday wednesday thursday friday saturday sunday year day hour skip pertain"
    words = {
        word
        for language in _LANGUAGES
        for key in (*keys.split(), *_ENGLISH)
        for name in _names_in(language, key)
        for word in _words(name)
    }
    return {*words, *_CONNECTING.split(), *map(str.lower, ZONES)} - {"m", "n", "p"}


def _joined(name: str) -> str:
    return "".join(_words(unicodedata.normalize("NFC", _UNSEEN.sub("", name))))


def _names_in(language: str, key: str) -> list[str]:
    """What a day, a month or a half of the day is called, also in one of the language's regions."""
    data = import_module(f"dateparser.data.date_translation_data.{language}").info
    return [
        name
        for region in (data, *data.get("locale_specific", {}).values())
        for name in region.get(key, ())
    ]


@cache
def _months() -> dict[str, int]:
    """The number of a month by its name; 0 where it is another month in another language."""
    numbers: dict[str, int] = {}
    for language in _LANGUAGES:
        for number, month in enumerate(_ENGLISH, 1):
            for name in _names_in(language, month):
                # "de novembre" and "нояб." are a word with others around it; "تشرين الثاني" is two.
                for word in {_joined(name), *_words(name)}:
                    if len(word) > 2 or (len(word) == 2 and not word.isascii()):
                        if numbers.setdefault(word, number) != number:
                            numbers[word] = 0
    english = {month[:3]: number for number, month in enumerate(_ENGLISH, 1)}
    return numbers | english | {"listopadu": 11, "listopada": 10}  # Czech, Croatian


def order_of(values: Iterable[Any]) -> str:
    """One of `ORDERS` by the numbers in a column; "" if no date needs it.

    Days are at most 31, months 12, and years not to come. Of ``25/11/20``, the year is the number
    that varies less. ``?`` if the numbers do not tell, ``!`` if they contradict each other.
    """
    orders = {*ORDERS}
    leading: set[str] = set()
    ending: set[str] = set()
    texts = (_POINTED.sub(" ", value) for value in values if isinstance(value, str))
    for match in filter(None, map(_NUMBERS.search, texts)):
        start, sign, middle, right = match.groups()
        if len(start) < 3 and not (sign == "." and len(right) == 4):
            possible = {
                order
                for order, year, month, day in (
                    ("dmy", right, middle, start),
                    ("mdy", right, start, middle),
                    ("ymd", start, middle, right),
                )
                if len(year) in (2, 4) and _year(year) < END_YEAR
                if 0 < int(month) < 13 and 0 < int(day) < 32
                if order != "mdy" or sign != "."
            }
            if possible:  # else no order makes it a date, such as 00/00/00
                orders &= possible
                leading.add(start)
                ending.add(right)
    if not leading:
        return ""
    spread = len(ending) - len(leading)
    if spread < 0 or "ymd" not in orders:
        orders.discard("ymd")
    # If the last numbers vary more than the first, they are days or years. Ten more values are too
    # many for years, and 01 to 03 too early: social media are younger than 2003.
    elif spread > 9 or (spread > 1 and any(int(day) < 4 for day in ending)):
        orders = {"ymd"}
    return "!" if not orders else "?" if len(orders) > 1 else orders.pop()


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
