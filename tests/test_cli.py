"""The command line as a user runs it: real processes, real files."""

import json
import subprocess
import sys

import pytest


def run(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "siamese_news", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        **options,
    )


@pytest.fixture
def files(tmp_path, tiny_model):
    tiny_model.save(tmp_path / "model", card="")
    (tmp_path / "story.txt").write_text("Flood in the town\n\nThe river took the bridge.\n")
    posts = [
        {"id": 9007199254740993, "text": "flood flood river"},
        {"id": "2", "text": "vote for the mayor"},
        {"id": "3", "text": "🔥"},
    ]
    (tmp_path / "posts.jsonl").write_text("".join(json.dumps(p) + "\n" for p in posts))
    return tmp_path


def rank(files, *more, articles="story.txt"):
    return run(
        "rank", "--model", files / "model", "--articles", files / articles,
        "--posts", files / "posts.jsonl", *more,
    )  # fmt: skip


def test_rank_prints_a_table(files):
    done = rank(files)
    assert done.returncode == 0, done.stderr
    assert "Flood in the town" in done.stdout
    assert done.stdout.index("9007199254740993") < done.stdout.index("vote for")


def test_rank_writes_a_file_and_ids_stay_exact(files):
    out = files / "out.jsonl"
    done = rank(files, "--format", "jsonl", "--out", out, "--top", "2")
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["rank"] for row in rows] == [1, 2]
    assert rows[0]["post"] == "9007199254740993"
    assert rows[0]["article"] == "story"


def test_several_articles_after_one_option(files):
    (files / "b.txt").write_text("The vote of the mayor")
    done = rank(files, "--format", "trec", files / "b.txt")
    assert done.returncode == 0, done.stderr
    assert {line.split()[0] for line in done.stdout.splitlines()} == {"story", "b"}


def test_the_same_input_gives_the_same_bytes(files):
    assert rank(files, "--format", "csv").stdout == rank(files, "--format", "csv").stdout


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("posts.jsonl", "", "posts.jsonl: the file is empty"),
        ("posts.jsonl", '{"id": "1", "text": "x"}\n{"id": "2"\n', "posts.jsonl:2"),
        ("posts.jsonl", '{"id": "1"}\n', "posts.jsonl:1: field 'full_text', 'text'"),
        ("posts.jsonl", '{"id": "1", "text": "x"}\n{"id": "1", "text": "y"}\n', "posts.jsonl:2"),
        ("story.txt", "   \n", "story.txt"),
        ("model/config.json", "{}", "config.json: differs"),
    ],
)
def test_bad_input_is_one_clear_line_and_nothing_is_written(files, name, content, message):
    (files / name).write_text(content)
    out = files / "out.csv"
    out.write_text("old")
    done = rank(files, "--format", "csv", "--out", out)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert out.read_text() == "old"


@pytest.mark.parametrize("missing", ["model", "story.txt", "posts.jsonl"])
def test_a_missing_file_is_named(files, missing):
    (files / missing).rename(files / "gone")
    done = rank(files)
    assert done.returncode == 2
    assert missing in done.stderr


def test_help_needs_no_torch():
    probe = (
        "import sys, siamese_news.cli; "
        "heavy = {'torch', 'pytorch_lightning', 'sklearn', 'gensim', 'numpy'} & set(sys.modules); "
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    help = run("rank", "--help")
    assert help.returncode == 0
    assert "Example:" in help.stdout
