"""The keyword list against plain counting, and the command."""

import csv
import io
import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from siamese_news.cli import app
from siamese_news.data.records import Post
from siamese_news.errors import InputError
from siamese_news.search.keyword_list import find_keywords, terms_of


def posts_of(texts):
    return [Post(str(number), text) for number, text in enumerate(texts)]


def test_terms_are_what_a_search_by_words_can_ask_for():
    found = terms_of(
        "The flood in Harlow: river Dow rises! #HarlowFlood http://x.co @ann a b 🔥"
    )
    assert found == [
        "flood",
        "harlow",
        "river",
        "dow",
        '"river dow"',
        "rises",
        '"dow rises"',
        "#harlowflood",
    ]


def test_a_word_that_everyone_uses_does_not_come_first():
    pool = posts_of(["flood news"] * 30 + ["dam news"] * 10 + ["news today"] * 500)
    found = find_keywords(pool, {str(n) for n in range(40)}, limit=5)
    assert [k.term for k in found.keywords] == ['"flood news"', '"dam news"']
    first, second = found.keywords
    assert (first.adds, first.found, first.accepted, first.others) == (30, 30, 30, 0)
    assert (second.adds, second.found) == (10, 40)
    assert (found.accepted, found.unaccepted) == (40, 500)


words = st.lists(
    st.sampled_from(["flood", "river", "vote", "train", "fire", "#dam"]), max_size=5
)


@given(st.lists(words, min_size=2, max_size=60), st.data())
@settings(deadline=None)
def test_the_figures_are_those_of_plain_counting(texts, data):
    pool = posts_of(" ".join(text) for text in texts)
    count = data.draw(st.integers(1, len(pool) - 1))
    ids = {post.id for post in pool[:count]}
    found = find_keywords(pool, ids, limit=8)
    terms = {post.id: set(terms_of(post.text)) for post in pool}
    covered = set()
    for keyword in found.keywords:
        has = {id for id, own in terms.items() if keyword.term in own}
        assert keyword.accepted == len(has & ids)
        assert keyword.others == len(has - ids)
        assert keyword.adds == len((has & ids) - covered) > 0
        covered |= has & ids
        assert keyword.found == len(covered)
        # Likelier among the accepted: that is what it was chosen for.
        assert keyword.accepted / count > keyword.others / (len(pool) - count)


pieces = st.lists(
    st.sampled_from(
        "flood flood, Flood-river rivers @ann http://x.co/a #dam #RiverDow the it's sooooo "
        "洪水警報が 洪水 水警 警報 &amp; 🔥 a 42 naïve".split()
    ),
    max_size=7,
)


@given(st.lists(pieces, min_size=2, max_size=40), st.data())
@settings(deadline=None)
def test_texts_of_the_results_save_a_pass_and_change_nothing(texts, data):
    pool = posts_of(" ".join(text) for text in texts)
    accepted = {p.id: p.text for p in pool[: data.draw(st.integers(1, len(pool) - 1))]}
    counts = Counter(
        term for post in pool if post.id not in accepted for term in terms_of(post.text)
    )
    passes = 0

    class Passes(list):
        def __iter__(self):
            nonlocal passes
            passes += 1
            return super().__iter__()

    once = find_keywords(Passes(pool), accepted, limit=9, texts=accepted.values())
    assert passes == (1 if any(map(terms_of, accepted.values())) else 2)
    assert once == find_keywords(pool, accepted, limit=9)
    # The results were written from another version of the posts.
    others = ["flood river", *list(accepted.values())[1:]]
    assert once == find_keywords(Passes(pool), accepted, limit=9, texts=others)
    for keyword in once.keywords:
        assert keyword.others == counts[keyword.term]


@pytest.mark.parametrize(
    ("ids", "message"), [({"none"}, "none of the accepted"), ({"0", "1"}, "every post")]
)
def test_a_pool_that_tells_nothing_is_refused(ids, message):
    with pytest.raises(InputError, match=message):
        find_keywords(posts_of(["flood", "river"]), ids, limit=3)


@pytest.fixture
def files(tmp_path, tiny_model):
    tiny_model.save(tmp_path / "model", card="")
    (tmp_path / "story.txt").write_text("Flood in the town river water")
    texts = ["flood river town"] * 6 + ["vote for the mayor"] * 30
    with (tmp_path / "posts.jsonl").open("w") as stream:
        for number, text in enumerate(texts):
            stream.write(json.dumps({"id": f"-{number}", "text": text}) + "\n")
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.mark.parametrize("name", ["found.jsonl", "found.csv", "found.parquet"])
@pytest.mark.parametrize("options", [[], ["--ids-only"]])
def test_from_what_filter_wrote(files, name, options):
    done = run(
        "filter",
        "--model",
        files / "model",
        "--articles",
        files / "story.txt",
        "--posts",
        files / "posts.jsonl",
        "--min-score",
        0.5,
        "--out",
        files / name,
        *options,
    )
    assert done.exit_code == 0, done.stderr
    done = run(
        "keywords",
        "--results",
        files / name,
        "--posts",
        files / "posts.jsonl",
        "--format",
        "jsonl",
    )
    assert done.exit_code == 0, done.stderr
    [row] = [json.loads(line) for line in done.stdout.splitlines()]
    assert row["adds"] == 6
    assert row["others"] == 0
    assert row["term"] in ("flood", "river", "town", '"flood river"', '"river town"')


def test_a_table_and_a_file(files):
    ids = "".join(json.dumps({"post": f"-{n}"}) + "\n" for n in range(6))
    (files / "found.jsonl").write_text(ids)
    given = ("--results", files / "found.jsonl", "--posts", files / "posts.jsonl")
    done = run("keywords", *given)
    assert done.exit_code == 0, done.stderr
    assert "1 term, in 6 of 6 accepted posts; the pool has 30 others" in done.stdout
    assert run("keywords", *given, "--out", files / "words.csv").exit_code == 0
    [row] = csv.DictReader(io.StringIO((files / "words.csv").read_text()))
    assert row["rank"] == "1"
    assert row["found"] == "6"


def test_no_term_is_said_and_a_folder_is_not_read_as_results(files):
    posts, found = files / "posts.jsonl", files / "found.jsonl"
    found.write_text('{"post": "-9"}\n')
    done = run(
        "keywords", "--results", found, "--posts", posts, "--out", files / "words.txt"
    )
    assert done.exit_code == 0, done.stderr
    assert "no term is surely more frequent in the accepted posts" in done.stderr
    done = run("keywords", "--results", files, "--posts", posts)
    assert done.exit_code == 2
    assert (
        f"{files}: is a folder; expected a file that rank or filter wrote"
        in done.stderr
    )


def test_an_ending_without_a_format_is_refused_before_anything_is_read(files):
    for name, message in {
        (
            "keywords",
            "--results",
            "none.jsonl",
        ): "that ends in .jsonl, .csv or .txt, or --format",
        (
            "explain",
            "--articles",
            "none.txt",
            "--post",
            "1",
        ): "that ends in .jsonl or .txt, or",
    }.items():
        done = run(*name, "--posts", files / "posts.jsonl", "--out", files / "k.html")
        assert done.exit_code == 2 and message in done.stderr, done.output
        assert not (files / "k.html").exists()
