"""The shapes of plans and certificates: a file of somebody else may have a seal and no sense.

A shape is a type, a tuple of shapes of which one fits, a list of one shape for all of its values,
or a dict of the names that must be there.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

Shape = Any


def share(value: Any) -> bool:
    """A share between 0 and 1, as typed."""
    from siamese_news.decide.design import share_of
    from siamese_news.errors import InputError

    try:
        return isinstance(value, str) and share_of(value, "") > 0
    except InputError:
        return False


def budget_share(value: Any) -> bool:
    """A share of an error budget, 0 and 1 among them, as a fraction is written."""
    return value in ("0", "1") or share(value)


def count(value: Any) -> bool:
    """A whole number from 1, of posts or labels."""
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value < 1 << 40


def whole(value: Any) -> bool:
    """A whole number."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63


def number(value: Any) -> bool:
    """A finite number."""
    return isinstance(value, int | float) and math.isfinite(value) and not isinstance(value, bool)


def rate(value: Any) -> bool:
    """A number from 0 to 1."""
    return number(value) and 0 <= value <= 1


def growth(value: Any) -> bool:
    """A number above 1, as typed."""
    from fractions import Fraction

    try:
        return isinstance(value, str) and Fraction(value) > 1
    except (ValueError, ZeroDivisionError):
        return False


def one_of(*values: str) -> Callable[[Any], bool]:
    """One of some words."""
    return lambda value: isinstance(value, str) and value in values


def filled(shape: Shape) -> Callable[[Any], bool]:
    """A list of one value or more."""
    return lambda value: isinstance(value, list) and bool(value) and not misfit(value, [shape])


_FILE = {"file": str, "sha256": str}
_POPULATION = {"file": str, "posts": count, "sha256": str, "pairs": bool}
_EARLIER = [{"sha256": str, "error": budget_share}]
_MODEL = (None, {"folder": str, "sha256": str})
_PLAN = {
    "created": str, "command": str, "population": _POPULATION, "sets": filled(count),
    "cuts": filled(number), "model": _MODEL, "corpus": [_FILE], "criteria": str,
}  # fmt: skip
_PRECISION = {
    "targets": filled(share), "confidence": share, "budget": count, "first": count,
    "ratio": growth, "seed": whole, "joint": bool, "false_positive": (None, rate),
    "false_negative": rate,
}  # fmt: skip
_AUDIT = {
    "budget": count, "confidence": share, "seed": whole, "threshold": (None, number),
    "population": (None, count),
}  # fmt: skip
_STOPPING = {
    "find": (None, count), "recall": (None, share), "rule": one_of("random-first", "top-first"),
    "positives": count, "confidence": share, "seed": whole,
}  # fmt: skip
PLANS: Mapping[str, Shape] = {
    "precision": {
        **_PLAN, "settings": _PRECISION, "method": str, "tables": [str], "earlier": _EARLIER,
    },
    "audit": {**_PLAN, "settings": _AUDIT, "earlier": _EARLIER},
    "stopping": {**_PLAN, "settings": _STOPPING},
}  # fmt: skip
"""By the kind of a plan."""

CERTIFICATE: Shape = {
    "plan": _FILE, "settings": _PRECISION, "population": _POPULATION, "confidence": rate,
    "claims": [dict],
    "labels": {"used": whole, "relevant": whole, "not_relevant": whole, "skipped": whole},
}  # fmt: skip


def misfit(value: Any, shape: Shape, name: str = "") -> str | None:
    """The name of the first part of a value that has not its shape; None where all have."""
    here = name or "the whole"
    if isinstance(shape, tuple):
        return None if any(misfit(value, one, name) is None for one in shape) else here
    if isinstance(shape, list):
        if not isinstance(value, list):
            return here
        parts = [(f"{name}[{n}]", part, shape[0]) for n, part in enumerate(value)]
    elif isinstance(shape, Mapping):
        if not isinstance(value, dict):
            return here
        if missing := [key for key in shape if key not in value]:
            return f"{name}.{missing[0]}".lstrip(".")
        parts = [(f"{name}.{key}".lstrip("."), value[key], one) for key, one in shape.items()]
    elif isinstance(shape, type):
        return None if isinstance(value, shape) else here
    else:
        return None if (value is None if shape is None else shape(value)) else here
    return next((found for part in parts if (found := misfit(part[1], part[2], part[0]))), None)
