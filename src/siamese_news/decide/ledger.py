"""Which plans were made over the same scores: trying again until one passes is no guarantee.

Five tries, each with its whole error budget, gave 21% false certificates. So every plan is written
down beside the scores before its first sheet, and a further one is refused, or pays: its
certificate holds with the error budgets of all plans added up.
"""

import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from filelock import FileLock

from siamese_news.decide.label_files import read_rows
from siamese_news.decide.sealed import seal_of
from siamese_news.errors import InputError
from siamese_news.utils.files import atomic_write


def ledger_path(results: Path) -> Path:
    """The file beside the scores."""
    return results.with_name(results.name + ".plans.jsonl")


def register(
    results: Path,
    entry: Mapping[str, Any],
    *,
    error: Fraction,
    plan: Path,
    again: bool,
    unused: bool = False,
) -> list[dict[str, Any]]:
    """Write a plan down, unless it stands there.

    Args:
        results: the scores.
        entry: what the plan fixes, ``scores`` (their hash) and ``kind`` among it.
        error: the chance that it certifies wrongly, at most.
        plan: its file.
        again: whether the user wants another plan and takes its cost.
        unused: whether the earlier plans were never labelled, so they cost nothing.

    Returns:
        The other plans over the same scores for which the certificate has to pay.

    Raises:
        InputError: where another plan stands there and `again` is not said.
    """
    path = ledger_path(results)
    seal = seal_of(entry)
    with FileLock(path.with_name(f".{path.name}.lock")):
        lines = read_ledger(results)
        same = [
            line for line in lines
            if line["entry"]["scores"] == entry["scores"] and line["entry"]["kind"] == entry["kind"]
        ]  # fmt: skip
        others = [line for line in same if line["sha256"] != seal and not line.get("withdrawn")]
        known = [line for line in same if line["sha256"] == seal and not line.get("withdrawn")]
        if known:
            place = same.index(known[0])
            return [line for line in same[:place] if not line.get("withdrawn")]
        if others and unused:
            for line in others:
                line["withdrawn"] = True
            others = []
        if others and not again:
            raise InputError(_refusal(path, others[-1]["entry"], entry, others))
        lines.append({"sha256": seal, "error": str(error), "plan": str(plan), "entry": dict(entry)})
        with atomic_write(path) as stream:
            for line in lines:
                stream.write(json.dumps(line, ensure_ascii=False) + "\n")
        return others


def read_ledger(results: Path) -> list[dict[str, Any]]:
    """The plans that stand beside the scores.

    Raises:
        InputError: for a damaged file.
    """
    path = ledger_path(results)
    if not path.exists():
        return []
    lines = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            lines.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"{path}:{number}: not JSON ({error}); the list of plans is damaged: restore it"
            ) from error
    return lines


def _refusal(
    path: Path, old: Mapping[str, Any], new: Mapping[str, Any], others: list[dict[str, Any]]
) -> str:
    before, now = old["settings"], new["settings"]
    changed = [
        f"{name} was {before.get(name)}, is {now[name]}"
        for name in now if before.get(name) != now[name]
    ]  # fmt: skip
    cost = sum(Fraction(line["error"]) for line in others)
    return (
        f"{path}: a plan over these scores stands there already "
        f"({'; '.join(changed) or 'another'}). What is fixed before the first label cannot be "
        "changed after it, and trying again until one passes is no guarantee: with five tries "
        "21% of the certificates were false. Go on "
        "with the first plan (more labels may be added at any time), or say --again: then the "
        f"chance of a wrong certificate is the sum over all plans, {float(cost):g} more than that "
        "of the new one alone"
    )


def mark_labelled(results: Path, plan: Path) -> None:
    """Note that a plan has labels: from now on another one over these scores has its cost."""
    path = ledger_path(results)
    if not path.exists():
        return
    with FileLock(path.with_name(f".{path.name}.lock")):
        lines = read_ledger(results)
        own = [line for line in lines if Path(line["plan"]).name == plan.name]
        if all(line.get("labelled") for line in own):
            return
        for line in own:
            line["labelled"] = True
        with atomic_write(path) as stream:
            for line in lines:
                stream.write(json.dumps(line, ensure_ascii=False) + "\n")


def never_labelled(results: Path) -> bool:
    """Whether all sheets of the plans over these scores are still there, and blank."""
    for line in read_ledger(results):
        if line.get("withdrawn"):
            continue
        plan = Path(line["plan"])
        sheets = sheets_of(plan)
        if line.get("labelled") or not sheets:
            return False
        if any(row.label.strip() for sheet in sheets for row in read_rows(sheet)):
            return False
    return True


def sheets_of(plan: Path) -> list[Path]:
    """The sheets that lie beside a plan."""
    stem = plan.name.removesuffix(".plan.json")
    if not plan.parent.is_dir():
        return []
    endings = (".csv", ".prodigy.jsonl", ".jsonl", ".json")
    found = []
    for path in plan.parent.iterdir():
        ending = next((e for e in endings if path.name.endswith(e)), None)
        middle = path.name.removeprefix(stem).removesuffix(ending) if ending else "no sheet"
        if path.name == f"{stem}{middle}{ending}" and (not middle or middle[1:].isdigit()):
            found.append((int(middle[1:] or 1), path))
    return [path for _, path in sorted(found)]
