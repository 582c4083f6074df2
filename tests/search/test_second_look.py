"""A second look raises what a transformer finds near among each list's best, and nothing else."""

import json
import multiprocessing
import os
import sys
import types
from functools import partial
from itertools import pairwise
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score
from typer.testing import CliRunner

from siamese_news import Searcher
from siamese_news.cli import app
from siamese_news.data.records import Article, Post
from siamese_news.data.sources import open_source
from siamese_news.errors import InputError
from siamese_news.model import cached
from siamese_news.model.text_model import PRETRAINED
from siamese_news.search import filtering, scan, second_look
from siamese_news.search.second_look import SecondLook, dealt
from siamese_news.search.seeds import Seeds
from siamese_news.search.sharding import steps, workers

WORDS = ["flood", "river", "cellar", "bridge", "phone"]
STORIES = {
    "a": "A flood. The river took the bridge and filled every cellar of the town.",
    "b": "A new phone is sold out. The shop has no phone left, the town waits.",
}
POSTS = [
    {
        "id": f"p{n}",
        "text": f"{WORDS[n % 5]} {WORDS[n * n % 5]} {'flood ' * (n % 4)}"
        f"{'phone ' * (n % 3)}number {n} of the town",
    }
    for n in range(40)
]


class Counting:
    """Counts five words; says how many texts it has read, and may fail."""

    read = 0
    fails_after = 10**9

    def __init__(self, folder, **options):
        pass

    def encode(self, texts, show_progress_bar):
        Counting.read += len(texts)
        if Counting.read > Counting.fails_after:
            raise RuntimeError("no memory left")
        return np.array(
            [[text.lower().count(word) for word in WORDS] for text in texts]
        )


class Pairs(Counting):
    """The share of a post's words that an article has, as a cross-encoder would say it."""

    def __init__(self, folder, activation_fn, **options):
        pass

    def predict(self, pairs, show_progress_bar):
        Counting.read += len(pairs)
        if Counting.read > Counting.fails_after:
            raise RuntimeError("no memory left")
        return np.array(
            [np.mean([w in a.lower() for w in p.split()]) for a, p in pairs]
        )


