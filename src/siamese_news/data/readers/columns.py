"""What the first values of a column tell about all of them: ids that other programs changed."""

from collections.abc import Iterable
from typing import Any

from siamese_news.data.readers.values import whole_number
from siamese_news.errors import InputError

_DIGITS = 15  # of a number that a spreadsheet keeps


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
    filled = [value for value in values if value is not None and value not in ("", "nan", "NaN")]
    numbers = [value for value in filled if value == value]  # without NaN
    return bool(numbers) and all(whole_number(value) is not None for value in numbers)


def refuse_rounded(ids: Iterable[Any], name: str, where: str) -> None:
    """Refuse a column of ids that a spreadsheet rounded.

    Raises:
        InputError: they are `rounded`.
    """
    if rounded(ids):
        raise InputError(
            f"{where}: all ids in '{name}' end in zeros after 15 digits: a spreadsheet rounded "
            "them; go back to the file from before that, or number the rows with --id-field line"
        )
