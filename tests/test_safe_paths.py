"""Files with the names of modules, in folders that somebody else made, are never run."""

import os
import re
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

import siamese_news
from siamese_news.utils.processes import importing, program_path, safe_paths, spawning

from .desk.served import ARTICLE, Served, corpus, found_before
from .training.test_ddp_commands import SMALL

COMMAND = Path(sys.executable).with_name("siamese-news")
# What `python -m` itself imports before it reads a line of ours: only `-P` protects from these.
_OF_PYTHON = frozenset(
    "runpy importlib pkgutil contextlib warnings collections functools keyword operator reprlib "
    "weakref types typing inspect zipimport copyreg siamese_news".split()
)


class Planted:
    """Plants files with the names of all modules that a command may import."""

    def __init__(self, log: Path) -> None:
        self._log = log
        log.touch()

    def plant(self, folder: Path, without: frozenset[str] = frozenset()) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        names = {
            *sys.stdlib_module_names,
            *packages_distributions(),
            "siamese_news",
            "tests",
        }
        names |= {"sitecustomize", "usercustomize", "hydra_plugins"}
        for name in names - without:
            if name.isidentifier():
                says = f"open({str(self._log)!r}, 'a').write({f'{folder.name}/{name} '!r})\n"
                (folder / f"{name}.py").write_text(says)
        return folder

    def ran(self) -> str:
        return self._log.read_text()


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


def test_without_safe_paths_a_planted_module_runs(dumps, planted):
    code = "import multiprocessing as m; m.get_context('spawn').Process(target=print).start()"
    subprocess.run(
        [sys.executable, "-c", code], cwd=dumps, check=False, capture_output=True
    )
    assert "dumps/multiprocessing" in planted.ran()


@pytest.mark.parametrize(
    "words", [[*FILTER, "--workers", "2"], ["rank", *SEARCH, "--out", "best.csv"]]
)
def test_a_command_runs_no_module_that_lies_next_to_its_files(dumps, planted, words):
    run(COMMAND, *words, folder=dumps)
    assert planted.ran() == ""


@pytest.mark.slow
def test_workers_of_ray_run_no_module_that_lies_next_to_its_files(dumps, planted):
    pytest.importorskip("ray")
    run(COMMAND, *FILTER, "--workers", "2", "--engine", "ray", folder=dumps)
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
    for entries in (f"{os.pathsep}/tools", "", "."):
        run(
            sys.executable,
            "-c",
            code,
            folder=tmp_path / "elsewhere",
            PYTHONPATH=entries,
        )
    assert planted.ran() == ""


def test_python_m_in_a_strangers_folder_runs_only_what_python_itself_takes(
    tmp_path, planted
):
    folder = planted.plant(tmp_path / "mine", without=_OF_PYTHON)
    for module in ("siamese_news", "siamese_news.train"):
        run(sys.executable, "-m", module, "--help", folder=folder)
    assert planted.ran() == ""
    planted.plant(folder)
    run(sys.executable, "-P", "-m", "siamese_news", "--version", folder=folder)
    assert planted.ran() == ""


def test_the_page_runs_no_module_of_a_project_or_of_the_current_folder(
    dumps, planted, tmp_path
):
    project = tmp_path / "project"
    found_before(project, relevant=60, other=60)
    for folder in (project, project / "searches" / "1"):
        planted.plant(folder)
    truth = corpus(tmp_path / "posts.jsonl", relevant=60, other=60)
    served = Served(project, folder=dumps)
    try:
        for path, data in (
            ("articles/a.txt", ARTICLE.encode()),
            ("posts/p.jsonl", (tmp_path / "posts.jsonl").read_bytes()),
        ):
            assert served.ask(f"/api/inputs/{path}", method="PUT", data=data)[0] == 200
        served.search(threshold=0, map=False)
        for post in list(truth)[:10] + list(truth)[-10:]:
            label = "yes" if truth[post] else "no"
            served.json(
                "/api/labels", {"post": post, "label": label, "annotator": "me"}
            )
        assert served.json("/api/learn", {})["sentence"]
        assert planted.ran() == ""
    finally:
        served.end()


@pytest.mark.slow
def test_training_in_two_processes_runs_no_module_of_the_current_folder(
    tmp_path, planted
):
    folder = planted.plant(tmp_path / "runs", without=_OF_PYTHON)
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
    source = Path(siamese_news.__file__).parent
    starts = r"subprocess\.(run|call|check_\w+|Popen\()|get_context\(|os\.(exec|spawn|system|popen)"
    places = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if re.search(starts, path.read_text(encoding="utf-8"))
    }
    assert places == {"utils/processes.py"}


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
    importing([])
    assert "PYTHONSAFEPATH" not in os.environ


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
