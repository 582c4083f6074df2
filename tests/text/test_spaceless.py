"""Scripts without spaces: bigrams against hand-written truth and by properties."""

import re
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siamese_news.text import Tokenizer, spaceless
from siamese_news.text.content_words import content_words

PLAIN = Tokenizer()
KNOWING = Tokenizer(words=["the", "flood", "nhk", "洪水警報"])
BLOCKS = {
    name: [
        chr(code)
        for start, end in re.findall("(.)-(.)", letters)
        for code in range(ord(start), min(ord(end), ord(start) + 3000) + 1)
        if unicodedata.category(chr(code))[0] in "LM"
    ]
    for name, letters in spaceless._SCRIPT.items()
}


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("洪水警報が東京に", "洪水 水警 警報 報が が東 東京 京に"),
        ("水", "水"),
        ("서울에 홍수가 났다", "서울 울에 홍수 수가 났다"),
        ("東京flood東京", "東京 flood 東京"),
        ("NHKニュース2020年", "nhk ニュ ュー ース 2020 年"),
        ("ＮＨＫ １０万人 ﾊﾟﾝﾀﾞ", "nhk 10 万人 パン ンダ"),
        ("は@nhk_newsさんhttps://t.co/abの", "は さん の"),
        (
            "#東京洪水2020 #洪水#救援",
            "#東京洪水2020 東京 京洪 洪水 2020 #洪水 洪水 救援",
        ),
        ("น้ำท่วม", "น้ํา าท่ ท่ว วม"),
        ("ភ្នំពេញ", "ភ្នំពេ ពេញ"),
        ("မြန်မာ", "မြန် န်မာ"),
        ("すごーーーーい", "すご ごー ーー ーい"),
        ("Dont stop水害!!", "dont stop 水害 !"),
        ("东京ไทย한국", "东京 ไท ทย 한국"),
    ],
)
def test_tokens(text, tokens):
    assert PLAIN(text) == tokens.split()
    assert KNOWING(text) == tokens.split()


@pytest.mark.parametrize(
    ("option", "tokens"),
    [("both", "#洪水a 洪水 a"), ("keep", "#洪水a"), ("split", "洪水 a"), ("drop", "")],
)
def test_hashtags(option, tokens):
    assert Tokenizer(hashtags=option)("#洪水a") == tokens.split()


def test_marks_of_these_scripts_are_no_content_and_others_are_as_before():
    tokens = PLAIN("「洪水」が、東京・大阪で。 ¡agua! €5 【News】 😀")
    assert tokens[:10] == '" 洪水 " が , 東京 , 大阪 阪で .'.split()
    assert (
        content_words(tokens)
        == "洪水 が 東京 大阪 阪で ¡ agua € 5 【 news 】 😀".split()
    )


@pytest.mark.parametrize(
    ("left", "right", "seen"),
    [
        ("東京", "京都", "東京都"),
        ("東京", "大阪", "東京 大阪"),
        ("水", "東京", "水 東京"),
        ("boston", "marathon", "boston marathon"),
        ("ទឹ", "ទឹក", "ទឹ ទឹក"),
    ],
)
def test_two_tokens_as_a_reader_sees_them(left, right, seen):
    assert spaceless.phrase(left, right) == seen


runs = st.sampled_from(sorted(BLOCKS)).flatmap(
    lambda name: st.text(st.sampled_from(BLOCKS[name]), min_size=1, max_size=30)
)
mixed = st.lists(
    runs
    | st.sampled_from(
        [" ", "flood", "2020", "#", "。", "!", "été", "@user ", "ﾊﾞ", "Ｘ"]
    ),
    max_size=8,
).map("".join)


@given(runs)
@settings(max_examples=150, deadline=None)
def test_bigrams_neither_lose_nor_invent_a_character(run):
    run = re.sub(
        r"(.)\1{2,}", r"\1\1", unicodedata.normalize("NFC", run), flags=re.DOTALL
    )
    units = spaceless.characters(run)
    assert "".join(units) == run
    joined = ""
    for script in spaceless._scripts().findall(run):
        found = spaceless.bigrams(script)
        own = spaceless.characters(script)
        assert found == (own if len(own) == 1 else [a + b for a, b in pairwise(own)])
        ends = (token[len(left) :] for token, left in zip(found, own, strict=False))
        joined += own[0] + "".join(ends)
    assert joined == "".join(spaceless._scripts().findall(run))


@given(mixed)
@settings(max_examples=150, deadline=None)
def test_every_form_of_a_text_has_the_same_tokens(text):
    # One chunk with such a letter in it: others are NFC, as they always were.
    text = "水".join(text.split()) + "水"
    forms = [
        unicodedata.normalize(form, text) for form in ("NFC", "NFKC", "NFD", "NFKD")
    ]
    tokens = PLAIN(text)
    assert [PLAIN(form) for form in forms] == [tokens] * 4
    have = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).lower())
    assert set("".join(tokens)) <= set(have) | set("".join(PLAIN(have)))


@given(mixed)
@settings(max_examples=100, deadline=None)
def test_pieces_make_up_the_chunk(text):
    chunk = "".join(text.split())
    pieces = "".join(piece for _, piece in spaceless.parts(chunk))
    assert pieces.replace("。", ".") == chunk.replace("。", ".")
