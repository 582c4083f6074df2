"""Labels from sheets, whatever program saved them, matched to the drawn posts."""

import hashlib
import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from itertools import islice, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from msgspec import Struct, to_builtins

from siamese_news.data.readers.values import whole_number
from siamese_news.errors import InputError
from siamese_news.utils.checked_json import converted, fitting
from siamese_news.utils.terminal import counted
from siamese_news_desk.labels.journal import (
    CONFLICT,
    SKIP,
    YES,
    Journal,
    LabelJournal,
    annotator_name,
    common_label,
    conflict_remarks,
    locked,
    now,
    seal_in,
)
from siamese_news_desk.labels.sheets import RawLabel, check_value, read_rows
from siamese_news_desk.labels.units import Unit

_SCIENTIFIC = re.compile(r"\d(?:[.,]\d+)?[eE]\+?\d+")
_KEY = 8  # digits of a key, or more
_KEYS = re.compile(rf"\bk[0-9a-f]{{{_KEY},32}}\b".encode())
_START = 2**16  # bytes of a sheet that have a key
_ROUNDED = 15  # digits of a number that a spreadsheet keeps


class SampledPost(Struct, frozen=True, omit_defaults=True, rename={"stratum": "part"}):
    """A drawn unit, and its line in the file.

    It has a key in sheets, a name in the population, and a stratum of the sample.
    """

    key: str
    name: str
    stratum: str = ""

    @property
    def post(self) -> str:
        """The post's id."""
        return self.name.rpartition("\t")[2]


class _VerdictRow(TypedDict):
    """The line of a verdict: its key, and the label (empty if it was removed)."""

    key: str
    label: str
    at: NotRequired[str]


FOR_RELEVANCE = "relevance"  # in place of a seal: posts that were drawn for no plan

# The prefix of keys in sheets of ``feedback --next``; it keeps spreadsheets from reading numbers.
FOR_LEARNING = "id:"


class SampledPosts:
    """The drawn units of the plan with this seal, in their order; the file only grows.

    Labels that made an order are no random sample of it, so those of the posts `learned_from` (None
    if these are unknown) count only if they were given for this plan: with the keys of its sheets, or
    in its `journal`, which begins with this seal.

    Raises:
        InputError: for a damaged file.
    """

    def __init__(
        self,
        path: Path,
        plan: str,
        *,
        learned_from: Collection[str] | None = (),
        journal: str = "",
    ) -> None:
        self.path = path
        self._plan = plan
        self._learned_from = learned_from and frozenset(learned_from)
        self._journal_seal = journal
        self.by_key: dict[str, SampledPost] = {}
        self.by_name: dict[str, SampledPost] = {}
        self._journal = Journal(path)
        self._journal.replay(self._read)

    def __len__(self) -> int:
        return len(self.by_key)

    def first(self, count: int) -> "SampledPosts":
        """The same when only so many units were drawn."""
        then = copy(self)
        then.by_key = dict(islice(self.by_key.items(), count))
        then.by_name = dict(islice(self.by_name.items(), count))
        return then

    def draw(
        self, units: Sequence[Unit], strata: Sequence[str] = ()
    ) -> list[SampledPost]:
        """Record units, of these strata, that are not yet recorded; returns all of them."""
        with locked(self.path):
            # By another annotator of the same plan.
            self._journal.replay(self._read, added=True)
            new = []
            for unit, stratum in zip(units, strata or [""] * len(units), strict=True):
                if unit.name not in self.by_name:
                    drawn = SampledPost(self._key(unit.name), unit.name, stratum)
                    self._take(drawn)
                    new.append(to_builtins(drawn))
            if new:
                self._journal.append(new)
        return [self.by_name[unit.name] for unit in units]

    def keyed(
        self, units: Sequence[Unit], strata: Sequence[str] = ()
    ) -> list[tuple[str, Unit]]:
        """Record units and return them with their keys, as `write_sheet` takes them."""
        return [
            (sampled.key, unit)
            for sampled, unit in zip(self.draw(units, strata), units, strict=True)
        ]

    def refuse_teacher(self, row: RawLabel, post: str, path: Path) -> None:
        """Raise an `InputError` if this label of a drawn post made the order; see the class."""
        learned_from = self._learned_from
        if learned_from is not None and post not in learned_from:
            return
        if (
            row.key.strip().lower() in self.by_key
            or seal_in(path) == self._journal_seal
        ):
            return
        verb = "may have made" if learned_from is None else "made"
        raise InputError(
            f"{row.location}: this label of post '{post}' {verb} the order, so it cannot count for a "
            "plan over it; label the post again in a sheet of the plan"
        )

    def check_keys(self) -> None:
        """Raise an `InputError` if a key does not follow from the plan and the post.

        The plan's order and criteria are part of every key, so these cannot be changed alone.
        """
        for drawn in self.by_key.values():
            if not is_key(drawn.key, self._plan, drawn.name):
                raise InputError(
                    f"{self.path}: key {drawn.key!r} of post '{drawn.post}' is not that of the "
                    "plan; the plan or this file was changed: restore both"
                )

    def _read(self, row: Mapping[str, Any]) -> None:
        self._take(converted(row, SampledPost))

    def _take(self, drawn: SampledPost) -> None:
        self.by_key[drawn.key] = drawn
        self.by_name[drawn.name] = drawn

    def _key(self, name: str) -> str:
        for length in range(_KEY, 33):
            key = _digest(self._plan, name)[: length + 1]
            if key not in self.by_key:
                return key
        raise AssertionError("two posts have one key")


