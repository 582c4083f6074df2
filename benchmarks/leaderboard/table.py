"""The leaderboard as Markdown, from stored figures."""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.leaderboard.figures import Figures, event_interval, mean_ap
from benchmarks.leaderboard.lock import Ledger
from benchmarks.leaderboard.rows import Board, Row
from benchmarks.leaderboard.sets import LEAK, open_test
from siamese_news.metrics import bootstrap_interval, randomization_test
from siamese_news.utils.markdown import markdown_table
from siamese_news.utils.provenance import provenance

Scores = Mapping[str, Mapping[str, Sequence[Figures]]]
"""Test -> row -> figures, one for each seed."""

Current = Callable[[Row, str], bool]
"""Whether the last scoring of a row on a test was one of the row as it is now."""

MARK = "†"

_ABOUT = """\
MAP: mean over articles of the average precision over the whole pool. Micro AP and AUC: all pairs in
one list. Where a row has several seeds its figures are means over them, with the lowest and highest
MAP behind. *95%*: percentile bootstrap over articles (of the mean over seeds), for `usatoday-cnn`
also over whole events, of which the test has few. *p*: two-sided paired randomization test of the
average precision by article against the peer with the highest MAP on this very test, which favors
the peers; left out where that peer was not scored along with the row. *mean*: of MAP or AP over the
columns; `crisislex-boston` counts twice, by all seeds and by one seed at a time (mean and lowest);
behind the figure of `events-dev` are those of its English seeds and of its four others. *Worst
difference*: the lowest difference to the strongest peer of a column; *p of all*: the paired test
over all articles of all columns, each against the strongest peer of its column. *posts/s*: encoding
and scoring the pool of this very test against all its articles, CPU time of one thread, articles
and background ready (sentence encoders: from a sample of the posts), on a machine with other work;
it differs from test to test. *s/question*: the same seconds for each article asked. *†*: scored
with another model or other options than the row has now. all-mpnet-base-v2 is computed in bfloat16
(cosines within .003 of float32's, at 2.4 times the speed), MiniLM in float32. The rows *the paper's
training* differ in the encoder alone (`papers paper=ast table=2`), and so do the rows *the released
code's training* (`papers paper=ast table=authors`, articles cut to their last 128 tokens). Our
training has settings of its own, listed in `benchmarks/leaderboard/rows.yaml`. The options that
were chosen for a row are in `benchmarks/leaderboard/lock.json` with the dev figures that made the
choice; what was chosen for the model that ships, and on which pools, is in RESULTS.md and
docs/quality.md. `benchmarks/leaderboard/scored.json` has every scoring by `python -m
benchmarks.leaderboard` since 2026-11-21, 13:54 UTC; *scored* counts these. The model that ships was
scored three times before that, with earlier versions, which the ledger does not have."""

_NOTES = {
    "events-dev": "**The numbers of our scores were chosen on it**: a look at a kind of pool that "
    "no test has, not a claim. 12 crises in one pool, 16 short briefs as seeds, four of them in "
    "other languages than English.",
    "politifact-dev": "**The numbers of our scores were chosen on it**. Fact checks and the tweets "
    "that they answer, one to three each.",
    "factcheck-dev": "**Some numbers of our scores were chosen on it**. Fact checks of some 40 "
    "newsrooms and the tweets that they answer.",
    "claims-dev": "**Some numbers of our scores were chosen on it**. Claims of one sentence in "
    "five languages, posts of all of them in one pool.",
    "fox-comments": "**Some numbers of our scores were chosen on it**. Readers' comments under ten "
    "stories; people answer without naming the matter.",
    "dast-da": "**Some numbers of our scores were chosen on it**. Comments of Danish Reddit on 14 "
    "stories, each asked for by a Danish brief.",
    "crisislex-boston": "One ranking by the mean score over 38 seed articles; *one seed article*: "
    "mean, lowest and highest AP of the rankings by a single one.",
    "webis": "**The numbers of our scores were chosen on it**. Clickbait posts and the article "
    "behind each. The model that ships and the background hold its texts, so both are made without "
    "them for this test: the rows of the shipped model are its training without them (seed 0).",
    "usatoday-cnn-pairs": "**This split leaks**: single pairs are dealt at random, as the paper "
    "did, so that every test article and every event was seen in training. Only rows that were "
    "trained by pair belong here; the peers, which are not trained on pairs, show how easy it is. "
    "The figures cannot be compared with those by event, which have other articles and posts.",
}


