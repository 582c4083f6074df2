"""Labels out of sheets, whatever program they came back from."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from siamese_news.decide.drawn import Drawn, DrawnFile
from siamese_news.decide.label_files import RawLabel, read_rows
from siamese_news.errors import InputError

YES = {"1", "1.0", "yes", "y", "true", "relevant", "r", "accept"}
NO = {"0", "0.0", "no", "n", "false", "not relevant", "irrelevant", "not_relevant", "reject"}
SKIP = {"skip", "skipped", "?", "unsure", "ignore"}
_EXPECTED = "expected 1, yes or relevant; 0, no or not relevant; skip; or nothing yet"

_SCIENTIFIC = re.compile(r"\d(?:[.,]\d+)?[eE]\+?\d+")
_ROUNDED = 15  # digits that a spreadsheet keeps of a number


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
    """

    of: dict[str, Label] = field(default_factory=dict)
    repeated: int = 0
    not_drawn: int = 0
    mangled: int = 0

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
        for raw in read_rows(path):
            rows += 1
            value = _value(raw)
            found = _find(raw, drawn, labels)
            if value is None:
                continue
            if found is None:
                labels.not_drawn += 1
                continue
            new = Label(found, value == 1, value == 2, raw.where, raw.text)
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
    if rows and not labels.of and labels.not_drawn:
        raise InputError(
            f"{paths[0]}: none of its {labels.not_drawn} labels is of a post that was drawn; "
            f"expected the sheets of {drawn.path}"
        )
    return labels


def is_label(value: str) -> bool:
    """Whether a cell says anything about relevance."""
    return value.strip().lower() in YES | NO | SKIP


def _value(raw: RawLabel) -> int | None:
    """1, 0, 2 for skipped, None for no label."""
    value = " ".join(raw.label.split()).lower()
    if not value:
        return None
    if value in YES:
        return 1
    if value in NO:
        return 0
    if value in SKIP:
        return 2
    raise InputError(f"{raw.where}: label is {raw.label!r}; {_EXPECTED}")


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
        return None
    name = f"{raw.article}\t{raw.post}" if raw.article else raw.post
    found = drawn.by_name.get(name) or drawn.by_name.get(raw.post)
    if found is not None:
        return found
    alike = [unit for unit in _drawn_units(drawn) if _mangled(raw.post, unit.post)]
    if len(alike) == 1:
        labels.mangled += 1
        return alike[0]
    if len(alike) > 1:
        raise InputError(
            f"{raw.where}: post '{raw.post}' lost digits, and {len(alike)} drawn posts could be "
            "meant; expected the column key of the sheet beside it: restore it"
        )
    return None


def _drawn_units(drawn: DrawnFile) -> Iterable[Drawn]:
    return drawn.by_key.values()


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