def _digest(plan: str, name: str) -> str:
    # A letter first, so that nobody reads 12e45678 as a number.
    return "k" + hashlib.blake2b(f"{plan}\t{name}".encode()).hexdigest()


def is_key(key: str, plan: str, name: str) -> bool:
    """Whether a key is that of the unit with this name in the plan with this seal."""
    return len(key) > _KEY and _digest(plan, name).startswith(key)


def keys_in(path: Path) -> list[tuple[str, str]]:
    """The keys of a sheet, or of a file of drawn units, each after the name of its unit.

    The name is empty if a row has a key alone. Another file has no keys.

    Raises:
        InputError: for a damaged file.
    """
    if not path.is_file():
        return []
    with path.open("rb") as stream:
        if not _KEYS.search(stream.read(_START).replace(b"\0", b"")):  # also in UTF-16
            return []
    if path.name.endswith("drawn.jsonl"):
        return [(u.name, u.key) for u in SampledPosts(path, "").by_key.values()]
    return [(r.name, r.key.strip().lower()) for r in read_rows(path) if r.key]


@dataclass(frozen=True, slots=True)
class Label:
    """The label of a drawn post: ``yes``, ``no`` or ``skip``."""

    sampled: SampledPost
    verdict: str

    @property
    def relevant(self) -> bool:
        """Whether it counts as relevant."""
        return self.verdict == YES

    @property
    def skipped(self) -> bool:
        """Whether the post was skipped; it then counts as not relevant."""
        return self.verdict == SKIP


_REMARKS = {
    "repeated": ("label", "was", "were", "given twice, the same both times"),
    "not_drawn": (
        *("label", "is", "are"),
        "of posts that were not drawn, or from sheets of another plan or none; not used",
    ),
    "mangled": (
        *("id", "was", "were"),
        "changed by another program (a spreadsheet drops leading zeros and digits); the posts were "
        "found anyway",
    ),
    "unchecked": (
        *("label", "is", "are"),
        "in rows without a check value (column check), so columns that were sorted or moved "
        "separately would not be noticed",
    ),
}


@dataclass(slots=True)
class Labels:
    """The labels of a plan by the name of the unit, in the order of the files.

    The numbers are those of `_REMARKS`; `conflicts` are units that count as skipped, because their
    labels contradict each other; `by` has the label of each annotator of a unit, with an empty name
    if a file does not name them.
    """

    of: dict[str, Label] = field(default_factory=dict)
    conflicts: list[str] = field(default_factory=list)
    by: dict[str, dict[str, str]] = field(default_factory=dict)
    repeated: int = 0
    not_drawn: int = 0
    mangled: int = 0
    unchecked: int = 0

    @property
    def annotators(self) -> set[str]:
        """The names of those who gave labels."""
        return {
            name for labels_by_person in self.by.values() for name in labels_by_person
        }

    def remarks(self) -> list[str]:
        """Remarks about the files for the user."""
        return [
            f"{counted(count, noun)} {singular if count == 1 else several} {text}"
            for name, (noun, singular, several, text) in _REMARKS.items()
            if (count := getattr(self, name))
        ] + conflict_remarks(self.conflicts, "counted as not relevant")

    def add(self, sampled: SampledPost, verdict: str) -> None:
        """Take a unit's `common_label`."""
        if verdict == CONFLICT:
            self.conflicts.append(sampled.name)
        self.of[sampled.name] = Label(sampled, SKIP if verdict == CONFLICT else verdict)