@pytest.fixture(params=["vectors", "pairs"])
def folder(request, tmp_path, monkeypatch):
    fake = types.ModuleType("sentence_transformers")
    fake.SentenceTransformer, fake.CrossEncoder = Counting, Pairs
    monkeypatch.setitem(sys.modules, "sentence_transformers", fake)
    monkeypatch.setenv("SIAMESE_NEWS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(Counting, "read", 0)
    monkeypatch.setattr(
        second_look, "cached_values", partial(cached.cached_values, together=4)
    )
    root = tmp_path / "model"
    root.mkdir()
    if request.param == "pairs":
        kind = ["BertForSequenceClassification"]
        (root / "config.json").write_text(json.dumps({"architectures": kind}))
    else:
        (root / "modules.json").write_text("[]")
    return root


@pytest.fixture
def files(tmp_path):
    for name, text in STORIES.items():
        (tmp_path / f"{name}.txt").write_text(text)
    lines = [json.dumps(post) + "\n" for post in POSTS]
    (tmp_path / "posts.jsonl").write_text("".join(lines))
    return tmp_path


def similar(folder, article, texts):
    """By the fakes, word by word."""
    if (folder / "config.json").exists():
        return Pairs(folder, None).predict([(article, text) for text in texts], False)
    model = sys.modules["sentence_transformers"].SentenceTransformer(folder)
    vectors = model.encode([article, *texts], False).astype(np.float64)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return vectors[1:] @ vectors[0]


def looked(folder, article, texts, posts):
    """The similarities of texts less half of their density, and what they must exceed, naively."""
    near = similar(folder, article, texts)
    if (folder / "config.json").exists():
        return near, np.median(near)
    sample = sorted(set(posts), key=lambda text: (crc32(text.encode()), text))[:300]
    corrected = []
    for text, cosine in zip(texts, near, strict=True):
        others = [post for post in sample if post != text]
        best = np.sort(similar(folder, text, others))[-min(10, len(sample) - 1) :]
        corrected.append(cosine - 0.5 * best.mean())
    return np.array(corrected), np.quantile(corrected, 0.95)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("one_story", [False, True])
def test_the_best_of_each_list_come_in_the_order_with_what_exceeds_the_quantile(
    folder, one_story, monkeypatch
):
    count, articles = 15, list(STORIES.values())
    options = {"top": len(POSTS), "one_story": one_story}
    before = Searcher().rank(articles, POSTS, second_look="none", **options)
    monkeypatch.setattr(second_look, "MOST", count)
    found = Searcher().rank(articles, POSTS, second_look=folder, **options)
    lists = [articles] if one_story else [[article] for article in articles]
    size = len(POSTS)
    moved = 0
    for number, own in enumerate(lists):
        plain = before[number * size : (number + 1) * size]
        texts = [row["text"] for row in plain]
        added = np.zeros(size)
        for article in own:
            near, floor = looked(
                folder, article, texts[:count], [post["text"] for post in POSTS]
            )
            added[:count] = np.maximum(added[:count], 0.2 * (near - floor).clip(0))
        sums = {
            row["post_id"]: row["score"] + a
            for row, a in zip(plain, added, strict=True)
        }
        mine = found[number * size : (number + 1) * size]
        order = [sums[row["post_id"]] for row in mine]
        # float16
        assert (np.diff(order) <= 4e-4).all()
        ids, before_ids = ([row["post_id"] for row in rows] for rows in (mine, plain))
        moved += ids != before_ids
        assert set(ids[:count]) == set(before_ids[:count])
        assert mine[count:] == plain[count:]
        for column in ("score", "relevance"):
            pairs = zip(mine, plain, strict=True)
            values = [[row[column] for row in pair] for pair in pairs]
            assert np.allclose(*np.mean(values[:count], axis=0), atol=1e-2)
        keys = [(-row["score"], row["post_id"]) for row in mine]
        assert [-score for score, _ in keys] == sorted(
            (-s for s, _ in keys), reverse=True
        )
    assert moved


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=30)
)
def test_scores_are_dealt_out_in_another_order(pairs):
    scores, order = np.array(pairs).T * 1000
    dealt_scores = dealt(scores, order)
    falling = sorted(scores, reverse=True)
    by_place = list(zip(falling, sorted(order, reverse=True), strict=True))
    expected = {
        value: np.mean([score for score, place in by_place if place == value])
        for value in order
    }
    for score, value in zip(dealt_scores, order, strict=True):
        assert 0 <= score - round(expected[value]) <= len(pairs)
        assert min(scores) <= score
    steps = np.subtract.outer(dealt_scores, dealt_scores)
    assert (np.sign(steps) == np.sign(np.subtract.outer(order, order))).all()
    if len(set(order)) == len(order) and len(set(scores)) == len(scores):
        assert sorted(dealt_scores) == sorted(scores)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pool", "split", "every"),
    [("fox-comments", "test", 1), ("politifact-dev", "dev", 3)],
)
def test_scores_of_different_seeds_compare_as_they_did_before(pool, split, every):
    """In one list over all seeds the order is no worse with the second look than without."""
    if not os.environ.get("SIAMESE_NEWS_DATA"):
        pytest.skip("the posts are not in this repository")
    collection = open_source(pool)
    qrels = collection.split(split)
    posts = list(collection.posts.values())
    articles = [collection.articles[id] for id in list(qrels)[::every]]
    figures = {}
    for look in ("none", "star"):
        rows = Searcher().rank(articles, posts, top=len(posts), second_look=look)
        relevant = [qrels[r["article_id"]].get(r["post_id"], 0) > 0 for r in rows]
        figures[look] = average_precision_score(relevant, [r["score"] for r in rows])
        for one, two in pairwise(rows):
            if one["article_id"] == two["article_id"] and one["relevance"]:
                assert one["relevance"] >= two["relevance"]
    assert figures["star"] >= figures["none"]


