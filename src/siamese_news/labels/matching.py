"""Labels out of sheets, whatever program they came back from."""

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from siamese_news.errors import InputError
from siamese_news.labels.journal import CONFLICT, SKIP, YES, Journal, LabelJournal
from siamese_news.labels.results import Unit
from siamese_news.labels.sheets import RawLabel, check_value, read_rows

_SCIENTIFIC = re.compile(r"\d(?:[.,]\d+)?[eE]\+?\d+")
_ROUNDED = 15  # digits that a spreadsheet keeps of a number


@dataclass(frozen=True, slots=True)
class SampledPost:
    """One drawn unit.

    Attributes:
        key: what stands in a sheet for it; no spreadsheet takes it for a number.
        name: what the population knows it by.
        part: what it was drawn for, where a plan has several samples; else empty.
    """

    key: str
    name: str
    part: str = ""

    @property
    def post(self) -> str:
        """The post's id."""
        return self.name.rpartition("\t")[2]

    @property
    def article(self) -> str:
        """The article's id; empty where units are posts."""
        return self.name.rpartition("\t")[0]


class SampledPosts:
    """The drawn units of a plan, in the order in which they were drawn; only ever longer.

    Args:
        path: JSON lines; need not be there yet.
        plan: the seal of the plan that it belongs to.

    Raises:
        InputError: for a damaged file.
    """

    def __init__(self, path: Path, plan: str) -> None:
        self.path = path
        self._plan = plan
        self.by_key: dict[str, SampledPost] = {}
        self.by_name: dict[str, SampledPost] = {}
        self._journal = Journal(path)
        for number, row in self._journal.rows:
            try:
                parts = (row["key"], row["name"], row.get("part", ""))
                if not all(isinstance(part, str) for part in parts):
                    raise TypeError("key, name and part are no texts")
            except (KeyError, TypeError) as error:
                raise self._journal.damaged(number, error) from error
            self._take(SampledPost(*parts))

    def __len__(self) -> int:
        return len(self.by_key)

    def draw(self, units: Iterable[Unit], part: str = "") -> list[SampledPost]:
        """Write units down that are not yet there; returns all of them."""
        found, new = [], []
        for unit in units:
            drawn = self.by_name.get(unit.name)
            if drawn is None:
                drawn = SampledPost(self._key(unit.name), unit.name, part)
                self._take(drawn)
                new.append(drawn)
            found.append(drawn)
        if new:
            self._journal.append(
                {"key": one.key, "name": one.name} | ({"part": one.part} if one.part else {})
                for one in new
            )
        return found

    def keyed(self, units: Sequence[Unit]) -> list[tuple[str, Unit]]:
        """Draw units, and give each with its key, as `write_sheet` takes them."""
        return [(one.key, unit) for one, unit in zip(self.draw(units), units, strict=True)]

    def of_part(self, part: str) -> Sequence[SampledPost]:
        """The units that were drawn for one sample."""
        return [drawn for drawn in self.by_key.values() if drawn.part == part]

    def _take(self, drawn: SampledPost) -> None:
        self.by_key[drawn.key] = drawn
        self.by_name[drawn.name] = drawn

    def _key(self, name: str) -> str:
        for length in range(8, 33):
            # A letter first, so that nobody reads 12e45678 as a number.
            key = "k" + hashlib.blake2b(f"{self._plan}\t{name}".encode()).hexdigest()[:length]
            if key not in self.by_key:
                return key
        raise AssertionError("two posts have one key")


@dataclass(frozen=True, slots=True)
class Label:
    """What was said of one post.

    Attributes:
        sampled: of which post.
        said: ``yes``, ``no`` or ``skip``.
        where: ``path:line`` of it.
    """

    sampled: SampledPost
    said: str
    where: str

    @property
    def relevant(self) -> bool:
        """Whether it counts as relevant."""
        return self.said == YES

    @property
    def skipped(self) -> bool:
        """Whether nothing was said; that counts as not relevant."""
        return self.said == SKIP


