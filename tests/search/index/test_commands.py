"""rank, filter and explain with --index give what they give with --posts, to the byte."""

import json
import random

import numpy as np
import pytest
import torch

from siamese_news import Searcher
from siamese_news.data.records import Article
from siamese_news.scoring.basis import Setting
from siamese_news.scoring.candidates import Candidates
from siamese_news.scoring.mixture import MixtureScorer
from siamese_news.search import second_look
from siamese_news.search.index.post_index import PostIndex

from .conftest import POSTS, SEEDS, posts, rows_of, run, write

OPTIONS = [
    [],
    ["--one-story", "--dedupe"],
    ["--about", "event", "--top", "3"],
    ["--distinct", "--top", "40"],
    ["--after", "2020-01-10"],
]
MORE_OPTIONS = [
    ["--top", "2000", "--author", "plain", "--ids-only"],
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


FOREIGN = {
    "de.txt": "Hochwasser in der Stadt\n\nDer Fluss stieg in der Nacht und die Brücke ist weg. "
    "Boote holten Familien aus den Straßen, sagte der Bürgermeister.",
    "da.txt": "Brand på havnen\n\nBrandfolk kæmpede hele natten mod ilden på havnen, og røgen "
    "lukkede banen. To arbejdere kom på hospitalet, siger borgmesteren.",
}


@pytest.fixture(scope="module")
def languages(pool):
    """Posts in English, German and Danish, and an index of two segments of them."""
    dice = random.Random(3)
    texts = [row["text"] for row in posts(300, seed=7)]
    for story in FOREIGN.values():
        words = story.lower().replace(",", "").replace(".", "").split()
        for length in dice.choices(range(13), k=300):
            start = dice.randrange(len(words))
            drawn = dice.choices(words, k=length)
            # A word several times, too: its n-grams are counted.
            texts.append(
                " ".join(words[start : start + 3] * dice.randint(0, 3) + drawn)
            )
    dice.shuffle(texts)
    rows = [
        {"id": f"l{n}", "text": text, "created_at": f"2020-01-{n % 28 + 1:02}"}
        for n, text in enumerate(texts)
    ]
    for name, story in FOREIGN.items():
        (pool / name).write_text(story, encoding="utf-8")
    write(pool / "many.jsonl", rows)
    run("index", "--posts", pool / "many.jsonl", "--out", pool / "many.index")
    return pool


@pytest.fixture
def few_candidates(monkeypatch):
    """A pool keeps 40 of each seed's best posts, so that bounds rule out most of a small one."""
    new_pool = Setting.new_pool

    def small(setting):
        pool = new_pool(setting)
        pool.candidates = Candidates(len(setting), 40)
        return pool

    monkeypatch.setattr(Setting, "new_pool", small)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "options",
    [
        ["--about", "event"],
        ["--distinct", "--top", "9"],
        ["--one-story"],
        ["--after", "2020-01-10"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("names", [["de.txt"], ["da.txt", "flood.txt", "de.txt"]])
def test_seeds_in_other_languages_are_the_same(
    languages, few_candidates, names, options
):
    """Of posts in their language, which their function words alone find, and of others."""
    rows, _ = both(languages, "rank", *seeds(languages, *names), *options, name="many")
    assert rows


def test_a_seed_in_another_language_leaves_most_posts_alone(languages, few_candidates):
    names = seeds(languages, "da.txt", "flood.txt")
    rows, _ = both(languages, "filter", *names, "--min-score", "0.4", name="many")
    counts = json.loads((languages / "b.jsonl.meta.json").read_text())["counts"]
    assert rows and len(rows) < counts["scored"] < 0.5 * counts["read"]


def test_a_pool_in_a_seeds_language_is_the_same(languages):
    """Where most posts seem to be about its story, and only their likeness tells that they are."""
    story = FOREIGN["de.txt"].split()
    lines = [" ".join(story[n % 20 : n % 20 + 9]) for n in range(99)]
    write(
        languages / "de.jsonl",
        [{"id": f"d{n}", "text": t} for n, t in enumerate(lines)],
    )
    run("index", "--posts", languages / "de.jsonl", "--out", languages / "de.index")
    rows, done = both(languages, "rank", *seeds(languages, "de.txt"), name="de")
    assert rows and "'de'" in done.stderr
    asked = [*seeds(languages, "de.txt", "flood.txt"), "--about", "article"]
    assert both(languages, "rank", *asked, name="de")[0]


def test_only_posts_that_can_matter_are_scored(pool):
    options = ["--min-score", "0.3", "--about", "event"]
    both(pool, "filter", *seeds(pool, "flood.txt"), *options)
    meta = json.loads((pool / "b.jsonl.meta.json").read_text())
    assert meta["counts"]["scored"] < meta["counts"]["read"] == POSTS
    assert any("could be in the results" in remark for remark in meta["remarks"])


@pytest.mark.parametrize(
    ("near", "agreed", "share"),
    [(0.9, 0, 0.5), (0.1, 0, 1.0), (0.02, 0, 1.0), (0.1, 0.4, 1.0), (0.1, 1, 1.0)],
)
@pytest.mark.sampled(5)
@pytest.mark.parametrize("options", [[], ["--one-story"], ["--distinct"]], ids=" ".join)
def test_the_star_reads_what_it_reads_of_a_scan(
    pool, few_candidates, monkeypatch, near, agreed, share, options
):
    """Few posts or many, by what looks near and where vectors decide; it is not known before."""
    monkeypatch.setattr(second_look, "LEAST", 10)
    monkeypatch.setattr(second_look, "MOST", 200)
    monkeypatch.setattr(second_look, "_NEAR", near)
    monkeypatch.setattr(
        MixtureScorer, "agreement", lambda self: np.full(len(self.scales()), agreed)
    )
    asked = [*seeds(pool), "--about", "event"]
    rows, _ = both(pool, "rank", *asked, *options, "--top", 9)
    counts = json.loads((pool / "b.jsonl.meta.json").read_text())["counts"]
    assert rows and counts["scored"] <= share * counts["read"]


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
