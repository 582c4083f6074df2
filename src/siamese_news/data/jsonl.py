"""Strict JSON lines: every complaint names the file, the line and the field."""

import io
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from siamese_news.data.records import check_id, clean_text
from siamese_news.errors import InputError
from siamese_news.files import open_binary

LINE_CAP = 16 * 2**20
"""Longest line in bytes; a file that is one line of gigabytes must not fill the memory."""

# int() refuses longer strings of digits (CPython's default limit).
_INT_DIGITS = 4300


class Digits(str):
    """An integer of a JSON file, digit for digit: 2**53 + 1 stays itself."""

    __slots__ = ()


class _Constant:
    """NaN, Infinity or -Infinity, which JSON does not have."""

    def __init__(self, name: str) -> None:
        self.name = name


_DECODER = json.JSONDecoder(
    parse_int=Digits,
    parse_constant=_Constant,
    strict=False,  # raw control characters inside strings are cleaned, not refused
)


def read_lines(path: str | Path, *, cap: int = LINE_CAP) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, line without its end) of a plain, gz or zst UTF-8 file.

    Raises:
        InputError: for a missing, empty, truncated or damaged file, a line of more than `cap`
            bytes, and bytes that are not UTF-8.
    """
    with io.BufferedReader(open_binary(path), 2**20) as lines:  # type: ignore[type-var]
        number = 0
        while True:
            number += 1
            try:
                line = lines.readline(cap + 1)
            except (EOFError, OSError, zlib.error) as error:
                raise _damaged(path, number, error) from error
            except Exception as error:
                # zstandard is imported only where a .zst is read, so its error is known by name.
                if type(error).__name__ != "ZstdError":
                    raise
                raise _damaged(path, number, error) from error
            if not line:
                return
            if len(line) > cap:
                raise InputError(
                    f"{path}:{number}: the line is longer than {cap:,} bytes; "
                    "expected one record on each line: is this one large JSON array?"
                )
            if number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
            try:
                text = line.decode()
            except UnicodeDecodeError as error:
                raise InputError(
                    f"{path}:{number}: byte {error.start} is not UTF-8; convert the file to UTF-8"
                ) from error
            yield number, text.rstrip("\r\n")


def read_jsonl(path: str | Path, *, cap: int = LINE_CAP) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number, object) for every line; blank lines are skipped.

    Integers come as `Digits` (a str), so that no id loses a digit.

    Raises:
        InputError: as `read_lines`; for a line that is not a JSON object; for NaN and Infinity;
            for a file without a single record.
    """
    found = False
    for number, line in read_lines(path, cap=cap):
        text = line.strip()
        if not text:
            continue
        try:
            record = _DECODER.decode(text)
        except json.JSONDecodeError as error:
            raise InputError(
                f"{path}:{number}: not JSON: {error.msg} at character {error.pos + 1}; "
                'expected one object, such as {"_id": "1", "text": "..."}'
            ) from error
        except RecursionError as error:
            raise InputError(
                f"{path}:{number}: nested too deeply; expected a flat object"
            ) from error
        if not isinstance(record, dict):
            raise InputError(
                f"{path}:{number}: a JSON {kind(record)}, expected an object with fields"
            )
        for key, value in record.items():
            if not isinstance(value, str) and (name := _constant(value)):
                raise InputError(
                    f"{path}:{number}: field '{key}' has {name}, which is not JSON; "
                    "write null or leave the field out"
                )
        found = True
        yield number, record
    if not found:
        raise InputError(f"{path}: no record in the file, expected one JSON object per line")


def id_of(record: Mapping[str, Any], names: Sequence[str], where: str) -> str:
    """The record's id: the first of the fields `names` that it has; integers digit for digit.

    Raises:
        InputError: where none is there, or it is no string or integer, or no usable id.
    """
    name = _first(record, names, where)
    value = record[name]
    if not isinstance(value, str):
        raise InputError(
            f"{where}: field '{name}' is a {kind(value)}, expected a string or a whole number"
        )
    return check_id(str(value), f"{where}: field '{name}'")


def text_of(record: Mapping[str, Any], names: Sequence[str], where: str) -> str:
    """The record's text, cleaned: the first of the fields `names` that it has.

    Raises:
        InputError: where none is there, or it is not a string.
    """
    name = _first(record, names, where)
    value = record[name]
    if not isinstance(value, str) or isinstance(value, Digits):
        raise InputError(f"{where}: field '{name}' is a {kind(value)}, expected a string")
    return clean_text(value)


def metadata_of(record: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The record's metadata as plain values; empty where it has none.

    Raises:
        InputError: where it is not an object.
    """
    value = record.get("metadata")
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InputError(f"{where}: field 'metadata' is a {kind(value)}, expected an object")
    return {clean_text(key): _plain(item) for key, item in value.items()}


def kind(value: object) -> str:
    """What JSON calls the type of a value, for messages."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, Digits | float | int):
        return "number"
    names: dict[type, str] = {str: "string", list: "list", dict: "object"}
    return names.get(type(value), type(value).__name__)


def _first(record: Mapping[str, Any], names: Sequence[str], where: str) -> str:
    for name in names:
        if name in record:
            return name
    have = ", ".join(sorted(map(str, record))[:12]) or "none"
    expected = "', '".join(names)
    either = "" if len(names) == 1 else " (any one of them)"
    raise InputError(f"{where}: field '{expected}'{either} is missing; the record has: {have}")


def _constant(value: object) -> str:
    if isinstance(value, _Constant):
        return value.name
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return next(filter(None, map(_constant, value)), "")
    return ""


def _plain(value: Any) -> Any:
    if isinstance(value, Digits):
        return int(value) if len(value) <= _INT_DIGITS else str(value)
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {clean_text(key): _plain(item) for key, item in value.items()}
    return value


def _damaged(path: str | Path, number: int, error: Exception) -> InputError:
    return InputError(
        f"{path}:{number}: cannot be read on from here ({error}); "
        "the file is damaged or cut off: fetch or make it again"
    )
