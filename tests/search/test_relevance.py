"""Relevance: one meaning for rank, filter and Python, cautious where nothing was measured."""

import dataclasses

import numpy as np
import pytest

from siamese_news import InputError, Searcher, open_model
from siamese_news.model.calibration import NAMES, Calibration, Evidence
from siamese_news.search.query import Query, read_relevance
from siamese_news.search.relevance import ListRelevance, cut_of
from siamese_news.search.seeds import MILLION

STORY = (
    "The river Asker burst its banks in Harlow Bridge on Sunday night. Nine hundred people were "
    "evacuated from their houses, and the flood barrier failed after a pump lost power."
)
POSTS = [
    "River Asker bursts its banks in Harlow Bridge, 900 evacuated",
    "flood barrier at Harlow Bridge failed because a pump lost power",
    "evacuated from Harlow Bridge, sleeping in the school",
    "the river is in my cellar",
    *[f"new phone today, number {n}" for n in range(60)],
    *[f"what a match, {n} goals" for n in range(60)],
]
TABLE = {
    "weights": {"constant": 2.0, "score": 1.5, "alike": 8.0, "score_alike": 2.0},
    "caution": 1.0,
    "words": 8,
    "languages": ["en"],
    "error": 0.2,
}


@pytest.fixture(scope="module")
def searcher():
    return Searcher(open_model())


def test_rank_and_filter_give_a_post_one_score_and_one_relevance(searcher):
    ranked = searcher.rank([STORY], POSTS, top=len(POSTS), one_story=True, about="event")
    shown = {row["post_id"]: (row["score"], row["relevance"]) for row in ranked}
    likely = [row["relevance"] for row in ranked]
    assert likely == sorted(likely, reverse=True) and 0 <= likely[-1] < likely[0] < 1
    for threshold in (0.0, 0.3, likely[2], 1.0):
        kept = searcher.filter([STORY], POSTS, threshold=threshold)
        assert {row["post_id"]: (row["score"], row["relevance"]) for row in kept} == {
            post: (score, relevance)
            for post, (score, relevance) in shown.items()
            if relevance >= threshold
        }
    both = searcher.filter([STORY], POSTS, threshold=0.3, min_score=ranked[1]["score"])
    assert [row["post_id"] for row in both] == [row["post_id"] for row in ranked[:2]]


@pytest.mark.parametrize("alike", [0.0, 0.4, 1.0])
def test_the_least_score_of_a_relevance_is_the_first_that_has_it(alike):
    table = Calibration.of(TABLE)
    lists = ListRelevance(table, [Evidence(alike), Evidence(alike, cautious=True)])
    scores = np.arange(0, 2 * MILLION, 997)
    for number in range(2):
        relevance = lists.of(number, scores)
        assert (np.diff(relevance) >= 0).all() and relevance[0] == 0
        for threshold in (0.0001, 0.1, 0.5, 0.77):
            least = lists.least(number, threshold)
            first, before = lists.of(number, np.array([least, least - 1]))
            assert before < threshold <= first
    assert (lists.of(1, scores) <= lists.of(0, scores)).all()
    assert lists.least(0, 0.0) < -2 * MILLION  # every post is kept
    assert cut_of(1.0, None, lists).score is None  # no score is a certainty


def test_a_logit_is_the_sum_of_the_weighted_features():
    table = Calibration.of(TABLE)
    logit = 2.0 + 1.5 * np.log(0.205) + 8.0 * 0.5 + 2.0 * 0.5 * np.log(0.205)
    expected = 1 / (1 + np.exp(-logit))
    assert table.relevance(np.array([0.2]), Evidence(0.5))[0] == pytest.approx(expected, abs=1e-4)
    assert Evidence(0.5).features(np.array([0.2])).shape == (1, len(NAMES))


