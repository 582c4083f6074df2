"""rank, filter and explain with --index give what they give with --posts, to the byte."""

import json

import pytest
import torch

from siamese_news import Searcher
from siamese_news.data.records import Article
from siamese_news.search.index.post_index import PostIndex

from .conftest import POSTS, SEEDS, posts, rows_of, run, write

OPTIONS = [
    [],
    ["--one-story", "--dedupe"],
    ["--about", "event", "--top", "3"],
    ["--distinct", "--top", "40"],
    ["--after", "2020-01-10", "--dated-only"],
]
MORE_OPTIONS = [
    ["--top", "2000", "--author", "--ids-only"],
    ["--about", "article"],
    ["--about", "event", "--after", "2020-01-10", "--before", "2020-01-20"],
]


def seeds(pool, *names):
    return ["--articles", *(pool / name for name in names or SEEDS)]


def both(pool, command, *options, name="posts"):
    """The rows by scanning and by asking the index, and what the second said."""
    found = []
    for where, out in (("--posts", "a.jsonl"), ("--index", "b.jsonl")):
        source = pool / (f"{name}.jsonl" if where == "--posts" else f"{name}.index")
        done = run(command, where, source, *options, "--out", pool / out, "--force")
        found.append((pool / out).read_bytes())
    assert found[0] == found[1]
    return rows_of(pool / "b.jsonl"), done


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "options",
    [
        *OPTIONS,
        *(pytest.param(options, marks=pytest.mark.slow) for options in MORE_OPTIONS),
    ],
    ids=" ".join,
)
def test_rank_is_the_same(pool, options):
    rows, _ = both(pool, "rank", *seeds(pool), *options)
    assert rows


@pytest.mark.sampled(1)
@pytest.mark.parametrize("options", [["--one-story", "--not", "vote.txt"], []])
def test_on_several_threads_too(pool, monkeypatch, options):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    monkeypatch.chdir(pool)
    asked = [*seeds(pool, "flood.txt", "fire.txt"), *options]
    rows, _ = both(pool, "rank", *asked)
    assert rows


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "options",
    [
        ["--min-score", "0.3"],
        ["--min-score", "-1", "--dedupe"],
    ],
    ids=" ".join,
)
def test_filter_is_the_same(pool, options):
    both(pool, "filter", *seeds(pool), *options)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("command", ["rank", "filter"])
def test_a_negative_seed_is_the_same(pool, command):
    options = ["--min-score", "0.02"] if command == "filter" else []
    pushed = ["--not", pool / "vote.txt"]
    rows, _ = both(
        pool, command, *seeds(pool, "flood.txt", "fire.txt"), *pushed, *options
    )
    assert rows


def test_seeds_of_another_language_are_told_and_give_the_same(pool):
    german = "Hochwasser in der Stadt\n\nDer Fluss stieg in der Nacht und die Brücke ist weg. "
    (pool / "de.txt").write_text(german * 4, encoding="utf-8")
    text = "der Fluss und die Brücke {} ist in der Stadt"
    rows = [{"id": f"d{n}", "text": text.format(n)} for n in range(99)]
    write(pool / "de.jsonl", rows)
    run("index", "--posts", pool / "de.jsonl", "--out", pool / "de.index")
    rows, done = both(pool, "rank", *seeds(pool, "de.txt"), name="de")
    assert rows and "'de'" in done.stderr
    assert "lacks the language of 1 seed." in " ".join(done.stderr.split())
    _, done = both(pool, "rank", *seeds(pool, "flood.txt"), name="de")
    assert "lacks the language" not in done.stderr


def test_only_posts_that_can_matter_are_scored(pool):
    options = ["--min-score", "0.3", "--about", "event"]
    both(pool, "filter", *seeds(pool, "flood.txt"), *options)
    meta = json.loads((pool / "b.jsonl.meta.json").read_text())
    assert meta["counts"]["scored"] < meta["counts"]["read"] == POSTS
    assert any("could be in the results" in remark for remark in meta["remarks"])


def test_all_scores_can_be_written(pool):
    rows, _ = both(pool, "filter", *seeds(pool), "--min-score", "-4")
    assert len(rows) == POSTS


def test_explain_is_the_same(pool):
    top = both(pool, "rank", *seeds(pool), "--one-story", "--top", "4")[0]
    ids = [row["post"] for row in top]
    options = ["--one-story", "--format", "jsonl", "--post", *ids]
    rows, _ = both(pool, "explain", *seeds(pool), *options)
    assert [row["post"] for row in rows] == ids


def test_explain_names_a_post_that_is_not_there(pool):
    done = run(
        "explain",
        "--index",
        pool / "posts.index",
        *seeds(pool),
        "--post",
        "nobody",
        exit=2,
    )
    assert "there is no post 'nobody'" in done.stderr


def test_a_file_is_no_index_and_what_an_index_needs_is_said(pool):
    name = pool / "posts.jsonl"
    done = run("rank", "--index", name, *seeds(pool), exit=2)
    assert f"{name}: is a file; expected the folder of an index" in done.stderr
    done = run("rank", "--index", pool, *seeds(pool), exit=2)
    assert (
        f"{pool}: is not an index of posts, because it has no manifest.json"
        in done.stderr
    )
    done = run("index", "--out", pool / "none.index", "--posts", name, "--add", exit=2)
    assert f"{pool / 'none.index'}: no such index" in done.stderr


def test_a_searcher_takes_an_index_for_posts(pool):
    searcher = Searcher()
    index = searcher.open_index(pool / "posts.index")
    articles = [Article(name, text) for name, text in SEEDS.items()]
    rows = posts(POSTS)
    assert searcher.rank(articles, index) == searcher.rank(articles, rows)
    found = searcher.filter(articles, index, min_score=0.1)
    assert found == searcher.filter(articles, rows, min_score=0.1)
    assert searcher.filter(articles, index, min_score=3) == []
    some = index.find(["p0-3", "p0-4", "nobody"])
    assert [some[id].text for id in ("p0-3", "p0-4")] == [
        rows[3]["text"],
        rows[4]["text"],
    ]
    assert len(searcher.explain(articles[:1], some.values())) == 2
    assert isinstance(index, PostIndex) and [post.id for post in index] == [
        r["id"] for r in rows
    ]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "options",
    [
        {"one_story": True},
        {"about": "event", "top": 3},
        {"fusion": "vectors"},
        pytest.param({"fusion": "words", "about": "event"}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_the_options_of_python_are_the_same(pool, options):
    searcher = Searcher()
    articles = [Article(name, text) for name, text in SEEDS.items()]
    index = searcher.open_index(pool / "posts.index")
    expected = searcher.rank(articles, posts(POSTS), **options)
    assert expected and searcher.rank(articles, index, **options) == expected


def test_a_dense_model_is_the_same(pool, tiny_model):
    tiny_model.save(pool / "model", card="")
    write(pool / "dense.jsonl", posts(200, seed=3))
    model = ["--model", pool / "model"]
    run("index", "--posts", pool / "dense.jsonl", "--out", pool / "dense.index", *model)
    rows, _ = both(pool, "rank", *seeds(pool), *model, "--top", "5", name="dense")
    assert rows
    both(pool, "filter", *seeds(pool), *model, "--min-score", "0.9", name="dense")
    _, done = both(
        pool, "filter", *seeds(pool), *model, "--min-score", "1.5", name="dense"
    )
    assert "0 of 200 posts" in done.stderr and "has much in common" not in done.stderr
