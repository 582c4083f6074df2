"""A table or figure of a paper: the published one, the runs behind ours, and ours."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from papers.jobs import Job, Results, Setting

Row = Mapping[str, Any]
Kind = Literal["figure", "table"]


@dataclass(frozen=True, slots=True)
class Table:
    """A table of ours, or a published one, with its caption and a note for its readers."""

    title: str
    rows: Sequence[Row]  # a missing value prints as an en dash
    name: str = ""  # part of its file's name; empty for the only table of an exhibit
    note: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of ours, with its caption and a description for readers who cannot see it."""

    title: str
    # Makes the ``matplotlib.figure.Figure``, with `papers.style`.
    draw: Callable[[], Any]
    description: str
    name: str = ""  # as in `Table`


@dataclass(frozen=True, slots=True)
class Published:
    """The paper's own table or figure: its numbers, and the rest in words."""

    source: str  # paper, table or figure, and where else the numbers come from
    tables: Sequence[Table] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class Content:
    """Our side of an exhibit."""

    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    outcome: str = ""  # the result next to the published value: one sentence, three numbers at most
    details: str = ""  # further figures in sentences, below the headline


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One table or figure of a paper, or a further one that goes with them.

    Its jobs are the runs behind it; it has none where everything is computed at once.

    Example:
        >>> from papers import Content, Exhibit, Table
        >>> exhibit = Exhibit(
        ...     paper="ast", kind="table", key="9", title="Nine", remark="",
        ...     lay_out=lambda results: Content(tables=[Table("Nine", [{"n": 9}])]),
        ... )
        >>> exhibit.name
        'table9'
    """

    paper: str
    kind: Kind
    key: str  # its number in the paper, or a word where it has none
    title: str
    remark: str  # the differences from the paper, and why the two may not be compared
    lay_out: Callable[[Results], Content]
    published: Published | None = None
    jobs: Callable[[Setting], Sequence[Job]] = lambda setting: ()

    @property
    def name(self) -> str:
        """What its files are called: ``figure1``, or the key where it is a word."""
        return f"{self.kind}{self.key}" if self.key.isdigit() else self.key
