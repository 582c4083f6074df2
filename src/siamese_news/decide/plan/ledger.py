"""Which plans were made over the same posts: trying again until one passes is no guarantee.

Five tries, each with its whole error budget, gave 21% false certificates. So every plan is written
to two lists before its first sheet: one in the folder of the results (or of the project), one in
the user's own folder, which knows of other folders and holds hashes alone. A further plan over the
same posts is refused, or pays: its certificate holds with the error budgets of all plans added up.
"""

import hashlib
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

from filelock import FileLock

from siamese_news.decide.plan.files import read_sealed, seal_of
from siamese_news.decide.plan.population import SKETCH, Population
from siamese_news.errors import InputError
from siamese_news.labels.journal import Journal

_CLAIMS = ("targets", "confidence", "joint")


def entry_of(kind: str, scores: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """What makes a plan the plan that it is.

    Args:
        kind: of the plan.
        scores: SHA-256 of their file.
        settings: what the user chose.
    """
    return {"kind": kind, "scores": scores, "settings": dict(settings)}


def lists_of(results: Path) -> tuple[Path, Path]:
    """The list in the folder of the results, or of the project they belong to; the user's own."""
    folder = results.absolute().parent
    home = next((p for p in (folder, *folder.parents) if (p / "project.json").exists()), folder)
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return home / "siamese-news.plans.jsonl", Path(state) / "siamese_news" / "plans.jsonl"


def register(
    population: Population,
    entry: Mapping[str, Any],
    *,
    error: Fraction,
    plan: Path,
    criteria: str,
    again: bool,
    withdraw: Sequence[Path] = (),
) -> list[dict[str, str]]:
    """Write a plan down, unless it is there already.

    Args:
        population: the scored posts.
        entry: of the plan; see `entry_of`.
        error: the chance that it certifies wrongly, at most.
        plan: its file.
        criteria: what counts as relevant; plans with other criteria answer another question.
        again: whether the user wants another plan and accepts its cost.
        withdraw: earlier plans that this one replaces.

    Returns:
        ``sha256`` and ``error`` of the plans for which the certificate has to pay.

    Raises:
        InputError: where another plan is there and neither `again` nor `withdraw` allows this one.
    """
    shared, private = lists_of(population.path)
    seal, given_up = seal_of(entry), [_entry_in(path) for path in withdraw]
    own = {
        "sha256": seal,
        "kind": entry["kind"],
        "posts": population.sketch,
        "criteria": _hashed(" ".join(criteria.lower().split())) if criteria.strip() else "",
        "order": _order(entry),
        "error": str(error),
    }
    with ExitStack() as stack:
        stack.enter_context(FileLock(shared.with_name(f".{shared.name}.lock")))
        with suppress(OSError):  # a folder that cannot be written has no list of its own
            private.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(FileLock(private.with_name(f".{private.name}.lock")))
        plans, withdrawn = _read(shared, private)
        withdrawn |= {seal_of(one) for one in given_up}
        if seal in withdrawn:
            raise InputError(f"{plan}: {_WITHDRAWN}")
        if seal in plans:
            there = shared.parent / plans[seal].get("plan", "")
            if there.is_file() and there.resolve() != plan.resolve():
                raise InputError(
                    f"{there}: is this very plan already; label its sheets, or move them here"
                )
            own["earlier"] = plans[seal]["earlier"]
        else:
            others = [line for line in plans.values() if _same_posts(line, own)]
            active = [line for line in others if line["sha256"] not in withdrawn]
            if active and not again:
                raise InputError(_refusal(shared, active, entry))
            own["earlier"] = [
                {"sha256": line["sha256"], "error": line["error"]}
                for line in others
                if line in active or line["order"] != own["order"]
            ]
        gone = [{"withdrawn": seal_of(one)} for one in given_up]
        name = os.path.relpath(plan.absolute(), shared.parent)
        here = {**own, "settings": entry["settings"], "plan": name}
        known = seal in plans
        Journal(shared).append(gone if known else [*gone, here])
        with suppress(OSError):
            Journal(private).append(gone if known else [*gone, own])
    earlier: list[dict[str, str]] = own["earlier"]
    return earlier


def plans_over(population: Population) -> int:
    """How many plans there are over the same posts, those that were withdrawn included."""
    plans, _ = _read(*lists_of(population.path))
    return sum(_overlap(line["posts"], population.sketch) for line in plans.values())


def refuse_withdrawn(path: Path, plan: Mapping[str, Any], results: Path) -> None:
    """Refuse to go on with a plan that was withdrawn.

    Args:
        path: of the plan.
        plan: its content.
        results: the scored posts.

    Raises:
        InputError: it was.
    """
    entry = entry_of(plan["kind"], plan["population"]["sha256"], plan["settings"])
    if seal_of(entry) in _read(*lists_of(results))[1]:
        raise InputError(f"{path}: {_WITHDRAWN}")


_WITHDRAWN = (
    "this plan was withdrawn, and its sheets cannot be used any more; use those of the plan that "
    "replaced it, or make a new plan with another --seed and --again"
)


def _read(*paths: Path) -> tuple[dict[str, dict[str, Any]], set[str]]:
    """The plans by their seals, and the seals of those that were withdrawn."""
    plans: dict[str, dict[str, Any]] = {}
    withdrawn: set[str] = set()
    for path in paths:
        journal = Journal(path)
        for number, row in journal.rows:
            try:
                if "withdrawn" in row:
                    withdrawn.add(str(row["withdrawn"]))
                else:
                    Fraction(row["error"]), set(row["posts"]), row["earlier"], row["criteria"]
                    plans.setdefault(row["sha256"], row)
            except (KeyError, TypeError, ValueError) as error:
                raise journal.damaged(number, error) from error
    return plans, withdrawn


def _entry_in(path: Path) -> dict[str, Any]:
    plan = read_sealed(path, "plan")
    return entry_of(plan["kind"], plan["population"]["sha256"], plan["settings"])


def _order(entry: Mapping[str, Any]) -> str:
    """What two plans have in common that draw the same posts in the same order.

    They differ in what they claim, as the targets of one plan do.
    """
    kept = {name: value for name, value in entry["settings"].items() if name not in _CLAIMS}
    return seal_of({**entry, "settings": kept})


def _same_posts(line: Mapping[str, Any], own: Mapping[str, Any]) -> bool:
    """Whether two plans ask the same question about largely the same posts."""
    return (
        line["kind"] == own["kind"]
        and (not line["criteria"] or not own["criteria"] or line["criteria"] == own["criteria"])
        and _overlap(line["posts"], own["posts"])
    )


def _overlap(first: Sequence[int], second: Sequence[int]) -> bool:
    """Whether two populations have half of their posts in common, by their sketches."""
    both = sorted({*first, *second})[:SKETCH]
    return 2 * len({*first} & {*second} & {*both}) >= len(both)


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _refusal(path: Path, others: list[dict[str, Any]], entry: Mapping[str, Any]) -> str:
    last, now = others[-1], entry["settings"]
    before = last.get("settings") or {}
    changed = [
        f"{name} was {before[name]}, is {now[name]}"
        for name in now
        if name in before and before[name] != now[name]
    ]
    where = f"{last['plan']}" if "plan" in last else "in another folder"
    cost = sum(Fraction(line["error"]) for line in others)
    return (
        f"{path}: there is a plan over the same posts already ({where}"
        f"{'; ' + '; '.join(changed) if changed else ''}). What is fixed before the first label "
        "cannot be changed after it, and trying again until one passes is no guarantee: with five "
        "tries 21% of the certificates were false. Go on with the first plan (more labels may be "
        "added at any time). To replace it, name it with --withdraw PLAN; to keep it as well, add "
        "--again: either makes the chance of a wrong certificate the sum over all plans, "
        f"{float(cost):g} more than that of the new one alone (--withdraw is free where only "
        "targets and confidence change). For another story over the same posts, give each plan "
        "its --criteria"
    )
