"""The geometry of the charts; the template draws it as SVG."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from siamese_news.data.columns import ScoreHistogram
from siamese_news.data.readers.values import iso_date
from siamese_news.utils.terminal import counted

WIDTH = 760
HEIGHT = 260
_LEFT = 58
_RIGHT = 14
_TOP = 26
_BOTTOM = 44
_FLOOR = 0.5  # where the log axis starts: one post is a bar, none is not
_POINTS = 300  # of a curve
_ROWS = 12  # of its table
# Unit of a timeline: the longest span, the label of a bar, the steps between labels of the axis.
_UNITS = {
    "hour": (timedelta(days=5), "%d %b %H:00", (1, 2, 3, 6, 12, 24)),
    "day": (timedelta(days=400), "%d %b %Y", (1, 2, 7, 14, 28)),
    "month": (timedelta(days=36525), "%b %Y", (1, 2, 3, 6, 12, 24, 60, 120)),
    "year": (timedelta.max, "%Y", (1, 5, 10, 20, 50, 100, 500, 1000)),
}

_CODES: dict[str, Any] = {
    "hour": "h",
    "day": "D",
    "month": "M",
    "year": "Y",
}  # of numpy


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar: rectangle, label, row of the table, and in a timeline its number from 0 (`slot`)."""

    x: float
    y: float
    width: float
    height: float
    label: str
    above: bool
    row: tuple[str, int]
    slot: int | None = None


