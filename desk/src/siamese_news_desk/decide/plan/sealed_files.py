"""Sealed files: JSON with the hash of its own content, which reveals later changes."""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from siamese_news.data.jsonl import plain_value
from siamese_news.errors import InputError
from siamese_news.utils.checked_json import fitting
from siamese_news.utils.files import expect_regular, write_json
from siamese_news.utils.provenance import command, provenance
from siamese_news_desk.decide.plan.plan_fields import PLANS, Certificate, Charge, Plan

SEAL = "sha256"

_LARGEST = 256 * 2**20  # bytes of a sealed file; a plan over millions of posts has one


def seal_of(content: Mapping[str, Any]) -> str:
    """SHA-256 of the content without its seal, whatever the order of the fields."""
    plain = {name: value for name, value in content.items() if name != SEAL}
    text = json.dumps(plain, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def write_sealed(path: Path, content: Mapping[str, Any]) -> str:
    """Write an object with its seal, atomically; returns the seal."""
    clean = plain_value(dict(content))  # arguments that are not UTF-8 have no hash
    seal = seal_of(clean)
    write_json(path, {**clean, SEAL: seal})
    return seal


def made() -> dict[str, Any]:
    """The time, command line and environment in which a file was made."""
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return {"created": now, "command": command(), "provenance": provenance()}


def read_sealed(
    path: Path, record_kind: Literal["plan", "certificate", "audit"]
) -> dict[str, Any]:
    """Read an object that `write_sealed` wrote, with the fields of its kind (`records`).

    Raises:
        InputError: the file is missing, not a regular file, not JSON, was changed, or lacks a
            field.
    """
    expect_regular(path, f"a {record_kind} that this program wrote")
    try:
        with path.open("rb") as stream:
            data = stream.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise ValueError(f"more than {_LARGEST:,} bytes")
        content = json.loads(data.decode())
        seal = seal_of(content) if isinstance(content, dict) else ""
    except OSError as error:
        location = (
            "; it is next to the first sheet: check the names of both"
            if record_kind == "plan"
            else ""
        )
        raise InputError(
            f"{path}: cannot be read ({error.strerror}); expected a {record_kind} that this program "
            f"wrote{location}"
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{path}: not JSON ({error}); expected the {record_kind}"
        ) from error
    if not isinstance(content, dict) or SEAL not in content:
        raise InputError(
            f"{path}: not a {record_kind}; expected a file that this program wrote"
        )
    if content[SEAL] != seal:
        raise InputError(
            f"{path}: the {record_kind} was changed after it was written (its hash does not match); "
            "restore it: what is fixed before the first label cannot be changed afterwards"
        )
    try:
        kinds = {
            "plan": PLANS.get(str(content.get("kind")), Plan),
            "certificate": Certificate,
            "audit": dict[str, Any],
        }
        fitting(content, kinds[record_kind])
        if record_kind == "plan":
            fitting(content, Charge)
    except ValueError as error:
        raise InputError(
            f"{path}: not a {record_kind} as this program writes it ({error}); restore the file"
        ) from error
    return content


def named_by(record: Path, name: str) -> Path:
    """A file that a sealed file names: from its folder, else next to it."""
    listed = record.parent / name
    return listed if listed.exists() else record.with_name(listed.name)


def name_for(record: Path, path: Path) -> str:
    """The name by which a sealed file names another; see `named_by`."""
    try:
        return os.path.relpath(path.absolute(), record.absolute().parent)
    except ValueError:  # on another drive of Windows
        return str(path.absolute())


# The number has three digits at most: four are a year.
_SHEET = re.compile(
    r"(.*?)(?:\.(\d{1,3}))?(\.plan\.json|\.prodigy\.jsonl|\.csv|\.jsonl|\.json|\.tsv|\.txt)?",
    re.IGNORECASE | re.DOTALL,
)


def _parts(path: Path) -> tuple[str, int, str]:
    """The stem of a sheet's name, the number of its batch, and its ending."""
    match = _SHEET.fullmatch(path.name)
    assert match is not None
    return match[1], int(match[2] or 1), match[3] or ""


def sibling(sheet: Path, ending: str) -> Path:
    """A file that belongs to a sheet of any batch: ``sheet.2.csv`` has ``sheet.plan.json``.

    Raises:
        InputError: it is a link. The user did not name this file, so if the sheet is somebody
            else's, a command would write to wherever that person wants.
    """
    path = sheet.with_name(f"{_parts(sheet)[0]}.{ending}")
    if path.is_symlink():
        raise InputError(
            f"{path}: is a link, and what is written next to a sheet must be there itself; remove "
            "the link, or put a copy in its place"
        )
    return path


# The endings of the files that commands write next to a sheet.
NEXT_TO_SHEET = (
    "certificate.json",
    "certificate.html",
    "certificate.csv",
    "drawn.jsonl",
    "verdicts.jsonl",
)


def refuse_inputs(plan: Path, inputs: Iterable[Path]) -> None:
    """Raise an `InputError` if a file that is read would be written next to a plan."""
    written = {sibling(plan, ending).resolve() for ending in NEXT_TO_SHEET}
    for path in inputs:
        if path.resolve() in written:
            raise InputError(
                f"{path}: has the name of a file that is written next to the sheet, which would "
                "replace it; rename it, or choose another name for the sheet (--out)"
            )


def batch_name(sheet: Path, number: int) -> Path:
    """The file of a further batch: ``sheet.2.csv``."""
    stem, _, ending = _parts(sheet)
    return sheet.with_name(f"{stem}.{number}{ending}")


def sheets_of(plan: Path) -> list[Path]:
    """The sheets next to a plan, by batch; its results and posts may have the same stem."""
    plan_stem = plan.name.removesuffix(".plan.json")
    content = read_sealed(plan, "plan")
    sources = {
        named_by(plan, source["file"]).resolve()
        for source in [content["population"], *content["corpus"]]
    }
    sheets = []
    for path in plan.parent.iterdir() if plan.parent.is_dir() else ():
        stem, number, ending = _parts(path)
        if stem != plan_stem or ending.lower() not in _SHEETS:
            continue
        if path.resolve() not in sources and not _has_results(path):
            sheets.append((number, path))
    return [path for _, path in sorted(sheets)]


_SHEETS = (".csv", ".prodigy.jsonl", ".jsonl", ".json")
_LONGEST = 2**20  # bytes of the first line of a file
_OF_SHEETS = {"key", "label", "answer", "meta", "n", "asreview_label", "included"}


def _has_results(path: Path) -> bool:
    """Whether the first line of a file has a score, and nothing that a sheet has."""
    try:
        with path.open("rb") as stream:
            line = stream.readline(_LONGEST).decode("utf-8-sig").strip()
        header = json.loads(line) if line.startswith("{") else re.split("[,;\t]", line)
    except (OSError, ValueError, RecursionError):
        return False
    names = {str(name).strip(' "').lower() for name in header}
    return "score" in names and not names & _OF_SHEETS
