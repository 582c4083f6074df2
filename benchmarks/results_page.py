"""Write the pages of figures (`results/*.md`) from their texts (`*.md.j2`) and tables (JSON and CSV).

A data file has the command that prints the table, the revision, date and machine of the figures,
the columns with their alignment, and the rows. `goals` compares them with the goals. The tables of the
leaderboard come from its own command as CSV. `python -m benchmarks.results_page` writes the pages;
RESULTS.md and LEADERBOARD.md, the short pages above them, are written by hand.
"""

import json
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from benchmarks.goals import goals_table
from benchmarks.leaderboard.csv_tables import read_tables
from siamese_news.utils.markdown import markdown_table

HERE = Path(__file__).parent
DATA = HERE / "results"
KEYS = {"command", "revision", "date", "machine", "columns", "align", "rows"}


def read(name: str) -> dict[str, Any]:
    """The data file of a table, with its shape checked."""
    path = DATA / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if set(found) != KEYS:
        raise ValueError(f"{path}: has {sorted(found)}; expected {sorted(KEYS)}")
    width = len(found["columns"])
    for number, row in enumerate([found["align"], *found["rows"]]):
        if len(row) != width:
            raise ValueError(
                f"{path}: row {number} has {len(row)} cells; expected {width}"
            )
    return found


def table(name: str) -> str:
    """The table in Markdown, with the line that says where its figures come from."""
    found = read(name)
    rules = ["---:" if side == "right" else "---" for side in found["align"]]
    lines = [
        f"| {' | '.join(row)} |" for row in (found["columns"], rules, *found["rows"])
    ]
    revision = (
        f"revision {found['revision']}"
        if found["revision"]
        else "revision not recorded"
    )
    source = f"`{found['command']}` · {revision} · {found['date']} · {found['machine']}"
    return "\n".join([*lines, "", source])


def leaderboard_table(test: str, *, micro: bool | None = None) -> str:
    """A table of the leaderboard in Markdown.

    Args:
        test: its name, or `SUMMARY`.
        micro: the columns of micro AP alone, or all others; without it, every column.
    """
    name = " micro AP"
    return markdown_table(
        [
            {
                column.removesuffix(name) if micro else column: cell or None
                for column, cell in row.items()
                if column == "system" or micro in (None, column.endswith(name))
            }
            for row in read_tables(DATA)[test]
        ]
    )


def pages() -> dict[Path, str]:
    """The text of each page, by its file."""
    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True)
    tables = {path.stem: read(path.stem) for path in DATA.glob("*.json")}
    return {
        template.with_suffix(""): environment.from_string(
            template.read_text(encoding="utf-8")
        ).render(table=table, goals=goals_table(tables), leaderboard=leaderboard_table)
        for template in sorted(DATA.glob("*.md.j2"))
    }


if __name__ == "__main__":
    for file, text in pages().items():
        file.write_text(text, encoding="utf-8")
