"""Building and adding: the answers are those of a scan of the same posts."""

import signal
import subprocess
import sys
import time
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siamese_news import Model
from siamese_news.data.records import Article, Post
from siamese_news.scoring import observe_all, open_scorer
from siamese_news.search.index.changing import add, build
from siamese_news.search.index.post_index import open_index
from siamese_news.search.pool import Window
from siamese_news.search.post_ranking import search
from siamese_news.search.scan import StreamPool
from siamese_news.search.seeds import Seeds

from .conftest import SEEDS, posts, rows_of, run, write


@pytest.fixture(scope="module")
def shipped():
    return Model.pretrained()


@pytest.fixture
def index(tmp_path, small_pieces):
    for name, text in SEEDS.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    write(tmp_path / "posts.jsonl", posts(150))
    run("index", "--posts", tmp_path / "posts.jsonl", "--out", tmp_path / "x.index")
    return tmp_path


def answer(folder, *where):
    articles = [folder / name for name in SEEDS]
    out = ["--out", folder / "r.jsonl", "--force"]
    run("rank", "--articles", *articles, *where, "--top", 300, *out)
    return rows_of(folder / "r.jsonl")


def scan(folder, rows):
    write(folder / "now.jsonl", rows)
    return answer(folder, "--posts", folder / "now.jsonl")


def test_the_sample_is_the_posts_whose_ids_have_the_least_checksums(
    index, shipped, monkeypatch
):
    monkeypatch.setattr("siamese_news.search.index.post_index.SAMPLE", 20)
    write(index / "more.jsonl", posts(90, seed=1))
    run("index", "--posts", index / "more.jsonl", "--out", index / "x.index", "--add")
    ids = [post["id"] for post in [*posts(150), *posts(90, seed=1)]]
    found = {post.id for post in open_index(index / "x.index", shipped).sample()}
    assert found == set(sorted(ids, key=lambda id: crc32(id.encode()))[:20])


def test_a_day_in_the_life_of_an_index(index):
    ask = "--index", index / "x.index"
    old, new = posts(150), posts(80, seed=1)
    write(index / "new.jsonl", [*old[:10], *new])
    done = run("index", "--posts", index / "new.jsonl", "--out", ask[1], "--add")
    assert "230 posts (80 added, 10 already there)" in done.stderr
    assert answer(index, *ask) == scan(index, [*old, *new])

    assert len([p for p in ask[1].iterdir() if p.is_dir()]) == 2
    left = [row for row in [*old, *new] if row["id"] != "p0-3"]
    write(index / "left.jsonl", left)
    run("index", "--posts", index / "left.jsonl", "--out", ask[1], "--force")
    assert answer(index, *ask) == scan(index, left)


