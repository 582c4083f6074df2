"""JSON values from elsewhere, checked against the type that describes them.

The JSON of an unfinished run also has a checksum: its numbers fit each other, and files next to it.
"""

import json
import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from siamese_news.errors import InputError
from siamese_news.utils.files import atomic_write, expect_regular, json_text

T = TypeVar("T")

# How many, or how many bytes.
Count = Annotated[int, msgspec.Meta(ge=0, le=2**62)]

#: In the place of a value that one of two objects lacks.
MISSING = object()

_CHECKSUM = b', "crc32": '
_BRIEF = 80  # characters of a value in a message


def fitting(value: Any, kind: type[T]) -> T:
    """The value itself, if a `TypedDict` or another type describes it; further fields may come.

    Args:
        value: as `json.loads` returns it.
        kind: a type that msgspec knows: numbers keep their kind, so ``True`` and ``1.0`` are not
            of type ``int``.

    Raises:
        ValueError: it names the first field that does not fit, and what was expected there.
    """
    converted(value, kind)
    fit: T = value
    return fit


def converted(value: Any, kind: type[T]) -> T:
    """The value as this type, such as a dataclass of a dict; errors as those of `fitting`."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        # msgspec writes "Expected `int`, got `str` - at `$.settings.budget`".
        problem, _, path = str(error).partition(" - at ")
        problem = problem.replace("`", "")
        # "at `key` in `$.settings`" is about a name in there.
        location = re.sub(r"^\$\.?", "", path.rpartition("` in `")[2].strip("`"))
        raise ValueError(
            f"field {location}: {problem}" if location else problem
        ) from None


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file; empty if there is no file, or anything else in it."""
    expect_regular(path)
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def inner_pairs(value: Any) -> Iterator[tuple[str, Any]]:
    """The names and values of all objects inside a value of JSON."""
    inside = [value]
    while inside:
        item = inside.pop()
        if isinstance(item, Mapping):
            yield from item.items()
        if isinstance(item, Mapping | list | tuple):
            inside += item.values() if isinstance(item, Mapping) else item


def differences(
    earlier: Any, later: Any, path: str = "", *, inside_lists: bool = True
) -> Iterator[tuple[str, Any, Any]]:
    """The dotted paths of the values in which two values of JSON differ, with both of them.

    A list is one value, unless it is compared item by item (`inside_lists`).

    Example:
        >>> from siamese_news.utils.checked_json import differences
        >>> list(differences({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}))
        [('a.b[1]', 2, 3)]
    """
    if isinstance(earlier, Mapping) and isinstance(later, Mapping):
        for name in dict.fromkeys([*later, *earlier]):
            values = earlier.get(name, MISSING), later.get(name, MISSING)
            yield from differences(
                *values, f"{path}.{name}".lstrip("."), inside_lists=inside_lists
            )
    elif (
        inside_lists
        and isinstance(earlier, list)
        and isinstance(later, list)
        and len(earlier) == len(later)
    ):
        for number, values in enumerate(zip(earlier, later, strict=True)):
            yield from differences(*values, f"{path}[{number}]")
    elif (
        type(earlier) is not type(later) or earlier != later
    ):  # 1, 1.0 and true are equal
        yield path, earlier, later


def brief_json(value: Any) -> str:
    """A value of JSON for a message; a long one is cut."""
    if value is MISSING:
        return "missing"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _BRIEF else f"{text[: _BRIEF - 3]}..."


def write_state(path: Path, value: dict[str, Any], data: bytes = b"") -> None:
    """Write the JSON of an unfinished run, whole or not at all, with a checksum.

    Further bytes follow on a line of their own.
    """
    body = json_text(value).encode().removesuffix(b"}")
    checksum = zlib.crc32(data, zlib.crc32(body))
    with atomic_write(path, "wb") as stream:
        stream.write(body + _CHECKSUM + b"%d}" % checksum)
        if data:
            stream.write(b"\n")
            stream.write(data)


def read_state(path: Path, kind: type[T], remedy: str) -> T:
    """The JSON that `write_state` wrote to a file, as a value of this type.

    Raises:
        InputError: the file is damaged; `remedy` says what to do.
    """
    return read_state_and_data(path, kind, remedy)[0]


def read_state_and_data(path: Path, kind: type[T], remedy: str) -> tuple[T, bytes]:
    """`read_state` with the bytes that follow."""
    try:
        line, _, data = path.read_bytes().partition(b"\n")
        body, _, checksum = line.rpartition(_CHECKSUM)
        if checksum != b"%d}" % zlib.crc32(data, zlib.crc32(body)):
            raise ValueError("it differs from its checksum")
        return converted(json.loads(line), kind), data
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            f"{path}: is damaged, or of another version ({error}); {remedy}"
        ) from error


def checksum_of(path: Path) -> int:
    """The CRC-32 of a file; -1 of none."""
    if not path.is_file():
        return -1
    checksum = 0
    with path.open("rb") as stream:
        while piece := stream.read(1 << 20):
            checksum = zlib.crc32(piece, checksum)
    return checksum
