"""Questions that no pool was made for: defined results, and no remark that is wrong."""

import pytest

from siamese_news import Searcher, open_model

STORY = (
    "The river Asker burst its banks in Harlow Bridge on Sunday night. Nine hundred people were "
    "evacuated from their houses, and the flood barrier failed after a pump lost power."
)
OTHER = (
    "The national library opens a reading room for medieval maps. Visitors can see forty charts "
    "of northern harbors, among them the oldest drawing of the lighthouse at Skellan Point."
)
FLOOD = [
    f"flood at Harlow Bridge, the river Asker is over its banks, street {n}"
    for n in range(20)
]
MAPS = [
    f"medieval maps in the national library, chart {n} of Skellan Point"
    for n in range(20)
]
NOISE = [f"{word} number {n}" for word in ("phone", "match", "song") for n in range(30)]
DANISH = (
    "Åen Asker gik over sine bredder ved Harlow Bridge søndag aften, "
    "og ni hundrede måtte evakueres."
)


@pytest.fixture(scope="module")
def searcher():
    return Searcher(open_model())


def lists(rows):
    """Seed -> its posts, best first, with relevance."""
    found = {}
    for row in rows:
        found.setdefault(row["article_id"], []).append(
            (row["post_id"], row["relevance"])
        )
    return found


def test_a_seed_in_a_language_of_which_the_pool_has_no_post(searcher):
    rows = searcher.rank([DANISH], NOISE + FLOOD, top=110)
    assert len(rows) == 110 and all(0 <= row["relevance"] <= 1 for row in rows)
    assert "Harlow" in rows[0]["text"]  # names are the same in every language
    alien = "하천이 범람해 주민들이 대피했고 펌프 고장으로 수문이 열리지 않았다고 시는 밝혔다"
    rows = searcher.rank([alien], NOISE + FLOOD, top=5)
    assert [row["relevance"] for row in rows] == [None] * 5  # not measured in Korean


def test_a_pool_in_a_language_that_the_detector_does_not_know(searcher, caplog):
    caplog.set_level("INFO")
    klingon = [f"tlhIngan maH qaStaHvIS wa' ram loS SaD Hugh {n}" for n in range(60)]
    rows = searcher.rank([STORY], klingon, top=60)
    assert len(rows) == 60 and max(row["relevance"] for row in rows) < 0.5
    assert "Klingon" not in caplog.text


def test_a_pool_in_which_every_post_is_relevant_and_one_in_which_none_is(searcher):
    every = [row["relevance"] for row in searcher.rank([STORY], FLOOD, top=20)]
    none = [row["relevance"] for row in searcher.rank([STORY], NOISE, top=90)]
    assert min(every) > 0.5 > 0.1 > max(none)


def test_two_seeds_that_are_one_article_keep_their_posts(searcher):
    alone = lists(searcher.rank([STORY], FLOOD + NOISE, top=20))
    twice = lists(searcher.rank([STORY, STORY], FLOOD + NOISE, top=20))
    (expected,) = alone.values()
    assert list(twice.values()) == [expected, expected]


def test_seeds_of_which_half_tell_one_story_keep_its_posts(searcher):
    """The others are rivals of the story; its own versions are none of each other."""
    versions = [f"{STORY} Update {n}: the water falls." for n in range(5)]
    others = [OTHER, *(f"{OTHER.replace('maps', 'coins')} Room {n}." for n in range(4))]
    found = lists(searcher.rank(versions + others, FLOOD + MAPS + NOISE, top=20))
    wanted = {str(n) for n in range(20)}
    rows = list(found.values())
    assert len(rows) == 10
    assert all({post for post, _ in own} == wanted for own in rows[:5])


def test_comments_of_two_words_have_a_list_and_no_remark_on_their_language(
    searcher, caplog
):
    caplog.set_level("INFO")
    comments = [
        "so true",
        "poor people",
        "again floods",
        "lol no",
        "get out",
        "stay safe",
    ] * 20
    rows = searcher.rank([STORY], comments, top=120)
    assert len(rows) == 120 and max(row["relevance"] for row in rows) < 0.5
    assert "language" not in caplog.text
