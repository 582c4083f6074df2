"""Labels out of sheets, whatever program they came back from."""

import hashlib
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from siamese_news.decide.drawn import Drawn, DrawnFile
from siamese_news.decide.journal import Journal
from siamese_news.decide.label_files import NO, SKIP, YES, RawLabel, read_rows
from siamese_news.errors import InputError

_SCIENTIFIC = re.compile(r"\d(?:[.,]\d+)?[eE]\+?\d+")
_ROUNDED = 15  # digits that a spreadsheet keeps of a number
_BOUND = 500  # characters of a text that its check value rests on


@dataclass(frozen=True, slots=True)
class Label:
    """One label.

    Attributes:
        drawn: of which post.
        relevant: what the annotator says.
        skipped: whether nothing was said; that counts as not relevant.
        where: ``path:line`` of it.
        text: of the post, as the sheet has it.
    """

    drawn: Drawn
    relevant: bool
    skipped: bool
    where: str
    text: str = ""


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


def read_labels(paths: Sequence[Path], drawn: DrawnFile) -> Labels:
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
        sheet: list[tuple[Drawn, str]] = []
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
            new = Label(found, said == YES, said == SKIP, raw.where, raw.text)
            old = labels.of.get(found.name)
            if old is None:
                labels.of[found.name] = new
            elif (old.relevant, old.skipped) == (new.relevant, new.skipped):
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
        now = {
            label.drawn.key: SKIP if label.skipped else YES if label.relevant else NO
            for label in labels.of.values()
        }
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


def check_value(name: str, text: str) -> str:
    """The check value of a row: by it a text that was moved to another row is noticed.

    Only the ASCII letters and digits of the first 500 characters count: programs change line ends
    and quotes, and Excel's CSV turns what Windows-1252 lacks into question marks.

    Args:
        name: of the unit.
        text: that stands beside it.
    """
    plain = re.sub("[^0-9A-Za-z]", "", text[:_BOUND].encode("ascii", "ignore").decode()).lower()
    # A letter first, so that no spreadsheet takes it for a number.
    return "c" + hashlib.blake2b(f"{name}\t{plain}".encode()).hexdigest()[:6]


def _check_row(raw: RawLabel, found: Drawn, labels: Labels) -> None:
    if not raw.check.strip():
        labels.unchecked += 1
    elif raw.text.strip() and raw.check.strip().lower() != check_value(found.name, raw.text):
        raise InputError(
            f"{raw.where}: the text or the value {raw.check!r} in the column check is not that of "
            f"post '{found.post}'; a column was sorted or moved without the others, so labels may "
            "be at wrong posts: undo that (where somebody only corrected the text, empty its cell)"
        )


def _refuse_sorted(path: Path, sheet: Sequence[tuple[Drawn, str]], drawn: DrawnFile) -> None:
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


def _find(raw: RawLabel, drawn: DrawnFile, labels: Labels) -> Drawn | None:
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
