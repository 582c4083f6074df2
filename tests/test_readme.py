"""The README is one screen whose commands, targets and links are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_it_is_short():
    assert len(README.splitlines()) <= 60


def test_its_rows_are_those_of_the_documentation():
    """A figure that changes on one of the two pages changes on the other."""
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    rows = {cells[0]: cells for cells in map(_cells, index.splitlines()) if len(cells) == 7}
    mine = [cells for cells in map(_cells, README.splitlines()) if len(cells) == 6][2:]
    assert len(mine) >= 5
    for name, *figures in mine:
        assert figures == [cell for i, cell in enumerate(rows[name][1:]) if i != 2], name


def _cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []


def test_named_targets_are_in_the_makefile():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"\bmake ([a-z][a-z-]*)", README)):
        assert re.search(rf"^{target}:", makefile, flags=re.M), target
