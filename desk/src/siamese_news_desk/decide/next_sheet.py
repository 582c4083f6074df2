"""The sheets of a plan to certify precision: all of them, and the next one."""

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from shlex import quote

from siamese_news.errors import InputError
from siamese_news.utils.terminal import counted
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


def write_next_sheet(
    certification: Certification,
    labels: Labels,
    sheet: Path,
    format: str | None = None,
    **stop_options: int,
) -> list[str]:
    """Write the posts needed next that are in no sheet yet to a new one, named after `sheet`.

    Returns:
        What there is to label, or that nothing is, in words.
    """
    request = certification.request(labels, **stop_options)
    units = certification.texts.units(request.ranks)
    new = [unit for unit in units if unit.name not in certification.sampled.by_name]
    sentences = []
    if waiting := len(units) - len(new):
        posts = counted(waiting, "post" if request.best else "needed post")
        sentences.append(
            f"no label yet for {posts} of the sheets; label {'it' if waiting == 1 else 'them'} and "
            "run the same command again"
        )
    if new:
        numbers = count(len(sheets_of(certification.path)) + 1)
        path = next(
            path
            for number in numbers
            if not (path := batch_name(sheet, number)).exists()
        )
        write_sheet(path, certification.sampled.keyed(new), format_of(path, format))
        kind = ", the best ones without a label" if request.best else ""
        sentences.append(f"{path}: {counted(len(new), 'more post')} to label{kind}")
    return sentences or [_done(certification, labels)]


def _done(certification: Certification, labels: Labels) -> str:
    """That no label is needed, and whether there are posts without one."""
    posts = len(certification.population)
    if not certification.request(labels, extra_labels=posts).ranks:
        return (
            f"done: {counted(len(labels.of), 'label')} for every one of the "
            f"{counted(posts, 'post')}; none is left to label"
        )
    return (
        f"done: {len(labels.of)} of {counted(certification.settings.budget, 'label')}; --more N "
        "allows N more labels, at no loss of confidence"
    )
