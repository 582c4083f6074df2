"""Articles that say little or nothing, and files that may not be read, through the commands."""

import errno
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from siamese_news.cli import app

POSTS = ["flood in the town", "fire at night", "nothing"]


@pytest.fixture
def files(tmp_path, tiny_model, monkeypatch):
    tiny_model.save(tmp_path / "model", card="")
    posts = ({"id": f"p{number}", "text": text} for number, text in enumerate(POSTS))
    (tmp_path / "posts.jsonl").write_text(
        "".join(json.dumps(post) + "\n" for post in posts)
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(name, *more, posts="posts.jsonl"):
    command = [name, "--model", "model", "--posts", posts, "--articles", *more]
    return CliRunner().invoke(app, command)


ROWS = [
    {"_id": "title-alone", "title": "Flood in the town", "text": ""},
    {"_id": "no-text-field", "title": "Fire at night"},
    {"_id": "whole", "title": "", "text": "The mayor and the vote"},
]
EMPTY = {"_id": "empty", "title": " ", "text": "\n"}


@pytest.mark.parametrize("suffix", ["jsonl", "json", "csv"])
def test_an_article_with_a_title_alone_is_used_by_its_title(files, suffix):
    if suffix == "csv":
        lines = [f"{row['_id']},{row['title']},{row.get('text', '')}" for row in ROWS]
        content = "\n".join(["_id,title,text", *lines]) + "\n"
    elif suffix == "json":
        content = json.dumps(ROWS)
    else:
        content = "".join(json.dumps(row) + "\n" for row in ROWS)
    (files / f"a.{suffix}").write_text(content)
    done = run("rank", f"a.{suffix}", "--format", "trec", "--top", "1")
    assert done.exit_code == 0, done.output
    first = [line.split()[:3:2] for line in done.stdout.splitlines()]
    assert first[:2] == [["title-alone", "p0"], ["no-text-field", "p1"]]
    assert len(first) == 3


@pytest.mark.parametrize("command", ["rank", "filter"])
def test_empty_articles_are_named_and_stop_nothing(files, command):
    rows = [ROWS[0], EMPTY, ROWS[2]]
    (files / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (files / "blank.txt").write_text(" \n")
    (files / "none.txt").touch()
    more = ["--min-score", "-1"] if command == "filter" else []
    names = ["a.jsonl", "blank.txt", "none.txt", *more, "--out", "out.jsonl"]
    done = run(command, *names)
    assert done.exit_code == 0, done.output
    for where in ("a.jsonl:2", "blank.txt", "none.txt"):
        assert f"article skipped: {where}: " in done.stderr
    meta = json.loads((files / "out.jsonl.meta.json").read_text())
    assert set(meta["titles"]) == {"title-alone", "whole"}
    for where in ("a.jsonl:2", "blank.txt", "none.txt"):
        assert any(f"skipped: {where}: " in remark for remark in meta["remarks"])
    reported = CliRunner().invoke(
        app, ["report", "--results", "out.jsonl", "--out", "r.html"]
    )
    assert reported.exit_code == 0, reported.output
    assert "An article was skipped: a.jsonl:2: field" in (files / "r.html").read_text()


def test_articles_that_are_all_empty_stop_the_run(files):
    (files / "a.jsonl").write_text(json.dumps(EMPTY) + "\n")
    done = run("rank", "a.jsonl")
    assert done.exit_code == 2
    assert "every article is empty" in done.stderr


@pytest.mark.parametrize(
    "name", ["a.txt", "posts.jsonl", "posts.csv", "posts.parquet", "config.json"]
)
def test_a_file_that_may_not_be_read_is_bad_input(files, monkeypatch, name):
    """Reading and writing fail with different words and exit codes."""
    (files / "a.txt").write_text("Flood in the town\n")
    (files / "posts.csv").write_text("id,text\n1,flood\n")
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"id": ["1"], "text": ["flood"]}), files / "posts.parquet")
    before = Path.open

    def opened(self, mode="r", *args, **options):
        # Root may read everything, so it is acted.
        if self.name == name and "w" not in mode:
            raise PermissionError(errno.EACCES, "Permission denied", str(self))
        return before(self, mode, *args, **options)

    monkeypatch.setattr(Path, "open", opened)
    posts = name if name.startswith("posts") else "posts.jsonl"
    done = run("rank", "a.txt", "--out", "out.csv", posts=posts)
    assert done.exit_code == 2, done.output
    assert f"{name}: cannot be " in done.stderr and "Permission denied" in done.stderr
    assert "written" not in done.stderr and not (files / "out.csv").exists()


def test_filter_with_several_seeds_writes_one_list_of_ranks(files):
    """A TREC run has one list of ranks for each name in its first column."""
    (files / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    done = run("filter", "a.jsonl", "--min-score", "-1", "--out", "found.trec")
    assert done.exit_code == 0, done.output
    rows = [line.split() for line in (files / "found.trec").read_text().splitlines()]
    assert [(row[0], row[3]) for row in rows] == [
        ("all", "1"),
        ("all", "2"),
        ("all", "3"),
    ]
    done = run("filter", "a.jsonl", "--min-score", "-1", "--out", "found.jsonl")
    articles = {json.loads(line)["article"] for line in Path("found.jsonl").open()}
    assert len(articles) > 1  # the other formats say which seed a post is nearest to


def test_a_report_of_a_csv_keeps_phrases_whole(files):
    from siamese_news.search.report.report_data import read_results

    Path("found.csv").write_text(
        "article,rank,score,post,text,terms\n"
        "a,1,0.5,'=p,the old bridge fell,old bridge; fell\na,2,0.4,q,bridge,old bridge\n"
    )
    posts = read_results("found.csv").posts
    assert [list(post.terms) for post in posts] == [
        ["old bridge", "fell"],
        ["old bridge"],
    ]
    assert [post.id for post in posts] == ["=p", "q"]
