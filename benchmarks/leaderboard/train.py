"""The models of the rows, trained where they are not there yet."""

import subprocess
import sys

from benchmarks.leaderboard.rows import Board, Row
from benchmarks.leaderboard.sweep import train_sweep
from siamese_news.errors import InputError


def train(board: Board, row: Row) -> None:
    """Train the seeds of a row that have no model folder; an interrupted training continues.

    Args:
        board: says where models lie.
        row: the row; nothing is done for one that is not trained.

    Raises:
        InputError: a training ended with an error.
    """
    if row.sweep is not None:
        train_sweep(row.sweep, board.sweep)
    for seed in row.seeds if row.train else ():
        folder = board.models / row.name / str(seed)
        if any(folder.rglob("SHA256SUMS")):
            continue
        command = [sys.executable, "-m", "siamese_news.train", *row.train]
        command += [f"seed={seed}", f"hydra.run.dir={folder}"]
        print(f"{row.name}: training seed {seed}", flush=True)
        if subprocess.run(command).returncode:
            raise InputError(f"{row.name}: training failed: {' '.join(command[1:])}")
