"""Relevance: one meaning for rank, filter and Python, unknown where nothing was measured."""

import dataclasses
import re

import numpy as np
import pytest
from tests.commands import siamese_news

from siamese_news import InputError, Searcher, open_model
from siamese_news.data.label_map import LabelMap
from siamese_news.data.records import Article
from siamese_news.model.calibration import Calibration, Evidence
from siamese_news.scoring import observe_all, open_scorer
from siamese_news.search.list_relevance import (
    ListRelevance,
    cut_of,
    list_relevance,
    mean_evidence,
)
from siamese_news.search.query import Query, read_relevance, read_score
from siamese_news.search.seeds import MILLION, Seeds
from siamese_news.utils.checked_json import write_state

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
        "asked": {
            "constant": 4.0,
            "gap": 2.0,
            "topical": -50.0,
            "article": -1.0,
            "short": -4.0,
        },
        "many": {
            "constant": 3.0,
            "score": 2.0,
            "alike": 8.0,
            "score_alike": 2.0,
            "above": -0.5,
            "scarce": 1.5,
            "article": -0.5,
        },
        "few": {"constant": 1.0, "score": 2.0, "above": 1.0},
        "counted": {
            "constant": 0.5,
            "logit": 1.2,
            "count": -0.3,
            "squared": 0.05,
            "share": 0.1,
            "shared": 2.0,
        },
    },
    "words": 8,
    "languages": ["en"],
    "off": [-0.2, 0.1],
}
EVENT = Evidence(
    alike=0.8,
    shared=0.2,
    scores=tuple(np.linspace(0.3, 0.2, 60).tolist()),
    near=0.1,
    posts=900,
)
CLAIM = Evidence(
    alike=0.0, shared=0.01, scores=(0.5, *[0.08] * 9, *[0.06] * 30), posts=900
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


OF_RELEVANCE = LabelMap("relevance", 1.5, 0.7, 20, 8, 2)
OF_SCORE = LabelMap("score", 0.5, 1.2, 20, 8, 2)
ARTICLE = dataclasses.replace(CLAIM, article=1.0)
SHORT = dataclasses.replace(CLAIM, short=1.0)
TINY = dataclasses.replace(EVENT, posts=20, scores=EVENT.scores[:20])
NEEDLE = dataclasses.replace(EVENT, near=0.012)


@pytest.mark.parametrize(
    "evidence", [Evidence(), EVENT, CLAIM, ARTICLE, SHORT, TINY, NEEDLE]
)
def test_the_least_score_of_a_relevance_is_the_first_that_has_it(evidence):
    table = Calibration.of(TABLE)
    scores = np.arange(0, 2 * MILLION, 997)
    number = 0
    for labels in (None, OF_RELEVANCE, OF_SCORE):
        lists = ListRelevance(table, [evidence], labels)
        relevance = lists.of(number, scores)
        assert (np.diff(relevance) >= 0).all() and relevance[0] == 0
        for threshold in (0.0001, 0.1, 0.5, 0.77):
            least = lists.least(number, threshold)
            if relevance[-1] < threshold:
                assert least > scores[-1]  # perhaps none has it
                continue
            first, before = lists.of(number, np.array([least, least - 1]))
            assert before < threshold <= first
    assert lists.least(0, 0.0) < -2 * MILLION  # every post is kept
    assert cut_of(1.0, None, lists).score is None  # no score is a certainty


def naive(score, about):
    """Relevance by the equations, a score at a time."""

    def logistic(logit):
        return 1 / (1 + np.exp(-logit))

    deep = min(about.posts / 100, 1)
    tenth, thirtieth = (
        about.scores[int(np.ceil(place * deep)) - 1] for place in (10, 30)
    )

    def mixed(score):
        gap = np.log(tenth + 0.005) - np.log(about.scores[0] + 0.005)
        topical = max(about.shared * (1 - about.alike) - 0.05, 0)
        asked = 4 + 2 * gap - 50 * topical - about.article - 4 * about.short
        log = np.log(score + 0.005)
        above = log - np.log(thirtieth + 0.005)
        many = 3 + 2 * log + (8 + 2 * log) * about.alike - 0.5 * above
        many += 1.5 * min(np.log((about.near + 1e-5) / 0.018), 0) - 0.5 * about.article
        few = 1 + 2 * log + above
        share = logistic(asked)
        return share * logistic(many) + (1 - share) * logistic(few)

    best = [mixed(each) for each in about.scores]
    number = sum(each >= 0.5 for each in best)
    count = np.log1p(number)
    logit = np.log(mixed(score) / (1 - mixed(score)))
    of_list = (
        -0.3 * count + 0.05 * count**2 + 0.1 * np.log((sum(best) + 0.1) / about.posts)
    )
    shared = 2 * about.shared if number > 30 else 0
    return logistic(0.5 + 1.2 * logit + of_list + shared)


def test_relevance_mixes_many_and_few_and_counts_the_posts():
    table = Calibration.of(TABLE)
    every = (EVENT, CLAIM, ARTICLE, SHORT, TINY, NEEDLE)
    for about in every:
        for score in (0.05, 0.2, 0.4):
            assert table.relevance(np.array([score]), about)[0] == pytest.approx(
                naive(score, about), abs=2e-6
            )
    event, claim, article, short, _, needle = (
        table.relevance(np.array([0.1]), about)[0] for about in every
    )
    # Many posts answer, and the event is asked for; hardly a post of the pool is near the needle.
    assert event > max(claim, article, short, needle)


def test_the_evidence_of_several_seeds_is_their_mean():
    together = mean_evidence([CLAIM, dataclasses.replace(EVENT, article=1.0)])
    assert (together.article, together.alike) == (0.5, 0.4)
    assert together.scores[0] == pytest.approx(0.4) and len(together.scores) == 40


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
    assert found["event"].at(10) > 0.8 * found["event"].scores[0]
    assert found["claim"].at(10) < 0.5 * found["claim"].scores[0]
    assert found["event"].near == 30 / 210 and found["claim"].near == 1 / 181
    assert found["claim"].posts == 181 and len(found["claim"].scores) <= 100


KOREAN = "아스커강이 범람해 주민 구백 명이 일요일 밤에 대피했다 펌프 고장으로 수문이 열리지 않았다"


def test_one_seed_of_several_that_is_unlike_all_measured_is_counted_as_one(searcher):
    lists = ListRelevance(searcher.model.calibration, [None, Evidence()])
    (remark,) = lists.remarks()
    assert remark.startswith("Relevance is unknown in 1 of the 2 lists (it was")
    assert lists.column(0, np.array([MILLION]), np.zeros(1, int)) == [None]
    assert lists.column(1, np.array([MILLION]), np.zeros(1, int)) != [None]
    by_score = ListRelevance(searcher.model.calibration, [None], OF_SCORE)
    assert (
        by_score.remarks() == []
        and by_score.column(0, np.array([MILLION]), np.zeros(1, int))[0] > 0.5
    )


@pytest.mark.parametrize("seed", ["flood in Harlow Bridge", KOREAN])
def test_relevance_to_a_seed_unlike_all_that_were_measured_is_unknown(
    searcher, caplog, seed, tmp_path
):
    caplog.set_level("INFO")
    posts = [*POSTS, KOREAN]
    rows = searcher.rank([seed], posts, top=3)
    assert [row["relevance"] for row in rows] == [None] * 3
    assert "agree): keep a number of posts" in caplog.text
    with pytest.raises(InputError, match="unknown here.*sample --for relevance"):
        searcher.filter([seed], posts, threshold=0.5)
    assert searcher.filter([seed], posts, min_score=rows[2]["score"])
    # A seed that was measured gives the list of both a relevance.
    assert searcher.filter([seed, STORY], posts, threshold=0.01)
    # Labels give every list one.
    OF_SCORE.write(tmp_path / "map.json")
    mapped = searcher.rank(
        [seed], posts, top=3, relevance_map=str(tmp_path / "map.json")
    )
    scores = np.array([row["score"] for row in rows])
    expected = np.where(scores > 0, OF_SCORE.relevance(scores), 0)
    assert [row["relevance"] for row in mapped] == pytest.approx(expected.tolist())


def test_a_known_seed_says_nothing_of_unknown(searcher, caplog):
    caplog.set_level("INFO")
    searcher.rank([STORY], POSTS, top=1)
    assert "unknown" not in caplog.text


def test_relevance_says_to_what_it_is(searcher):
    scorer = open_scorer(searcher.model, [STORY], about="article")
    scorer = observe_all(scorer, POSTS)
    lists = list_relevance(scorer, Seeds([Article("a", STORY)]), Calibration.of(TABLE))
    (line,) = cut_of(0.5, None, lists).remarks([0.5, 0.9], 2, 0)
    assert line.startswith(
        "About 70% of the posts kept are expected to be about the very article: 50% to 80% in nine"
    )
    lists.labels = OF_RELEVANCE
    (line,) = cut_of(0.5, None, lists).remarks([0.5, 0.9], 2, 0)
    assert line.startswith("By your 20 labels about 70%") and "18 of 20" in line


@pytest.mark.parametrize(
    ("titles", "remark"),
    [
        ((), ""),  # a map of an earlier version does not say
        (("Ferry aground", "River Asker floods Harlow Bridge"), ""),
        (("Ferry aground",), "for other articles ('Ferry aground')"),
        (("Ferry aground", "Ban of hats"), "('Ferry aground' and 1 more)"),
    ],
)
def test_labels_for_other_articles_are_told(searcher, caplog, tmp_path, titles, remark):
    caplog.set_level("INFO")
    dataclasses.replace(OF_SCORE, titles=titles).write(tmp_path / "map.json")
    story = Article("a", STORY, title="River Asker floods Harlow Bridge")
    searcher.rank([story], POSTS, top=1, relevance_map=tmp_path / "map.json")
    assert ("labels behind this relevance" in caplog.text) == bool(remark)
    assert remark in caplog.text


def test_a_map_of_another_form_is_refused(tmp_path):
    path = tmp_path / "map.json"
    with pytest.raises(InputError, match="siamese-news relevance wrote"):
        LabelMap.read(path)
    for change in ({"slope": -1.0}, {"mapped": "x"}, {"shift": "1"}, {"labels": -2}):
        write_state(path, dataclasses.asdict(OF_SCORE) | change)
        with pytest.raises(InputError, match="damaged"):
            LabelMap.read(path)
    OF_SCORE.write(path)
    assert LabelMap.read(path) == OF_SCORE
    path.write_text(path.read_text().replace("1.2", "1.3"))
    with pytest.raises(InputError, match="differs from its checksum"):
        LabelMap.read(path)


@pytest.mark.parametrize(
    ("posts", "least", "most"),
    [
        (
            [STORY, STORY + " ", STORY.upper(), STORY.lower()],
            0.5,
            1,
        ),  # all are relevant
        ([f"match number {n}" for n in range(90)], 0, 0.2),  # none is
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


def counted(about):
    """How many of the best posts the mixture of many and few counts, a score at a time."""
    table = Calibration.of(TABLE)
    return sum(
        table.mixed(np.array([score]), about)[0] >= 0.5 for score in about.scores
    )


@pytest.mark.parametrize(
    ("changes", "known"),
    [
        ({}, True),  # looks like many, and many are counted
        ({"article": 1.0}, False),  # which of them are about the very article?
        ({"short": 1.0}, False),  # looks like few
        ({"scores": (0.3, *[0.02] * 59)}, True),  # looks like few, and few are counted
        ({"scores": (0.02,) * 60}, False),  # looks like many, and none is counted
        ({"scores": (0.02,) * 60, "posts": 99}, True),  # too few posts to tell
        ({"near": 0.009}, False),  # many are counted, and hardly any is near
        ({"scores": EVENT.scores[:31]}, True),  # the fewest that are many
        ({"scores": EVENT.scores[:30]}, False),  # neither few nor many are counted
    ],
)
def test_relevance_is_known_where_the_signs_agree(changes, known):
    about = dataclasses.replace(EVENT, **changes)
    table = Calibration.of(TABLE)
    assert (counted(about) > 20) == (about.scores[-1] > 0.1)
    assert table.knows(about) == known
    lists = ListRelevance(table, [about])
    values = lists.column(0, np.array([MILLION // 10]), np.zeros(1, int))
    assert (values != [None]) == known
    remarks = [] if known else ["Relevance is unknown (it was"]
    assert [
        remark[: len("Relevance is unknown (it was")] for remark in lists.remarks()
    ] == remarks


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
    [{"distinct": "no"}, {"ids_only": 0}, {"dedupe": "yes"}, {"one_story": None}],
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
        ({"weights": {"constant": 1.0}}, "Expected `object`"),
        ({"weights": {**TABLE["weights"], "few": 3}}, "Expected `object`"),
        (changed("many", alike=1e7), "Expected `float`"),
        (changed("many", scarce="1.4"), "Expected `float`, got `str`"),
        (changed("few", asked=1.0), "has the weights"),
        ({"weights": {**TABLE["weights"], "other": {}}}, "has the weights"),
        ({"off": [-0.1]}, "length 2"),
        ({"off": [-3, 0]}, "Expected `float` >= -1"),
        ({"words": -5}, "Expected `int` >= 0"),
        (changed("many", score=-1.0), "would fall as scores rise"),
        (changed("many", above=-3.0), "would fall as scores rise"),
        (changed("many", score_alike=-2.0), "would fall as scores rise"),
        (changed("few", above=-3.0), "would fall as scores rise"),
        (changed("counted", logit=-0.1), "would fall as scores rise"),
        ({"languages": "en"}, "Expected `array`"),
    ],
)
def test_a_damaged_table_is_refused(change, said):
    with pytest.raises(InputError, match=said):
        Calibration.of(TABLE | change)
    assert Calibration.of(None) is None
    assert Calibration.of(TABLE).plain() == TABLE


def test_where_only_the_pool_shows_that_relevance_is_unknown_nothing_says_to_lower_it(
    searcher, caplog, monkeypatch
):
    monkeypatch.setattr(Calibration, "knows", lambda table, about: False)
    caplog.set_level("INFO")
    assert searcher.filter([STORY], POSTS, threshold=0.5) == []
    assert "agree): keep a number of posts" in caplog.text
    assert "Lower it" not in caplog.text and "No post was kept" not in caplog.text


THAI = (
    "แม่น้ำสายใหญ่ล้นตลิ่งเข้าท่วมเมืองเมื่อคืนวันอาทิตย์ ชาวบ้านเก้าร้อยคนต้องอพยพออกจากบ้านเรือน "
    "และประตูกั้นน้ำพังเพราะเครื่องสูบน้ำไม่มีไฟฟ้า"
)
THAI_POSTS = [
    "แม่น้ำสายใหญ่ล้นตลิ่งเข้าท่วมเมือง ชาวบ้านเก้าร้อยคนต้องอพยพ",
    "ประตูกั้นน้ำพังเพราะเครื่องสูบน้ำไม่มีไฟฟ้า",
    "ชาวบ้านอพยพออกจากบ้านเรือน",
]
UNMEASURED = [
    pytest.param(THAI, id="a language"),
    pytest.param("new phone today", id="a headline"),
]


@pytest.mark.parametrize("seed", UNMEASURED)
def test_posts_nearest_to_an_unmeasured_seed_have_no_relevance_in_the_list_of_several(
    searcher, caplog, seed
):
    caplog.set_level("INFO")
    posts = [*POSTS, *THAI_POSTS]
    seeds = [STORY, seed]
    alone = {"second_look": "none"}
    rows = searcher.rank(
        seeds, posts, top=len(posts), one_story=True, about="event", **alone
    )
    assert {row["article_id"] for row in rows} == {"0", "1"}
    for row in rows:
        assert (row["relevance"] is None) == (row["article_id"] == "1")
    assert "unknown for the posts nearest to 1 seed (it" in caplog.text
    caplog.clear()
    kept = searcher.filter(seeds, posts, threshold=0.5, **alone)
    likely = [row for row in rows if (row["relevance"] or 0) >= 0.5]
    assert [row["post_id"] for row in kept] == [row["post_id"] for row in likely]
    assert {row["article_id"] for row in kept} == {"0"}
    assert re.search("1 seed, [1-9][0-9]* of which reach the score", caplog.text)
    assert len(searcher.filter(seeds, posts, threshold=0)) == len(posts)
    caplog.clear()
    both = searcher.filter(seeds, posts, min_score=0.0001, **alone)
    unknown = sum(row["relevance"] is None for row in both)
    assert unknown
    assert f"of the {len(both) - unknown} posts kept whose relevance" in caplog.text
    assert [r["post_id"] for r in searcher.filter(seeds, posts, threshold=0.5)] == [
        r["post_id"] for r in kept
    ]
    caplog.clear()
    searcher.filter([STORY], posts, threshold=0.5)
    assert "unknown" not in caplog.text


@pytest.mark.parametrize("labels", [OF_RELEVANCE, OF_SCORE], ids=lambda m: m.mapped)
def test_labels_give_the_posts_of_an_unmeasured_seed_a_relevance_by_their_score_alone(
    searcher, tmp_path, labels
):
    path = tmp_path / "map.json"
    labels.write(path)
    rows = searcher.rank(
        [STORY, THAI], [*POSTS, *THAI_POSTS], one_story=True, relevance_map=path
    )
    unknown = {row["article_id"] for row in rows if row["relevance"] is None}
    assert unknown == ({"1"} if labels.mapped == "relevance" else set())


def test_a_report_of_a_list_of_unknown_relevance_does_not_advise_a_lower_threshold(
    tmp_path, monkeypatch
):
    (tmp_path / "story.txt").write_text(STORY)
    (tmp_path / "posts.csv").write_text(
        "id,text\n" + "\n".join(f'{n},"{post}"' for n, post in enumerate(POSTS))
    )
    advice = {}
    for known in (True, False):
        monkeypatch.setattr(Calibration, "knows", lambda table, about, k=known: k)
        out = tmp_path / f"{known}.jsonl"
        siamese_news(
            "filter",
            *("--articles", tmp_path / "story.txt", "--posts", tmp_path / "posts.csv"),
            *("--threshold", 1.0, "--out", out),
        )
        done = siamese_news(
            "report", "--results", out, "--out", tmp_path / "report.html"
        )
        assert done.returncode == 2
        advice[known] = done.stderr
    assert "lower --threshold" in advice[True] and "unknown" not in advice[True]
    assert "lower" not in advice[False]
    assert "keep a number of posts" in advice[False] and "20 posts" in advice[False]


@pytest.mark.parametrize(
    "about, words",
    [
        ("article", "the event and not the very article, because so few posts"),
        ("event", "the event (--about)."),
        ("auto", "the event, as the seeds and the pool suggest (--about)."),
    ],
)
def test_a_small_pool_that_cannot_be_searched_as_the_user_says_is_named(
    searcher, caplog, about, words
):
    caplog.set_level("INFO")
    searcher.rank([STORY], POSTS[:20], about=about)
    assert f"Looking for posts about {words}" in caplog.text
    caplog.clear()
    searcher.rank([STORY], POSTS, about="article")
    assert "Looking for posts about the very article (--about)." in caplog.text
