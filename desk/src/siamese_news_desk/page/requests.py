"""What a request carries: uploaded files, and values that are checked."""

import json
import os
import re
import shutil
import tempfile
from collections.abc import AsyncIterable, AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from starlette.requests import Request

from siamese_news.data.jsonl import plain_value
from siamese_news.data.records import clean_text
from siamese_news.errors import InputError
from siamese_news_desk.labels.shares import typed_share
from siamese_news_desk.page.project import Project, safe_name

CAPS = {
    "articles": 64 * 2**20,
    "not": 64 * 2**20,
    "posts": 64 * 2**30,
    "labels": 256 * 2**20,
}
"""Bytes of one uploaded file, by kind."""

_BODY_CAP = 4 * 2**20  # bytes of a request that is not an upload
_SPARE = 2**30  # bytes of the disk that an upload leaves free
_GROUPED = re.compile(r"[1-9]\d{0,2}(?:[,.'’\s]\d{3})+")


async def body_of(request: Request) -> dict[str, Any]:
    """The JSON object in the body of a request, of a bounded size, with clean texts.

    A field of a form that ends at a number of characters may hold half an emoji. The id of a post
    keeps its NULs: with blanks in their place it would name no post.
    """
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > _BODY_CAP:
            raise InputError("the request is too long")
    try:
        values = json.loads(bytes(data) or b"{}")
        row = plain_value(values)
    except (ValueError, RecursionError) as error:
        raise InputError(f"the request is not JSON ({error})") from error
    if not isinstance(row, dict):
        raise InputError("the request is not a JSON object")
    if isinstance(values.get("post"), str):
        row["post"] = _whole_id(values["post"])
    return row


def _whole_id(post: str) -> str:
    """The id of a post without half characters, which no database can be asked for."""
    return "\0".join(map(clean_text, post.split("\0")))


@asynccontextmanager
async def received(
    project: Project, kind: str, name: str, parts: AsyncIterable[bytes]
) -> AsyncIterator[Path]:
    """A file of a kind of `CAPS` that the browser sends, kept for as long as it is read.

    Raises:
        InputError: a bad or existing name, or a file that is too large or empty.
    """
    if kind == "labels":
        if not name or name.startswith(".") or {"/", "\\"} & set(name):
            raise InputError(
                f"the file name is {name!r}; expected one such as sheet.csv"
            )
    elif project.input_path(kind, name).exists():
        raise InputError(
            f"{name}: already exists; remove it first, or rename the new one"
        )
    with tempfile.TemporaryDirectory(prefix="upload-", dir=project.private) as folder:
        path = Path(folder) / safe_name(name)
        size = 0
        with path.open("wb") as stream:
            async for data in parts:
                size += len(data)
                if size > CAPS[kind]:
                    raise InputError(
                        f"{name}: is larger than {CAPS[kind]:,} bytes; name it on the command line"
                    )
                if shutil.disk_usage(folder).free < _SPARE:
                    raise InputError(
                        f"{name}: the disk is nearly full; free some space first"
                    )
                stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if not size:
            raise InputError(f"{name}: the file is empty")
        yield path


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let errors about an uploaded file name it as the user does."""
    try:
        yield
    except InputError as error:
        plain = str(error).replace(str(path), path.name)
        raise InputError(f"{plain}; nothing was imported") from None


def text_in(row: Mapping[str, Any], name: str) -> str:
    """A field that must be a text."""
    value = row.get(name)
    if not isinstance(value, str):
        raise InputError(f"{name} is missing; expected a text")
    return value


def ids_in(text: str) -> set[str]:
    """Ids of posts in a JSON list."""
    try:
        return {_whole_id(str(post)) for post in json.loads(text)}
    except (ValueError, TypeError, RecursionError) as error:
        raise InputError(f"expected ids in a JSON list, not {text[:40]!r}") from error


def count_in(value: Any, name: str) -> int:
    """A whole number up to a billion, with either sign; a fraction is cut off.

    Thousands may be apart: ``1,401`` and ``1.401`` are a number of posts as a person types it.
    """
    if isinstance(value, str) and _GROUPED.fullmatch(value):
        value = re.sub(r"\D", "", value)
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not abs(number) <= 1e9:
        raise InputError(f"{name} is {str(value)[:40]!r}; expected a number")
    return int(number)


def shares_in(text: str) -> list[str]:
    """The shares that a person typed (`typed_share`), with blanks, commas or semicolons between."""
    words = re.sub(r"\s+%", "%", text).replace(";", " ")
    # A comma separates after a %, and before a blank or a number with a point.
    return [
        typed_share(word)
        for word in re.sub(r",(?=\s|$|\d*\.)|(?<=%),", " ", words).split()
    ]


def share_in(row: Mapping[str, Any], name: str) -> str:
    """A field with one share or none."""
    shares = shares_in(text_in(row, name))
    if len(shares) > 1:
        raise InputError(f"{name} is {row[name]!r}; expected one share such as .9")
    return "".join(shares)
