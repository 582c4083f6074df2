"""What a hurried user types: names that are empty, exchanged or impossible, on a poor console."""

import json
import subprocess
import sys

import pytest

from .commands import siamese_news as process

POSTS = [
    {"id": "a😀", "text": "the bridge fell into the river 😀"},
    {"id": "b", "text": "vote for the mayor"},
    {"id": "c", "text": "a bridge is a bridge"},
]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "story.txt").write_text("The bridge over the river fell, and people swam.\n")
    rows = "".join(json.dumps(row) + "\n" for row in POSTS)
    (tmp_path / "posts.jsonl").write_text(rows)
    return tmp_path


RANK = ("rank", "--articles", "story.txt", "--posts", "posts.jsonl")


def test_ids_stay_distinct_on_a_console_without_their_signs(here, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "cp1252")
    monkeypatch.setenv("PYTHONUTF8", "0")
    command = [sys.executable, "-m", "siamese_news", *RANK]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert b"a\\U0001f600" in done.stdout
    done = subprocess.run([*command, "--format", "jsonl"], capture_output=True, check=True)
    rows = done.stdout.decode("utf-8").splitlines()
    assert "a😀" in {json.loads(row)["post"] for row in rows}


@pytest.mark.parametrize(
    "command",
    [
        (*RANK, "--model", ""),
        (*RANK, "--model="),
        (*RANK, "--out", ""),
        ("report", "--results", "", "--out", "page.html"),
        ("annotate", "--labels", "", "--results", "posts.jsonl", "--find", "1"),
        ("desk", "--no-browser", "--project", ""),
        ("doctor", "--model", ""),
    ],
)
def test_an_empty_name_is_not_this_folder(here, command):
    done = process(*command)
    assert done.returncode == 2
    assert "empty value" in done.stderr and "Traceback" not in done.stderr


def test_a_folder_without_a_name_is_no_index(here):
    done = process("index", "--posts", "posts.jsonl", "--out", ".")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and "--out ." in done.stderr


@pytest.mark.parametrize("folder", ["story.txt", "story.txt/project", "/proc/project"])
def test_an_impossible_place_for_a_project_is_named_in_one_line(here, folder):
    done = process("desk", "--no-browser", "--project", folder)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert folder in done.stderr and "project" in done.stderr


@pytest.mark.parametrize(
    ("command", "out"),
    [
        (("explain", "--articles", "story.txt", "--text", "a bridge"), "explained.txt"),
        (("keywords", "--posts", "posts.jsonl", "--articles", "story.txt", "--top", "1"), "k.csv"),
    ],
)
def test_own_earlier_output_is_replaced_and_a_changed_one_is_not(here, command, out):
    for _ in range(2):
        done = process(*command, "--out", out)
        assert done.returncode == 0, done.stderr
    (here / out).write_text("notes of the user")
    done = process(*command, "--out", out)
    assert done.returncode == 2 and "--force" in done.stderr
    assert (here / out).read_text() == "notes of the user"


def test_an_article_among_the_posts_is_pointed_out(here):
    done = process("rank", "--articles", "posts.jsonl", "--posts", "story.txt")
    assert done.returncode == 2 and "name articles with --articles" in done.stderr


def test_a_file_in_both_roles_is_pointed_out(here):
    done = process("rank", "--articles", "posts.jsonl", "--posts", "posts.jsonl")
    assert done.returncode == 0
    assert "posts.jsonl: is named as articles and as posts" in done.stderr


@pytest.mark.parametrize(
    ("command", "advice"),
    [
        ((*RANK, "--threshold", ".3"), "filter keeps"),
        (
            ("filter", *RANK[1:], "--out", "f.jsonl", "--threshold", ".3", "--top", "3"),
            "rank lists",
        ),
    ],
)
def test_an_option_of_the_other_command_names_it(here, command, advice):
    done = process(*command)
    assert done.returncode == 2 and advice in " ".join(done.stderr.split())