def read_labels(paths: Sequence[Path], drawn: SampledPosts) -> Labels:
    """Read the labels of sheets in any order, in any format that `sheets.read_rows` knows.

    Raises:
        InputError: with ``path:line``, for an invalid label and one in a wrong column; for files
            without any drawn post.
    """
    labels = Labels()
    not_drawn: Counter[Path] = Counter()
    labels_of: dict[str, set[tuple[str, str]]] = {}
    for path in paths:
        sheet: list[tuple[SampledPost, str]] = []
        for raw in read_rows(path):
            verdict = raw.verdict()
            sampled_post = _find(raw, drawn, labels)
            if not verdict or sampled_post is None:
                if verdict:
                    not_drawn[path] += 1
                continue
            drawn.refuse_teacher(raw, sampled_post.post, path)
            _check_row(raw, sampled_post, labels)
            sheet.append((sampled_post, verdict))
            earlier = labels_of.setdefault(sampled_post.name, set())
            person = annotator_name(raw.annotator)
            # Two annotators who agree repeat nothing.
            labels.repeated += (verdict, person) in earlier
            earlier.add((verdict, person))
        if path.suffix.lower() not in (".json", ".jsonl"):
            _refuse_sorted(path, sheet, drawn)
    for name, several in labels_of.items():
        verdicts_of: dict[str, list[str]] = {}
        for verdict, person in sorted(several, key=itemgetter(1)):
            verdicts_of.setdefault(person, []).append(verdict)
        labels.by[name] = {
            person: common_label(verdicts) for person, verdicts in verdicts_of.items()
        }
        labels.add(drawn.by_name[name], common_label(verdict for verdict, _ in several))
    labels.not_drawn = not_drawn.total()
    if not labels.of and not_drawn:
        (path, number), *_ = not_drawn.items()
        raise InputError(
            f"{path}: none of its labels ({number}) was given in a sheet of this plan; expected the "
            f"sheets of {drawn.path}"
            + (
                ""
                if drawn.by_key
                else ", which is missing or empty: copy it to the plan's folder"
            )
        )
    return labels


def labels_in(journal: LabelJournal, sampled: SampledPosts | None = None) -> Labels:
    """The labels of a journal, of the sampled posts or of all, in the order in which they came."""
    labels = Labels()
    for name in journal.posts():
        sampled_post = (
            SampledPost("", name) if sampled is None else sampled.by_name.get(name)
        )
        if sampled_post is not None:
            labels.add(sampled_post, journal.verdict(name))
            judgments = journal.by_annotator(name)
            labels.by[name] = {
                person: judgments[person].label for person in sorted(judgments)
            }
    return labels


_REMEDY = "remove it; a change of the verdict in it is then not counted"


class VerdictLog:
    """The verdicts of the sampled posts of a plan as they came in; it only grows.

    Changing verdicts after seeing the result moves the result, and no confidence covers that. So
    `look` is called before anything is shown, and `changed` counts the changes. The file `path` is
    with the plan; the user's `copy` knows the verdicts wherever the plan was moved or copied.
    """

    def __init__(self, sampled: SampledPosts, path: Path, copy: Path) -> None:
        self._sampled = sampled
        self._path = path
        self._copy = copy
        self._rows: list[_VerdictRow] = []
        for file in (copy, path):
            Journal(file, _REMEDY).replay(self._read)

    @property
    def changed(self) -> int:
        """The number of posts whose verdict was changed or removed after the first look."""
        return max([changed for _, changed in self._history()], default=0)

    def covers(self, labels: Labels) -> bool:
        """Whether all these verdicts were recorded, so that `changed` counts their changes."""
        return self._verdicts().items() >= _by_key(labels).items()

    def changed_at(self, labels: Labels) -> int:
        """The same when these were the verdicts; now, if they never were all of them."""
        verdicts = _by_key(labels)
        counts = [changed for then, changed in self._history() if then == verdicts]
        return counts[-1] if counts else self.changed

    def look(self, labels: Labels) -> None:
        """Record new verdicts; they are on the disk when this returns."""
        recorded, verdicts = self._verdicts(), _by_key(labels)
        keys_seen = recorded.keys() & self._sampled.by_key.keys()
        at = now()
        rows = [
            {"key": key, "label": verdicts.get(key, ""), "at": at}
            for key in dict.fromkeys([*verdicts, *sorted(keys_seen)])
            if recorded.get(key, "") != verdicts.get(key, "")
        ]
        if not rows:
            return
        # Read again, because the page and a command may both be open.
        with locked(self._path):
            Journal(self._path, _REMEDY).append(rows)
        with suppress(OSError), locked(self._copy):  # a folder that cannot be written
            Journal(self._copy, _REMEDY).append(rows)
        for verdict_row in rows:
            self._read(verdict_row)

    def _read(self, row: Mapping[str, Any]) -> None:
        self._rows.append(fitting(row, _VerdictRow))

    def _verdicts(self) -> dict[str, str]:
        """The recorded verdicts by key, in the order of the rows: the clock may have been set back."""
        latest = {row["key"]: row["label"] for row in self._rows}
        return {key: label for key, label in latest.items() if label}

    def _history(self) -> Iterator[tuple[dict[str, str], int]]:
        """The verdicts by key after each row, and how many were changed so far."""
        verdicts: dict[str, str] = {}
        changed: set[str] = set()
        for row in sorted(self._rows, key=lambda row: row.get("at", "")):
            key, label = row["key"], row["label"]
            if verdicts.get(key, label) != label:
                changed.add(key)
            verdicts[key] = label
            if not label:
                del verdicts[key]
            yield verdicts, len(changed)


