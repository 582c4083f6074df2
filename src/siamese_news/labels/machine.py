"""Verdicts that something else gave, a language model or a classifier: a value for each post id."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from siamese_news.errors import InputError
from siamese_news.labels.journal import SKIP, YES
from siamese_news.labels.sheets import RawLabel, read_rows

COLUMNS = ("verdict", "label", "probability", "score")
"""Where a file may have the verdicts; the first of these counts."""


_LARGEST = 1e15


@dataclass(frozen=True, slots=True)
class MachineVerdicts:
    """What something else says of posts.

    Attributes:
        name: what it is called.
        values: (N,) by the posts of the results; NaN where there is none.
        cut: from which value on a post counts as relevant: .5 for labels and probabilities, None
            for scores.
        unknown: verdicts of posts that the results do not have; they are not used.
        repeated: verdicts that were given twice, the same both times.
    """

    name: str
    values: NDArray[np.float64]
    cut: float | None
    unknown: int
    repeated: int

    def sentence(self) -> str:
        """What was read."""
        count = int((~np.isnan(self.values)).sum())
        kind = (
            "scores"
            if self.cut is None
            else (
                "labels"
                if set(self.values[~np.isnan(self.values)].tolist()) <= {0.0, 1.0}
                else "probabilities"
            )
        )
        said = f"{self.name}: {kind} of {count:,} of {len(self.values):,} posts"
        if count < len(self.values):
            said += "; it moves none of the others"
        if self.unknown:
            said += f"; {self.unknown:,} are of posts that the results do not have, and not used"
        if self.repeated:
            said += f"; {self.repeated:,} were given twice, the same both times"
        return said + "."


def read_machine(path: Path, name: str, posts: Sequence[str]) -> MachineVerdicts:
    """Read a column of labels, probabilities or scores.

    Args:
        path: CSV or JSON lines with the columns post and one of `COLUMNS`.
        name: of what gave them.
        posts: ids, in the order of the results.

    Raises:
        InputError: with ``path:line``, for a verdict that is neither label nor number, and for two
            of a post that differ; for a file without a verdict of these posts, and one that says
            the same of all.
    """
    places = {post: place for place, post in enumerate(posts)}
    values = np.full(len(posts), np.nan)
    first: dict[str, tuple[float, str]] = {}
    unknown = repeated = 0
    for row in read_rows(path, COLUMNS):
        value = _value(row)
        if value is None:
            continue
        if not row.post:
            raise InputError(f"{row.where}: has no post; expected its id in the column post")
        if row.post in first:
            before, where = first[row.post]
            if before != value:
                raise InputError(
                    f"{row.where}: post '{row.post}' has the verdict {row.label!r} here and "
                    f"another one at {where}; keep one of them"
                )
            repeated += 1
            continue
        first[row.post] = value, row.where
        if row.post in places:
            values[places[row.post]] = value
        else:
            unknown += 1
    there = values[~np.isnan(values)]
    if not len(there):
        raise InputError(
            f"{path}: none of its {len(first):,} verdicts is of a post of the results; expected "
            "the ids of their column post"
        )
    if len(np.unique(there)) == 1:
        raise InputError(
            f"{path}: says {there[0]:g} of all {len(there):,} posts; expected verdicts that differ"
        )
    cut = 0.5 if there.min() >= 0 and there.max() <= 1 else None
    return MachineVerdicts(name, values, cut, unknown, repeated)


def _value(row: RawLabel) -> float | None:
    """The verdict as a number; None where there is none."""
    text = row.label.strip().rstrip("%")
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        try:
            said = row.verdict()
        except InputError:
            raise InputError(
                f"{row.where}: the verdict is {row.label!r}; expected a number, or a label such as "
                "yes or no"
            ) from None
        return None if said in ("", SKIP) else float(said == YES)
    if not abs(value) < _LARGEST:
        raise InputError(
            f"{row.where}: the verdict is {row.label!r}; expected a number below {_LARGEST:g}"
        )
    return value / 100 if row.label.strip().endswith("%") else value
