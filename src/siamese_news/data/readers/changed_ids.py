"""What the first values of a column tell about all of them: ids that other programs changed."""

import re
from collections.abc import Iterable
from typing import Any

from siamese_news.data.readers.values import whole_number
from siamese_news.errors import InputError

_DIGITS = 15  # of a number that a spreadsheet keeps
_PREFIXED = re.compile(r"x(\d{5,})")


def rounded(values: Iterable[Any]) -> bool:
    """Whether a spreadsheet rounded a column of ids: it keeps 15 digits and writes zeros.

    All long ids end in zeros, which nine digits do not by chance.
    """
    texts = [str(value) for value in values if isinstance(value, str | int)]
    ends = [text[_DIGITS:] for text in texts if text.isdigit() and len(text) > _DIGITS]
    return len(ends) > 2 and not "".join(ends).strip("0") and sum(map(len, ends)) >= 9


def float_made(values: Iterable[Any]) -> bool:
    """Whether a data frame made whole numbers of a column fractions: ``17.0`` for 17.

    All values are such numbers. Next to ``17.1``, ``17.0`` is an id of its own.
    """
    numbers = [
        value
        for value in values
        if value not in (None, "", "nan", "NaN") and value == value  # no NaN
    ]
    return bool(numbers) and all(whole_number(value) is not None for value in numbers)


def prefixed(values: Iterable[Any]) -> bool:
    """Whether rtweet, a package of R, wrote an ``x`` before all ids.

    So no spreadsheet takes them for numbers and rounds them.
    """
    filled = [value for value in values if value is not None and value != ""]
    return bool(filled) and all(without_prefix(value) != value for value in filled)


def without_prefix(value: Any) -> Any:
    """An id without the ``x`` of rtweet; another value as it is.

    Example:
        >>> from siamese_news.data.readers.changed_ids import without_prefix
        >>> [without_prefix(value) for value in ("x1585341984679469056", "x1", "NA")]
        ['1585341984679469056', 'x1', 'NA']
    """
    match = _PREFIXED.fullmatch(value) if isinstance(value, str) else None
    return value if match is None else match[1]


def refuse_rounded(ids: Iterable[Any], name: str, location: str) -> None:
    """Refuse a column of ids that a spreadsheet rounded.

    Raises:
        InputError: they are `rounded`.
    """
    if rounded(ids):
        raise InputError(
            f"{location}: all ids in '{name}' end in zeros after 15 digits: a spreadsheet rounded "
            "them; go back to the file from before that, or number the rows with --id-field line"
        )
