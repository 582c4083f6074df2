"""Which tables and figures there are. Each is one module with the constant ``EXHIBIT``."""

from collections.abc import Iterable, Sequence
from importlib import import_module

from papers.exhibit import Exhibit, Kind
from siamese_news.errors import InputError

PAPERS: dict[str, tuple[str, ...]] = {
    "ast": (
        "figure1",
        "figure2",
        "table1",
        "table2",
        "figure3",
        "figure4",
        "table3",
        "effort",
        "settings",
        "appendix_a",
    ),
    "samcnn": (
        "table1",
        "table2",
        "table3",
        "widths",
        "reference",
        "own_vectors",
        "figure3",
        "figure4",
        "table4",
        "speed",
    ),
}
"""The modules of each paper, in the order of the paper."""


def exhibits(paper: str) -> list[Exhibit]:
    """All exhibits of a paper, in the order of the paper.

    Raises:
        InputError: there is no such paper.
    """
    if paper not in PAPERS:
        raise InputError(f"paper={paper}: no such paper; expected {' or '.join(PAPERS)}")
    modules = (import_module(f"{__package__}.{paper}.{name}") for name in PAPERS[paper])
    return [module.EXHIBIT for module in modules]


def choose(paper: str, *, figure: object = None, table: object = None) -> list[Exhibit]:
    """The exhibits that the command line asks for; all of the paper's where it names none.

    Args:
        paper: ``ast`` or ``samcnn``.
        figure: the key of a figure, or a list of keys.
        table: the key of a table, or a list of keys.

    Raises:
        InputError: there is no such paper, figure or table; it lists those there are.

    Example:
        >>> [exhibit.name for exhibit in choose("ast", figure=1)]
        ['figure1']
    """
    there = exhibits(paper)
    if figure is None and table is None:
        return there
    wanted = {("figure", key) for key in _keys(figure)} | {("table", key) for key in _keys(table)}
    for kind, key in sorted(wanted):
        if not any((exhibit.kind, exhibit.key) == (kind, key) for exhibit in there):
            raise InputError(
                f"{kind}={key}: paper={paper} has no such {kind}; expected {_list(there)}"
            )
    return [exhibit for exhibit in there if (exhibit.kind, exhibit.key) in wanted]


def _keys(value: object) -> list[str]:
    if value is None:
        return []
    values = value if isinstance(value, Iterable) and not isinstance(value, str) else [value]
    return [str(key) for key in values]


def _list(there: Sequence[Exhibit]) -> str:
    kinds: tuple[Kind, ...] = ("figure", "table")
    keys = {kind: [exhibit.key for exhibit in there if exhibit.kind == kind] for kind in kinds}
    return " or ".join(
        f"{kind}={'|'.join(keys_of_kind)}" for kind, keys_of_kind in keys.items() if keys_of_kind
    )
