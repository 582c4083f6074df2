"""JSON values from elsewhere, checked against the type that describes them."""

import re
from typing import (
    Any,
    Literal,
    NamedTuple,
    TypeVar,
    cast,
    get_args,
    get_origin,
    is_typeddict,
)

import msgspec

T = TypeVar("T")

_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "array": "a list",
    "object": "a mapping",
}
_BOUNDS = {">=": "of at least", "<=": "of at most", ">": "above", "<": "below"}


class Misfit(NamedTuple):
    """What does not fit a type: its place inside the value, and what was expected there."""

    place: str
    expected: str


def misfit(value: Any, kind: Any) -> Misfit | None:
    """The first thing in a value that does not fit a type; None if all of it fits.

    Args:
        value: of plain types, and those that the type names.
        kind: a type that msgspec knows, with bounds (`msgspec.Meta`) or without.

    Raises:
        TypeError: msgspec does not know the type.

    Example:
        >>> from siamese_news.utils.records import misfit
        >>> misfit("2", int | None)
        Misfit(place='', expected='a whole number or null')
    """
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        # msgspec writes "Expected `int`, got `str` - at `$.settings.budget`".
        what, _, path = str(error).replace("`", "").partition(" - at ")
        types, _, _ = what.removeprefix("Expected ").partition(", got ")
        types = types.replace("bool", "true | false")
        words = [_in_words(name) for name in types.split(" | ")]
        if not path or what.startswith("Invalid enum value"):
            words = list(map(str, literals(kind))) or words
        expected = " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
        return Misfit(path.removeprefix("$"), expected)
    return None


def _in_words(kind: str) -> str:
    """A type as msgspec names it, such as ``int >= 1``, in words."""
    name, _, bound = kind.partition(" ")
    for sign, words in _BOUNDS.items():
        bound = bound.replace(sign, words)
    return f"{_WORDS.get(name, name)} {bound.removesuffix('.0')}".strip()


def literals(kind: Any) -> list[Any]:
    """The values that a type names, in it or in the types that it joins."""
    if get_origin(kind) is Literal:
        return list(get_args(kind))
    return [value for member in get_args(kind) for value in literals(member)]


def fitting(value: Any, kind: type[T]) -> T:
    """The value as a type describes it; further fields may come.

    A `TypedDict` describes the value itself, with all its fields.

    Args:
        value: as `json.loads` returns it.
        kind: a type that msgspec knows: numbers keep their kind, so ``True`` and ``1.0`` are not
            of type ``int``.

    Raises:
        ValueError: it names the first field that does not fit, and what was expected there.
    """
    try:
        converted = msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        # msgspec writes "Expected `int`, got `str` - at `$.settings.budget`".
        what, _, place = str(error).partition(" - at ")
        what = what.replace("`", "")
        where = re.sub(r"^\$\.?", "", place.strip("`"))
        raise ValueError(f"field {where}: {what}" if where else what) from None
    return cast(T, value) if is_typeddict(kind) else converted