Earlier = Mapping[str, Mapping[str, Mapping[str, str]]]
"""Heading -> title of a row -> column -> cell, as a leaderboard has them."""


def leaderboard(
    board: Board,
    scores: Scores,
    skipped: Mapping[str, str],
    ledger: Ledger,
    current: Current,
    earlier: str = "",
) -> str:
    """Write all tables.

    Args:
        board: rows and tests.
        scores: the figures of the scored rows.
        skipped: row -> why it was not scored.
        ledger: how often each row was scored.
        current: tells which of the kept cells get no mark.
        earlier: the table so far; a row without figures keeps the cells that it has there.
    """
    before = read_tables(earlier)
    parts = ["# Leaderboard", _summary(board, scores, current, before), _ABOUT]
    for test in board.tests:
        row_figures = scores.get(test, {})
        heading = test + (" (leaks)" if test in LEAK else "")
        if not row_figures and heading not in before:
            continue
        parts += [f"## {heading}"]
        if test in _NOTES:
            parts.append(_NOTES[test])
        old = before.get(heading, {})
        parts.append(_test_table(board, test, row_figures, ledger, current, old))
    lines = [
        f"- {board.rows[name].title}: {reason}" for name, reason in skipped.items()
    ]
    for row in board.rows.values():
        lacking = [test for test in row.tests if row.name not in scores.get(test, {})]
        if lacking and row.name not in skipped:
            lines.append(f"- {row.title}: not scored on {', '.join(lacking)}")
    if lines:
        about_lines = (
            "Where such a row has figures, they are those of the table before."
        )
        parts += ["## Not scored for this table", about_lines, "\n".join(lines)]
    about: Any = provenance()
    versions = ", ".join(
        f"{name} {version}" for name, version in about["versions"].items()
    )
    parts.append(
        f"`python -m benchmarks.leaderboard` · {about['date']} · revision {about['revision']} · "
        f"bootstrap and randomization seed 0 · Python {about['python']}, {versions} · "
        f"{about['machine']}"
    )
    return "\n\n".join(parts) + "\n"


def read_tables(text: str) -> Earlier:
    """The cells of all tables of a leaderboard, whose titles are unique below a heading."""
    heading = ""
    head = list[str]()
    found: dict[str, dict[str, dict[str, str]]] = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        if line.startswith("#"):
            heading, head = line.lstrip("# "), []
        elif line.startswith("|") and not head:
            head = cells
        elif line.startswith("| ") and len(cells) == len(head):
            row = dict(zip(head, cells, strict=True))
            found.setdefault(heading, {})[row["system"]] = row
    return found


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


def _summary(board: Board, scores: Scores, current: Current, before: Earlier) -> str:
    rows = []
    for row in board.rows.values():
        line: dict[str, Any] = {"system": row.title}
        old = before.get("Leaderboard", {}).get(row.title, {})
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
            together = _together(board, scores, row, before.get("Leaderboard", {}))
            rows.append(
                line | {t: c if scored else old.get(t, c) for t, c in together.items()}
            )
    return markdown_table(rows)


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
    board: Board, scores: Scores, row: Row, before: Mapping[str, Mapping[str, str]]
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
    before: Mapping[str, Mapping[str, str]],
) -> str:
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
        line: dict[str, Any] = {"system": row.title, "seeds": str(len(figures))}
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
            line["p"] = old["p"] if peer is None and old.get(name) == line[name] else ""
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
            (title for title, old in before.items() if old["p"] == _STRONGEST), None
        )
        tested = {board.rows[name].title for name in scores} if peer else set()
        _against_one_peer(rows, peers, before.get(earlier or "", {}), tested)
    return markdown_table(rows)


_STRONGEST = "*strongest peer*"


def _against_one_peer(
    rows: Sequence[dict[str, Any]],
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
        elif row["p"] == _STRONGEST or not (
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