@dataclass(frozen=True, slots=True)
class Tick:
    """A place on an axis and its label."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class BarChart:
    """Bars or curves, ticks, the threshold, and of a timeline its unit and first bin.

    `rows` are the numbers of a table: those of the bars, or some of the curve's.
    """

    bars: list[Bar]
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    rows: list[tuple[str, int]]
    line: Tick | None = None
    unit: str = ""
    first_bin: int = 0
    curves: tuple[str, ...] = ()
    width: int = WIDTH
    height: int = HEIGHT
    x_min: int = _LEFT
    x_max: int = WIDTH - _RIGHT
    top: int = _TOP
    bottom: int = HEIGHT - _BOTTOM

    def slot_of(self, date: datetime) -> int:
        """The bar of the timeline that counts this date."""
        return _bin(date, self.unit) - self.first_bin


def histogram_chart(histogram: ScoreHistogram, threshold: float | None) -> BarChart:
    """Posts by score on a log axis, and the threshold if there is one."""
    edges = histogram["edges"]
    counts = histogram["counts"]
    marks = edges if threshold is None else [*edges, threshold]
    min_score = min(marks)
    max_score = max(marks)
    if max_score - min_score <= 1e-9:
        max_score = min_score + 1.0
    peak = max([*counts, 1])
    top = math.log10(peak * 1.25 / _FLOOR)

    def x(value: float) -> float:
        return _LEFT + (value - min_score) / (max_score - min_score) * (
            WIDTH - _LEFT - _RIGHT
        )

    def tall(count: float) -> float:
        return math.log10(count / _FLOOR) / top * (HEIGHT - _TOP - _BOTTOM)

    bars = [
        Bar(
            x=x(start) + min(1.0, (x(end) - x(start)) * 0.1) / 2,
            y=HEIGHT - _BOTTOM - tall(count),
            width=max(x(end) - x(start) - min(1.0, (x(end) - x(start)) * 0.1), 0.5),
            height=tall(count),
            label=f"score {start:.3f} to {end:.3f}: {counted(count, 'post')}",
            # A bin that the threshold cuts takes the side of its middle; the line itself is exact.
            above=threshold is not None and (start + end) / 2 >= threshold,
            row=(f"{start:.3f} to {end:.3f}", count),
        )
        for start, end, count in zip(edges, edges[1:], counts, strict=False)
        if count > 0
    ]
    powers = [10**power for power in range(int(math.log10(peak * 1.25)) + 1)]
    return BarChart(
        bars,
        [Tick(x(value), label) for value, label in _ticks(min_score, max_score)],
        [Tick(HEIGHT - _BOTTOM - tall(power), f"{power:,}") for power in powers],
        [bar.row for bar in bars],
        None if threshold is None else Tick(x(threshold), f"threshold {threshold:.4g}"),
    )


def timeline_chart(
    dates: Iterable[datetime] | Mapping[datetime, int],
) -> BarChart | None:
    """Posts by hour, day, month or year, depending on the span; None without dates.

    `dates` are one of each post, or the number of posts for each.
    """
    posts = Counter(dates)
    if not posts:
        return None
    dates = list(posts)
    span = max(dates) - min(dates)
    unit = next(unit for unit, (longest, *_) in _UNITS.items() if span <= longest)
    _, form, steps = _UNITS[unit]
    counts: Counter[int] = Counter()
    for date, count in posts.items():
        counts[_bin(date, unit)] += count
    start_bin = min(counts)
    end_bin = max(counts)
    slots = end_bin - start_bin + 1
    step = (WIDTH - _LEFT - _RIGHT) / max(slots, 12)
    y_ticks = [
        (v, label) for v, label in _ticks(0, max(counts.values())) if v == int(v)
    ]
    tallest = max(counts.values()) * 1.08

    def tall(count: float) -> float:
        return count / tallest * (HEIGHT - _TOP - _BOTTOM)

    def name(slot: int) -> str:
        return _start(slot, unit).strftime(form)

    gap = min(1, step * 0.1)
    bars = [
        Bar(
            x=_LEFT + (slot - start_bin) * step + gap / 2,
            y=HEIGHT - _BOTTOM - tall(count),
            width=max(step - gap, 0.8),
            height=tall(count),
            label=f"{name(slot)}: {counted(count, 'post')}",
            above=True,
            row=(name(slot), count),
            slot=slot - start_bin,
        )
        for slot, count in sorted(counts.items())
    ]
    # Hours at midnight and noon, months in January: where a reader looks for them.
    label_step = next((n for n in steps if slots / n <= 6), math.ceil(slots / 6))
    x_ticks = [
        Tick(_LEFT + (slot - start_bin + 0.5) * step, name(slot))
        for slot in range(start_bin + -start_bin % label_step, end_bin + 1, label_step)
    ]
    return BarChart(
        bars,
        x_ticks,
        [
            Tick(HEIGHT - _BOTTOM - tall(value), f"{int(value):,}")
            for value, _ in y_ticks
        ],
        [bar.row for bar in bars],
        unit=unit,
        first_bin=start_bin,
    )


def curve_chart(points: Sequence[tuple[int, int]]) -> BarChart:
    """A count (second) that each step (first) raises by one at most, and the line if each did."""
    steps = max(points[-1][0], 1)
    total = max(points[-1][1], 1)
    sampled_points = [
        points[len(points) * index // _POINTS] for index in range(_POINTS)
    ]

    def x(step: float) -> float:
        return _LEFT + step / steps * (WIDTH - _LEFT - _RIGHT)

    def y(count: float) -> float:
        return HEIGHT - _BOTTOM - count / (total * 1.08) * (HEIGHT - _TOP - _BOTTOM)

    def line(points: Iterable[tuple[int, int]]) -> str:
        return " ".join(f"{x(step):.1f},{y(count):.1f}" for step, count in points)

    row_step = max(1, math.ceil(len(points) / _ROWS))
    rows = points[::-row_step][::-1]
    return BarChart(
        [],
        [Tick(x(v), f"{v:,.0f}") for v, _ in _ticks(0, steps) if v == int(v)],
        [Tick(y(v), f"{v:,.0f}") for v, _ in _ticks(0, total) if v == int(v)],
        [(f"{step:,}", count) for step, count in rows],
        curves=(line([(0, 0), (total, total)]), line([*sampled_points, points[-1]])),
    )


def _ticks(minimum: float, maximum: float) -> list[tuple[float, str]]:
    """Round values from low to high, eight at most."""
    rough = (maximum - minimum) / 8
    power = 10 ** math.floor(math.log10(rough))
    step = next(size * power for size in (1, 2, 5, 10) if size * power >= rough)
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    first_multiple = math.ceil(minimum / step - 1e-9)
    last_multiple = math.floor(maximum / step + 1e-9)
    return [
        (n * step, f"{n * step + 0.0:.{decimals}f}")
        for n in range(first_multiple, last_multiple + 1)
    ]


def moment(value: Any) -> datetime | None:
    """A date as `iso_date` reads it, in UTC."""
    date = iso_date(value) if value else None
    return datetime.fromisoformat(date).replace(tzinfo=None) if date else None


def _bin(date: datetime, unit: str) -> int:
    """The number of the unit since 1970 that a date is in."""
    return int(np.datetime64(date, _CODES[unit]).astype(int))


def _start(slot: int, unit: str) -> Any:
    """The date at which a bin starts."""
    return np.datetime64(slot, _CODES[unit]).astype(object)
