"""Sealed files: JSON with the hash of its own content, which reveals later changes."""

import hashlib
import json
import re
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from siamese_news.errors import InputError
from siamese_news.utils.files import write_json
from siamese_news.utils.provenance import command, provenance

SEAL = "sha256"


def seal_of(content: Mapping[str, Any]) -> str:
    """SHA-256 of the content without its seal, whatever the order of the fields."""
    plain = {name: value for name, value in content.items() if name != SEAL}
    text = json.dumps(plain, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def write_sealed(path: Path, content: Mapping[str, Any]) -> str:
    """Write an object with its seal, atomically; returns the seal."""
    seal = seal_of(content)
    write_json(path, {**content, SEAL: seal})
    return seal


def made() -> dict[str, Any]:
    """The time, command line and environment in which a file was made."""
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return {"created": now, "command": command(), "provenance": provenance()}


def read_sealed(path: Path, what: str) -> dict[str, Any]:
    """Read an object that `write_sealed` wrote: a ``plan`` or a ``certificate``.

    Raises:
        InputError: the file is missing, not JSON, was changed, or lacks a field.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        seal = seal_of(content) if isinstance(content, dict) else ""
    except OSError as error:
        where = "; it is next to the first sheet: check the names of both" if what == "plan" else ""
        raise InputError(
            f"{path}: cannot be read ({error.strerror}); expected a {what} that this program "
            f"wrote{where}"
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON ({error}); expected the {what}") from error
    if not isinstance(content, dict) or SEAL not in content:
        raise InputError(f"{path}: not a {what}; expected a file that this program wrote")
    if content[SEAL] != seal:
        raise InputError(
            f"{path}: the {what} was changed after it was written (its hash does not match); "
            "restore it: what is fixed before the first label cannot be changed afterwards"
        )
    shape = CERTIFICATE if what == "certificate" else PLANS.get(str(content.get("kind")))
    wrong = "kind" if shape is None else misfit(content, shape)
    if wrong is not None:
        raise InputError(
            f"{path}: its field {wrong} is missing, or is not what this program writes in a "
            f"{what}; restore the file"
        )
    return content


Shape = Any
"""A type, a test, None, {field: shape}, [shape of each item], or (one shape, or another)."""


def _between(kind: Any, low: float, high: float) -> Callable[[Any], bool]:
    """Tests for a number of this kind in a range."""
    return lambda value: (
        isinstance(value, kind) and not isinstance(value, bool) and low <= value <= high
    )


def _typed(fits: Callable[[Fraction], bool]) -> Callable[[Any], bool]:
    """Tests for a number as the user typed it."""

    def test(value: Any) -> bool:
        try:
            return isinstance(value, str) and fits(Fraction(value))
        except (ValueError, ZeroDivisionError):
            return False

    return test


def _filled(shape: Shape) -> Callable[[Any], bool]:
    """Tests for a list with at least one item."""
    return lambda value: isinstance(value, list) and bool(value) and not misfit(value, [shape])


_LARGEST = sys.float_info.max
WHOLE = _between(int, -(1 << 63), (1 << 63) - 1)
_COUNT = _between(int, 1, 1 << 40)
_NUMBER = _between(int | float, -_LARGEST, _LARGEST)
_RATE = _between(int | float, 0, 1)
_SHARE = _typed(lambda value: 0 < value < 1)
_POPULATION = {"file": str, "posts": _COUNT, "sha256": str, "pairs": bool}
_FILE = {"file": str, "sha256": str}
_EARLIER = [{"sha256": str, "error": _typed(lambda value: 0 <= value <= 1)}]
_MODEL = (None, {"folder": str, "sha256": str})
_PLAN = {
    "created": str,
    "command": str,
    "population": _POPULATION,
    "sets": _filled(_COUNT),
    "cuts": _filled(_NUMBER),
    "model": _MODEL,
    "corpus": [_FILE],
    "criteria": str,
}
_PRECISION = {
    "targets": _filled(_SHARE),
    "confidence": _SHARE,
    "budget": _COUNT,
    "first": _COUNT,
    "ratio": _typed(lambda value: value > 1),
    "seed": WHOLE,
    "joint": bool,
    "false_positive": (None, _RATE),
    "false_negative": _RATE,
}
_AUDIT = {
    "budget": _COUNT,
    "confidence": _SHARE,
    "seed": WHOLE,
    "threshold": (None, _NUMBER),
    "population": (None, _COUNT),
}
_STOPPING = {
    "find": (None, _COUNT),
    "recall": (None, _SHARE),
    "rule": lambda value: value in ("random-first", "learn-first"),
    "positives": _COUNT,
    "confidence": _SHARE,
    "seed": WHOLE,
}
PLANS: Mapping[str, Shape] = {
    "precision": {
        **_PLAN,
        "settings": _PRECISION,
        "method": str,
        "tables": [str],
        "earlier": _EARLIER,
    },
    "audit": {**_PLAN, "settings": _AUDIT, "earlier": _EARLIER},
    "stopping": {**_PLAN, "settings": _STOPPING},
}
"""The shapes of the kinds of plans."""

CERTIFICATE: Shape = {
    "plan": _FILE,
    "settings": _PRECISION,
    "population": _POPULATION,
    "confidence": _RATE,
    "claims": [dict],
    "labels": {"used": WHOLE, "relevant": WHOLE, "not_relevant": WHOLE, "skipped": WHOLE},
}


def misfit(value: Any, shape: Shape, name: str = "") -> str | None:
    """The name of the first part of a value that does not have its shape, or None."""
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


_SHEET = re.compile(
    r"(.*?)(?:\.(\d+))?(\.plan\.json|\.prodigy\.jsonl|\.csv|\.jsonl|\.json|\.tsv|\.txt)?",
    re.IGNORECASE | re.DOTALL,
)


def _parts(path: Path) -> tuple[str, int, str]:
    """The stem of a sheet's name, the number of its batch, and its ending."""
    found = _SHEET.fullmatch(path.name)
    assert found is not None
    return found[1], int(found[2] or 1), found[3] or ""


def sibling(sheet: Path, ending: str) -> Path:
    """A file that belongs to a sheet of any batch: ``sheet.2.csv`` has ``sheet.plan.json``."""
    return sheet.with_name(f"{_parts(sheet)[0]}.{ending}")


def batch_name(sheet: Path, number: int) -> Path:
    """The file of a further batch: ``sheet.2.csv``."""
    stem, _, ending = _parts(sheet)
    return sheet.with_name(f"{stem}.{number}{ending}")


def sheets_of(plan: Path) -> list[Path]:
    """The sheets next to a plan, by batch."""
    wanted = plan.name.removesuffix(".plan.json")
    found = []
    for path in plan.parent.iterdir() if plan.parent.is_dir() else ():
        stem, number, ending = _parts(path)
        if stem == wanted and ending in (".csv", ".prodigy.jsonl", ".jsonl", ".json"):
            found.append((number, path))
    return [path for _, path in sorted(found)]
