"""How a module of figures prints them."""

from collections.abc import Mapping, Sequence
from typing import Any

from siamese_news.utils.markdown import markdown_table
from siamese_news.utils.provenance import provenance


def print_table(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows as a table in Markdown, and the line of `print_origin`."""
    print(markdown_table(rows))
    print_origin()


def print_origin() -> None:
    """Print where figures come from: command, date, revision and machine."""
    about = provenance()
    print(
        about["command"], about["date"], about["revision"], about["machine"], sep=" · "
    )
