"""Loggers of other makers, as a user names them: their files hold the figures of the run."""

import json
import sqlite3
import subprocess
import sys

import pytest

SMALL = [
    *("encoder=bag_idf", "encoder.output_dim=8", "vectors.max_words=4000"),
    *("task.epochs=2", "task.bootstrap=0", "trainer.threads=1", "hydra.run.dir=out"),
]
pytestmark = pytest.mark.slow


def train(folder, *options):
    command = [sys.executable, "-m", "siamese_news.train", *SMALL, *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads((folder / "out" / "row.json").read_text())


def test_mlflow(tmp_path):
    pytest.importorskip("mlflow")
    store = f"sqlite:///{tmp_path}/runs.db"
    logger = "pytorch_lightning.loggers.MLFlowLogger"
    options = (f"+logger.mlflow._target_={logger}", "logger=none")
    row = train(tmp_path, *options, f"+logger.mlflow.tracking_uri={store}")
    with sqlite3.connect(tmp_path / "runs.db") as database:
        logged = set(database.execute("SELECT key, round(value, 4) FROM metrics"))
        parameters = dict(database.execute("SELECT key, value FROM params"))
    # The saved weights are those of one of the epochs.
    assert ("dev/map", round(row["dev map"], 4)) in logged
    assert "train/loss" in dict(logged) and "encoder/_target_" in parameters


def test_weights_and_biases_without_a_network(tmp_path):
    pytest.importorskip("wandb")
    train(tmp_path, "logger=wandb")
    (run,) = (tmp_path / "out" / "logs").glob("wandb/offline-run-*/*.wandb")
    assert run.stat().st_size > 1000


def test_tensorboard_and_csv(tmp_path):
    events = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator"
    )
    train(tmp_path, "logger=[csv,tensorboard]")
    (file,) = (tmp_path / "out" / "logs").rglob("events.out.*")
    read = events.EventAccumulator(str(file))
    read.Reload()
    assert len(read.Scalars("dev/map")) == 2
    (table,) = (tmp_path / "out" / "logs").rglob("metrics.csv")
    assert "dev/map" in table.read_text()
