"""JSON with all digits of its integers, and JSON lines."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from siamese_news.data.lines import BadRow, decode_text, read_lines
from siamese_news.data.records import clean_text
from siamese_news.errors import InputError

# Four times as fast as json, with the same values. What it refuses, json may read: NaN, infinite
# numbers, control characters inside strings, halves of surrogate pairs.
_FAST = msgspec.json.Decoder()
# Raw control characters inside strings are cleaned, not refused.
_DECODER = json.JSONDecoder(parse_constant=lambda name: None, strict=False)


def decode_value(line: bytes) -> Any:
    """The JSON value, integers of any size; NaN and Infinity come as null.

    Raises:
        BadRow: the line is not JSON in UTF-8, or is nested too deeply.
    """
    try:
        return _FAST.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass  # json reads it, or says what is wrong
    try:
        return _DECODER.decode(decode_text(line).strip())
    except json.JSONDecodeError as error:
        raise BadRow(
            "not JSON",
            f"not JSON: {error.msg} at character {error.pos + 1}; expected one object a line",
        ) from error
    except ValueError as error:  # int() refuses more digits (CPython's default limit)
        raise BadRow(
            "number too long", "a number has more than 4,300 digits"
        ) from error
    except RecursionError as error:
        raise BadRow(
            "nested too deeply", "nested too deeply; expected a flat object"
        ) from error


def decode_object(line: bytes) -> dict[str, Any]:
    """The JSON object of a line, as by `decode_value`; another value is a `BadRow`."""
    record = decode_value(line)
    if not isinstance(record, dict):
        raise BadRow(
            "not an object", f"{kind(record)}, expected a JSON object with fields"
        )
    return record


def read_jsonl(
    path: str | Path, *, name: str | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number, object) for every line; blank lines are skipped.

    Raises:
        InputError: as `read_lines`; for a line that is not a JSON object; for a file
            without a single record.
    """
    any_record = False
    for number, record in read_lines(
        path, lambda line: decode_object(line) if line.strip() else None, name=name
    ):
        if record is not None:
            any_record = True
            yield number, record
    if not any_record:
        raise InputError(
            f"{name or path}: no record in the file, expected one JSON object per line"
        )


def kind(value: object) -> str:
    """JSON's name for the type of a value, with its article, for messages."""
    names: dict[type, str] = {
        type(None): "null",
        bool: "a boolean",
        int: "a number",
        float: "a number",
        str: "a string",
        list: "a list",
        dict: "an object",
    }
    return names.get(type(value), f"of type {type(value).__name__}")


def missing(names: Sequence[str], record: Mapping[str, Any]) -> str:
    """The message about a record without any of the fields."""
    have = ", ".join(clean_text(str(name))[:40] for name in list(record)[:12]) or "none"
    expected = "', '".join(names)
    either = "" if len(names) == 1 else " (any one of them)"
    return f"field '{expected}'{either} is missing; the record has: {have}"


def plain_value(value: Any) -> Any:
    """A JSON value with clean strings."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [plain_value(item) for item in value]
    if isinstance(value, dict):
        return {clean_text(key): plain_value(item) for key, item in value.items()}
    return value
