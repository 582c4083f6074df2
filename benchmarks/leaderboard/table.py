"""The tables of the leaderboard, from stored figures."""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.leaderboard.csv_tables import SUMMARY, Tables, by_system
from benchmarks.leaderboard.figures import Figures, event_interval, mean_ap
from benchmarks.leaderboard.lock import Ledger
from benchmarks.leaderboard.rows import Board, Row
from benchmarks.leaderboard.sets import LEAK, open_test
from siamese_news.metrics import bootstrap_interval, randomization_test

Scores = Mapping[str, Mapping[str, Sequence[Figures]]]
"""Test -> row -> figures, one for each seed."""

Current = Callable[[Row, str], bool]
"""Whether the last scoring of a row on a test was one of the row as it is now."""

MARK = "†"

Cells = Mapping[str, str]
"""Column -> cell of a row of the tables so far."""


def leaderboard(
    board: Board, scores: Scores, ledger: Ledger, current: Current, earlier: Tables
) -> Tables:
    """Make all tables.

    Args:
        board: rows and tests.
        scores: the figures of the scored rows.
        ledger: how often each row was scored.
        current: tells which of the kept cells get no mark.
        earlier: the tables so far; a row without figures keeps the cells that it has there.
    """
    before = {test: by_system(rows) for test, rows in earlier.items()}
    tables = {SUMMARY: _summary(board, scores, current, before.get(SUMMARY, {}))}
    for test in board.tests:
        row_figures = scores.get(test, {})
        if row_figures or test in before:
            old = before.get(test, {})
            tables[test] = _test_table(board, test, row_figures, ledger, current, old)
    return tables


def _kept(cell: str, current: bool) -> str:
    return cell if current or cell == "–" or cell.endswith(MARK) else f"{cell} {MARK}"


@dataclass(frozen=True)
class Column:
    """What counts once in the mean over columns, in the worst difference and in the test of all.

    Attributes:
        title: its head.
        test: the test.
        single: the rankings by single seeds of a test of one story, not that by all of them.
    """

    title: str
    test: str
    single: bool = False

    def ap(self, figures: Sequence[Figures]) -> dict[str, float]:
        """Article -> average precision, mean over the seeds of a training."""
        return _mean_of([one.seeds if self.single else one.ap for one in figures])

    def value(self, figures: Sequence[Figures]) -> float:
        """The mean average precision."""
        return _mean(self.ap(figures).values())


def columns(board: Board) -> list[Column]:
    """The columns of all tests but those that leak; a test of one story has two."""
    found = []
    for test in board.tests:
        if test in LEAK:
            continue
        one_story = open_test(test).one_story
        found.append(Column(f"{test} {'AP' if one_story else 'MAP'}", test))
        if one_story:
            found.append(Column(f"{test} one seed (lowest)", test, single=True))
    return found


def _summary(
    board: Board, scores: Scores, current: Current, before: Mapping[str, Cells]
) -> list[dict[str, str]]:
    rows = []
    for row in board.rows.values():
        line = {"system": row.title}
        old = before.get(row.title, {})
        for column in columns(board):
            figures = scores.get(column.test, {}).get(row.name)
            cells = {column.title: _cell(column, figures) if figures else None}
            if not open_test(column.test).one_story:
                micro = _three(_mean(one.micro for one in figures)) if figures else None
                cells[f"{column.test} micro AP"] = micro
            for title, cell in cells.items():
                kept = _kept(old.get(title, "–"), current(row, column.test))
                line[title] = kept if cell is None else cell
        if set(list(line.values())[1:]) != {"–"}:
            scored = any(row.name in found for found in scores.values())
            together = _together(board, scores, row, before)
            rows.append(
                line | {t: c if scored else old.get(t, c) for t, c in together.items()}
            )
    return rows


def _cell(column: Column, figures: Sequence[Figures]) -> str:
    ap = column.ap(figures)
    if column.single:
        return f"{_three(_mean(ap.values()))} ({_three(min(ap.values()))})"
    by_language = _by_language(column.test, ap)
    if "en" not in by_language:
        return _three(_mean(ap.values()))
    others = [
        one
        for language, some in by_language.items()
        if language != "en"
        for one in some
    ]
    parts = f"{_three(_mean(by_language['en']))}; {_three(_mean(others))}"
    return f"{_three(_mean(ap.values()))} ({parts})"


