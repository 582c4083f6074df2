import pytest
from benchmarks.leaks import leak_report, leaks
from hypothesis import given, settings
from hypothesis import strategies as st

from siamese_news.data import Article, Collection, Post, read_collection
from siamese_news.data.splits import (
    SPLITS,
    pool_qrels,
    relevant_pairs,
    resplit,
    same_text_key,
)
from siamese_news.errors import InputError


def collection_of(counts, per_event=2):
    articles = {
        f"a{n}": Article(f"a{n}", "x", "", {"event": n // per_event})
        for n in range(len(counts))
    }
    qrels = {f"a{n}": {f"p{n}-{i}": 1 for i in range(k)} for n, k in enumerate(counts)}
    posts = {p: Post(p, f"text {p}") for judged in qrels.values() for p in judged}
    return Collection("made", articles, posts, {"all": qrels})


counts = st.lists(st.integers(1, 6), min_size=8, max_size=20)


@settings(max_examples=50, deadline=None)
@given(
    counts=counts,
    by=st.sampled_from(["pair", "article", "event"]),
    seed=st.integers(0, 3),
)
def test_splits_partition_the_pairs_and_keep_units_together(counts, by, seed):
    collection = collection_of(counts)
    cut = resplit(collection, by=by, seed=seed)
    parts = [set(relevant_pairs(cut.qrels[name])) for name in SPLITS]
    assert all(parts)
    assert set.union(*parts) == set(relevant_pairs(collection.qrels["all"]))
    assert sum(map(len, parts)) == sum(counts)
    if by != "pair":
        assert leaks(cut)["articles"].seen == 0
    if by == "event":
        assert leaks(cut)["events"].seen == 0


def test_the_order_of_lines_does_not_matter():
    collection = collection_of([3, 4, 2, 5, 1, 3, 6, 2])
    turned = Collection(
        "made",
        collection.articles,
        collection.posts,
        {"all": dict(reversed(collection.qrels["all"].items()))},
    )
    for by in ("pair", "article", "event"):
        assert resplit(collection, by=by).qrels == resplit(turned, by=by).qrels
        assert (
            resplit(collection, by=by).qrels != resplit(collection, by=by, seed=1).qrels
        )


def test_given_changes_nothing_and_fractions_count():
    collection = collection_of([10] * 10)
    assert resplit(collection, by="given") is collection
    cut = resplit(collection, by="pair", fractions=(0.7, 0.1, 0.2))
    assert [len(relevant_pairs(cut.qrels[name])) for name in SPLITS] == [70, 10, 20]
    two = resplit(collection, by="article", fractions=(0.5, 0, 0.5))
    assert set(two.qrels) == {"train", "test"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "author"}, "data.split.by is 'author'"),
        ({"by": "pair", "fractions": (0.5, 0.1)}, "three numbers"),
        ({"by": "pair", "fractions": (0.5, 0.1, 0.1)}, "sum to 1"),
        ({"by": "event"}, "2 events to split, expected at least 3"),
    ],
)
def test_what_cannot_be_split(options, message):
    with pytest.raises(InputError, match=message):
        resplit(collection_of([1, 1, 1, 1]), **options)


def test_no_event_is_named():
    collection = collection_of([1] * 8)
    collection.articles["a3"] = Article("a3", "x")
    with pytest.raises(InputError, match="article 'a3' has no metadata.event"):
        resplit(collection, by="event")


def test_pooling_keeps_the_higher_grade():
    assert pool_qrels({"a": {"x": {"p": 1, "q": 0}}, "b": {"x": {"p": 2}}}) == {
        "x": {"p": 2, "q": 0}
    }


def test_leaks_by_hand():
    articles = {
        n: Article(n, t, "", {"event": e})
        for n, t, e in [("a", "x", 1), ("b", "X!", 1)]
    }
    posts = {
        "p": Post("p", "RT @you: Big news https://t.co/a"),
        "q": Post("q", "big NEWS"),
        "r": Post("r", "other"),
    }
    qrels = {"train": {"a": {"p": 1}}, "test": {"b": {"q": 1, "p": 1}, "a": {"r": 1}}}
    found = leaks(Collection("c", articles, posts, qrels))
    assert {k: (v.seen, v.total) for k, v in found.items()} == {
        "pairs": (0, 3),
        "articles": (1, 2),
        "posts": (1, 3),
        "events": (1, 1),
        "article_texts": (2, 2),
        "post_texts": (2, 3),
    }
    assert same_text_key("@a http://b.c !") == ""


def test_the_report_shows_that_the_pair_split_leaks(small):
    report = leak_report(read_collection(small))
    assert list(report) == ["given", "pair", "article", "event"]
    assert report["given"]["articles"].seen == 0
    assert report["pair"]["articles"].seen == report["pair"]["articles"].total
    assert report["event"]["events"].seen == 0
