"""Checks of what a request contains, and the responses that all views share."""

import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from siamese_news.desk import pages
from siamese_news.desk.security import BODY_CAP
from siamese_news.errors import InputError
from siamese_news.labels.journal import Conflict

Handler = Callable[[Request], Response]


async def body_of(request: Request) -> dict[str, Any]:
    """The JSON object of a request, of a bounded size.

    Raises:
        InputError: for anything else.
    """
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


def text_in(row: dict[str, Any], name: str) -> str:
    """A field that must be a text.

    Raises:
        InputError: it is not a text.
    """
    value = row.get(name)
    if not isinstance(value, str):
        raise InputError(f"{name} is missing; expected a text")
    return value


def number_in(value: Any, what: str) -> float:
    """A number out of a request.

    Raises:
        InputError: it is not a number below a billion.
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not abs(number) < 1e9:
        raise InputError(f"{what} is {str(value)[:40]!r}; expected a number")
    return number


def shares_in(text: str) -> list[str]:
    """The shares that a person typed, as `decide` takes them: ``90``, ``90 %`` and ``0,9`` are .9.

    What is a share already stays as it is, so that a plan has what was typed; so does a number from
    1 to 10, which is more likely a slip than a percentage, and is refused later.

    Raises:
        InputError: for a comma that may be inside a number or between two.
    """
    words = re.sub(r"\s+%", "%", text).replace(";", " ")
    # A comma separates after a %, and before a blank or a number with a point.
    return [_share(word) for word in re.sub(r",(?=\s|$|\d*\.)|(?<=%),", " ", words).split()]


def _share(word: str) -> str:
    if word.count(",") > 1 or re.fullmatch(r"\d\d,\d\d", word):
        raise InputError(
            f"{word!r} may be one share or several; expected a blank between two, such as .8 .9"
        )
    plain = word.replace(",", ".")
    if not re.fullmatch(r"(\d+\.?\d*|\.\d+)%?", plain):
        return word  # 9/10, or what `decide` refuses
    number = Decimal(plain.removesuffix("%"))
    return f"{number / 100:f}" if "%" in plain or number >= 10 else plain


def score_in(value: Any) -> float:
    """A score, with a decimal point or comma.

    Raises:
        InputError: not a score; percentages are not accepted.
    """
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


def page(name: str, **values: Any) -> Response:
    """A view of the page with its content security policy."""
    html, policy = pages.view(name, **values)
    return HTMLResponse(html, headers={"content-security-policy": policy})


async def bad_input(request: Request, error: Exception) -> Response:
    """The response to bad input."""
    return JSONResponse({"error": str(error)}, 400)


async def unwritable(request: Request, error: Exception) -> Response:
    """The response where a file cannot be written."""
    return JSONResponse({"error": f"it could not be written: {error}"}, 507)


async def gone(request: Request, error: Exception) -> Response:
    """The response to a browser that aborted an upload; nobody reads it."""
    return Response(status_code=400)


async def conflict(request: Request, error: Exception) -> Response:
    """The response where the label is not the one that the page had seen."""
    assert isinstance(error, Conflict)
    current = error.current
    there = None if current is None else {"n": current.number, "label": current.label}
    return JSONResponse({"error": "this label was changed in another tab", "current": there}, 409)
