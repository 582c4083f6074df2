"""Markdown tables."""

from collections.abc import Mapping, Sequence
from typing import Any


def markdown_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """A Markdown table of `rows`; numbers to four decimals, as the papers print them.

    A missing value prints as an en dash; the columns are in the order of their first appearance.
    """
    columns = list(dict.fromkeys(key for row in rows for key in row))
    numeric = {
        column: all(isinstance(row.get(column), int | float | None) for row in rows)
        for column in columns
    }
    lines = [
        "| " + " | ".join(columns) + " |",
        "|"
        + "|".join("---:" if numeric[column] else "---" for column in columns)
        + "|",
    ]
    for row in rows:
        lines.append(
            "| " + " | ".join(_cell(row.get(column)) for column in columns) + " |"
        )
    return "\n".join(lines)


def plain_cell(value: Any) -> str:
    """A value as the tables print it: four decimals, an en dash for None."""
    if value is None:
        return "–"
    # "z": a value that rounds to zero has no sign.
    return f"{value:z.4f}" if isinstance(value, float) else str(value)


def _cell(value: Any) -> str:
    return plain_cell(value).replace("|", "\\|").replace("\n", " ")
