"""The next posts to label, as a sheet."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from siamese_news.decide.certification import Certification
from siamese_news.decide.labels import Labels
from siamese_news.decide.plan import batch_name
from siamese_news.decide.sheets import format_of, write_sheet
from siamese_news.errors import InputError

_ENDINGS = (".csv", ".prodigy.jsonl", ".jsonl", ".json")


@dataclass(frozen=True, slots=True)
class Batch:
    """What is to be done next.

    Attributes:
        sheet: the new sheet; None where none was needed.
        posts: in the new sheet.
        waiting: posts of earlier sheets that have no label yet and are needed.
    """

    sheet: Path | None
    posts: int
    waiting: int


def expect_all(plan: Path, sheets: Sequence[Path]) -> None:
    """Refuse to go on without one of the sheets of a plan.

    Raises:
        InputError: names it.
    """
    given = {sheet.resolve() for sheet in sheets}
    left_out = [sheet for sheet in sheets_of(plan) if sheet.resolve() not in given]
    if left_out and any(sheet.resolve() in given for sheet in sheets_of(plan)):
        raise InputError(
            f"{left_out[0]}: is a sheet of this plan too; name all of them: "
            + " ".join(f"--labels {sheet}" for sheet in [*sheets, *left_out])
        )


def next_batch(
    work: Certification,
    labels: Labels,
    sheet: Path,
    *,
    more: int = 0,
    at_least: int = 1,
    format: str | None = None,
) -> Batch:
    """Draw the posts that are needed next and write those that no sheet has yet.

    Args:
        work: the plan and its population.
        labels: that there are.
        sheet: any sheet of the plan; the new one is called after it.
        more: labels beyond those that there are, whatever the budget.
        at_least: posts of the batch, though fewer may turn out to do.
        format: of the new sheet; else by its ending.
    """
    ranks = work.next_posts(labels, more=more, at_least=at_least)
    units = work.units(ranks)
    before = set(work.drawn.by_name)
    new = [unit for unit in units if unit.name not in before]
    if not new:
        return Batch(None, 0, len(units))
    number = len(sheets_of(work.path)) + 1
    path = batch_name(sheet, number)
    while path.exists():
        number += 1
        path = batch_name(sheet, number)
    write_sheet(path, zip(work.drawn.draw(new), new, strict=True), format_of(path, format))
    return Batch(path, len(new), len(units) - len(new))


def sheets_of(plan: Path) -> list[Path]:
    """The sheets that lie beside a plan."""
    stem = plan.name.removesuffix(".plan.json")
    if not plan.parent.is_dir():
        return []
    found = []
    for path in plan.parent.iterdir():
        ending = next((e for e in _ENDINGS if path.name.endswith(e)), None)
        middle = path.name.removeprefix(stem).removesuffix(ending) if ending else "no sheet"
        if path.name == f"{stem}{middle}{ending}" and (not middle or middle[1:].isdigit()):
            found.append((int(middle[1:] or 1), path))
    return [path for _, path in sorted(found)]
