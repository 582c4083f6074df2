"""All tables and figures."""

from collections.abc import Iterable
from importlib import import_module

from papers.exhibit import Exhibit
from siamese_news.errors import InputError

PAPERS: dict[str, tuple[str, ...]] = {
    "ast": (
        "figure1",
        "figure2",
        "encoders.TABLE1",
        "encoders.TABLE2",
        "authors",
        "figure3",
        "case_study.FIGURE4",
        "case_study.TABLE3",
        "case_study.EFFORT",
        "settings",
        "appendix_a",
    ),
    "samcnn": (
        "table1",
        "table2",
        "table3",
        "variants.WIDTHS",
        "authors",
        "variants.OWN_VECTORS",
        "figure3",
        "figure4",
        "table4",
        "speed",
        "newer",
    ),
}
"""The exhibits of each paper in its order: ``module`` (its ``EXHIBIT``) or ``module.NAME``."""


def choose(paper: str, *, figure: object = None, table: object = None) -> list[Exhibit]:
    """The exhibits that the command line asks for by their keys; by default all of the paper's.

    Raises:
        InputError: an unknown paper, figure or table; the message lists the known ones.

    Example:
        >>> [exhibit.name for exhibit in choose("ast", figure=1)]
        ['figure1']
    """
    if paper not in PAPERS:
        raise InputError(
            f"paper={paper}: no such paper; expected {' or '.join(PAPERS)}"
        )
    there: dict[tuple[str, str], Exhibit] = {}
    for place in PAPERS[paper]:
        module, _, name = place.partition(".")
        exhibit = getattr(import_module(f"papers.{paper}.{module}"), name or "EXHIBIT")
        there[exhibit.kind, exhibit.key] = exhibit
    wanted = [("figure", key) for key in _keys(figure)] + [
        ("table", key) for key in _keys(table)
    ]
    for kind, key in wanted:
        if (kind, key) not in there:
            expected = (
                f"{each}={'|'.join(k for other, k in there if other == each)}"
                for each in ("figure", "table")
            )
            raise InputError(
                f"{kind}={key}: paper={paper} has no such {kind}; expected {' or '.join(expected)}"
            )
    return [
        exhibit for place, exhibit in there.items() if not wanted or place in wanted
    ]


def _keys(value: object) -> list[str]:
    if value is None:
        return []
    values = (
        value if isinstance(value, Iterable) and not isinstance(value, str) else [value]
    )
    return [str(key) for key in values]