def _by_key(labels: Labels) -> dict[str, str]:
    return {label.sampled.key: label.verdict for label in labels.of.values()}


def changed_sentence(changed: int) -> str:
    """The sentence about changed verdicts; empty if there are none."""
    if not changed:
        return ""
    verdicts = "1 verdict was" if changed == 1 else f"{changed:,} verdicts were"
    return (
        f" {verdicts} changed after the result had been seen for the first time; the confidence "
        "does not cover such changes."
    )


def _check_row(raw: RawLabel, sampled_post: SampledPost, labels: Labels) -> None:
    if raw.check is None:
        return
    if not raw.check.strip():
        labels.unchecked += 1
    elif raw.text.strip() and raw.check.strip().lower() != check_value(
        sampled_post.name, raw.text
    ):
        raise InputError(
            f"{raw.location}: the text or the value {raw.check!r} in the column check is not that of "
            f"post '{sampled_post.post}'; a column was sorted or moved without the others, so labels "
            "may be in the rows of other posts: undo that (if somebody only corrected the text, clear "
            "its cell)"
        )


def _refuse_sorted(
    path: Path, sheet: Sequence[tuple[SampledPost, str]], drawn: SampledPosts
) -> None:
    """Refuse labels that are sorted although the posts are not.

    Rows that were sorted as a whole no longer follow the random order. Relevant posts first prove
    nothing, because a sheet goes down the ranking. The error is raised if fewer than one in a
    thousand sheets would look sorted by chance.
    """
    position_of = {key: position for position, key in enumerate(drawn.by_key)}
    rows = [position_of[sampled.key] for sampled, _ in sheet]
    counts = Counter(verdict for _, verdict in sheet)
    runs = sum(previous[1] != second[1] for previous, second in pairwise(sheet)) + 1
    if next(iter(counts), YES) == YES or runs > len(counts) or rows != sorted(rows):
        return
    if math.factorial(len(sheet)) > 1000 * math.prod(
        map(math.factorial, counts.values())
    ):
        raise InputError(
            f"{path}:2: the labels are sorted ("
            + ", then ".join(f"{count} {verdict}" for verdict, count in counts.items())
            + "), while the posts are in their random order: the column label was probably sorted "
            "without the others; undo that (if the labels really came in this order, sort whole "
            "rows by the column key and run the command again)"
        )


def _find(raw: RawLabel, drawn: SampledPosts, labels: Labels) -> SampledPost | None:
    if raw.key:
        sampled_post = drawn.by_key.get(raw.key.strip().lower())
        if sampled_post is not None and raw.post and raw.post != sampled_post.post:
            if not _mangled(raw.post, sampled_post.post):
                raise InputError(
                    f"{raw.location}: key {raw.key!r} is of post '{sampled_post.post}', but the row "
                    f"has post '{raw.post}'; the rows were mixed up: restore the columns key and post"
                )
            labels.mangled += 1
        return sampled_post
    if not raw.post:
        if raw.label.strip():
            raise InputError(
                f"{raw.location}: a label without key and post; the labels were probably moved to "
                "other rows: move each one back to its post"
            )
        return None
    sampled_post = drawn.by_name.get(raw.name) or drawn.by_name.get(raw.post)
    if sampled_post is not None:
        return sampled_post
    alike = [unit for unit in drawn.by_key.values() if _mangled(raw.post, unit.post)]
    if len(alike) == 1:
        labels.mangled += 1
        return alike[0]
    if len(alike) > 1:
        raise InputError(
            f"{raw.location}: post '{raw.post}' lost digits, and {len(alike)} drawn posts could be "
            "meant; expected the column key of the sheet: restore it"
        )
    return None


def _mangled(cell: str, real: str) -> bool:
    """Whether a spreadsheet may have turned the real id into the shown one."""
    cell = cell.strip()
    if not real.isdigit():
        return False
    if whole_number(cell) == real:  # 17.0
        return True
    if cell.isdigit():
        if cell.lstrip("0") == real.lstrip("0"):
            return True
        # A number keeps 15 digits; the others become zeros.
        without_zeros = real.lstrip("0")
        return len(without_zeros) > _ROUNDED and cell == without_zeros[:_ROUNDED].ljust(
            len(without_zeros), "0"
        )
    if _SCIENTIFIC.fullmatch(cell):
        digits = len(re.split("[eE]", cell)[0].replace(",", ".").partition(".")[2])
        return (
            f"{float(cell.replace(',', '.')):.{digits}e}" == f"{float(real):.{digits}e}"
        )
    return False
