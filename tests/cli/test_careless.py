"""What a hurried user types: names that are empty, exchanged or impossible, on a poor console."""

import json
import subprocess
import sys

import pytest
from tests.commands import siamese_news as process
from tests.installed import needs_desk

POSTS = [
    {"id": "a😀", "text": "the bridge fell into the river 😀"},
    {"id": "b", "text": "vote for the mayor"},
    {"id": "c", "text": "a bridge is a bridge"},
]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "story.txt").write_text(
        "The bridge over the river fell, and people swam.\n"
    )
    rows = "".join(json.dumps(row) + "\n" for row in POSTS)
    (tmp_path / "posts.jsonl").write_text(rows)
    return tmp_path


RANK = ("rank", "--articles", "story.txt", "--posts", "posts.jsonl")


TWICE = """
import sys
from siamese_news.__main__ import main
arguments = sys.argv[1:]
for more in ([], ["--format", "jsonl"]):
    sys.argv = ["siamese-news", *arguments, *more]
    try:
        main()
    except SystemExit as end:
        assert not end.code
"""


def test_ids_stay_distinct_on_a_console_without_their_signs(here, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "cp1252")
    monkeypatch.setenv("PYTHONUTF8", "0")
    command = [sys.executable, "-c", TWICE, *RANK]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    table, start, rows = done.stdout.partition(b"{")
    assert b"a\\U0001f600" in table
    rows = (start + rows).decode("utf-8").splitlines()
    assert "a😀" in {json.loads(row)["post"] for row in rows}


@pytest.mark.parametrize(
    "command",
    [
        (*RANK, "--model", ""),
        (*RANK, "--model="),
        (*RANK, "--out", ""),
        ("report", "--results", "", "--out", "page.html"),
        pytest.param(("certify", "--labels", ""), marks=needs_desk),
        pytest.param(("desk", "--no-browser", "--project", ""), marks=needs_desk),
        ("doctor", "--encoding", ""),
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


@needs_desk
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
        (("keywords", "--posts", "posts.jsonl", "--results", "found.csv"), "k.csv"),
    ],
)
def test_own_earlier_output_is_replaced_and_a_changed_one_is_not(here, command, out):
    (here / "found.csv").write_text(f"post\n{POSTS[0]['id']}\n", encoding="utf-8")
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
            (
                "filter",
                *RANK[1:],
                "--out",
                "f.jsonl",
                "--threshold",
                ".3",
                "--top",
                "3",
            ),
            "rank lists",
        ),
        (("keywords", *RANK[1:]), "run rank first"),
        (("report", "r.jsonl"), "--results or --posts"),
    ],
)
def test_an_option_of_the_other_command_names_it(here, command, advice):
    done = process(*command)
    assert done.returncode == 2 and advice in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    "command",
    [
        ("filter", *RANK[1:], "--out", "found.csv", "--min-score"),
        (
            "watch",
            *RANK[1:3],
            "--source",
            "stdin",
            "--out",
            "found.jsonl",
            "--min-score",
        ),
        pytest.param(
            ("audit", "--results", "posts.jsonl", "--out", "sheet.csv", "--threshold"),
            marks=needs_desk,
        ),
    ],
)
def test_a_threshold_in_percent_is_refused_in_one_line(here, command):
    for typed in ("30", "30%", "nan"):
        done = process(*command, typed)
        assert done.returncode == 2
        name = "--min-score" if "--min-score" in command else "the threshold"
        expected = f"siamese-news: {name} is '{typed}'; expected a score, a number"
        assert done.stderr.startswith(expected) and done.stderr.count("\n") == 1
    assert not list(here.glob("found*")) + list(here.glob("sheet*"))


@pytest.mark.parametrize("option", ["--about", "--format"])
def test_a_choice_that_does_not_exist_is_named_without_the_words_of_a_package(
    here, option
):
    done = process(*RANK, option, "nix")
    assert done.returncode == 2
    assert "'nix' is not one of" in done.stderr and "Value error" not in done.stderr


def test_a_threshold_may_have_a_decimal_comma(here):
    done = process("filter", *RANK[1:], "--out", "found.jsonl", "--min-score", "0,1")
    assert done.returncode == 0, done.stderr
    assert json.loads((here / "found.jsonl.meta.json").read_text())["threshold"] == 0.1


def test_a_report_of_a_run_names_the_files_that_have_texts(here):
    assert process(*RANK, "--out", "found.trec").returncode == 0
    done = process("report", "--results", "found.trec", "--out", "page.html")
    assert done.returncode == 2
    assert "found.trec:1: 'text' is missing" in done.stderr
    assert (
        "have no texts to show; name a .jsonl, .csv or .parquet of the same"
        in done.stderr
    )


def test_a_report_has_the_story_in_its_title(here):
    story = {
        "id": "1",
        "title": "Bridge falls\ninto river",
        "text": "The bridge over the river fell.",
    }
    other = {"id": "2", "title": "Mayor elected", "text": "The town has a new mayor."}
    for articles, title in (
        ([story], "Posts about “Bridge falls into river”"),
        ([story, other], "Posts in found.csv"),
    ):
        (here / "story.jsonl").write_text(
            "".join(json.dumps(row) + "\n" for row in articles)
        )
        command = ("rank", "--articles", "story.jsonl", "--posts", "posts.jsonl")
        assert process(*command, "--out", "found.csv").returncode == 0
        assert (
            process("report", "--results", "found.csv", "--out", "page.html").returncode
            == 0
        )
        assert f"<title>{title}</title>" in (here / "page.html").read_text()


def test_results_are_not_explained_as_posts(here):
    done = process(*RANK, "--out", "r.jsonl")
    assert done.returncode == 0, done.stderr
    done = process("explain", *RANK[1:3], "--posts", "r.jsonl", "--post", "1")
    assert (
        done.returncode == 2 and "r.jsonl: has the results of a search" in done.stderr
    )


def test_an_index_named_as_posts_is_pointed_out(here):
    assert (
        process("index", "--posts", "posts.jsonl", "--out", "own.index").returncode == 0
    )
    done = process(*RANK[:3], "--posts", "own.index")
    assert (
        done.returncode == 2
        and "own.index: is an index; name it with --index" in done.stderr
    )
