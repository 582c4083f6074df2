"""Checks of the values in a request."""

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from starlette.requests import Request

from siamese_news.desk.security import BODY_CAP
from siamese_news.errors import InputError


async def body_of(request: Request) -> dict[str, Any]:
    """The JSON object in the body of a request, of a bounded size."""
    data = bytearray()
    async for part in request.stream():
        data += part
        if len(data) > BODY_CAP:
            raise InputError("the request is too long")
    try:
        row = json.loads(bytes(data) or b"{}")
    except (ValueError, RecursionError) as error:
        raise InputError(f"the request is not JSON ({error})") from error
    if not isinstance(row, dict):
        raise InputError("the request is not a JSON object")
    return row


def text_in(row: Mapping[str, Any], name: str) -> str:
    """A field that must be a text."""
    value = row.get(name)
    if not isinstance(value, str):
        raise InputError(f"{name} is missing; expected a text")
    return value


def number_in(value: Any, what: str) -> float:
    """A number below a billion."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not abs(number) < 1e9:
        raise InputError(f"{what} is {str(value)[:40]!r}; expected a number")
    return number


def shares_in(text: str) -> list[str]:
    """The shares that a person typed, as `decide` takes them: ``90``, ``90 %`` and ``0,9`` are .9.

    A share stays unchanged, so that a plan quotes the user. So does a number from 1 to 10, which is
    more likely a slip than a percentage, and is refused later.

    Raises:
        InputError: a comma may be inside a number or between two.
    """
    words = re.sub(r"\s+%", "%", text).replace(";", " ")
    # A comma separates after a %, and before a blank or a number with a point.
    return [_share(word) for word in re.sub(r",(?=\s|$|\d*\.)|(?<=%),", " ", words).split()]


def share_in(row: Mapping[str, Any], name: str) -> str:
    """A field with one share or none."""
    found = shares_in(text_in(row, name))
    if len(found) > 1:
        raise InputError(f"{name} is {row[name]!r}; expected one share such as .9")
    return "".join(found)


def _share(word: str) -> str:
    if word.count(",") > 1 or re.fullmatch(r"\d\d,\d\d", word):
        raise InputError(
            f"{word!r} may be one share or several; expected a blank between two, such as .8 .9"
        )
    plain = word.replace(",", ".")
    if not re.fullmatch(r"(\d+\.?\d*|\.\d+)%?", plain):
        return word  # 9/10, or a text that `decide` refuses
    number = Decimal(plain.removesuffix("%"))
    return f"{number / 100:f}" if "%" in plain or number >= 10 else plain


def score_in(value: Any) -> float:
    """A score, with a decimal point or comma; percentages are not accepted."""
    try:
        number = float(str(value).strip().replace(",", "."))
    except ValueError:
        number = float("nan")
    if not abs(number) <= 4:
        raise InputError(
            f"the score is {str(value)[:40]!r}; expected a number from -4 to 4 such as 0.1 (a "
            "score is not a percentage)"
        )
    return number