def test_the_star_reads_again_by_default_and_the_same_from_any_door(files):
    posts = ("--posts", files / "posts.jsonl")
    ask = ("--articles", files / "a.txt", "--out")
    run(files, "index", *posts, "--out", files / "posts.index")
    run(files, "rank", *ask, files / "stream.jsonl", *posts)
    run(files, "rank", *ask, files / "index.jsonl", "--index", files / "posts.index")
    run(files, "rank", *ask, files / "once.jsonl", *posts, "--second-look", "none")
    stream, index, once = (
        (files / f"{name}.jsonl").read_bytes() for name in ("stream", "index", "once")
    )
    assert stream == index != once
    meta = json.loads((files / "stream.jsonl.meta.json").read_text())
    assert meta["score"] == "mixture, second look"
    assert meta["provenance"]["second_look"]["folder"] == "star"
    kept = ("--min-score", 0.001)
    run(files, "filter", *ask, files / "f.jsonl", *posts, *kept)
    run(files, "filter", *ask, files / "w.jsonl", *posts, *kept, "--workers", 2)
    assert (files / "f.jsonl").read_bytes() == (files / "w.jsonl").read_bytes()
    rows = Searcher().rank([STORIES["a"]], POSTS)
    first = [json.loads(line)["score"] for line in stream.splitlines()]
    assert [row["score"] for row in rows][: len(first)] == first


@pytest.mark.parametrize("dies", [1, 3])
def test_an_interrupted_filter_continues_to_the_same_bytes(files, dies, monkeypatch):
    monkeypatch.setattr(scan, "BLOCK", 5)
    posts = ("--posts", files / "posts.jsonl", "--min-score", 0.001)
    ask = ("filter", "--articles", files / "a.txt", *posts, "--out")
    run(files, *ask, files / "at_once.jsonl")
    run(files, *ask, files / "first_look.jsonl", "--second-look", "none")
    monkeypatch.setattr(steps.ShardFolder, "due", True)
    rows_over = filtering.rows_over
    calls = []

    def dying(*arguments):
        calls.append(arguments)
        if len(calls) == dies + 1:
            raise KeyboardInterrupt
        return rows_over(*arguments)

    out = files / "resumed.jsonl"
    with monkeypatch.context() as patch:
        patch.setattr(filtering, "rows_over", dying)
        done = CliRunner().invoke(app, [str(word) for word in (*ask, out)])
    assert done.exit_code == 130 and not out.exists()
    run(files, *ask, out, "--resume")
    assert out.read_bytes() == (files / "at_once.jsonl").read_bytes()
    assert out.read_bytes() != (files / "first_look.jsonl").read_bytes()


def test_explain_says_that_the_star_reads_again(files):
    ask = ("--articles", files / "a.txt", "--posts", files / "posts.jsonl")
    one = ("--post", json.loads((files / "posts.jsonl").open().readline())["id"])
    assert "the star then reads the best posts" in run(
        files, "explain", *ask, *one
    ).stderr.replace("\n", " ")
    ours = ("--model", PRETRAINED)  # next to a model that is named nothing reads again
    assert "the star" not in run(files, "explain", *ask, *one, *ours).stderr


def test_a_text_without_a_vector_is_not_raised(files):
    rows = Searcher().rank(["zzzqx qqzzx"], POSTS)
    assert {row["score"] for row in rows} == {0.0}


def run(files, *arguments):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.output
    return done


def command(files, folder, name, out, *more):
    posts = () if "--index" in more else ("--posts", files / "posts.jsonl")
    return (
        name,
        "--articles",
        files / "a.txt",
        *posts,
        "--out",
        files / out,
        "--second-look",
        folder,
        *more,
    )


def test_an_index_and_a_stream_give_the_same_bytes(files, folder):
    run(
        files, "index", "--posts", files / "posts.jsonl", "--out", files / "posts.index"
    )
    run(files, *command(files, folder, "rank", "stream.jsonl", "--top", 5))
    run(
        files,
        *command(
            files,
            folder,
            "rank",
            "index.jsonl",
            "--top",
            5,
            "--index",
            files / "posts.index",
        ),
    )
    assert (files / "stream.jsonl").read_bytes() == (files / "index.jsonl").read_bytes()
    meta = json.loads((files / "stream.jsonl.meta.json").read_text())
    assert meta["score"] == "mixture, second look"
    assert meta["provenance"]["second_look"]["folder"] == str(folder)