def _by_language(test: str, ap: Mapping[str, float]) -> dict[str, list[float]]:
    """Language -> average precision of the articles in it; empty where all are in one."""
    found: dict[str, list[float]] = {}
    for article in open_test(test).articles:
        if article.id in ap:
            found.setdefault(str(article.metadata.get("lang", "en")), []).append(
                ap[article.id]
            )
    return dict(sorted(found.items())) if len(found) > 1 else {}


def _together(
    board: Board, scores: Scores, row: Row, before: Mapping[str, Cells]
) -> dict[str, str]:
    """Over all columns: the mean, and the difference to each strongest peer.

    Dashes where a column lacks the row, or has its strongest peer in the table `before` alone.
    """
    differences: dict[str, float] = {}
    values = []
    mine = []
    theirs = []
    for column in columns(board):
        found = scores.get(column.test, {})
        peer = strongest_peer(board, found, column)
        earlier = max(
            (
                _number(before[other.title].get(column.title, "–"))
                for other in board.rows.values()
                if other.peer and other.name not in found and other.title in before
            ),
            default=0.0,
        )
        if row.name not in found or peer is None or column.value(found[peer]) < earlier:
            return {"mean": "–", "worst difference": "–", "p of all": "–"}
        own = column.ap(found[row.name])
        other = column.ap(found[peer])
        values.append(_mean(own.values()))
        differences[f"{column.test}, one seed" if column.single else column.test] = (
            values[-1] - _mean(other.values())
        )
        mine += list(own.values())
        theirs += [other[article] for article in own]
    p = randomization_test(mine, theirs)
    worst = min(differences, key=lambda one: differences[one])
    return {
        "mean": _three(_mean(values)),
        "worst difference": f"{differences[worst]:+.3f} ({worst})",
        "p of all": "< .0001" if p < 1e-4 else f"{p:.4f}",
    }


def strongest_peer(
    board: Board, scores: Mapping[str, Sequence[Figures]], column: Column
) -> str | None:
    """The peer with the highest value of a column; None where no peer was scored."""
    peers = [name for name in scores if board.rows[name].peer]
    return max(peers, key=lambda name: column.value(scores[name]), default=None)


def _test_table(
    board: Board,
    test: str,
    scores: Mapping[str, Sequence[Figures]],
    ledger: Ledger,
    current: Current,
    before: Mapping[str, Cells],
) -> list[dict[str, str]]:
    data = open_test(test)
    events = {
        a.id: str(a.metadata["event"]) for a in data.articles if "event" in a.metadata
    }
    peer = strongest_peer(board, scores, Column(test, test))
    rows = []
    for row in board.rows.values():
        if row.name not in scores:
            if test in row.tests and row.title in before:
                old = before[row.title]
                rows.append({**old, "scored": _kept(old["scored"], current(row, test))})
            continue
        figures = scores[row.name]
        spread = list(map(mean_ap, figures))
        line = {"system": row.title, "seeds": str(len(figures))}
        name = "AP" if data.one_story else "MAP"
        line[name] = _three(_map(figures)) + _range(spread)
        ap = _by_article(figures)
        if data.one_story:
            single = _mean_of([f.seeds for f in figures])
            line["one seed article"] = _three(_mean(single.values())) + _range(
                single.values()
            )
        else:
            line["95%"] = _interval(bootstrap_interval(list(ap.values())))
            if len(set(events.values())) > 1 and test not in LEAK:
                line["95% by event"] = _interval(event_interval(ap, events))
            for language, some in _by_language(test, ap).items():
                line[f"{language} ({len(some)})"] = _three(_mean(some))
            line["micro AP"] = _three(_mean(f.micro for f in figures))
            if len(figures) == 1:
                line["micro AP"] += f" ({_interval(figures[0].micro_interval)})"
            # The peers may not be here; the test of the same figures is still the same.
            old = before.get(row.title, {})
            line["p"] = (
                old.get("p", "") if peer is None and old.get(name) == line[name] else ""
            )
            if peer is not None and row.name != peer:
                other = _by_article(scores[peer])
                p = randomization_test([ap[a] for a in ap], [other[a] for a in ap])
                line["p"] = "< .0001" if p < 1e-4 else f"{p:.4f}"
                line["p"] += " (below)" if _map(figures) < _map(scores[peer]) else ""
            elif row.name == peer:
                line["p"] = _STRONGEST
        line["AUC"] = _three(_mean(f.auc for f in figures))
        minutes = training_minutes(board, row)
        line["training min"] = "–" if minutes is None else f"{minutes:.1f}"
        line["posts/s"] = (
            f"{_mean(f.posts / max(f.seconds, 1e-9) for f in figures):,.0f}"
        )
        line["s/question"] = (
            f"{_mean(f.seconds for f in figures) / len(data.articles):.2f}"
        )
        line["scored"] = f"{ledger.count(row.name, test)}x"
        rows.append(line)
    if not data.one_story:
        peers = {row.title for row in board.rows.values() if row.peer}
        earlier = next(
            (title for title, old in before.items() if old.get("p") == _STRONGEST), ""
        )
        tested = {board.rows[name].title for name in scores} if peer else set()
        _against_one_peer(rows, peers, before.get(earlier, {}), tested)
    return rows


