"""Verdicts of a language model or a classifier: a value for each post."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from siamese_news.errors import InputError
from siamese_news.utils.terminal import counted
from siamese_news_desk.labels.journal import SKIP, YES
from siamese_news_desk.labels.sheets import RawLabel, read_rows

# Columns that may hold the verdicts; the first one in the file counts.
COLUMNS = ("verdict", "label", "probability", "score")

_LARGEST = 1e15


@dataclass(frozen=True, slots=True)
class MachineVerdicts:
    """The verdicts of a machine.

    Attributes:
        values: (N,) for the posts of the results; NaN where there is none.
        cut: the lowest value of a relevant post: .5 for labels and probabilities, None for scores.
        unknown: unused verdicts, of posts that the results do not have.
        repeated: verdicts that were given twice, the same both times.
    """

    name: str
    values: NDArray[np.float64]
    cut: float | None
    unknown: int
    repeated: int

    def sentence(self) -> str:
        """A summary of the file."""
        values = self.values[~np.isnan(self.values)]
        count = len(values)
        shares = "labels" if set(values.tolist()) <= {0.0, 1.0} else "probabilities"
        kind = "scores" if self.cut is None else shares
        numbers = {
            "not used, because the results do not have their posts": self.unknown,
            "given twice, the same both times": self.repeated,
        }
        facts = [
            f"{self.name}: {kind} of {count:,} of {counted(len(self.values), 'post')}",
            *["the others keep their scores"] * (count < len(self.values)),
            *(f"{words}: {number:,}" for words, number in numbers.items() if number),
        ]
        return "; ".join(facts) + "."


def read_machine(path: Path, name: str, posts: Sequence[str]) -> MachineVerdicts:
    """Read a machine's column of labels, probabilities or scores, for posts in this order.

    The file is CSV, Parquet or JSON lines with the columns post and one of `COLUMNS`.

    Raises:
        InputError: with ``path:line``, for a verdict that is neither a label nor a number, and for
            two different ones of a post; for a file without a verdict on these posts, and one with
            the same verdict on all of them.
    """
    row_of = {post: row_number for row_number, post in enumerate(posts)}
    values = np.full(len(posts), np.nan)
    verdict_of: dict[str, tuple[float, str]] = {}
    unknown = repeated = 0
    for row in read_rows(path, COLUMNS):
        value = _value(row)
        if value is None:
            continue
        if not row.post:
            raise InputError(
                f"{row.location}: has no post; expected its id in the column post"
            )
        if row.post in verdict_of:
            earlier, location = verdict_of[row.post]
            if earlier != value:
                raise InputError(
                    f"{row.location}: post '{row.post}' has the verdict {row.label!r} here and "
                    f"another one at {location}; keep one of them"
                )
            repeated += 1
            continue
        verdict_of[row.post] = value, row.location
        if row.post in row_of:
            values[row_of[row.post]] = value
        else:
            unknown += 1
    there = values[~np.isnan(values)]
    if not len(there):
        raise InputError(
            f"{path}: none of its {len(verdict_of):,} verdicts is of a post of the results; expected "
            "ids as in their column post"
        )
    if len(np.unique(there)) == 1:
        raise InputError(
            f"{path}: says {there[0]:g} of all {counted(len(there), 'post')}; expected "
            "different verdicts"
        )
    cut = 0.5 if there.min() >= 0 and there.max() <= 1 else None
    return MachineVerdicts(name, values, cut, unknown, repeated)


def _value(row: RawLabel) -> float | None:
    """The verdict as a number; None if there is none."""
    text = row.label.strip().rstrip("%")
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        try:
            verdict = row.verdict()
        except InputError:
            raise InputError(
                f"{row.location}: the verdict is {row.label!r}; expected a number, or a label such as "
                "yes or no"
            ) from None
        return None if verdict in ("", SKIP) else float(verdict == YES)
    if not abs(value) < _LARGEST:
        raise InputError(
            f"{row.location}: the verdict is {row.label!r}; expected a number below {_LARGEST:g}"
        )
    return value / 100 if row.label.strip().endswith("%") else value
