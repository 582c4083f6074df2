"""How figures look: colors that the color-blind tell apart, legible at the width of a column.

The colors are those of Okabe and Ito (2008); every series also has a marker and a dash of its own.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))

COLUMN = 3.4
"""Inches: the width of one column of a two-column page."""

_SETTINGS: Any = {
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.titlesize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.linewidth": 1.2,
    "lines.markersize": 3,
    "figure.dpi": 100,
    "savefig.dpi": 300,
    "svg.fonttype": "none",  # text stays text: searchable, and read aloud
    "svg.hashsalt": "siamese-news",  # the same drawing has the same bytes
}


@contextmanager
def styled() -> Iterator[None]:
    """The settings of matplotlib inside the block."""
    from matplotlib import rc_context

    with rc_context(_SETTINGS):
        yield


def series(number: int) -> dict[str, Any]:
    """Color, marker and dash of a line, by its place in the legend."""
    place = number % len(COLORS)
    return {
        "color": COLORS[place],
        "marker": MARKERS[place],
        "linestyle": DASHES[place],
    }


def new_figure(
    *,
    rows: int = 1,
    columns: int = 1,
    width: float = COLUMN,
    height: float = 2.2,
    **options: Any,
) -> tuple[Any, Any]:
    """A figure of a width and height in inches, and its axes: an array where there are several.

    Further options are those of ``Figure.subplots``.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, **options)