_STRONGEST = "*strongest peer*"


def _against_one_peer(
    rows: Sequence[dict[str, str]],
    peers: Container[str],
    earlier: Mapping[str, str],
    tested: Container[str],
) -> None:
    """Leave out the tests against any peer but the one with the highest MAP of all rows.

    The rows that were `tested` now were so against the strongest peer of these, and the others
    against the strongest of the table before, whose row is `earlier`.
    """
    strongest = max(
        (row for row in rows if row["system"] in peers),
        key=lambda row: _number(row["MAP"]),
        default=None,
    )
    if strongest is None:
        return
    is_tested = strongest["system"] in tested
    is_earlier = all(strongest[key] == earlier.get(key) for key in ("system", "MAP"))
    for row in rows:
        if row is strongest:
            row["p"] = _STRONGEST
        elif row.get("p") == _STRONGEST or not (
            is_tested if row["system"] in tested else is_earlier
        ):
            row["p"] = ""


def _number(cell: str) -> float:
    """The figure that a cell begins with; 0 for a dash."""
    return 0.0 if cell == "–" else float(cell.split()[0])


def training_minutes(board: Board, row: Row) -> float | None:
    """Mean training time of a row's models: of the row table, or what their cards say."""
    if row.minutes is not None:
        return row.minutes
    by_card = [_card_minutes(folder) for folder in board.folders(row)]
    known = [minutes for minutes in by_card if minutes is not None]
    return _mean(known) if known else None


def _card_minutes(folder: Path) -> float | None:
    """The value below ``minutes`` in the first table of a model card that has such a column."""
    lines = (folder / "README.md").read_text(encoding="utf-8").splitlines()
    tables = [[cell.strip() for cell in line.split("|")] for line in lines]
    for place, cells in enumerate(tables[:-2]):
        if "minutes" in cells:
            try:
                return float(tables[place + 2][cells.index("minutes")])
            except (ValueError, IndexError):
                return None
    return None


def _by_article(figures: Sequence[Figures]) -> dict[str, float]:
    return _mean_of([one.ap for one in figures])


def _mean_of(tables: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {key: _mean(table[key] for table in tables) for key in tables[0]}


def _map(figures: Sequence[Figures]) -> float:
    return _mean(_by_article(figures).values())


def _mean(values: Any) -> float:
    return float(np.mean(list(values)))


def _three(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}".replace("0.", ".", 1)


def _range(values: Any) -> str:
    some = list(values)
    return "" if len(some) < 2 else f" ({_three(min(some))}–{_three(max(some))})"


def _interval(bounds: Sequence[float]) -> str:
    return "–".join(_three(bound) for bound in bounds)
