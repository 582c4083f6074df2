"""The sheets of a plan to certify precision: all of them, and the next one."""

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from siamese_news.errors import InputError
from siamese_news_desk.decide.certification import Certification
from siamese_news_desk.decide.plan.sealed_files import batch_name, sheets_of
from siamese_news_desk.labels.matching import Labels
from siamese_news_desk.labels.sheets import format_of, write_sheet


def expect_all(plan: Path, sheets: Sequence[Path]) -> None:
    """Refuse to continue without all the sheets of a plan."""
    sheet_paths = {sheet.resolve() for sheet in sheets}
    left_out = [
        sheet for sheet in sheets_of(plan) if sheet.resolve() not in sheet_paths
    ]
    if left_out and any(sheet.resolve() in sheet_paths for sheet in sheets_of(plan)):
        raise InputError(
            f"{left_out[0]}: is also a sheet of this plan; name all of them: "
            + " ".join(
                f"--labels {quote(str(sheet))}" for sheet in [*sheets, *left_out]
            )
        )


class NextSheet(NamedTuple):
    """The sheet to label next.

    Attributes:
        path: None if no further post is needed.
        new: its posts.
        waiting: needed posts of earlier sheets without a label.
        best: whether these are the best posts without a label; see `certification.Request`.
    """

    path: Path | None
    new: int
    waiting: int
    best: bool


def write_next_sheet(
    certification: Certification,
    labels: Labels,
    sheet: Path,
    format: str | None = None,
    **stop_options: int,
) -> NextSheet:
    """Write the posts needed next that are in no sheet yet to a new one, named after `sheet`."""
    request = certification.request(labels, **stop_options)
    units = certification.texts.units(request.ranks)
    new = [unit for unit in units if unit.name not in certification.sampled.by_name]
    if not new:
        return NextSheet(None, 0, len(units), request.best)
    numbers = count(len(sheets_of(certification.path)) + 1)
    path = next(
        path for number in numbers if not (path := batch_name(sheet, number)).exists()
    )
    write_sheet(path, certification.sampled.keyed(new), format_of(path, format))
    return NextSheet(path, len(new), len(units) - len(new), request.best)
