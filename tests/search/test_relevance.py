"""Relevance: one meaning for rank, filter and Python, cautious where nothing was measured."""

import dataclasses

import numpy as np
import pytest

from siamese_news import InputError, Searcher, open_model
from siamese_news.model.calibration import Calibration, Evidence
from siamese_news.scoring import observe_all, open_scorer
from siamese_news.search.query import Query, read_relevance, read_score
from siamese_news.search.relevance import ListRelevance, cut_of, mean_evidence
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
    "weights": {
        "headline": {
            "constant": 4.0,
            "shared": 1.5,
            "apart": -3.0,
            "gap": 2.0,
            "topical": -50.0,
        },
        "article": {
            "constant": 5.0,
            "shared": 1.0,
            "apart": -2.0,
            "gap": 3.0,
            "topical": -40.0,
            "checking": -4.0,
        },
        "many": {
            "constant": 3.0,
            "score": 2.0,
            "alike": 8.0,
            "score_alike": 2.0,
            "above": -0.5,
            "scarce": 1.5,
        },
        "few": {"constant": 1.0, "score": 2.0, "above": 1.0},
    },
    "caution": 1.0,
    "words": 8,
    "languages": ["en"],
    "error": 0.2,
}
EVENT = Evidence(
    alike=0.8, shared=0.2, apart=0.2, best=0.3, tenth=0.28, thirtieth=0.25, near=0.1
)
CLAIM = Evidence(
    alike=0.0, shared=0.01, apart=0.9, best=0.5, tenth=0.08, thirtieth=0.06
)


@pytest.fixture(scope="module")
def searcher():
    return Searcher(open_model())


def test_rank_and_filter_give_a_post_one_score_and_one_relevance(searcher):
    ranked = searcher.rank(
        [STORY], POSTS, top=len(POSTS), one_story=True, about="event"
    )
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


REPORT = dataclasses.replace(EVENT, checking=0)
FACT_CHECK = dataclasses.replace(EVENT, checking=7)
NEEDLE = dataclasses.replace(EVENT, near=0.001)


@pytest.mark.parametrize("evidence", [Evidence(), EVENT, CLAIM, REPORT, NEEDLE])
def test_the_least_score_of_a_relevance_is_the_first_that_has_it(evidence):
    table = Calibration.of(TABLE)
    lists = ListRelevance(
        table, [evidence, dataclasses.replace(evidence, cautious=True)]
    )
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


def test_relevance_mixes_what_a_score_means_where_many_and_where_few_posts_answer():
    table = Calibration.of(TABLE)

    def logistic(logit):
        return 1 / (1 + np.exp(-logit))

    for about in (EVENT, CLAIM, REPORT, FACT_CHECK, NEEDLE):
        gap = np.log(about.tenth + 0.005) - np.log(about.best + 0.005)
        shared = np.log(about.shared + 0.01)
        asked = 4 + 1.5 * shared - 3 * about.apart + 2 * gap
        if about.checking is not None:
            checking = -4 * np.log(1 + about.checking)
            asked = 5 + shared - 2 * about.apart + 3 * gap + checking
        score = np.log(0.205)
        above = score - np.log(about.thirtieth + 0.005)
        many = 3 + 2 * score + (8 + 2 * score) * about.alike - 0.5 * above
        many += 1.5 * min(np.log((about.near + 1e-5) / 0.018), 0)
        few = 1 + 2 * score + above
        share = logistic(asked)
        expected = share * logistic(many) + (1 - share) * logistic(few)
        assert table.relevance(np.array([0.2]), about)[0] == pytest.approx(
            expected, abs=1e-4
        )
    # The same score is relevant where many posts share the seed's words, and where a seed with such
    # posts reports and does not check.
    event, claim, report, fact_check, needle = (
        table.relevance(np.array([0.1]), about)[0]
        for about in (EVENT, CLAIM, REPORT, FACT_CHECK, NEEDLE)
    )
    assert event > 0.5 > claim
    assert report > 0.5 > fact_check
    # Hardly a post of the pool is near the seed.
    assert event > 0.5 > needle


def test_a_fact_check_has_less_relevant_posts_than_a_report_with_the_same_scores(
    searcher,
):
    checked = STORY + " The claim is false: fact-checkers found the hoax misleading."
    relevance = {}
    for name, seed in {"report": STORY, "fact check": checked}.items():
        rows = searcher.rank([seed], POSTS, top=3, one_story=True)
        relevance[name] = [row["relevance"] for row in rows]
    assert all(map(float.__lt__, relevance["fact check"], relevance["report"]))


def test_seeds_of_one_story_leave_their_kind_to_those_that_show_it():
    together = mean_evidence([CLAIM, REPORT, FACT_CHECK])
    assert together.checking == 3.5
    assert mean_evidence([CLAIM, EVENT]).checking is None
    unsure = dataclasses.replace(EVENT, cautious=True)
    assert mean_evidence([unsure, unsure]).cautious
    assert not mean_evidence([unsure, EVENT]).cautious


