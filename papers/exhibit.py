"""What a table or figure of a paper is: what was published, its runs, and what we lay out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from papers.jobs import Job, Results, Setting

Row = Mapping[str, Any]
Kind = Literal["figure", "table"]


@dataclass(frozen=True, slots=True)
class Table:
    """A table of ours, or a published one.

    Attributes:
        title: what it shows.
        rows: one mapping a row; a missing value prints as an en dash.
        name: part of its file's name; empty for the only table of an exhibit.
        columns: the columns in order; by default all of them, in order of first appearance.
        note: what a reader must know to read it.
    """

    title: str
    rows: Sequence[Row]
    name: str = ""
    columns: Sequence[str] | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of ours.

    Attributes:
        title: what it shows.
        draw: makes the ``matplotlib.figure.Figure``, with `papers.style`.
        description: what is to be seen, for those who cannot see it.
        name: part of its file's name; empty for the only figure of an exhibit.
    """

    title: str
    draw: Callable[[], Any]
    description: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Published:
    """What the paper shows.

    Attributes:
        source: where it stands: paper, table or figure, and where else its numbers come from.
        tables: its numbers.
        text: what can only be said in words.
    """

    source: str
    tables: Sequence[Table] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class Content:
    """What was made for an exhibit.

    Attributes:
        tables: ours.
        figures: ours.
        outcome: in one sentence, what came out beside the published value.
        missing: runs that are not there, in words.
    """

    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    outcome: str = ""
    missing: Sequence[str] = ()


def _no_jobs(setting: Setting) -> list[Job]:
    return []


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One table or figure of a paper, or a further one that belongs beside them.

    Attributes:
        paper: ``ast`` or ``samcnn``.
        kind: whether ``figure=KEY`` or ``table=KEY`` asks for it.
        key: its number in the paper, or a word where it has none.
        title: what it shows.
        remark: what differs from the paper, and why the two may not be compared.
        lay_out: makes tables and figures from the results of the jobs.
        published: what the paper shows; None for what is not in the paper.
        jobs: the runs whose small results it is made from; none for what is computed at once.

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
    jobs: Callable[[Setting], Sequence[Job]] = field(default=_no_jobs)

    @property
    def name(self) -> str:
        """What its files are called: ``figure1``, or the key where it is a word."""
        return f"{self.kind}{self.key}" if self.key.isdigit() else self.key
