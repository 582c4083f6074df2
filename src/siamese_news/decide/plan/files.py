"""Files that say whether somebody changed them: JSON with the hash of its own content."""

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from siamese_news.errors import InputError
from siamese_news.utils.files import atomic_write

SEAL = "sha256"


def seal_of(content: Mapping[str, Any]) -> str:
    """SHA-256 of the content, whatever the order of its fields; its own seal is left out."""
    plain = {name: value for name, value in content.items() if name != SEAL}
    text = json.dumps(plain, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def write_sealed(path: Path, content: Mapping[str, Any]) -> str:
    """Write an object with its seal, whole or not at all; returns the seal."""
    seal = seal_of(content)
    with atomic_write(path) as stream:
        json.dump({**content, SEAL: seal}, stream, indent=1, ensure_ascii=False)
        stream.write("\n")
    return seal


def read_sealed(path: Path, what: str) -> dict[str, Any]:
    """Read an object that `write_sealed` wrote.

    Args:
        path: the file.
        what: what it should be: ``plan`` or ``certificate``.

    Raises:
        InputError: where it is missing, not JSON, was changed since it was written, or has not the
            shape of what it should be.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        seal = seal_of(content) if isinstance(content, dict) else ""
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror}); expected the {what} that stands beside "
            "the first sheet"
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON ({error}); expected the {what}") from error
    if not isinstance(content, dict) or SEAL not in content:
        raise InputError(f"{path}: not a {what}; expected a file that this program wrote")
    if content[SEAL] != seal:
        raise InputError(
            f"{path}: the {what} was changed after it was written (its hash does not fit); restore "
            "it: what is fixed before the first label cannot be changed after it"
        )
    shape = CERTIFICATE if what == "certificate" else PLANS.get(str(content.get("kind")))
    wrong = "kind" if shape is None else misfit(content, shape)
    if wrong is not None:
        raise InputError(
            f"{path}: {wrong} in it is missing, or is not what this program writes in a {what}; "
            "restore the file"
        )
    return content


Shape = Any


def share(value: Any) -> bool:
    """A share between 0 and 1, as typed."""
    from siamese_news.decide.plan.design import share_of
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
    "created": str,
    "command": str,
    "population": _POPULATION,
    "sets": filled(count),
    "cuts": filled(number),
    "model": _MODEL,
    "corpus": [_FILE],
    "criteria": str,
}
_PRECISION = {
    "targets": filled(share),
    "confidence": share,
    "budget": count,
    "first": count,
    "ratio": growth,
    "seed": whole,
    "joint": bool,
    "false_positive": (None, rate),
    "false_negative": rate,
}
_AUDIT = {
    "budget": count,
    "confidence": share,
    "seed": whole,
    "threshold": (None, number),
    "population": (None, count),
}
_STOPPING = {
    "find": (None, count),
    "recall": (None, share),
    "rule": one_of("random-first", "learn-first"),
    "positives": count,
    "confidence": share,
    "seed": whole,
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
"""By the kind of a plan."""

CERTIFICATE: Shape = {
    "plan": _FILE,
    "settings": _PRECISION,
    "population": _POPULATION,
    "confidence": rate,
    "claims": [dict],
    "labels": {"used": whole, "relevant": whole, "not_relevant": whole, "skipped": whole},
}


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


def beside(sheet: Path, ending: str) -> Path:
    """A file that belongs to a sheet: ``sheet.csv`` has ``sheet.plan.json``.

    Args:
        sheet: of any batch, such as ``sheet.2.csv``.
        ending: what stands instead of the sheet's.
    """
    return sheet.with_name(f"{stem_of(sheet)}.{ending}")


def stem_of(sheet: Path) -> str:
    """The name of a sheet without its endings and the number of its batch."""
    name = sheet.name
    for known in (".plan.json", ".prodigy.jsonl", ".csv", ".jsonl", ".json", ".tsv", ".txt"):
        if name.lower().endswith(known):
            name = name[: -len(known)]
            break
    head, _, number = name.rpartition(".")
    return head if head and number.isdigit() else name


def batch_name(sheet: Path, number: int) -> Path:
    """The file of a further batch: ``sheet.2.csv``."""
    stem = stem_of(sheet)
    ending = sheet.name.removeprefix(stem)
    head, dot, tail = ending[1:].partition(".")
    kept = f".{tail}" if dot and head.isdigit() else ending
    return sheet.with_name(f"{stem}.{number}{kept}")


_ENDINGS = (".csv", ".prodigy.jsonl", ".jsonl", ".json")


def sheets_of(plan: Path) -> list[Path]:
    """The sheets that lie beside a plan."""
    stem = plan.name.removesuffix(".plan.json")
    if not plan.parent.is_dir():
        return []
    found = []
    for path in plan.parent.iterdir():
        ending = next((e for e in _ENDINGS if path.name.endswith(e)), None)
        middle = path.name.removeprefix(stem).removesuffix(ending) if ending else "no sheet"
        if path.name == f"{stem}{middle}{ending}" and (not middle or middle[1:].isdigit()):
            found.append((int(middle[1:] or 1), path))
    return [path for _, path in sorted(found)]