def test_filter_keeps_the_same_posts_and_orders_them_by_both_looks(
    files, folder, monkeypatch
):
    monkeypatch.setattr(SecondLook, "count", lambda *_: 20)
    threshold = ("--min-score", 0.001)
    run(
        files,
        "filter",
        "--articles",
        files / "a.txt",
        "--posts",
        files / "posts.jsonl",
        "--out",
        files / "first.jsonl",
        "--second-look",
        "none",
        *threshold,
    )
    run(files, *command(files, folder, "filter", "both.jsonl", *threshold))
    first, both = (
        {row["post"]: row["score"] for row in map(json.loads, (files / name).open())}
        for name in ("first.jsonl", "both.jsonl")
    )
    assert first.keys() == both.keys() and len(first) > 10
    reread = list(first)[:20]
    assert set(reread) == set(list(both)[:20]) and reread != list(both)[:20]
    assert all(both[post] == first[post] for post in first if post not in reread)
    assert list(both.values()) == sorted(both.values(), reverse=True)
    assert sum(both.values()) == pytest.approx(sum(first.values()), abs=1e-3)


DANISH = (
    "Floden gik over sine bredder i nat, og mange beboere i byen måtte forlade deres huse. "
    "Kommunen siger, at broen er lukket, og at skolerne ikke åbner før på mandag. "
    "Brandvæsenet pumpede vand ud af hver kælder, mens naboerne hjalp hinanden med sække af sand."
)


class Danish(Counting):
    """Knows what floods do, and counts the rest of a text by its letters."""

    def encode(self, texts, show_progress_bar):
        floods = ("vand", "våd", "flod", "drukne")
        counts = [
            [6 * any(word in text.lower() for word in floods)]
            + [text.count(letter) for letter in "xyz"]
            for text in texts
        ]
        return np.array(counts) + 0.01


@pytest.fixture
def danish(files, folder, monkeypatch):
    """A pool in which words of the seed are weak, and the model finds others near."""
    sys.modules["sentence_transformers"].SentenceTransformer = Danish
    lines = []
    for n in range(240):
        letters = "xyz"[n % 3] * (1 + n % 5)
        near = f"vi har vand i kælder {n}" if n < 24 else f"bil {n} er solgt"
        if n % 10 == 9:
            near = "alt er vådt her"
        text = f"{near} {letters} hos farmor tirsdag morgen"
        lines.append(json.dumps({"id": f"p{n:03}", "text": text}) + "\n")
    (files / "posts.jsonl").write_text("".join(lines))
    (files / "a.txt").write_text(DANISH)
    return folder


def agreement_of(folder, article, texts, scores):
    """By the definition."""
    near, _ = looked(folder, article, texts, texts)
    near = near / near.std()
    z = (near[:20].mean() - near[20:].mean()) / (near[20:].std() + 0.01)
    ramps = (
        (z - 1.75) / 0.75,
        (scores[:20].mean() - 0.04) / 0.05,
        1 - (scores[:3].mean() - 0.25) / 0.15,
    )
    return np.prod(np.clip(ramps, 0, 1))


@pytest.mark.parametrize("folder", ["vectors"], indirect=True)
def test_a_model_of_another_library_measures_how_far_vectors_decide_for_foreign_seeds(
    danish, monkeypatch
):
    posts = [json.loads(line) for line in (danish.parent / "posts.jsonl").open()]
    texts = [post["text"] for post in posts]
    order = np.arange(len(texts))
    scores = np.linspace(0.3, 0.01, len(texts))
    stories = [Article("da", DANISH), Article("en", STORIES["a"])]
    look = SecondLook(danish, Seeds(stories))
    look.read_sample([Post(post["id"], post["text"]) for post in posts])
    seen = []
    monkeypatch.setattr(
        look, "count", lambda *arguments: seen.append(arguments[2]) or 5
    )
    for number in range(2):
        millionths = np.rint(scores * 1e6).astype(np.int64)
        places = look.reread(
            number,
            millionths,
            order,
            lambda places: [texts[place] for place in places.tolist()],
            np.ones(2),
            np.array([0.0, 0.25]),
        )
        assert places.tolist() == [0, 1, 2, 3, 4]
    expected = agreement_of(danish, DANISH, texts, scores)
    assert 0.1 < expected < 1
    assert seen[0] == pytest.approx([expected, 0.25], abs=2e-3)  # float16
    assert seen[1].tolist() == [0.0, 0.25]


