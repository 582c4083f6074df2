"""Score rows on tests; a row that was scored under the same lock is not scored again."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.leaderboard.figures import Figures, figures_of
from benchmarks.leaderboard.lock import Ledger, Lock, read, write
from benchmarks.leaderboard.rows import Board, Row, digest
from benchmarks.leaderboard.sets import LEAK, open_test, print_of
from benchmarks.leaderboard.systems import Ground, ModelSystem, System, open_row
from siamese_news.data.sources import EvaluationSet
from siamese_news.evaluate import refuse_overlap
from siamese_news.utils.files import atomic_write


def stored_figures(out: Path, row: Row, test: str, key: str) -> list[Figures] | None:
    """The figures of a row on a test, one for each seed; None unless scored under this key."""
    saved = read(_file(out, row, test), None)
    if saved is None or saved["key"] != key:
        return None
    return [Figures(**values) for values in saved["figures"]]


def score_key(lock: Lock, board: Board, row: Row, name: str) -> str:
    """A hash that identifies a locked row on exactly this test."""
    parts: list[Any] = [lock.key(row), print_of(open_test(name))]
    if name in board.held_out:
        parts.append(board.for_test(name).described(row, lock.entry(row)["choices"]))
    return digest(parts)


def score(
    ground: Ground,
    row: Row,
    name: str,
    lock: Lock,
    ledger: Ledger,
    out: Path,
    again: bool,
) -> list[Figures]:
    """Score a row on a test, unless its figures are stored already.

    Args:
        ground: the data that rows share.
        row: the row.
        name: of the test.
        lock: without the row's entry nothing is scored.
        ledger: gets a line for every scoring.
        out: the folder of scores and figures.
        again: score even if there are figures.

    Raises:
        InputError: the row differs from its lock, or a model was trained on the test.
    """
    test = open_test(name)
    key = score_key(lock, ground.board, row, name)
    figures = stored_figures(out, row, name, key)
    if figures is not None and not again:
        return figures
    choices = lock.entry(row)["choices"]
    ground = ground.for_test(name)
    systems = open_row(ground, row, choices, one_story=test.one_story)
    if name not in LEAK:
        for system in systems:
            _refuse(system, test, row)
    models = ground.board.described(row, choices).get("models", [])
    ledger.add(row.name, name, lock.key(row), models)
    articles = [article.full_text for article in test.articles]
    posts = [post.text for post in test.posts]
    figures = []
    for seed, system in enumerate(systems):
        scores, seconds = system(articles, posts)
        with atomic_write(
            _file(out, row, name).with_suffix(f".{seed}.npy"), "wb"
        ) as stream:
            np.save(stream, scores.astype(np.float32))
        figures.append(figures_of(scores, seconds, test))
    write(
        _file(out, row, name), {"key": key, "figures": [asdict(one) for one in figures]}
    )
    return figures


def _refuse(system: System, test: EvaluationSet, row: Row) -> None:
    parts = getattr(system, "parts", (system,))
    for part in parts:
        if isinstance(part, ModelSystem) and part.model.trained_on:
            refuse_overlap(part.model, test, row.name)


def _file(out: Path, row: Row, test: str) -> Path:
    return out / "scores" / test / f"{row.name}.json"
