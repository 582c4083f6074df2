"""Values of a record in the shape that a post has them."""

import re
from decimal import Decimal
from typing import Any

from siamese_news.data.jsonl import kind
from siamese_news.data.lines import BadRow
from siamese_news.data.readers.dates import iso_date
from siamese_news.data.records import check_id, clean_text
from siamese_news.errors import InputError

# 1.23457E+18, and 1234567890123456768.0
_MANGLED = re.compile(r"\d(?:\.\d+)?[eE]\+\d+|\d+\.0")


def text_value(value: Any, name: str) -> str:
    """A text, cleaned.

    Raises:
        BadRow: for what is no string.
    """
    if type(value) is not str:
        raise BadRow("no text", f"field '{name}' is a {kind(value)}, expected a string")
    return clean_text(value)


def id_value(value: Any, name: str) -> str:
    """An id, digit for digit.

    Raises:
        BadRow: for what is no string or whole number, or cannot be an id.
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
            "no id", f"field '{name}' is a {kind(value)}, expected a string or a whole number"
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


def put(metadata: dict[str, Any], name: str, value: Any) -> None:
    """Set a name of `fields.METADATA` where the value is one, in its normal shape."""
    if value is None or value == "":
        return
    if type(value) is str and name != "created_at":  # by far the most frequent
        metadata[name] = clean_text(value)
    elif name == "created_at":
        value = iso_date(value)
        if value is not None:
            metadata[name] = value
    elif isinstance(value, str):
        metadata[name] = clean_text(value)
    elif type(value) is int:
        metadata[name] = str(value)
