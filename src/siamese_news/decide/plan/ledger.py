"""The list of all plans over the same posts: trying again until one passes guarantees nothing.

Five attempts, each with its whole error budget, gave 21% false certificates. So every plan is
written to two lists before its first sheet: one in the folder of the results (or of the project),
and one in the user's own folder, which covers other folders and holds only hashes. A further plan
over the same posts is refused, or pays: its certificate is valid with the error budgets of all
plans added up.
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


def identity(plan: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a plan that identify it."""
    return {
        "kind": plan["kind"],
        "scores": plan["population"]["sha256"],
        "settings": plan["settings"],
    }


def lists_of(results: Path) -> tuple[Path, Path]:
    """The list in the folder of the results (or of their project), and the user's own list."""
    folder = results.absolute().parent
    home = next((p for p in (folder, *folder.parents) if (p / "project.json").exists()), folder)
    return home / "siamese-news.plans.jsonl", _own_folder() / "plans.jsonl"


def question_of(plan: Mapping[str, Any]) -> tuple[str, Path]:
    """A seal that plans share if they ask for the same verdicts, and the user's copy of these."""
    seal = seal_of({"order": _order(identity(plan)), "criteria": _plain(plan["criteria"])})
    return seal, _own_folder() / "verdicts" / f"{seal}.jsonl"


def _own_folder() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "siamese_news"


def _plain(criteria: str) -> str:
    return " ".join(criteria.lower().split())


def register(
    population: Population,
    plan: Mapping[str, Any],
    path: Path,
    *,
    error: Fraction,
    again: bool,
    withdraw: Sequence[Path],
) -> dict[str, Any]:
    """Write a plan to the lists, unless it is already there.

    `error` is the largest probability that it certifies wrongly. With `again` the user wants a
    further plan and accepts its cost; with `withdraw` it replaces earlier ones. Plans with other
    criteria answer another question.

    Returns:
        ``earlier``: ``sha256`` and ``error`` of the plans that the certificate must pay for, and
        the number of plans over the same posts with ``other_criteria``, for which it does not pay.

    Raises:
        InputError: for a further plan that neither `again` nor `withdraw` allows, and for one with
            no confidence left.
    """
    shared, private = lists_of(population.path)
    entry, criteria = identity(plan), _plain(plan["criteria"])
    seal = seal_of(entry)
    # A certificate and the audit of a list are about the best posts, recall is about all of them.
    about_best = entry["kind"] == "precision" or entry["settings"].get("threshold", "") is None
    given_up = [seal_of(identity(read_sealed(one, "plan"))) for one in withdraw]
    own = {
        "sha256": seal,
        "kind": entry["kind"],
        "posts": population.sketch,
        "best": population.best if about_best else [],
        "criteria": criteria and hashlib.sha256(criteria.encode()).hexdigest()[:16],
        "order": _order(entry),
        "error": str(error),
    }
    with ExitStack() as stack:
        stack.enter_context(FileLock(shared.with_name(f".{shared.name}.lock")))
        with suppress(OSError):  # a folder that cannot be written has no list of its own
            private.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(FileLock(private.with_name(f".{private.name}.lock")))
        plans, withdrawn = _read(shared, private)
        withdrawn |= set(given_up)
        if seal in withdrawn:
            raise InputError(f"{path}: {_WITHDRAWN}")
        if seal in plans:
            there = shared.parent / plans[seal].get("plan", "")
            # Without a promise, everybody may follow the same plan.
            if error and there.is_file() and there.resolve() != path.resolve():
                raise InputError(
                    f"{there}: is this very plan already; label its sheets, or move them here"
                )
            own |= {name: plans[seal].get(name, 0) for name in ("earlier", "other_criteria")}
        else:
            # A plan that promises nothing, such as one with --find alone, cannot fail either.
            promises = [line for line in plans.values() if Fraction(line["error"])]
            same = [line for line in promises if _same_posts(line, own)]
            # A plan without criteria may be about the same question as any other.
            asked = own["criteria"]
            others = [line for line in same if not asked or line["criteria"] in ("", asked)]
            own["other_criteria"] = len(same) - len(others)
            active = [line for line in others if line["sha256"] not in withdrawn]
            if active and not again:
                raise InputError(_refusal(shared, active, entry))
            own["earlier"] = [
                {"sha256": line["sha256"], "error": line["error"]}
                for line in others
                if line in active or line["order"] != own["order"]
            ]
            cost = sum(Fraction(line["error"]) for line in own["earlier"])
            if error and cost >= Fraction(entry["settings"]["confidence"]):
                raise InputError(
                    f"{path}: after {len(own['earlier'])} earlier plans over the same posts, no "
                    "confidence is left for this one; continue with one of them"
                )
        gone = [{"withdrawn": one} for one in given_up]
        name = os.path.relpath(path.absolute(), shared.parent)
        here = {**own, "settings": entry["settings"], "plan": name}
        known = seal in plans
        Journal(shared).append(gone if known else [*gone, here])
        with suppress(OSError):
            Journal(private).append(gone if known else [*gone, own])
    return {name: own[name] for name in ("earlier", "other_criteria")}