@dataclass(slots=True)
class Labels:
    """The labels of one plan.

    Attributes:
        of: by the name of the unit, in the order of the files.
        repeated: labels that were given twice, the same both times.
        not_drawn: labels of posts that the plan has not drawn; they are not used.
        mangled: rows whose id a program changed; found by their keys.
        unchecked: labels in rows without a check value.
    """

    of: dict[str, Label] = field(default_factory=dict)
    repeated: int = 0
    not_drawn: int = 0
    mangled: int = 0
    unchecked: int = 0

    def remarks(self) -> list[str]:
        """What a user should know about the files."""
        found = []
        if self.repeated:
            found.append(f"{self.repeated} labels were given twice, the same both times")
        if self.not_drawn:
            found.append(f"{self.not_drawn} labels are of posts that were not drawn; not used")
        if self.mangled:
            found.append(
                f"{self.mangled} ids were changed by another program (a spreadsheet drops leading "
                "zeros and digits); the posts were found all the same"
            )
        if self.unchecked:
            found.append(
                f"{self.unchecked} labels are in rows without a check value (column check), so "
                "columns that were sorted or moved apart would not be noticed"
            )
        return found


def read_labels(paths: Sequence[Path], drawn: SampledPosts) -> Labels:
    """Read the labels of one or several sheets, in any order.

    Args:
        paths: CSV (comma, semicolon or tab; any line ends; UTF-8, UTF-16 or Windows), JSON lines,
            Label Studio JSON, Prodigy JSON lines.
        drawn: the posts that there can be labels for.

    Raises:
        InputError: with ``path:line``, for a label that is no label, one in a wrong column, and two
            that contradict each other; for files without a single drawn post.
    """
    labels = Labels()
    rows = 0
    for path in paths:
        sheet: list[tuple[SampledPost, str]] = []
        for raw in read_rows(path):
            rows += 1
            said = raw.verdict()
            found = _find(raw, drawn, labels)
            if not said:
                continue
            if found is None:
                labels.not_drawn += 1
                continue
            _check_row(raw, found, labels)
            sheet.append((found, said))
            new = Label(found, said, raw.where)
            old = labels.of.get(found.name)
            if old is None:
                labels.of[found.name] = new
            elif old.said == new.said:
                labels.repeated += 1
            else:
                raise InputError(
                    f"{raw.where}: post '{found.post}' has the label {raw.label!r} here and "
                    f"another one at {old.where}; decide for one of them and clear the other"
                )
        if path.suffix.lower() not in (".json", ".jsonl"):
            _refuse_sorted(path, sheet, drawn)
    if rows and not labels.of and labels.not_drawn:
        raise InputError(
            f"{paths[0]}: none of its {labels.not_drawn} labels is of a post that was drawn; "
            f"expected the sheets of {drawn.path}"
        )
    return labels


def labels_in(journal: LabelJournal, sampled: SampledPosts | None = None) -> Labels:
    """The labels of a journal, in the order in which they came.

    A post of which annotators say different things counts as skipped.

    Args:
        journal: with the labels.
        sampled: the posts that labels count of; None for all.
    """
    labels = Labels()
    for name in journal.posts():
        one = SampledPost("", name) if sampled is None else sampled.by_name.get(name)
        if one is not None:
            said = journal.verdict(name)
            labels.of[name] = Label(one, SKIP if said == CONFLICT else said, str(journal.path))
    return labels


class VerdictLog:
    """The verdicts of a plan as they came in; only ever longer.

    Whoever has seen what the labels show and judges some posts again moves the result; no
    confidence covers that. So `look` is called before anything is shown, and `changed` counts.

    Args:
        path: of the file; need not be there yet.
    """

    def __init__(self, path: Path) -> None:
        self._journal = Journal(path)
        self._last: dict[str, str] = {}
        self._changed: set[str] = set()
        for number, row in self._journal.rows:
            try:
                self._take(str(row["key"]), str(row["label"]))
            except KeyError as error:
                raise self._journal.damaged(number, error) from error

    @property
    def changed(self) -> int:
        """How many posts were judged otherwise, or not at all any more, after the first look."""
        return len(self._changed)

    def look(self, labels: Labels) -> None:
        """Write down what is new; it is on the disk when this returns."""
        now = {label.sampled.key: label.said for label in labels.of.values()}
        new = {key: now.get(key, "") for key in [*now, *self._last]}
        new = {key: said for key, said in new.items() if self._last.get(key, "") != said}
        if not new:
            return
        at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self._journal.append({"key": key, "label": said, "at": at} for key, said in new.items())
        for key, said in new.items():
            self._take(key, said)

    def _take(self, key: str, said: str) -> None:
        if self._last.get(key, said) != said:
            self._changed.add(key)
        self._last[key] = said


