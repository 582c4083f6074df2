"""Pools and seeds of kinds that scores were not made for, through the commands."""

import json

import pytest
from tests.commands import siamese_news as process

SEED = (
    "Flood in town\nThe river rose over the bridge of the town and flooded the market."
)
FLOODS = ["the river floods the town", "flood at the market bridge"]


def run(tmp_path, posts, command="rank", seed=SEED, *more):
    (tmp_path / "a.txt").write_text(seed)
    rows = ({"id": f"p{n}", "text": text} for n, text in enumerate(posts))
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    files = ["--articles", tmp_path / "a.txt", "--posts", tmp_path / "p.jsonl"]
    done = process(command, *files, *more)
    assert done.returncode == 0, done.stderr
    return done


def ranked(result):
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize(
    ("posts", "seed", "remark"),
    [
        (FLOODS[:1], SEED, "ranked against nothing"),
        (FLOODS[:1] * 150, SEED, "All 150 scores are the same"),
        (["!!!", ":-)", "..."] * 50, SEED, "All 150 scores are the same"),
        ([*FLOODS, "new phone"], "Zyxq\nQwrtz plmk vbnm", "much in common with a"),
    ],
    ids=["one post", "copies", "no words", "no shared word"],
)
def test_scores_are_defined_and_a_remark_says_what_they_are_worth(
    tmp_path, posts, seed, remark
):
    result = run(tmp_path, posts, "rank", seed, "--top", "5", "--format", "jsonl")
    assert remark in result.stderr
    rows = ranked(result)
    assert len(rows) == min(5, len(posts))
    assert all(0 <= row["score"] <= 1 for row in rows)


def test_filter_says_the_same_and_keeps_it_beside_its_results(tmp_path):
    result = run(
        tmp_path,
        FLOODS[:1] * 150,
        "filter",
        SEED,
        "--min-score",
        "0",
        "--out",
        str(tmp_path / "o.jsonl"),
    )
    assert "All 150 scores are the same" in result.stderr
    meta = json.loads((tmp_path / "o.jsonl.meta.json").read_text())
    assert any("All 150" in remark for remark in meta["remarks"])


def test_a_ranking_that_says_something_has_no_remark(tmp_path):
    result = run(tmp_path, [*FLOODS, "new phone"], "rank", SEED, "--top", "3")
    assert "means" not in result.stderr
    assert "in common" not in result.stderr


def test_posts_of_a_hundred_kilobytes_are_scored_and_a_table_shows_their_beginning(
    tmp_path,
):
    long = ["the river floods the town " * 4000, "hello world " * 9000, "river"]
    result = run(tmp_path, long, "rank", SEED, "--top", "3")
    assert len(result.stdout) < 10_000
    rows = ranked(run(tmp_path, long, "rank", SEED, "--top", "3", "--format", "jsonl"))
    assert {row["post"]: len(row["text"]) for row in rows} == {
        f"p{n}": len(text) for n, text in enumerate(long)
    }
    assert rows[-1]["post"] == "p1"
