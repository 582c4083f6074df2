"""The tables of the leaderboard: `leaderboard.csv` over all tests, `leaderboard_tests.csv` by test."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

from siamese_news.utils.files import atomic_write

RESULTS = Path(__file__).parents[1] / "results"
SUMMARY = "all tests"

Tables = Mapping[str, Sequence[Mapping[str, str]]]
"""Test, or `SUMMARY` -> rows: column -> cell; the column ``system`` has the title of a row."""


def read_tables(folder: Path) -> dict[str, list[dict[str, str]]]:
    """The tables in a folder; none where it has no such files.

    A test has the columns that one of its rows fills.
    """
    tables: dict[str, list[dict[str, str]]] = {}
    for path in _files(folder):
        if not path.is_file():
            continue
        with path.open(encoding="utf-8", newline="") as stream:
            for row in csv.DictReader(stream):
                tables.setdefault(row.pop("test", SUMMARY), []).append(row)
    return {test: _without_empty_columns(rows) for test, rows in tables.items()}


def write_tables(folder: Path, tables: Tables) -> None:
    """Write both files."""
    by_test = [
        {"test": test, **row}
        for test, rows in tables.items()
        if test != SUMMARY
        for row in rows
    ]
    for path, rows in zip(
        _files(folder), (tables.get(SUMMARY, []), by_test), strict=True
    ):
        columns = list(dict.fromkeys(column for row in rows for column in row))
        with atomic_write(path) as stream:
            writer = csv.DictWriter(stream, columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


def by_system(rows: Sequence[Mapping[str, str]]) -> dict[str, Mapping[str, str]]:
    """Title of a row -> the row."""
    return {row["system"]: row for row in rows}


def _files(folder: Path) -> tuple[Path, Path]:
    return folder / "leaderboard.csv", folder / "leaderboard_tests.csv"


def _without_empty_columns(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    filled = {column for row in rows for column, cell in row.items() if cell}
    return [
        {column: cell for column, cell in row.items() if column in filled}
        for row in rows
    ]
