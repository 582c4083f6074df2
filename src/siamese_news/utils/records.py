"""JSON values from elsewhere, checked against the type that describes them."""

import re
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")


def fitting(value: Any, kind: type[T]) -> T:
    """The value itself, if a `TypedDict` or another type describes it; further fields may come.

    Args:
        value: as `json.loads` returns it.
        kind: a type that msgspec knows: numbers keep their kind, so ``True`` and ``1.0`` are not
            of type ``int``.

    Raises:
        ValueError: it names the first field that does not fit, and what was expected there.
    """
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        # msgspec writes "Expected `int`, got `str` - at `$.settings.budget`".
        what, _, place = str(error).partition(" - at ")
        what = what.replace("`", "")
        where = re.sub(r"^\$\.?", "", place.strip("`"))
        raise ValueError(f"field {where}: {what}" if where else what) from None
    converted: T = value
    return converted
