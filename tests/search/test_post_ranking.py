"""Ranking against a plain sort."""

import csv
import io
import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from siamese_news.data.records import Article, Post
from siamese_news.errors import InputError
from siamese_news.scoring import open_scorer
from siamese_news.search import scan
from siamese_news.search.post_ranking import search
from siamese_news.search.python_inputs import CheckedPosts
from siamese_news.search.query import Query
from siamese_news.search.result_files import row_of, write_rows
from siamese_news.search.scan import StreamPool
from siamese_news.search.seeds import Seeds
from siamese_news.utils.terminal import clean

ARTICLES = [
    Article("a1", "flood in the river town"),
    Article("a2", "the mayor vote", title="Vote"),
]
WORDS = ["flood", "river", "fire", "train", "vote", "mayor", "the", "zzz"]


def rank_posts(model, articles, posts, top):
    seeds, pool = Seeds(articles), StreamPool(CheckedPosts(posts))
    return list(
        search(open_scorer(model, seeds.texts), seeds, pool, top=Query(top=top).top)
    )


def _naive(model, posts, top, block):
    seeds = model.encode_articles([a.full_text for a in ARTICLES])
    # By the same blocks: a product's last bits depend on its width, and so may the sixth decimal.
    blocks = [posts[start : start + block] for start in range(0, len(posts), block)]
    scores = [seeds @ model.encode_posts([p.text for p in own]).T for own in blocks]
    result = []
    for row in np.hstack(scores).tolist():
        scored = [(round(s, 6), p.id) for s, p in zip(row, posts, strict=True)]
        result.append(sorted(scored, reverse=True)[:top])
    return result


@given(
    st.lists(st.lists(st.sampled_from(WORDS), max_size=4), min_size=1, max_size=40),
    st.data(),
)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_equal_to_a_plain_sort(tiny_model, texts, data):
    top = data.draw(st.integers(1, 45))
    block = data.draw(st.integers(1, 50))
    posts = [Post(f"p{i}", " ".join(words)) for i, words in enumerate(texts)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan, "BLOCK", block)
        ranked = rank_posts(tiny_model, ARTICLES, iter(posts), top=top)
    for got, expected in zip(
        ranked, _naive(tiny_model, posts, top, block), strict=True
    ):
        assert [r.rank for r in got] == list(range(1, len(got) + 1))
        assert [r.post.id for r in got] == [id for _, id in expected]
        assert [r.score for r in got] == pytest.approx(
            [s for s, _ in expected], abs=1.1e-6
        )


@pytest.mark.parametrize(
    ("articles", "posts", "top", "message"),
    [
        ([], [Post("p", "x")], 1, "no seed article"),
        (ARTICLES, [], 1, "no post"),
        (ARTICLES, [Post("p", "x"), Post("p", "y")], 1, "'p' occurs twice"),
        (ARTICLES, [Post("p", "x")], 0, "top is 0"),
    ],
)
def test_what_cannot_be_ranked_is_said(tiny_model, articles, posts, top, message):
    with pytest.raises(InputError, match=message):
        rank_posts(tiny_model, articles, posts, top=top)


HOSTILE = 'flood =1+1 [bold red] "quoted", \x1b[2J\u202eevil\n<script> ünï 🔥'


def write_ranking(stream, ranking, format, *, terminal):
    rows = (row_of(item) for items in ranking for item in items)
    titles = {article.id: article.title for article in ARTICLES}
    write_rows(stream, rows, format, titles=titles, terminal=terminal)


@pytest.fixture
def ranking(tiny_model):
    posts = [Post("p1", HOSTILE), Post("p2", "=HYPERLINK(1)"), Post("-3", "vote")]
    return rank_posts(tiny_model, ARTICLES, posts, top=3)


@pytest.mark.parametrize("terminal", [False, True])
def test_the_table_cannot_drive_the_terminal(ranking, terminal):
    stream = io.StringIO()
    write_ranking(stream, ranking, "table", terminal=terminal)
    assert "\x1b[2J" not in stream.getvalue()
    assert "\u202e" not in stream.getvalue()
    assert "[bold red]" in stream.getvalue()


def test_jsonl_keeps_the_text(ranking):
    stream = io.StringIO()
    write_ranking(stream, ranking, "jsonl", terminal=False)
    rows = [json.loads(line) for line in stream.getvalue().split("\n") if line]
    assert len(rows) == 6
    assert HOSTILE in {row["text"] for row in rows}


def test_csv_runs_no_formula(ranking):
    stream = io.StringIO()
    write_ranking(stream, ranking, "csv", terminal=False)
    rows = list(csv.DictReader(io.StringIO(stream.getvalue())))
    texts = {row["text"] for row in rows}
    assert "'=HYPERLINK(1)" in texts
    assert HOSTILE.replace("\x1b", "␛") in texts
    # A number is no formula, and a mark before it would change an id.
    assert {row["post"] for row in rows} == {"p1", "p2", "-3"}


def test_a_written_run_reads_back_in_order(ranking, tmp_path):
    from siamese_news.data.trec import read_run

    path = tmp_path / "run.txt"
    with path.open("w") as stream:
        write_ranking(stream, ranking, "trec", terminal=False)
    run = read_run(path)
    for posts in ranking:
        assert run[posts[0].article.id] == {
            r.post.id: pytest.approx(r.score) for r in posts
        }


def test_clean_keeps_one_printable_line():
    assert clean("a\tb\n\x1b[31m\u200bc\u2028d") == "a b [31mc d"