def plans_over(population: Population) -> int:
    """The number of plans over the same posts, including withdrawn ones."""
    plans, _ = _read(*lists_of(population.path))
    return sum(_overlap(line["posts"], population.sketch) for line in plans.values())


def refuse_withdrawn(path: Path, plan: Mapping[str, Any], results: Path) -> None:
    """Refuse to continue a plan that was withdrawn."""
    if seal_of(identity(plan)) in _read(*lists_of(results))[1]:
        raise InputError(f"{path}: {_WITHDRAWN}")


_WITHDRAWN = (
    "this plan was withdrawn, and its sheets can no longer be used; use those of the plan that "
    "replaced it, or make a new plan with another --seed and --again"
)


def _read(*paths: Path) -> tuple[dict[str, dict[str, Any]], set[str]]:
    """The plans by their seals, and the seals of the withdrawn ones."""
    plans: dict[str, dict[str, Any]] = {}
    withdrawn: set[str] = set()

    def take(row: dict[str, Any]) -> None:
        if "withdrawn" in row:
            withdrawn.add(str(row["withdrawn"]))
        else:
            Fraction(row["error"]), set(row["posts"]), row["earlier"], row["criteria"]
            plans.setdefault(row["sha256"], row)

    for path in paths:
        Journal(path).replay(take)
    return plans, withdrawn


def _order(entry: Mapping[str, Any]) -> str:
    """The seal that plans share if they draw the same posts in the same order.

    Such plans differ only in their claims, like the targets of a single plan.
    """
    kept = {name: value for name, value in entry["settings"].items() if name not in _CLAIMS}
    return seal_of({**entry, "settings": kept})


def _same_posts(line: Mapping[str, Any], own: Mapping[str, Any]) -> bool:
    """Whether two plans of a kind are about largely the same posts, or lists with the same head."""
    return line["kind"] == own["kind"] and (
        _overlap(line["posts"], own["posts"]) or _overlap(line.get("best", ()), own["best"])
    )


def _overlap(first: Sequence[int], second: Sequence[int]) -> bool:
    """Whether two populations share half of their posts, by their sketches."""
    both = sorted({*first, *second})[:SKETCH]
    return bool(both) and 2 * len({*first} & {*second} & {*both}) >= len(both)


def _refusal(path: Path, others: list[dict[str, Any]], entry: Mapping[str, Any]) -> str:
    last, now = others[-1], entry["settings"]
    before = last.get("settings") or {}
    changed = [
        f"{name.replace('_', ' ')} was {_shown(before[name])}, is {_shown(now[name])}"
        for name in now
        if name in before and before[name] != now[name]
    ]
    where = last.get("plan", "in another folder")
    none = "" if last["criteria"] else "; the earlier one has none, so it counts for every story"
    cost = sum(Fraction(line["error"]) for line in others)
    return (
        f"{path}: there is already a plan over the same posts ({where}"
        f"{'; ' + '; '.join(changed) if changed else ''}). What is fixed before the first label "
        "cannot be changed afterwards, and trying again until a plan passes guarantees nothing: "
        "with five attempts, 21% of the certificates were false. Continue with the first plan (you "
        "can add labels at any time). To replace it, name it with --withdraw PLAN; to keep both, "
        "add --again. Either adds the error of the earlier plans to the new certificate: its "
        f"chance of being wrong grows by {float(cost):g} (--withdraw is free if only targets and "
        f"confidence change). Plans about different stories need --criteria of their own{none}"
    )


def _shown(value: Any) -> str:
    """A setting in words."""
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
