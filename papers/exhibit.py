"""A table or figure of a paper: the published one, the runs behind ours, and ours."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from papers.jobs import Job, Results, Setting

Row = Mapping[str, Any]
Kind = Literal["figure", "table"]


@dataclass(frozen=True, slots=True)
class Table:
    """A table of ours, or a published one.

    Attributes:
        title: its caption.
        rows: one mapping a row; a missing value prints as an en dash.
        name: part of its file's name; empty for the only table of an exhibit.
        note: what a reader must know to read it.
    """

    title: str
    rows: Sequence[Row]
    name: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of ours.

    Attributes:
        title: its caption.
        draw: makes the ``matplotlib.figure.Figure``, with `papers.style`.
        description: for readers who cannot see it.
        name: part of its file's name; empty for the only figure of an exhibit.
    """

    title: str
    draw: Callable[[], Any]
    description: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Published:
    """The paper's own table or figure.

    Attributes:
        source: paper, table or figure, and where else the numbers come from.
        tables: its numbers.
        text: the rest, in words.
    """

    source: str
    tables: Sequence[Table] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class Content:
    """Our side of an exhibit.

    Attributes:
        tables: ours.
        figures: ours.
        outcome: the result next to the published value, in a sentence.
    """

    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    outcome: str = ""


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One table or figure of a paper, or a further one that goes with them.

    Attributes:
        paper: ``ast`` or ``samcnn``.
        kind: whether ``figure=KEY`` or ``table=KEY`` asks for it.
        key: its number in the paper, or a word where it has none.
        title: its heading on the page.
        remark: the differences from the paper, and why the two may not be compared.
        lay_out: makes tables and figures from the results of the jobs.
        published: the paper's own; None where the paper has none.
        jobs: the runs behind it; none where everything is computed at once.

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
    key: str
    title: str
    remark: str
    lay_out: Callable[[Results], Content]
    published: Published | None = None
    jobs: Callable[[Setting], Sequence[Job]] = lambda setting: ()

    @property
    def name(self) -> str:
        """What its files are called: ``figure1``, or the key where it is a word."""
        return f"{self.kind}{self.key}" if self.key.isdigit() else self.key
