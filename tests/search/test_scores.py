"""`rank --scores-only`: every post's id and score, and no more."""

import csv
import json

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from siamese_news.cli import app
from siamese_news.search import scan


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Two seeds, and posts of several blocks."""
    monkeypatch.setattr(scan, "BLOCK", 500)
    (tmp_path / "a.txt").write_text("Flood in the town\n\nThe river took the bridge.\n")
    (tmp_path / "b.txt").write_text(
        "The vote of the mayor\n\nThe mayor won the vote.\n"
    )
    lines = [
        json.dumps(
            {"id": str(n), "text": f"the river {n} took a bridge" if n % 2 else "vote"}
        )
        for n in range(1200)
    ]
    (tmp_path / "posts.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path


def rank(files, *more):
    return run(
        "rank",
        "--articles",
        files / "a.txt",
        files / "b.txt",
        "--posts",
        files / "posts.jsonl",
        *more,
    )


def test_all_scores_are_those_of_the_ranking(files):
    done = rank(files, "--one-story", "--scores-only", "--out", files / "all.parquet")
    assert done.exit_code == 0, done.stderr
    table = pq.read_table(files / "all.parquet")
    assert table.column_names == ["post", "score"]
    assert table["post"].to_pylist() == [str(n) for n in range(1200)]
    rank(files, "--one-story", "--top", "1200", "--out", files / "all.jsonl")
    rows = [json.loads(line) for line in (files / "all.jsonl").read_text().splitlines()]
    expected = {row["post"]: row["score"] for row in rows}
    assert (
        dict(zip(table["post"].to_pylist(), table["score"].to_pylist(), strict=True))
        == expected
    )
    meta = json.loads((files / "all.parquet.meta.json").read_text())
    assert meta["counts"]["scored"] == 1200


def test_a_list_for_each_seed_has_pairs(files):
    assert rank(files, "--scores-only", "--out", files / "all.parquet").exit_code == 0
    table = pq.read_table(files / "all.parquet")
    assert table.column_names == ["article", "post", "score"]
    assert len(table) == 2400
    pytest.importorskip("siamese_news_desk")
    done = run(
        "sample",
        "--results",
        files / "all.parquet",
        "--posts",
        files / "posts.jsonl",
        "--precision",
        ".8",
        "--out",
        files / "sheet.csv",
    )
    assert done.exit_code == 0, done.stderr


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["all.jsonl", "all.csv"])
def test_text_formats_have_the_same_scores(files, name):
    rank(files, "--scores-only", "--out", files / "all.parquet")
    assert rank(files, "--scores-only", "--out", files / name).exit_code == 0
    table = pq.read_table(files / "all.parquet").to_pylist()
    text = (files / name).read_text()
    rows = (
        map(json.loads, text.splitlines())
        if name == "all.jsonl"
        else csv.DictReader([*text.splitlines()])
    )
    assert [row | {"score": float(row["score"])} for row in rows] == table
    pytest.importorskip("siamese_news_desk")
    sheet = (
        "--posts",
        files / "posts.jsonl",
        "--precision",
        ".8",
        "--out",
        files / "sheet.csv",
    )
    assert run("sample", "--results", files / name, *sheet).exit_code == 0


def test_another_format_is_refused(files):
    done = rank(files, "--scores-only", "--out", files / "all.trec")
    assert done.exit_code == 2 and ".parquet, .jsonl or .csv" in done.stderr
