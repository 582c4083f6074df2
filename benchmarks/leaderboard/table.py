"""The leaderboard as Markdown, from stored figures."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.leaderboard.figures import Figures, event_interval
from benchmarks.leaderboard.lock import Ledger
from benchmarks.leaderboard.rows import Board, Row
from benchmarks.leaderboard.sets import LEAK, open_test
from siamese_news.metrics import bootstrap_interval, randomisation_test
from siamese_news.utils.markdown import markdown_table
from siamese_news.utils.provenance import provenance

Scores = Mapping[str, Mapping[str, Sequence[Figures]]]
"""Test -> row -> figures, one for each seed."""

_ABOUT = """\
MAP: mean over articles of the average precision over the whole pool. Micro AP and AUC: all pairs in
one list. Where a row has several seeds its figures are means over them, with the lowest and highest
MAP behind. *95%*: percentile bootstrap over articles (of the mean over seeds), for `usatoday-cnn`
also over whole events, of which the test has few. *p*: two-sided paired randomisation test of the
average precision by article against the peer with the highest MAP on this very test, which favours
the peers. *mean*: of MAP or AP over the tests; *worst difference*: the lowest difference to the
strongest peer of a test; *p of all*: the paired test over all articles of all tests, each against
the strongest peer of its test. *posts/s*: encoding and scoring the pool of this very test against
all its articles, CPU time of one thread, articles and background ready (MiniLM: from a sample of
the posts); it differs from test to test. The rows *the paper's training* differ in the encoder
alone (`siamese_news.reproduce paper=ast table=1`); those of the released code and of our training
have settings of their own, listed in `benchmarks/leaderboard/rows.yaml`. Every choice is in
`benchmarks/leaderboard/lock.json` with the dev figures that made it.
`benchmarks/leaderboard/scored.json` has every scoring by `python -m benchmarks.leaderboard` since
2026-11-21, 13:54 UTC; *scored* counts these. The model that ships was scored three times before
that, with earlier versions, which the ledger does not have."""

_NOTES = {
    "events-dev": "**The numbers of our scores were chosen on it**: a look at a kind of pool that "
    "no test has, not a claim. 12 crises in one pool, 16 short briefs as seeds, four of them in "
    "other languages than English.",
    "politifact-dev": "**The numbers of our scores were chosen on it**. Fact checks and the tweets "
    "that they answer, one to three each.",
    "crisislex-boston": "One ranking by the mean score over 38 seed articles; *one seed article*: "
    "mean, lowest and highest AP of the rankings by a single one.",
    "usatoday-cnn-pairs": "**This split leaks**: single pairs are dealt at random, as the paper "
    "did, so that every test article and every event was seen in training. Only rows that were "
    "trained by pair belong here; the peers, which are not trained on pairs, show how easy it is. "
    "The figures cannot be compared with those by event, which have other articles and posts.",
}


def leaderboard(board: Board, scores: Scores, skipped: Mapping[str, str], ledger: Ledger) -> str:
    """Write all tables.

    Args:
        board: rows and tests.
        scores: the figures of the scored rows.
        skipped: row -> why it was not scored.
        ledger: how often each row was scored.
    """
    parts = ["# Leaderboard", _summary(board, scores), _ABOUT]
    for test in board.tests:
        row_figures = scores.get(test, {})
        if not row_figures:
            continue
        parts += [f"## {test}" + (" (leaks)" if test in LEAK else "")]
        if test in _NOTES:
            parts.append(_NOTES[test])
        parts.append(_test_table(board, test, row_figures, ledger))
    if skipped:
        lines = [f"- {board.rows[name].title}: {reason}" for name, reason in skipped.items()]
        parts += ["## Rows not scored", "\n".join(lines)]
    about: Any = provenance()
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    parts.append(
        f"`{about['command']}` · {about['date']} · revision {about['revision']} · bootstrap and "
        f"randomisation seed 0 · Python {about['python']}, {versions} · {about['machine']}"
    )
    return "\n\n".join(parts) + "\n"


def _summary(board: Board, scores: Scores) -> str:
    rows = []
    for row in board.rows.values():
        line: dict[str, Any] = {"system": row.title}
        for test in board.tests:
            if test in LEAK:
                continue
            seeds = scores.get(test, {}).get(row.name)
            one_story = open_test(test).one_story
            line[f"{test} {'AP' if one_story else 'MAP'}"] = _three(_map(seeds) if seeds else None)
            if not one_story:
                micro = _mean(f.micro for f in seeds) if seeds else None
                line[f"{test} micro AP"] = _three(micro)
        if any(test in scores and row.name in scores[test] for test in board.tests):
            rows.append(line | _together(board, scores, row))
    return markdown_table(rows)


def _together(board: Board, scores: Scores, row: Row) -> dict[str, str]:
    """Over all tests but those that leak: the mean, and the difference to each strongest peer."""
    tests = [test for test in board.tests if test not in LEAK]
    peers = {test: strongest_peer(board, scores.get(test, {})) for test in tests}
    found = [test for test in tests if row.name in scores.get(test, {}) and peers[test]]
    if len(found) < len(tests):
        return {"mean": "–", "worst difference": "–", "p of all": "–"}
    mine, theirs, differences = [], [], []
    for test in tests:
        own, other = scores[test][row.name], scores[test][peers[test] or ""]
        differences.append(_map(own) - _map(other))
        by_article = _by_article(other)
        mine += list(_by_article(own).values())
        theirs += [by_article[article] for article in _by_article(own)]
    p = randomisation_test(mine, theirs)
    return {
        "mean": _three(_mean(_map(scores[test][row.name]) for test in tests)),
        "worst difference": f"{min(differences):+.3f}",
        "p of all": "< .0001" if p < 1e-4 else f"{p:.4f}",
    }


def strongest_peer(board: Board, scores: Mapping[str, Sequence[Figures]]) -> str | None:
    """The peer with the highest MAP; None where no peer was scored."""
    peers = [name for name in scores if board.rows[name].peer]
    return max(peers, key=lambda name: _map(scores[name]), default=None)


def _test_table(
    board: Board, test: str, scores: Mapping[str, Sequence[Figures]], ledger: Ledger
) -> str:
    data = open_test(test)
    events = {a.id: str(a.metadata["event"]) for a in data.articles if "event" in a.metadata}
    peer = strongest_peer(board, scores)
    rows = []
    for row in board.rows.values():
        if row.name not in scores:
            continue
        figures = scores[row.name]
        spread = [float(np.mean(list(f.ap.values()))) for f in figures]
        line: dict[str, Any] = {"system": row.title, "seeds": str(len(figures))}
        name = "AP" if data.one_story else "MAP"
        line[name] = _three(_map(figures)) + _range(spread)
        ap = _by_article(figures)
        if data.one_story:
            single = _mean_of([f.seeds for f in figures])
            line["one seed article"] = _three(_mean(single.values())) + _range(single.values())
        else:
            line["95%"] = _interval(bootstrap_interval(list(ap.values())))
            if len(set(events.values())) > 1 and test not in LEAK:
                line["95% by event"] = _interval(event_interval(ap, events))
            line["micro AP"] = _three(_mean(f.micro for f in figures))
            if len(figures) == 1:
                line["micro AP"] += f" ({_interval(figures[0].micro_interval)})"
            line["p"] = ""
            if peer is not None and row.name != peer:
                other = _by_article(scores[peer])
                p = randomisation_test([ap[a] for a in ap], [other[a] for a in ap])
                line["p"] = "< .0001" if p < 1e-4 else f"{p:.4f}"
                line["p"] += " (below)" if _map(figures) < _map(scores[peer]) else ""
            elif row.name == peer:
                line["p"] = "*strongest peer*"
        line["AUC"] = _three(_mean(f.auc for f in figures))
        minutes = training_minutes(board, row)
        line["training min"] = "–" if minutes is None else f"{minutes:.1f}"
        line["posts/s"] = f"{_mean(f.posts / max(f.seconds, 1e-9) for f in figures):,.0f}"
        line["scored"] = f"{ledger.count(row.name, test)}x"
        rows.append(line)
    return markdown_table(rows)


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