@settings(max_examples=settings.default.max_examples // 10)
@given(
    changes=st.lists(st.integers(0, 60), max_size=6),
    start=st.integers(1, 120),
    top=st.integers(1, 50),
)
def test_any_changes_leave_what_a_scan_finds(
    changes, start, top, shipped, small_pieces, tmp_path_factory
):
    path = tmp_path_factory.mktemp("any") / "x.index"
    source = iter(posts(1000, seed=start))

    def some(count):
        return [
            Post(row["id"], row["text"])
            for row, _ in zip(source, range(count), strict=False)
        ]

    live = some(start)
    build(path, live, shipped, name="x")
    for count in changes:
        new = some(count)
        add(path, [*live[:3], *new], shipped)
        live += new
    index = open_index(path, shipped)
    assert [post.id for post in index] == [post.id for post in live]
    seeds = Seeds([Article(name, text) for name, text in SEEDS.items()])

    def ranked(pool):
        scorer = open_scorer(shipped, seeds.texts)
        found = search(scorer, seeds, pool, top=top)
        lists = [[(row.post.id, row.score) for row in part] for part in found]
        return lists, found.scorer

    (ours, pruned), (theirs, whole) = ranked(index), ranked(StreamPool(live))
    assert ours == theirs
    assert pruned.decisions() == whole.decisions()


@pytest.mark.parametrize("one_story", [False, True])
def test_what_a_scorer_learns_of_an_index_is_what_it_learns_of_the_posts(
    shipped, small_pieces, tmp_path, one_story
):
    pool = [Post(row["id"], row["text"]) for row in posts(400, seed=5)]
    build(tmp_path / "x.index", pool, shipped, name="x")
    seeds = list(SEEDS.values())
    scorer = open_scorer(shipped, seeds, about="event", one_story=one_story)
    index = open_index(tmp_path / "x.index", shipped)
    ours = index.observe(scorer, Window())
    theirs = observe_all(scorer, [post.text for post in pool])
    texts = [post.text for post in pool]
    assert np.array_equal(ours.scores(texts), theirs.scores(texts))
    assert ours.evidence(range(len(seeds))) == theirs.evidence(range(len(seeds)))
    assert len(list(index.read_again())) < len(pool)


DIES = """
import os, signal, sys
from siamese_news.search import scan
from siamese_news.search.index import changing, writing
scan.BLOCK, writing._POSTS = 16, 40
sync, step = {where}, [0]
def dying(*rest, **more):
    step[0] += 1
    if step[0] == {dies}:
        os.kill(os.getpid(), signal.SIGKILL)
    return sync(*rest, **more)
{where} = dying
from siamese_news.cli import app
app(sys.argv[1:])
"""
AT = (
    "writing.IndexWriter._read",
    "writing.sync",
    "changing.sync",
    "changing.Manifest.write",
)


def slow(*values):
    return pytest.param(*values, marks=pytest.mark.slow)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("change", "where", "dies"),
    [
        ("build", AT[0], 3),
        slow("build", AT[1], 1),
        slow("build", AT[3], 1),
        ("build", AT[2], 2),
        slow("add", AT[0], 3),
        slow("add", AT[1], 1),
        ("add", AT[3], 1),
        slow("add", AT[2], 2),
    ],
)
def test_a_process_that_dies_leaves_the_index_as_it_was(index, change, where, dies):
    path = index / ("new.index" if change == "build" else "x.index")
    write(index / "new.jsonl", posts(100, seed=2))
    command = ["index", "--posts", index / "new.jsonl", "--out", path]
    command += ["--add"] if change == "add" else []
    code = DIES.format(where=where, dies=dies)
    done = subprocess.run([sys.executable, "-c", code, *map(str, command)], timeout=300)
    assert done.returncode in (-signal.SIGKILL, 0)
    if change == "build":
        assert not path.exists() or done.returncode == 0 or where == AT[2]
    if not path.exists() or change == "add":
        run(*command)
    expected = (
        posts(100, seed=2) if change == "build" else [*posts(150), *posts(100, seed=2)]
    )
    assert answer(index, "--index", path) == scan(index, expected)
    assert not [
        item for item in index.iterdir() if item.name.endswith((".part", ".old"))
    ]


@pytest.mark.slow
def test_killed_at_any_moment(index):
    """Twenty times: the old index answers as before, and the next change goes through."""
    write(index / "new.jsonl", posts(3000, seed=2))
    before = answer(index, "--index", index / "x.index")
    add = ["index", "--posts", index / "new.jsonl", "--out", index / "x.index", "--add"]
    command = [sys.executable, "-m", "siamese_news", *map(str, add)]
    dice = np.random.default_rng(0)
    for _ in range(20):
        job = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        time.sleep(dice.uniform(0, 12))
        job.kill()
        if job.wait() == 0:
            break
        now = answer(index, "--index", index / "x.index")
        if now != before:  # the kill came after the manifest
            break
    run(*add)
    rows = [*posts(150), *posts(3000, seed=2)]
    assert answer(index, "--index", index / "x.index") == scan(index, rows)