def test_a_seed_unlike_all_that_were_measured_is_one_for_caution(searcher, caplog, monkeypatch):
    caplog.set_level("INFO")
    searcher.rank([STORY], POSTS, top=1)
    assert "cautious guess" not in caplog.text
    korean = (
        "아스커강이 범람해 주민 구백 명이 일요일 밤에 대피했다 펌프 고장으로 수문이 열리지 않았다"
    )
    table = searcher.model.calibration
    for seed in ("flood in Harlow Bridge", korean):
        caplog.clear()
        monkeypatch.setattr(searcher.model, "calibration", table)
        (careful,) = searcher.rank([seed], [*POSTS, korean], top=1)
        assert "cautious guess" in caplog.text
        daring = dataclasses.replace(table, caution=0.0)
        monkeypatch.setattr(searcher.model, "calibration", daring)
        (best,) = searcher.rank([seed], [*POSTS, korean], top=1)
        assert best["score"] == careful["score"] and 0 < careful["relevance"] < best["relevance"]


@pytest.mark.parametrize(
    ("posts", "least", "most"),
    [
        (["flood", "the river", "Harlow Bridge", "new phone", "ok then"], 0, 0.9),  # two words
        ([STORY, STORY + " ", STORY.upper(), STORY.lower()], 0.5, 1),  # all are relevant
        ([f"match number {n}" for n in range(200)], 0, 0.2),  # none is
        (
            ["홍수 경보가 발령되었다", "새 전화기를 샀다"] * 50,
            0,
            0.2,
        ),  # none in the seed's language
        (["洪水", "ok"], 0, 0.2),
    ],
)
def test_unusual_pools_have_a_relevance_too(searcher, posts, least, most):
    rows = searcher.rank([STORY], posts, top=len(posts))
    assert len(rows) == len(posts)
    assert least <= max(row["relevance"] for row in rows) <= most


def test_the_same_article_twice_changes_nothing(searcher):
    once = searcher.rank([STORY], POSTS, top=5)
    twice = searcher.rank([STORY, STORY], POSTS, top=5)
    assert [row["relevance"] for row in twice[:5]] == [row["relevance"] for row in once]
    assert [row["relevance"] for row in twice[5:]] == [row["relevance"] for row in once]


def test_vectors_alone_have_no_relevance(searcher):
    rows = searcher.rank([STORY], POSTS, top=3, fusion="vectors")
    assert [row["relevance"] for row in rows] == [None] * 3
    with pytest.raises(InputError, match="vectors alone have no table .* expected --min-score"):
        searcher.filter([STORY], POSTS, threshold=0.5, fusion="vectors")
    assert searcher.filter([STORY], POSTS, min_score=0.5, fusion="vectors")


def test_what_to_keep_has_to_be_said(searcher):
    with pytest.raises(InputError, match="expected --threshold with a relevance from 0 to 1"):
        searcher.filter([STORY], POSTS)
    for value in (-0.1, 1.1, float("nan"), "0.5"):
        with pytest.raises(InputError, match="threshold is .*; expected a relevance"):
            Query(threshold=value)
    assert read_relevance(" 0,5 ") == 0.5
    for typed in ("50", "50%", "-0.1", "nan"):
        with pytest.raises(InputError, match="expected a relevance, a number from 0 to 1"):
            read_relevance(typed)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"weights": {"constant": 1.0}}, "a weight for each of constant, score"),
        ({"weights": TABLE["weights"] | {"alike": float("nan")}}, "expected numbers"),
        ({"weights": TABLE["weights"] | {"score": -1.0}}, "would fall as scores rise"),
        ({"weights": TABLE["weights"] | {"score_alike": -2.0}}, "would fall as scores rise"),
        ({"languages": "en"}, "expected a list of codes"),
        ({"more": 1}, "expected the fields caution, error"),
    ],
)
def test_a_damaged_table_is_refused(change, said):
    with pytest.raises(InputError, match=said):
        Calibration.of(TABLE | change)
    assert Calibration.of(None) is None
    assert Calibration.of(TABLE).plain() == TABLE
