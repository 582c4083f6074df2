"""Rebuild the leaderboard: python -m benchmarks.leaderboard [train | choose | score | table].

Without a step, all steps are done: train the missing models (hours on a CPU; --rows selects rows),
choose for rows that the lock lacks or has with other models or options, score what was not scored
yet, write the table. A row whose figures are not on this machine keeps its cells of the last table;
they are marked if the row has changed since.
"""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from siamese_news.errors import InputError

if TYPE_CHECKING:
    from benchmarks.leaderboard.rows import Board, Row

HERE = Path(__file__).parent
STEPS = ("train", "choose", "score", "table")


def main(arguments: list[str] | None = None) -> None:
    """Entry point; an `InputError` ends in one line, not in a traceback."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.leaderboard", description=__doc__
    )
    parser.add_argument("step", nargs="?", choices=STEPS, help="only this step")
    parser.add_argument("--rows", help="names, separated by commas; all without it")
    parser.add_argument("--tests", help="names, separated by commas; all without it")
    parser.add_argument(
        "--again", action="store_true", help="score again although there are figures"
    )
    parser.add_argument(
        "--board", type=Path, default=HERE / "rows.yaml", help="the rows"
    )
    parser.add_argument(
        "--records", type=Path, default=HERE, help="folder of lock.json and scored.json"
    )
    parser.add_argument("--models", type=Path, default=Path("bench-results/models"))
    parser.add_argument(
        "--sweep",
        type=Path,
        default=Path("outputs/reproduction"),
        help="the runs of the sweep",
    )
    parser.add_argument("--out", type=Path, default=Path("bench-results/leaderboard"))
    parser.add_argument(
        "--tables",
        type=Path,
        default=HERE.parent / "results",
        help="folder of leaderboard.csv and leaderboard_tests.csv",
    )
    try:
        run(parser.parse_args(arguments))
    except InputError as error:
        sys.exit(f"error: {error}")


def run(options: argparse.Namespace) -> None:
    """Do the selected steps.

    Raises:
        InputError: an unknown row or test, a row that is not locked as it is, or another command
            that scores.
    """
    from benchmarks.leaderboard.rows import SHIPPED, read_board
    from benchmarks.leaderboard.train import train
    from siamese_news.search.partial_results import output_lock

    board = read_board(options.board, options.models, options.sweep)
    names = _named("rows", options.rows, list(board.rows))
    tests = _named("tests", options.tests, list(board.tests))
    if options.step in ("train", None):
        for name in names:
            train(board, board.rows[name])
        for test in (test for test in tests if test in board.held_out):
            if any(
                test in board.rows[n].tests and board.rows[n].kind in SHIPPED
                for n in names
            ):
                train(board, board.stand_in(test))
    if options.step != "train":
        # Two commands at once would lose each other's lines.
        with output_lock(options.records / "scored.json"):
            _choose_and_score(options, board, names, tests)


def _choose_and_score(
    options: argparse.Namespace, board: "Board", names: list[str], tests: list[str]
) -> None:
    from benchmarks.dev_pools import shared_dev_pools
    from benchmarks.leaderboard.choose import choose
    from benchmarks.leaderboard.csv_tables import read_tables, write_tables
    from benchmarks.leaderboard.figures import Figures, mean_ap
    from benchmarks.leaderboard.lock import Ledger, Lock
    from benchmarks.leaderboard.score import score, score_key, stored_figures
    from benchmarks.leaderboard.systems import Ground, missing
    from benchmarks.leaderboard.table import leaderboard

    lock = Lock(options.records / "lock.json", board)
    ledger = Ledger(options.records / "scored.json")
    ground = Ground(board)
    skipped = {
        name: why for name in board.rows if (why := missing(ground, board.rows[name]))
    }
    wanted = [board.rows[name] for name in names if name not in skipped]
    for name in names:
        if name in skipped:
            print(f"{name}: not scored: {skipped[name]}", flush=True)

    if options.step in ("choose", None):
        new = [row for row in wanted if options.step == "choose" or lock.changed(row)]
        pools = shared_dev_pools() if any(row.weights for row in new) else []
        for row in new:
            choose(ground, row, lock, pools)
    if options.step in ("score", None):
        for row in wanted:
            for test in (test for test in tests if test in row.tests):
                if lacking := missing(ground.for_test(test), row):
                    print(f"{row.name} on {test}: not scored: {lacking}", flush=True)
                    continue
                figures = score(
                    ground, row, test, lock, ledger, options.out, options.again
                )
                mean = sum(map(mean_ap, figures)) / len(figures)
                print(f"{row.name} on {test}: MAP {mean:.3f}", flush=True)
    if options.step == "choose":
        return
    scores: dict[str, dict[str, list[Figures]]] = {test: {} for test in board.tests}
    for row in board.rows.values():
        if changed := lock.changed(row):
            if row.name in names and row.name not in skipped:
                other = f"with other {', '.join(changed)}"
                how = f"locked {other}" if row.name in lock else "not locked"
                print(f"{row.name}: {how}", flush=True)
            continue
        for test in row.tests:
            figures = stored_figures(
                options.out, row, test, score_key(lock, board, row, test)
            )
            if figures is not None:
                scores[test][row.name] = figures

    def current(row: "Row", test: str) -> bool:
        return not lock.changed(row) and ledger.last_key(row.name, test) == lock.key(
            row
        )

    earlier = read_tables(options.tables)
    tables = leaderboard(board, scores, ledger, current, earlier)
    write_tables(options.tables, tables)
    print(f"{options.tables}; python -m benchmarks.results_page shows it")


def _named(what: str, value: str | None, known: list[str]) -> list[str]:
    if value is None:
        return known
    names = value.split(",")
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise InputError(
            f"--{what}: no {', '.join(unknown)}; expected among {', '.join(known)}"
        )
    return names


if __name__ == "__main__":
    main()