def test_the_evidence_tells_an_event_from_a_claim(searcher):
    others = [
        f"{word} number {n}" for word in ("match", "phone", "song") for n in range(60)
    ]
    event = [
        f"Harlow Bridge flood: river Asker over its banks, street {n}"
        for n in range(30)
    ]
    found = {}
    for name, posts in {"event": event + others, "claim": event[:1] + others}.items():
        scorer = open_scorer(searcher.model, [STORY])
        scorer = observe_all(scorer, posts)
        (found[name],) = scorer.evidence([0])
    assert found["event"].shared > 2 * found["claim"].shared
    assert found["event"].tenth > 0.8 * found["event"].best
    assert found["claim"].tenth < 0.5 * found["claim"].best
    assert found["event"].near == 30 / 210 and found["claim"].near == 1 / 181
    together = mean_evidence(list(found.values()))
    assert together.best == pytest.approx(
        (found["event"].best + found["claim"].best) / 2
    )


def test_one_seed_of_several_that_is_unlike_all_measured_is_counted_as_one(searcher):
    evidence = [Evidence(cautious=True), Evidence()]
    (remark,) = ListRelevance(searcher.model.calibration, evidence).remarks()
    assert remark.startswith("1 of the seeds is shorter than ")


def test_a_seed_unlike_all_that_were_measured_is_one_for_caution(
    searcher, caplog, monkeypatch
):
    caplog.set_level("INFO")
    searcher.rank([STORY], POSTS, top=1)
    assert "cautious guess" not in caplog.text
    korean = "아스커강이 범람해 주민 구백 명이 일요일 밤에 대피했다 펌프 고장으로 수문이 열리지 않았다"
    # Even a copy of the seed, whose relevance is almost 1, shows so much caution.
    table = dataclasses.replace(searcher.model.calibration, caution=3.0)
    for seed in ("flood in Harlow Bridge", korean):
        caplog.clear()
        monkeypatch.setattr(searcher.model, "calibration", table)
        (careful,) = searcher.rank([seed], [*POSTS, korean], top=1)
        assert "cautious guess" in caplog.text
        daring = dataclasses.replace(table, caution=0.0)
        monkeypatch.setattr(searcher.model, "calibration", daring)
        (best,) = searcher.rank([seed], [*POSTS, korean], top=1)
        assert (
            best["score"] == careful["score"]
            and 0 < careful["relevance"] < best["relevance"]
        )


@pytest.mark.parametrize(
    ("posts", "least", "most"),
    [
        (
            ["flood", "the river", "Harlow Bridge", "new phone", "ok then"],
            0,
            0.9,
        ),  # two words
        (
            [STORY, STORY + " ", STORY.upper(), STORY.lower()],
            0.5,
            1,
        ),  # all are relevant
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
    with pytest.raises(
        InputError, match="vectors alone have no table .* expected --min-score"
    ):
        searcher.filter([STORY], POSTS, threshold=0.5, fusion="vectors")
    assert searcher.filter([STORY], POSTS, min_score=0.5, fusion="vectors")


def test_what_to_keep_has_to_be_said(searcher):
    with pytest.raises(
        InputError, match="expected --threshold .* with a relevance from 0 to 1"
    ):
        searcher.filter([STORY], POSTS)
    for value in (-0.1, 1.1, float("nan"), "0.5", True):
        with pytest.raises(InputError, match="threshold is .*; expected a relevance"):
            Query(threshold=value)
    assert read_relevance(" 0,5 ") == 0.5
    for typed in ("50", "50%", "-0.1", "nan"):
        with pytest.raises(
            InputError, match="expected a relevance, a number from 0 to 1"
        ):
            read_relevance(typed)


@pytest.mark.parametrize(
    "option",
    [{"rivals": "no"}, {"smooth": 0}, {"dedupe": "yes"}, {"one_story": None}],
)
def test_a_switch_is_on_or_off(option):
    ((name, value),) = option.items()
    with pytest.raises(InputError, match=f"{name} is {value!r}; expected True"):
        Query(**option)


def test_a_score_is_a_finite_number_and_not_a_switch():
    for value in (True, float("inf")):
        with pytest.raises(InputError, match="min_score is .*; expected a finite"):
            Query(min_score=value)
    with pytest.raises(InputError, match="^--min-score is '-inf'.* 0.3$"):
        read_score("-inf", "--min-score")


def changed(side, **weights):
    return {"weights": TABLE["weights"] | {side: TABLE["weights"][side] | weights}}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"weights": {"constant": 1.0}},
            "weights: expected the parts headline, article, many, few",
        ),
        (
            {"weights": {**TABLE["weights"], "few": 3}},
            "weights.few: expected the weights constant, score, above",
        ),
        (changed("many", alike=float("nan")), r"many\.alike=nan; expected a number"),
        (changed("many", scarce="1.4"), r"many\.scarce='1.4'; expected a number"),
        (changed("few", asked=1.0), "weights.few: expected the weights"),
        ({"weights": {**TABLE["weights"], "asked": {}}}, "expected the parts"),
        ({"error": -0.1}, "error=-0.1; expected a number from 0 to 1"),
        ({"error": 3}, "error=3; expected a number from 0 to 1"),
        ({"caution": -5}, "caution=-5; expected a number from 0"),
        (changed("many", score=-1.0), "would fall as scores rise"),
        (changed("many", above=-3.0), "would fall as scores rise"),
        (changed("many", score_alike=-2.0), "would fall as scores rise"),
        (changed("few", above=-3.0), "would fall as scores rise"),
        ({"languages": "en"}, "expected a list of codes"),
        ({"more": 1}, "expected the fields caution, error"),
    ],
)
def test_a_damaged_table_is_refused(change, said):
    with pytest.raises(InputError, match=said):
        Calibration.of(TABLE | change)
    assert Calibration.of(None) is None
    assert Calibration.of(TABLE).plain() == TABLE
