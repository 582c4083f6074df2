"""Multirun as a user types it: one table over the jobs, finished jobs kept, ddp refused."""

import json
import subprocess
import sys

import pytest

SMALL = [
    "vectors.max_words=5000", "task.epochs=1", "task.batches=1", "task.bootstrap=0",
    "trainer.threads=1", "data.limits.article_tokens=40",
]  # fmt: skip


def train(folder, *arguments):
    command = [sys.executable, "-m", "siamese_news.train", *arguments, *SMALL]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)


def test_ddp_in_a_multirun_is_refused_with_the_fix(tmp_path):
    done = train(tmp_path, "-m", "encoder=bag", "trainer=ddp4", "trainer.accelerator=cpu")
    assert done.returncode != 0
    assert "trainer=ddp_spawn" in done.stderr + done.stdout


def test_a_mistake_is_one_line_not_a_traceback(tmp_path):
    done = train(tmp_path, "data=usatoday_cnn", "hydra.run.dir=x", "data.limits.keep=middle")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr + done.stdout


def test_an_option_that_was_renamed_is_answered_with_the_new_one(tmp_path):
    done = train(tmp_path, "task=rerank", "task.optimizer.name=adam")
    assert done.returncode == 2
    assert "task/optimizer=adam" in done.stderr
    assert not (tmp_path / "outputs").exists()


@pytest.mark.slow
def test_the_sweep_ends_in_one_table(tmp_path):
    names = ["bag", "cnn", "gru", "bigru", "star", "transformer"]
    arguments = ["-m", f"encoder={','.join(names)}", "hydra.sweep.dir=sweep"]
    done = train(tmp_path, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads((tmp_path / "sweep" / "table.json").read_text())
    assert [row["encoder"] for row in rows] == names
    assert "| bigru |" in done.stdout
    # The same command again: every job has its result, none runs twice.
    before = (tmp_path / "sweep" / "5" / "row.json").stat().st_mtime_ns
    again = train(tmp_path, *arguments)
    assert again.returncode == 0
    assert (tmp_path / "sweep" / "5" / "row.json").stat().st_mtime_ns == before
    assert "job skipped" in again.stdout + again.stderr


@pytest.mark.slow
def test_two_processes_train_in_a_sweep(tmp_path):
    done = train(tmp_path, "-m", "encoder=bag_idf", "trainer=ddp_spawn", "hydra.sweep.dir=sweep")
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = (json.loads(p.read_text()) for p in (tmp_path / "sweep").glob("*/row.json"))
    assert row["epochs"] == 1
