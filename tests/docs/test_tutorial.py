"""Every command of docs/tutorial.md works as it stands there, in order."""

import glob
import os
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from siamese_news.cli import app

ROOT = Path(__file__).parents[2]
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
BASH = re.findall(r"```bash\n(.*?)```", TUTORIAL, flags=re.S)
LINES = [
    line for block in BASH for line in block.splitlines() if not line.startswith("pip ")
]


def run(line):
    """Run a line here, without another process; what it wrote to standard output."""
    words = [
        found
        for word in shlex.split(line)
        for found in sorted(glob.glob(word)) or [word]
    ]
    if words[0] == "siamese-news":
        done = CliRunner().invoke(app, words[1:])
        assert done.exit_code == 0, f"{line}\n{done.output}"
        return done.stdout
    assert words[0] == "python", line
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", words[1:])
        runpy.run_path(str(ROOT / words[1]), run_name="__main__")
    return ""


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """The folder after all commands, and what each printed."""
    pytest.importorskip("trafilatura", reason="the extra [web] is not installed")
    folder = tmp_path_factory.mktemp("tutorial")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("COLUMNS", "200")
        return folder, {line: run(line) for line in LINES}


def printed(followed, command):
    return next(out for line, out in followed[1].items() if line.startswith(command))


def test_every_command_of_a_search_is_shown():
    shown = {line.split()[1] for line in LINES if line.startswith("siamese-news")}
    assert shown == {"doctor", "rank", "filter", "explain", "keywords", "report"}


def test_all_outputs_are_there(followed):
    folder, _ = followed
    for name in set(re.findall(r"--out (\S+)", TUTORIAL)):
        assert (folder / name).stat().st_size, name


def test_the_ranking_is_as_shown(followed):
    shown = re.search(r"```\n(0\..*?)```", TUTORIAL, flags=re.S)[1].splitlines()
    table = printed(followed, "siamese-news rank")
    places = []
    for line in shown:
        score, text = line.split("  ", 1)
        start = text[:30]
        assert start in table, line
        places.append(table.index(start))
        row = next(row for row in table.splitlines() if start in row)
        assert float(re.search(r"\d\.\d{4}", row)[0]) == pytest.approx(
            float(score), abs=0.01
        )
    assert places == sorted(places)


def test_the_explanation_is_as_shown(followed):
    said = printed(followed, "siamese-news explain")
    number = re.search(r"│ > +(\d+) │", TUTORIAL)[1]
    assert f"without sentence {number} " in said
    assert "the explanation holds" in said


def test_what_the_text_promises_of_the_results(followed):
    folder, _ = followed
    found = (folder / "flood" / "found.jsonl").read_text(encoding="utf-8")
    assert "hardship payment" not in found
    assert "hardship payment" in (folder / "flood" / "top.csv").read_text(
        encoding="utf-8"
    )
    ids = (folder / "flood" / "ids.csv").read_text(encoding="utf-8")
    assert len(ids.splitlines()) == len(found.splitlines()) + 1
    assert "Harlow" not in ids
    assert "Bluesky Jetstream" in printed(followed, "siamese-news doctor")


def test_the_python_code_finds_the_same(followed, monkeypatch, capsys):
    folder, _ = followed
    monkeypatch.chdir(folder)
    (code,) = re.findall(r"```python\n(.*?)```", TUTORIAL, flags=re.S)
    exec(code, {})
    count = len(
        (folder / "flood" / "found.jsonl").read_text(encoding="utf-8").splitlines()
    )
    assert capsys.readouterr().out.startswith(f"{count} posts; the best: River Asker")


@pytest.mark.slow
def test_a_real_shell_runs_it(tmp_path):
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    script = "set -euo pipefail\n" + "\n".join(LINES)
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
