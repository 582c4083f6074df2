"""The list of all plans over the same posts: trying again until one passes guarantees nothing.

Of users who make five attempts, each with its whole error budget, a fifth get a false certificate
(``desk/tests/decide/test_careless.py``). So every plan is
written to two lists before its first sheet: one in the folder of the results (or of the project),
and one in the user's own folder, which covers other folders and holds only hashes. A further plan
over the same posts is refused, or pays: its certificate is valid with the error budgets of all
plans added up. One over a part of the posts, such as a period, is a question of its own: it pays
without being refused. What no plan pays for is counted, and the sentence to quote names it.
"""

import hashlib
import os
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from siamese_news.data.results import read_columns
from siamese_news.errors import InputError
from siamese_news.utils.checked_json import converted
from siamese_news.utils.files import file_sha256
from siamese_news_desk.decide.plan.plan_fields import Charge, EarlierPlan, PlanLine
from siamese_news_desk.decide.plan.population import Population
from siamese_news_desk.decide.plan.remedies import (
    ANOTHER_ORDER,
    PlanRefused,
    further_plan,
)
from siamese_news_desk.decide.plan.sealed_files import named_by, read_sealed, seal_of
from siamese_news_desk.decide.plan.sketch import Relation, Sketch, visible
from siamese_news_desk.decide.plan.texts import Texts
from siamese_news_desk.labels.journal import Journal, locked
from siamese_news_desk.labels.matching import FOR_RELEVANCE, is_key, keys_in
from siamese_news_desk.labels.shares import by_value

_CLAIMS = ("targets", "confidence", "recall")

# A plan in a list: its seal, kind, sketch, criteria, order and error, and what it pays for.
Line = Mapping[str, Any]


