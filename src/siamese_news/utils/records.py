"""JSON values from elsewhere, checked against the type that describes them."""

import json
import re
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from siamese_news.errors import InputError

T = TypeVar("T")

Count = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
"""How many, or how many bytes."""


def fitting(value: Any, kind: type[T]) -> T:
    """The value itself, if a `TypedDict` or another type describes it; further fields may come.

    Args:
        value: as `json.loads` returns it.
        kind: a type that msgspec knows: numbers keep their kind, so ``True`` and ``1.0`` are not
            of type ``int``.

    Raises:
        ValueError: it names the first field that does not fit, and what was expected there.
    """
    _converted(value, kind)
    fit: T = value
    return fit


def _converted(value: Any, kind: type[T]) -> T:
    """The value as this type: a dataclass of a dict, bytes of base64."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        # msgspec writes "Expected `int`, got `str` - at `$.settings.budget`".
        what, _, place = str(error).partition(" - at ")
        what = what.replace("`", "")
        where = re.sub(r"^\$\.?", "", place.strip("`"))
        raise ValueError(f"field {where}: {what}" if where else what) from None


def read_state(path: Path, kind: type[T], remedy: str) -> T:
    """The JSON that an unfinished run left in a file, as a value of this type.

    Raises:
        InputError: the file is damaged; `remedy` says what to do.
    """
    try:
        return _converted(json.loads(path.read_bytes()), kind)
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: is damaged ({error}); {remedy}") from error
