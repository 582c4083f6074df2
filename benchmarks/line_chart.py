"""A line chart as SVG for pages and documents, without other files or scripts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

_WIDTH, _HEIGHT = 760, 340
_LEFT = 64
_RIGHT = 150
_TOP = 34
_BOTTOM = 48


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a chart, with its name in the legend; with `dots`, only its points are drawn."""

    name: str
    points: Sequence[tuple[float, float]]
    color: str
    dashed: bool = False
    dots: bool = False


def line_chart(
    lines: Sequence[Line],
    *,
    title: str,
    x_name: str,
    y_name: str,
    log_x: bool = False,
    low: float,
    high: float,
) -> str:
    """Draw lines over two named axes; the y axis goes from `low` to `high`.

    At least one line has a point. The title is also for screen readers.
    """
    xs = [x for line in lines for x, _ in line.points]
    x_low, x_high = min(xs), max(xs)
    x_high = x_high if x_high > x_low else x_low + 1
    high = high if high > low else low + 1

    def at_x(value: float) -> float:
        if log_x:
            part = math.log(value / x_low) / math.log(x_high / x_low)
        else:
            part = (value - x_low) / (x_high - x_low)
        return _LEFT + part * (_WIDTH - _LEFT - _RIGHT)

    def at_y(value: float) -> float:
        part = (min(max(value, low), high) - low) / (high - low)
        return _HEIGHT - _BOTTOM - part * (_HEIGHT - _TOP - _BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{escape(title, {chr(34): "&quot;"})}" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
        f'<text x="{_LEFT}" y="18" font-size="14" fill="#111">{escape(title)}</text>',
    ]
    bottom = _HEIGHT - _BOTTOM
    right = _WIDTH - _RIGHT
    for value in _ticks(low, high):
        y = at_y(value)
        parts.append(
            f'<line x1="{_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
        )
        parts.append(
            f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" fill="#333">'
            f"{_number(value)}</text>"
        )
    for value in _log_ticks(x_low, x_high) if log_x else _ticks(x_low, x_high):
        x = at_x(value)
        parts.append(
            f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle" fill="#333">'
            f"{_number(value)}</text>"
        )
    middle = (_LEFT + right) / 2
    parts.append(
        f'<text x="{middle}" y="{_HEIGHT - 10}" text-anchor="middle" fill="#333">'
        f"{escape(x_name)}</text>"
    )
    parts.append(
        f'<text x="14" y="{(_TOP + bottom) / 2}" text-anchor="middle" fill="#333" '
        f'transform="rotate(-90 14 {(_TOP + bottom) / 2})">{escape(y_name)}</text>'
    )
    for number, line in enumerate(lines):
        places = [(at_x(x), at_y(y)) for x, y in line.points]
        parts.append(_drawn(line, places))
        y = _TOP + 16 * number + 8
        parts.append(
            f'<rect x="{right + 10}" y="{y - 9}" width="10" height="10" fill="{line.color}"/>'
            f'<text x="{right + 25}" y="{y}" fill="#111">{escape(line.name)}</text>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _drawn(line: Line, places: Sequence[tuple[float, float]]) -> str:
    if line.dots:
        return "".join(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{line.color}"/>'
            for x, y in places
        )
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    dash = ' stroke-dasharray="5 4"' if line.dashed else ""
    return (
        f'<path d="{path}" fill="none" stroke="{line.color}" stroke-width="2"{dash}/>'
    )


def _ticks(low: float, high: float) -> list[float]:
    rough = (high - low) / 6
    power = 10 ** math.floor(math.log10(rough))
    step = next(size * power for size in (1, 2, 5, 10) if size * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [
        d * 10.0**p for p in powers for d in (1, 2, 5) if low <= d * 10.0**p <= high
    ]


def _number(value: float) -> str:
    return (
        f"{value:,.0f}" if abs(value) >= 10 or value == int(value) else f"{value:.3g}"
    )
