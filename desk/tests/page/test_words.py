"""Filters by words in every script: what they find is what the texts hold."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siamese_news.text.spaceless import MARKS
from siamese_news_desk.page.words import patterns, searchable, split

TEXTS = [
    "洪水警報が東京2024で出た",
    "ดินถล่มที่เชียงใหม่วันนี้",
    "서울에 홍수가 났다",
    "ﾄｳｷｮｳ タワー",
    "Flooded street in Tōkyō",
    "flood 洪水",
    "洪 水",
    "水",
    "Ａ社の発表",
    "🔥 fire",
    "မြန်မာနိုင်ငံ",
    "so hot🔥🔥❤️!",
    "a can't-do attitude, C++",
]


def found(texts, words):
    wanted = [pattern for word in words.split() for pattern in patterns(word)]
    plain = map(searchable, texts)
    return [
        rank for rank, text in enumerate(plain) if all(one in text for one in wanted)
    ]


@pytest.mark.parametrize(
    ("words", "ranks"),
    [
        ("洪水", [0, 5]),
        ("洪水警報", [0]),
        ("水", [0, 5, 6, 7]),
        ("洪", [0, 5, 6]),
        ("警報が東", [0]),
        ("水警", [0]),
        ("報警", []),
        ("東京2024", [0]),
        ("東京2025", []),
        ("เชียงใหม่", [1]),
        ("ถล่ม", [1]),
        ("ล่ม", [1]),
        ("홍수", [2]),
        ("서울", [2]),
        ("수가", [2]),
        ("トウキョウ", [3]),
        ("ﾀﾜｰ", [3]),
        ("flood", [4, 5]),
        ("flood 洪水", [5]),
        ("tokyo", [4]),
        ("a社", [8]),
        ("🔥", [9, 11]),
        ("🔥❤", [11]),
        ("🔥🔥", [11]),
        ("!", [11]),
        ("🔥 fire", [9]),
        ("နိုင်ငံ", [10]),
        ("「洪水」", [0, 5]),
        ("洪水 警報", [0]),
        ("can’t", [12]),
        ("c++", [12]),
        ("++", [12]),
        ("ttitude", []),
        ("c", [12]),
        ("att", [12]),
        ("at", []),
    ],
)
def test_a_word_is_found_where_its_script_has_it(words, ranks):
    assert found(TEXTS, words) == ranks


@given(
    st.lists(
        st.text("洪水警報東京กาล่มホ서울ab2 、", max_size=12), min_size=1, max_size=6
    ),
    st.text("洪水警報東京กาล่มホ서울", min_size=1, max_size=4),
)
def test_any_part_of_a_run_is_found(texts, word):
    plain = unicodedata.normalize("NFKC", word)
    runs = re.findall(rf"[\w{MARKS}]+", plain)
    wanted_ranks = [
        rank
        for rank, text in enumerate(texts)
        if all(
            any(
                run in other
                for other in re.findall(
                    rf"[\w{MARKS}]+", unicodedata.normalize("NFKC", text)
                )
            )
            for run in runs
        )
    ]
    assert found(texts, word) == wanted_ranks


def test_a_minus_leaves_out():
    assert split("flood -sale 2-3 - -") == (["flood", "2-3", "-", "-"], ["sale"])
