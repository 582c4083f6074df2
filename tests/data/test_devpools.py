"""Dev pools: who stands in them, what their figures say."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from benchmarks.dev_pools import event_pools, pair_pool, shared_dev_pools, trec_posts
from benchmarks.pools import Pool, Ranking, edge_pools, evaluate_pools

from siamese_news.data import read_collection
from siamese_news.data.splits import same_text_key


@pytest.fixture(scope="module")
def stories(tmp_path_factory):
    """Two events of 3 and 2 articles; event 0 has 45 posts, event 1 has 24; one event to test."""
    folder = tmp_path_factory.mktemp("events") / "events"
    (folder / "qrels").mkdir(parents=True)
    articles, posts, rows = [], [], {"train": [], "dev": [], "test": []}
    for event, (split, count, each) in enumerate(
        [("train", 3, 15), ("dev", 2, 12), ("test", 1, 5)]
    ):
        for number in range(count):
            article = f"a{event}{number}"
            text = f"event{event} article{event}{number}"
            articles.append(
                {"_id": article, "text": text, "metadata": {"event": f"e{event}"}}
            )
            for n in range(each):
                post = f"p{event}{number}x{n:02}"
                posts.append({"_id": post, "text": f"{text} post{n}"})
                rows[split].append(f"{article}\t{post}\t1\n")
    for name, records in (("queries", articles), ("corpus", posts)):
        (folder / f"{name}.jsonl").write_text(
            "".join(json.dumps(r) + "\n" for r in records)
        )
    for split, lines in rows.items():
        text = "query-id\tcorpus-id\tscore\n" + "".join(lines)
        (folder / "qrels" / f"{split}.tsv").write_text(text)
    return read_collection(folder)


NOISE = [f"noise number{n}" for n in range(3000)]


@pytest.fixture(scope="module")
def pools(stories):
    return event_pools(stories, NOISE, splits=("train", "dev"), seed=3)


def shared_words(articles, posts):
    sets = [set(text.split()) for text in posts]
    return np.array(
        [[len(set(a.split()) & words) for words in sets] for a in articles], float
    )


def named(pools, name):
    return next(pool for pool in pools if pool.name == name)


def texts_of(pool, ranking, *, relevant):
    return [pool.posts[c] for c in ranking.columns[ranking.relevant == relevant]]


def test_no_text_of_the_test_split_is_in_a_pool(pools):
    assert not any(
        "event2" in text for pool in pools for text in [*pool.articles, *pool.posts]
    )


def test_links_are_own_posts_against_other_events(pools):
    everything = named(pools, "all")
    links = [r for r in everything.rankings if r.figure == "links"]
    assert len(links) == 5
    for ranking in links:
        article = everything.articles[ranking.rows[0]]
        event = article.split()[0]
        assert all(
            t.startswith(article) for t in texts_of(everything, ranking, relevant=True)
        )
        others = texts_of(everything, ranking, relevant=False)
        assert not any(event in text.split() for text in others)
        assert set(NOISE) < set(others)
        assert ranking.relevant.sum() == (15 if event == "event0" else 12)


def test_topic_posts_are_those_of_other_articles_of_the_event(pools):
    everything = named(pools, "all")
    topic = [r for r in everything.rankings if r.figure == "topic"]
    assert Counter(int(r.rows[0]) for r in topic) == dict.fromkeys(range(5), 4)
    for ranking in topic:
        event, own = everything.articles[ranking.rows[0]].split()
        relevant = texts_of(everything, ranking, relevant=True)
        assert all(
            event in text.split() and own not in text.split() for text in relevant
        )
        assert len(relevant) == (20 if event == "event0" else 12)
    draws = [frozenset(r.columns[r.relevant]) for r in topic if r.rows[0] == 0]
    assert len(set(draws)) == 4


@pytest.mark.parametrize("share", [0.03, 0.14, 0.3, 0.6, 0.9])
def test_shares_are_what_they_say(pools, share):
    pool = named(pools, f"event@{share:g} e0")
    (event,) = (r for r in pool.rankings if r.figure.startswith("event"))
    assert event.relevant.mean() == pytest.approx(share, abs=0.01)
    own = [r for r in pool.rankings if r.figure == f"own@{share:g}"]
    assert sum(r.relevant.sum() for r in own) == event.relevant.sum() == 45
    assert list(event.rows) == [0, 1, 2]


def test_only_events_of_enough_posts_have_shares(pools):
    assert {pool.name for pool in pools if pool.name.endswith("e1")} == {"event e1"}
    assert len(named(pools, "event e1").posts) == 24 * 7


def test_the_same_seed_draws_the_same(stories, pools):
    again = event_pools(stories, NOISE, splits=("train", "dev"), seed=3)
    assert [pool.posts for pool in again] == [pool.posts for pool in pools]
    other = event_pools(stories, NOISE, splits=("train", "dev"), seed=4)
    assert [pool.posts for pool in other] != [pool.posts for pool in pools]


def test_figures_of_a_scorer(stories, pools):
    found = evaluate_pools([*pools, pair_pool("pairs", stories, "train")], shared_words)
    for figure in (
        "links",
        "links_micro",
        "topic",
        "event",
        "own@0.3",
        "event@0.9",
        "pairs",
    ):
        assert found[figure] == pytest.approx(1.0), figure
    blind = evaluate_pools(pools, lambda a, p: np.zeros((len(a), len(p))))
    assert blind["event@0.3"] == pytest.approx(0.3, abs=0.01)


def test_groups_weigh_the_same():
    place = np.arange(2)
    first, last = np.array([True, False]), np.array([False, True])
    zero = np.array([0])
    rankings = [Ranking("f", "big", zero, place, first)] * 3
    rankings.append(Ranking("f", "small", zero, place, last))
    pool = Pool("pool", ["a"], ["p", "q"], rankings)
    found = evaluate_pools([pool], lambda a, p: np.array([[1.0, 0.0]]))
    assert found == {"f": pytest.approx((1.0 + 0.5) / 2)}


def test_edge_pools_are_scored_and_nan_is_refused(pools):
    edges = edge_pools(named(pools, "all"))
    assert [len(pool.posts) for pool in edges] == [1, 10, 10]
    assert len(set(edges[2].posts)) == 1
    found = evaluate_pools(edges, shared_words)
    assert found["edge: 1 post"] == 1.0
    assert found["edge: 10 posts"] == 1.0
    assert found["edge: identical posts"] == pytest.approx(0.5)
    with pytest.raises(ValueError, match="edge: 1 post: a score is not finite"):
        evaluate_pools(edges, lambda a, p: np.full((len(a), len(p)), np.nan))
    with pytest.raises(ValueError, match=r"shape \(1, 2\); expected \(1, 1\)"):
        evaluate_pools(edges, lambda a, p: np.zeros((1, 2)))


def test_distractors_leave_out_texts_and_years(tmp_path: Path, monkeypatch):
    folder = tmp_path / "trec-microblog"
    folder.mkdir()
    old, new = "30198105513140224", "300000000000000000"  # January 2011, February 2013
    rows = [
        {"_id": old, "text": "kept -LRB- bbc -RRB- http://t.co/x"},
        {"_id": f"{int(old) + 1}", "text": "KEPT bbc"},
        {"_id": f"{int(old) + 2}", "text": "known to the test"},
        {"_id": new, "text": "from another year"},
    ]
    (folder / "corpus.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows)
    )
    monkeypatch.setenv("SIAMESE_NEWS_DATA", str(tmp_path))
    taken = {same_text_key("RT @me Known to the test!")}
    assert trec_posts(10, without=taken) == ["kept bbc http://t.co/x"]
    assert len(trec_posts(10, without=set())) == 2
    assert len(trec_posts(1, without=set())) == 1


@pytest.mark.slow
def test_shared_pools(data_dir):
    pools = shared_dev_pools()
    test = read_collection(data_dir / "signal1m").posts.values()
    keys = {same_text_key(post.text) for post in test} - {""}
    everything = named(pools, "all")
    assert not keys & {same_text_key(text) for text in everything.posts[-20_000:]}
    boston = read_collection(data_dir / "crisislex-boston").articles.values()
    texts = {article.full_text for article in boston}
    assert not texts & {text for pool in pools for text in pool.articles}