def changed_sentence(changed: int) -> str:
    """What to say where verdicts were changed after the first look; empty where none were."""
    if not changed:
        return ""
    verdicts = "1 verdict was" if changed == 1 else f"{changed:,} verdicts were"
    return (
        f" {verdicts} changed after the result had been seen for the first time; the confidence "
        "does not cover that."
    )


def _check_row(raw: RawLabel, found: SampledPost, labels: Labels) -> None:
    if raw.check is None:
        return
    if not raw.check.strip():
        labels.unchecked += 1
    elif raw.text.strip() and raw.check.strip().lower() != check_value(found.name, raw.text):
        raise InputError(
            f"{raw.where}: the text or the value {raw.check!r} in the column check is not that of "
            f"post '{found.post}'; a column was sorted or moved without the others, so labels may "
            "be at wrong posts: undo that (where somebody only corrected the text, empty its cell)"
        )


def _refuse_sorted(
    path: Path, sheet: Sequence[tuple[SampledPost, str]], drawn: SampledPosts
) -> None:
    """Refuse labels that are sorted though the posts are not.

    Rows that were sorted as a whole no longer follow the order in which posts were drawn. Relevant
    posts first prove nothing, for a sheet goes down the ranking.

    Raises:
        InputError: where that happens by chance in less than one of a thousand sheets.
    """
    places = {key: place for place, key in enumerate(drawn.by_key)}
    rows = [places[one.key] for one, _ in sheet]
    counts = Counter(said for _, said in sheet)
    runs = sum(first[1] != second[1] for first, second in pairwise(sheet)) + 1
    if next(iter(counts), YES) == YES or runs > len(counts) or rows != sorted(rows):
        return
    if math.factorial(len(sheet)) > 1000 * math.prod(map(math.factorial, counts.values())):
        raise InputError(
            f"{path}:2: the labels are sorted ("
            + ", then ".join(f"{count} {said}" for said, count in counts.items())
            + "), while the posts are in their random order: the column label was probably sorted "
            "without the others; undo that (if the labels really came like this, sort whole rows "
            "by the column key and run the command again)"
        )


def _find(raw: RawLabel, drawn: SampledPosts, labels: Labels) -> SampledPost | None:
    if raw.key:
        found = drawn.by_key.get(raw.key.strip().lower())
        if found is not None and raw.post and raw.post != found.post:
            if not _mangled(raw.post, found.post):
                raise InputError(
                    f"{raw.where}: key {raw.key!r} is of post '{found.post}', but the row has post "
                    f"'{raw.post}'; the rows were mixed up: restore the columns key and post"
                )
            labels.mangled += 1
        return found
    if not raw.post:
        if raw.label.strip():
            raise InputError(
                f"{raw.where}: a label without key and post; the labels were probably moved to "
                "other rows: move each back to its post"
            )
        return None
    name = f"{raw.article}\t{raw.post}" if raw.article else raw.post
    found = drawn.by_name.get(name) or drawn.by_name.get(raw.post)
    if found is not None:
        return found
    alike = [unit for unit in drawn.by_key.values() if _mangled(raw.post, unit.post)]
    if len(alike) == 1:
        labels.mangled += 1
        return alike[0]
    if len(alike) > 1:
        raise InputError(
            f"{raw.where}: post '{raw.post}' lost digits, and {len(alike)} drawn posts could be "
            "meant; expected the column key of the sheet beside it: restore it"
        )
    return None


def _mangled(shown: str, real: str) -> bool:
    """Whether a spreadsheet may have made one id of the other."""
    shown = shown.strip()
    if not real.isdigit():
        return False
    if shown.isdigit():
        if shown.lstrip("0") == real.lstrip("0"):
            return True
        # A number keeps 15 digits; the others become zeros.
        kept = real.lstrip("0")
        return len(kept) > _ROUNDED and shown == kept[:_ROUNDED].ljust(len(kept), "0")
    if _SCIENTIFIC.fullmatch(shown):
        digits = len(re.split("[eE]", shown)[0].replace(",", ".").partition(".")[2])
        return f"{float(shown.replace(',', '.')):.{digits}e}" == f"{float(real):.{digits}e}"
    return False