@pytest.mark.parametrize("folder", ["vectors"], indirect=True)
def test_foreign_seeds_give_the_same_from_any_door(files, danish, monkeypatch):
    posts = ("--posts", files / "posts.jsonl")
    run(files, "index", *posts, "--out", files / "posts.index")
    run(files, *command(files, danish, "rank", "stream.jsonl"))
    indexed = ("--index", files / "posts.index")
    run(files, *command(files, danish, "rank", "index.jsonl", *indexed))
    kept = ("--min-score", -1)
    # Only copies of this process know its model, also where another test has imported torch.
    fork = multiprocessing.get_context("fork")
    monkeypatch.setattr(workers, "copying", lambda: fork)
    run(files, *command(files, danish, "filter", "f.jsonl", *kept))
    run(files, *command(files, danish, "filter", "w.jsonl", *kept, "--workers", 2))
    content = {
        name: (files / f"{name}.jsonl").read_bytes()
        for name in ("stream", "index", "f", "w")
    }
    assert content["stream"] == content["index"] and content["f"] == content["w"]
    ranked, kept_posts = (
        [(row["post"], row["score"]) for row in map(json.loads, text.splitlines())]
        for text in (content["stream"], content["f"])
    )
    assert ranked == kept_posts[: len(ranked)]
    monkeypatch.setattr(second_look, "language_of_seed", lambda text: None)
    run(files, *command(files, danish, "rank", "english.jsonl"))
    assert (files / "english.jsonl").read_bytes() != content["stream"]


def test_what_was_read_before_a_failure_is_kept(files, folder, monkeypatch):
    monkeypatch.setattr(second_look, "MOST", 20)
    monkeypatch.setattr(Counting, "fails_after", 9)
    with pytest.raises(
        InputError, match=r"failed after 8 of 20 texts \(no memory left\)"
    ):
        Searcher().rank([STORIES["a"]], POSTS, second_look=folder)
    monkeypatch.setattr(Counting, "fails_after", 10**9)
    monkeypatch.setattr(Counting, "read", 0)
    again = Searcher().rank([STORIES["a"]], POSTS, second_look=folder)
    pairs = (folder / "config.json").exists()
    # The other posts, and of vectors those of the article and of the sample.
    assert Counting.read == 12 + (1 + len(POSTS) - 20) * (not pairs)
    monkeypatch.setenv("SIAMESE_NEWS_CACHE", str(files / "another"))
    whole = Searcher().rank([STORIES["a"]], POSTS, second_look=folder)
    assert whole == again


def test_the_scores_say_how_many_are_read():
    look = object.__new__(SecondLook)
    look._posts = None
    look._seeds, look._vectors = Seeds([Article("a", STORIES["a"])]), object()
    closed, half = np.zeros(1), np.full(1, 0.5)
    scores = np.full(9000, 20_000)
    assert look.count(0, scores, closed) == 200
    assert look.count(0, scores, half) == 2500  # more where vectors decide
    scores[:700] = 100_000
    assert look.count(0, scores, closed) == 1400
    scores[:5000] = 900_000
    assert look.count(0, scores, closed) == 5000
    look._posts = 7
    assert look.count(0, scores, half) == 7
    look._posts, look._vectors = None, None
    assert look.count(0, np.full(9000, 20_000), half) == 200


def test_a_folder_that_is_not_there_is_said_before_the_search(files, monkeypatch):
    monkeypatch.chdir(files)
    options = ["--articles", "a.txt", "--posts", "posts.jsonl"]
    done = CliRunner().invoke(app, ["rank", *options, "--second-look", "nothing"])
    assert done.exit_code == 2
    assert "no such model folder" in " ".join(done.output.split())
    assert "posts read" not in done.output
