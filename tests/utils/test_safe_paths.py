"""Files with the names of modules, in folders that somebody else made, are never run."""

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.planted import OF_PYTHON, Planted
from tests.storm import ARTICLE, corpus
from tests.training.test_ddp_commands import SMALL

from siamese_news.utils.processes import (
    copying,
    program_path,
    safe_paths,
    spawning,
)

COMMAND = Path(sys.executable).with_name("siamese-news")


@pytest.fixture
def planted(tmp_path):
    return Planted(tmp_path / "ran")


@pytest.fixture
def dumps(tmp_path, planted):
    """The current folder of a command: posts and an article among planted modules."""
    folder = planted.plant(tmp_path / "dumps")
    corpus(folder / "posts.jsonl", relevant=30, other=60)
    (folder / "storm.txt").write_text(ARTICLE)
    return folder


def run(*command, folder, **environment):
    """A real process, which ends well."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr


SEARCH = ["--articles", "storm.txt", "--posts", "posts.jsonl"]
FILTER = ["filter", *SEARCH, "--min-score", "0.1", "--out", "found.csv"]


def test_without_safe_paths_a_planted_module_runs(dumps, planted, monkeypatch):
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)  # of a command in this process
    code = "import multiprocessing as m; m.get_context('spawn').Process(target=print).start()"
    subprocess.run(
        [sys.executable, "-c", code], cwd=dumps, check=False, capture_output=True
    )
    assert "dumps/multiprocessing" in planted.ran()


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "words", [[*FILTER, "--workers", "2"], ["rank", *SEARCH, "--out", "best.csv"]]
)
def test_a_command_runs_no_module_that_lies_next_to_its_files(dumps, planted, words):
    run(COMMAND, *words, folder=dumps)
    assert planted.ran() == ""


def test_an_empty_entry_of_the_path_is_not_the_folder_of_a_child(
    dumps, planted, tmp_path
):
    """``PYTHONPATH=$PYTHONPATH:/tools`` has one if the variable was empty."""
    (tmp_path / "elsewhere").mkdir()
    code = (
        "from siamese_news.utils.processes import start_python\n"
        f"assert start_python('siamese_news', '--version', cwd={str(dumps)!r}).wait() == 0\n"
    )
    for entries in (f"{os.pathsep}/tools", "."):
        run(
            sys.executable,
            "-c",
            code,
            folder=tmp_path / "elsewhere",
            PYTHONPATH=entries,
        )
    assert planted.ran() == ""


@pytest.mark.parametrize(
    "module",
    ["siamese_news", pytest.param("siamese_news.train", marks=pytest.mark.slow)],
)
def test_python_m_in_a_strangers_folder_runs_only_what_python_itself_takes(
    tmp_path, planted, module
):
    folder = planted.plant(tmp_path / "mine", without=OF_PYTHON)
    run(sys.executable, "-m", module, "--help", folder=folder)
    assert planted.ran() == ""
    planted.plant(folder)
    run(sys.executable, "-P", "-m", "siamese_news", "--version", folder=folder)
    assert planted.ran() == ""


@pytest.mark.slow
def test_training_in_two_processes_runs_no_module_of_the_current_folder(
    tmp_path, planted
):
    folder = planted.plant(tmp_path / "runs", without=OF_PYTHON)
    options = [
        "trainer=ddp4",
        "trainer.devices=2",
        "data=stories",
        "objective=ntxent",
        *SMALL,
    ]
    run(
        sys.executable,
        "-m",
        "siamese_news.train",
        *options,
        "hydra.run.dir=out",
        folder=folder,
    )
    assert (folder / "out" / "model").is_dir()
    assert planted.ran() == ""


def test_processes_are_started_in_one_place():
    root = Path(__file__).parents[2]
    starts = r"subprocess\.(run|call|check_\w+|Popen\()|get_context\(|os\.(exec|spawn|system|popen)"
    places = {
        path.name
        for source in ("src", "desk/src")
        for path in (root / source).rglob("*.py")
        if re.search(starts, path.read_text(encoding="utf-8"))
    }
    assert places == {"processes.py"}


def test_processes_of_another_program_get_safe_paths_and_it_keeps_its_own(monkeypatch):
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    monkeypatch.setenv("PYTHONPATH", f"here{os.pathsep}")
    with safe_paths():
        assert os.environ["PYTHONSAFEPATH"] == "1"
        assert os.environ["PYTHONPATH"] == os.path.abspath("here")
    assert "PYTHONSAFEPATH" not in os.environ
    assert os.environ["PYTHONPATH"] == f"here{os.pathsep}"
    with spawning():
        assert os.environ["PYTHONSAFEPATH"] == "1"
    copying()
    assert "PYTHONSAFEPATH" not in os.environ


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is copied")
def test_a_process_with_threads_or_torch_is_not_copied(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    assert copying().get_start_method() == "fork"
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "torch", object())
        assert copying().get_start_method() == "spawn"
    monkeypatch.setattr(threading, "active_count", lambda: 2)
    assert copying().get_start_method() == "spawn"


def test_a_program_is_taken_from_absolute_folders_of_the_path_alone(
    tmp_path, monkeypatch
):
    for folder in ("tools", "stranger"):
        (tmp_path / folder).mkdir()
        program = tmp_path / folder / "git"
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    monkeypatch.chdir(tmp_path / "stranger")
    here = [".", "", "../stranger"]
    monkeypatch.setenv("PATH", os.pathsep.join([*here, str(tmp_path / "tools")]))
    assert program_path("git") == str(tmp_path / "tools" / "git")
    monkeypatch.setenv("PATH", os.pathsep.join(here))
    assert program_path("git") is None