def identity(plan: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a plan that identify it: shares by their value, criteria by their words.

    Where nothing tells its posts from others, the scores of two studies may be the same file.
    """
    return {
        "kind": plan["kind"],
        "scores": plan["population"]["sha256"] + plan["population"].get("study", ""),
        "settings": by_value(plan["settings"]),
        "criteria": plain_criteria(plan["criteria"]),
    }


def changes(
    old_settings: Mapping[str, Any], new_settings: Mapping[str, Any]
) -> list[str]:
    """The settings that have other values now, in words."""
    values = by_value(old_settings), by_value(new_settings)
    return [
        f"{name.replace('_', ' ')} was {_shown(old_settings[name])}, is {_shown(new_settings[name])}"
        for name in new_settings
        if name in old_settings and values[0][name] != values[1][name]
    ]


def lists_of(results: Path) -> tuple[Path, Path]:
    """The list in the folder of the results (or of their project), and the user's own list."""
    folder = results.absolute().parent
    home = next(
        (p for p in (folder, *folder.parents) if (p / "project.json").exists()), folder
    )
    return home / "siamese-news.plans.jsonl", _own_folder() / "plans.jsonl"


def question_of(plan: Mapping[str, Any]) -> tuple[str, Path]:
    """A seal that plans share if they ask for the same verdicts, and the user's copy of these."""
    seal = seal_of(
        {"order": _order(identity(plan)), "criteria": plain_criteria(plan["criteria"])}
    )
    return seal, _own_folder() / "verdicts" / f"{seal}.jsonl"


def _own_folder() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "siamese_news"


_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»", '"') | dict.fromkeys("‘’‚‛‹›", "'"))


def plain_criteria(criteria: str) -> str:
    """Criteria by their words.

    Capitals, white space, invisible characters, the shape of quotes and letters, and a full stop at
    the end say nothing.
    """
    folded = unicodedata.normalize("NFKC", visible(criteria)).casefold()
    plain = unicodedata.normalize("NFKC", folded).translate(_QUOTES)
    return " ".join(plain.split()).rstrip(". ")


@dataclass(frozen=True, slots=True)
class Plans:
    """The plans of both lists.

    Attributes:
        by_seal: every plan, by its seal.
        in_folder: the seals of those in the list of the folder.
        withdrawn: the seals of those that were withdrawn.
        unknown: why there may be others; see `Charge`.
    """

    by_seal: dict[str, Line]
    in_folder: set[str]
    withdrawn: set[str]
    unknown: str = ""


def charge(line: Line, plans: Plans) -> tuple[Charge, list[Line]]:
    """What a new plan pays for, and the active plans over the same posts, which it must not ignore.

    A plan that promises nothing, such as one with a number of posts to find, cannot fail either. A
    plan without criteria may be about the same question as any other.
    """
    sketch = converted(line, Sketch)
    criteria = line["criteria"]
    earlier: list[EarlierPlan] = []
    same_labels: list[EarlierPlan] = []
    active: list[Line] = []
    other_criteria = other_posts = 0
    is_compared = True
    for seal, listed in plans.by_seal.items():
        if listed["kind"] != line["kind"] or not Fraction(listed["error"]):
            continue
        relation = sketch.relation(converted(listed, Sketch))
        if relation in (Relation.MARKS, Relation.UNKNOWN, Relation.OTHER):
            other_posts += (
                seal in plans.in_folder
                or bool(criteria and listed["criteria"] == criteria)
                or relation is Relation.MARKS
            )
            is_same_question = not criteria or listed["criteria"] in ("", criteria)
            is_compared &= relation is not Relation.UNKNOWN or not is_same_question
        elif criteria and listed["criteria"] not in ("", criteria):
            other_criteria += 1
        else:
            cost = EarlierPlan(sha256=listed["sha256"], error=listed["error"])
            is_withdrawn = seal in plans.withdrawn
            same_order = is_withdrawn and listed["order"] == line["order"]
            (same_labels if same_order else earlier).append(cost)
            if relation is Relation.SAME and not is_withdrawn:
                active.append(listed)
    hidden = _NAMELESS if not sketch.lasts else "" if is_compared else _UNCOMPARED
    unknown = plans.unknown or (hidden if Fraction(line["error"]) else "")
    return Charge(earlier, same_labels, other_criteria, other_posts, unknown), active


_UNWRITABLE = "the list of all plans of the user cannot be written"
_LOST = "the list of all plans of the user was lost, or is of another user or computer"
_GONE = "the plan of a sheet, certificate or audit that lies here was deleted, or its posts changed"
_UNCOMPARED = "posts without texts of their own are compared with those of other plans by ids alone"
_NAMELESS = "posts without texts or ids of their own are hardly recognized"


def register(
    population: Population,
    sketch: Sketch,
    plan: Mapping[str, Any],
    path: Path,
    *,
    another_plan: bool,
    withdraw: Sequence[Path],
) -> Charge:
    """Write a plan to the lists, unless it is already there.

    With `another_plan` the user wants a further plan and accepts its cost; with `withdraw` it
    replaces earlier ones. Plans next to it or to the results that are in no list, because the lists
    were deleted, enter them again.

    Raises:
        InputError: for a further plan over the same posts that neither `another_plan` nor `withdraw`
            allows, and for one with no confidence left.
    """
    lists = lists_of(population.path)
    replaced = [read_sealed(plan_path, "plan") for plan_path in withdraw]
    error = Fraction(plan["error"])
    line = _line(sketch, plan, path, lists[0])
    unlisted, is_gone = _unlisted(plan, path, population)

    def decided() -> tuple[Charge, list[Line], bool]:
        """What the plan pays for, the withdrawals, and whether the plan is new."""
        plans = _read(*lists)
        for old in unlisted:
            plans.by_seal.setdefault(old["sha256"], old)
        if is_gone:
            plans = replace(plans, unknown=_GONE)
        given_up = [seal_of(identity(replaced_plan)) for replaced_plan in replaced]
        plans.withdrawn.update(given_up)
        if line["sha256"] in plans.withdrawn:
            raise PlanRefused(f"{path}: {_WITHDRAWN}", ANOTHER_ORDER)
        gone: list[Line] = [{"withdrawn": seal} for seal in given_up]
        if (there := plans.by_seal.get(line["sha256"])) is not None:
            listed_path = lists[0].parent / there.get("plan", "")
            is_file = error and listed_path.is_file()
            # Without a promise, everybody may follow the same plan.
            if is_file and listed_path.resolve() != path.resolve():
                raise InputError(
                    f"{listed_path}: is this very plan already; label its sheets, or move them "
                    "here"
                )
            return converted(there, Charge), gone, False
        charged, active = charge(line, plans)
        if active and not another_plan:
            raise _refusal(lists[0], active, plan)
        cost = sum(Fraction(earlier["error"]) for earlier in charged.earlier)
        if error and cost >= Fraction(plan["settings"]["confidence"]):
            raise InputError(
                f"{path}: after {len(charged.earlier)} earlier plans over the same posts or a part "
                "of them, no confidence is left for this one; continue with one of them"
            )
        return charged, gone, True

    decided()  # a plan that is refused leaves no lock behind
    with ExitStack() as stack:
        stack.enter_context(locked(lists[0]))
        # A folder that cannot be written has no list of its own.
        with suppress(OSError):
            stack.enter_context(locked(lists[1]))
        charged, gone, is_new = decided()
        new = [{**line, **asdict(charged)}] if is_new else []
        _append(lists, [*unlisted, *gone, *new])
    return charged


def _line(
    sketch: Sketch, plan: Mapping[str, Any], path: Path, shared: Path
) -> dict[str, Any]:
    """A plan as the list of the folder has it, before it is known what it pays for."""
    entry = identity(plan)
    # A certificate and the audit of a list are about the best posts, recall is about all of them.
    if (
        entry["kind"] != "precision"
        and entry["settings"].get("threshold", "") is not None
    ):
        sketch = replace(sketch, best=[], best_texts=[], best_pairs=[])
    criteria = entry["criteria"].encode("utf-8", "surrogatepass")
    return {
        "sha256": seal_of(entry),
        "kind": entry["kind"],
        **asdict(sketch),
        "criteria": hashlib.sha256(criteria).hexdigest()[:16] if criteria else "",
        "order": _order(entry),
        "question": question_of(plan)[0],
        "error": plan["error"],
        "settings": plan["settings"],
        "plan": os.path.relpath(path.absolute(), shared.parent),
    }


def _append(lists: tuple[Path, Path], lines: Sequence[Line]) -> None:
    """Add withdrawals and plans to both lists; only the folder's says where they are."""
    shared, private = lists
    Journal(shared, _REMEDY).append(lines)
    with suppress(OSError):
        elsewhere = [
            {name: value for name, value in line.items() if name not in _HERE}
            for line in lines
        ]
        Journal(private, _REMEDY).append(elsewhere)


_HERE = ("settings", "plan")


def _unlisted(
    plan: Mapping[str, Any], path: Path, population: Population
) -> tuple[list[Line], bool]:
    """The plans near a new one or its list that are in no list, and whether there were others.

    There were if sheets, drawn posts, a certificate or an audit of them lie there, or verdicts with
    keys alone of no posts that were drawn there.
    """
    shared, private = lists_of(population.path)
    listed = _read(shared, private)
    path = path.absolute()
    files = {
        file
        for folder in (path.parent, shared.parent)
        for pattern in ("*", "*/*")
        for file in folder.glob(pattern)
    }
    lines: list[Line] = []
    questions = {question_of(plan)[0], FOR_RELEVANCE}  # the latter never had a plan
    questions |= {line.get("question", "") for line in listed.by_seal.values()}
    for plan_path in sorted(files):
        if plan_path == path or not plan_path.name.endswith(".plan.json"):
            continue
        with suppress(InputError, OSError):  # its posts may no longer be here
            near = read_sealed(plan_path, "plan")
            seal = seal_of(identity(near))
            if seal not in listed.by_seal and seal not in listed.withdrawn:
                lines.append(_line_of_file(near, plan_path, shared, plan, population))
            questions.add(question_of(near)[0])
    is_gone = False
    drawn_keys: set[str] = set()
    keys_alone: set[str] = set()
    for file in files:
        with suppress(InputError, OSError, KeyError):  # of an earlier version
            is_gone |= _is_finding(file, plan, population, questions)
            keys = keys_in(file)
            if file.name.endswith("drawn.jsonl"):
                drawn_keys.update(key for _, key in keys)
            keys_alone.update(key for name, key in keys if not name)
            ranks = population.ranks_of([name for name, _ in keys])
            is_gone |= any(
                name in ranks and not any(is_key(key, seal, name) for seal in questions)
                for name, key in keys
            )
    return lines, is_gone or not keys_alone <= drawn_keys


def _line_of_file(
    near: Mapping[str, Any],
    path: Path,
    shared: Path,
    plan: Mapping[str, Any],
    population: Population,
) -> Line:
    """The line of a plan near another one that is in no list, with what it pays for by its file.

    Raises:
        InputError: its posts changed.
        OSError: they are no longer there.
    """
    scores = near["population"]
    if scores["sha256"] != plan["population"]["sha256"]:  # else they may have moved
        population = Population(named_by(path, scores["file"]))
    if file_sha256(population.path) != scores["sha256"]:
        raise InputError(f"{population.path}: is not the file of {path}")
    posts = [named_by(path, corpus["file"]) for corpus in near["corpus"]]
    sketch = Sketch.of(population, Texts(population, posts))
    return {**_line(sketch, near, path, shared), **asdict(converted(near, Charge))}


def _is_finding(
    file: Path, plan: Mapping[str, Any], population: Population, questions: set[str]
) -> bool:
    """Whether a file is a certificate or an audit of the posts of a plan, of no known question."""
    is_audit = file.name.endswith(".audit.json")
    if not is_audit and not file.match("*.certificate*.json"):
        return False
    content = read_sealed(file, "audit")
    if content["population"]["sha256"] != plan["population"]["sha256"]:
        posts = read_columns(file.with_suffix(".csv"))[0]  # an audit has no list
        if not population.members(posts.at(list(range(len(posts)))))[0].any():
            return False
    kind = "audit" if is_audit else "precision"
    return question_of({"kind": kind, **content})[0] not in questions


def plans_over(population: Population) -> int:
    """The number of plans over the same posts, including withdrawn ones."""
    sketch = _sketch_of(population)
    plans = _read(*lists_of(population.path)).by_seal.values()
    return sum(
        sketch.relation(converted(line, Sketch)) is Relation.SAME for line in plans
    )


_sketches: dict[tuple[Path, int, int], Sketch] = {}


def _sketch_of(population: Population) -> Sketch:
    """The sketch of results, read once for a file: the page asks for it whenever it is shown."""
    status = population.path.stat()
    key = population.path.absolute(), status.st_mtime_ns, status.st_size
    if key not in _sketches:
        _sketches.clear()
        _sketches[key] = Sketch.of(population, Texts(population))
    return _sketches[key]


def refuse_withdrawn(path: Path, plan: Mapping[str, Any], results: Path) -> None:
    """Refuse to continue a plan that was withdrawn."""
    plans = _read(*lists_of(results))
    if seal_of(identity(plan)) in plans.withdrawn:
        raise PlanRefused(f"{path}: {_WITHDRAWN}", ANOTHER_ORDER)


_WITHDRAWN = (
    "this plan was withdrawn, and its sheets can no longer be used; use those of the plan that "
    "replaced it, or "
)


_REMEDY = (
    "remove what is damaged from the file with an editor: the plans in its other lines still "
    "count, and the one that you remove no longer does"
)


def _read(shared: Path, private: Path) -> Plans:
    plans = Plans({}, set(), set())

    def take(row: dict[str, Any], is_here: bool) -> None:
        if "withdrawn" in row:
            plans.withdrawn.add(str(row["withdrawn"]))
            return
        for kind in (PlanLine, Sketch, Charge):
            converted(row, kind)
        plans.by_seal.setdefault(row["sha256"], row)
        if is_here:
            plans.in_folder.add(row["sha256"])

    Journal(shared, _REMEDY).replay(partial(take, is_here=True))
    seals_in_folder = set(plans.by_seal)
    elsewhere = Journal(private, _REMEDY)
    elsewhere.replay(partial(take, is_here=False))
    if not _is_writable(private):
        return replace(plans, unknown=_UNWRITABLE)
    lost = seals_in_folder - {row.get("sha256") for _, row in elsewhere.rows}
    return replace(plans, unknown=_LOST if lost else "")


def _is_writable(path: Path) -> bool:
    """Whether a file can be written, or made: of folders, not all systems tell root the truth."""
    if path.exists():
        return os.access(path, os.W_OK)
    with suppress(OSError), TemporaryFile(dir=next(filter(Path.exists, path.parents))):
        return True
    return False


def _order(entry: Mapping[str, Any]) -> str:
    """The seal that plans share if they draw the same posts in the same order.

    Such plans differ only in their claims, like the targets of a single plan.
    """
    settings = {
        name: value for name, value in entry["settings"].items() if name not in _CLAIMS
    }
    parts = {"kind": entry["kind"], "scores": entry["scores"], "settings": settings}
    return seal_of(parts)


def _refusal(
    path: Path, active: Sequence[Line], plan: Mapping[str, Any]
) -> PlanRefused:
    newest = active[-1]
    changed = changes(newest.get("settings") or {}, plan["settings"])
    location = newest.get("plan", "in another folder")
    none = (
        ""
        if newest["criteria"]
        else "; the earlier one has none, so it counts for every story"
    )
    cost = sum((Fraction(line["error"]) for line in active), Fraction(0))
    return PlanRefused(
        f"{path}: there is already a plan over the same posts ({'; '.join([location, *changed])}). "
        "What is fixed before the first label cannot be changed afterwards, and trying again until "
        "a plan passes guarantees nothing: with five attempts, a fifth of users get a false one. ",
        further_plan(cost, none, replaceable=identity(plan)["kind"] != "stopping"),
    )


def _shown(value: Any) -> str:
    """A setting in words."""
    return (
        ", ".join(map(str, value)) if isinstance(value, list) else str(value) or "none"
    )
