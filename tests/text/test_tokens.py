"""The tokenizer against hand-written truth, against nltk's TweetTokenizer, and by properties."""

import copy
import pickle
import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siamese_news.errors import InputError
from siamese_news.text import Tokenizer, patterns

WORDS = (
    "the , . of to and in a so for boston strong marathon good god pray day 4th july 2013 iphone "
    "5 gop debate no cool yes happy long-term o'brien www obama care happening attack 20 % new york"
).split()

PLAIN = Tokenizer()
KNOWING = Tokenizer(words=WORDS)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Don't", "do n't"),
        ("It's we're I'd I'll I've I'm", "it 's we 're i 'd i 'll i 've i 'm"),
        ("it’s CAN’T won't", "it 's ca n't wo n't"),
        ("shouldn't've", "should n't 've"),
        ("Obama's", "obama 's"),
        ("U.S. U.S u.s. U.K.", "u.s. u.s. u.s. u.k."),
        ("Mr. Smith Jan. 5", "mr. smith jan. 5"),
        ("George W. Bush and I.", "george w. bush and i ."),
        ("1,000 3.5 20% $5 10:30 9/11 2-1 .5", "1,000 3.5 20 % $ 5 10:30 9/11 2-1 .5"),
        ("the 1980s, 1st 10am", "the 1980s , 1st 10am"),
        ("long-term co-founder", "long-term co-founder"),
        ("AT&amp;T &lt;3 a&nbsp;b", "at&t <3 a b"),
        ("what?! nooo!!!", "what ? ! noo !"),
        ("wait.... what…", "wait ... what ..."),
        ("a -- b — c", "a -- b — c"),
        ("end.Start", "end . start"),
        (":-))) ;D :(", ":) ;d :("),
        (
            "@cnn: http://t.co/aB (https://x.org/y?z=1&a=2) www.bbc.co.uk bit.ly/x",
            ": ( )",
        ),
        ("mail me@example.com now", "mail now"),
        ("cnn.com", "cnn.com"),
        ("#1 #2013", "# 1 # 2013"),
        ("“quoted” ‘so’", "\" quoted \" ' so '"),
        ("'em '90s rock", "'em '90s rock"),
        ("www iii", "www iii"),
        ("cafe\u0301 हिन्दी", "café हिन्दी"),
        ("a\x00b \u202eabc\u202c \ud83d x\u200by", "ab abc xy"),
        ("snake_case _it_", "snake_case it"),
    ],
)
def test_plain_tokens(text: str, tokens: str) -> None:
    assert PLAIN(text) == tokens.split()


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("#BostonMarathon", "#bostonmarathon boston marathon"),
        ("#bostonmarathon", "#bostonmarathon boston marathon"),
        ("#BOSTONSTRONG!", "#bostonstrong boston strong !"),
        ("#prayforboston", "#prayforboston pray for boston"),
        ("#Boston_Marathon", "#boston_marathon boston marathon"),
        ("#4thofjuly", "#4thofjuly 4th of july"),
        ("#boston2013", "#boston2013 boston 2013"),
        ("#iPhone5", "#iphone5 iphone 5"),
        ("#GOPdebate", "#gopdebate gop debate"),
        ("#tsarnaev", "#tsarnaev tsarnaev"),
        ("#boston", "#boston boston"),
        ("sooooo gooood nooo yesss coool happpyyyy", "so good no yes cool happy"),
        ("zzzzaaaa", "zzaa"),
        ("long-term boston-attack New-York's", "long-term boston attack new york 's"),
        ("O'Brien O'Brien's rock'n'roll", "o'brien o'brien 's rock n roll"),
        ("obama/boston boston&attack", "obama / boston boston & attack"),
        ("2013-07-04", "2013 07 04"),
    ],
)
def test_tokens_with_words(text: str, tokens: str) -> None:
    assert KNOWING(text) == tokens.split()


@pytest.mark.parametrize(
    "emoji",
    [
        "😂",
        "👍🏽",
        "👩‍🚀",
        "👨‍👩‍👧‍👦",
        "👩🏽‍🚀",
        "🇺🇸",
        "1⃣",
        "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    ],
)
def test_an_emoji_sequence_is_one_token(emoji: str) -> None:
    assert PLAIN(f"boston.{emoji}strong") == ["boston", ".", emoji, "strong"]
    assert PLAIN(f"{emoji}{emoji} {emoji}") == [emoji, emoji]


def test_emoji_lose_only_their_variation_selector() -> None:
    assert PLAIN("❤️ ❤ 1️⃣ 🏳️‍🌈") == ["❤", "❤", "1⃣", "🏳‍🌈"]
    assert PLAIN("🇺🇸🇬🇧") == ["🇺🇸", "🇬🇧"]


@pytest.mark.parametrize(
    ("options", "text", "tokens"),
    [
        ({"hashtags": "keep"}, "#BostonStrong", "#bostonstrong"),
        ({"hashtags": "split"}, "#BostonStrong", "boston strong"),
        ({"hashtags": "drop"}, "#BostonStrong x", "x"),
        ({"urls": "mark"}, "see http://a.b/c", "see <url>"),
        ({"urls": "keep"}, "see http://A.b/c", "see http://a.b/c"),
        ({"mentions": "mark"}, "hi @BBC x@y.org", "hi <user> <user>"),
        ({"mentions": "keep"}, "hi @BBC", "hi @bbc"),
        (
            {"numbers": "mark"},
            "1,000 in 2-1 20% 1980s",
            "<number> in <number> <number> % 1980s",
        ),
        ({"numbers": "drop"}, "1,000 of .5 10:30 1st", "of 1st"),
        ({"max_characters": 6}, "boston marathon", "boston"),
    ],
)
def test_options(options: dict, text: str, tokens: str) -> None:
    tokenizer = Tokenizer(**options)
    assert tokenizer(text) == tokens.split()
    assert Tokenizer(**tokenizer.config())(text) == tokens.split()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hashtags": "all"}, "both, keep, split, drop"),
        ({"urls": True}, "drop, mark, keep"),
        ({"mentions": None}, "mentions is None"),
        ({"numbers": "no"}, "numbers is 'no'"),
        ({"max_characters": 0}, "1 or more"),
        ({"max_characters": 1.5}, "integer"),
        ({"words": "abc"}, "list of words"),
    ],
)
def test_bad_options(options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Tokenizer(**options)


@pytest.mark.parametrize("text", [None, 5, b"bytes", ["list"]])
def test_a_text_must_be_a_string(text: object) -> None:
    with pytest.raises(InputError, match=type(text).__name__):
        PLAIN(text)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\x00",
        "\ud800",
        "\u200d\ufe0f\u200b",
        "\u202e",
        "#",
        "@",
        "&",
        "&;",
        "&#0;",
        "&#xD800;",
        "\u0301",
        "_",
        "&#x20;",
    ],
)
def test_texts_of_next_to_nothing(text: str) -> None:
    assert all(token.isprintable() and token for token in KNOWING(text))


@pytest.mark.sampled(12)
@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "ab.",
        "a.",
        "a-",
        "a'",
        "#a",
        "@",
        "a@",
        "1.",
        "1-",
        "_",
        "😂",
        "👩\u200d",
        "&",
        "&a;",
        ".",
        "-",
        "a\u0301",
        "\u0301",
        "http",
        "www.",
        "\x00",
        "\ud83d",
        "!?",
        "'s",
        "n't",
        "a_",
        "aaab",
        "http:)",
        "www.)",
    ],
)
def test_a_million_characters_end(unit: str) -> None:
    # Quadratic time would take hours here.
    text = unit * (1_000_000 // len(unit))
    tokens = Tokenizer(words=WORDS, hashtags="both")(text)
    assert sum(map(len, tokens)) <= 3 * 200_000


def test_a_long_text_is_cut_at_max_characters() -> None:
    assert len(Tokenizer(max_characters=1000)("ab " * 1_000_000)) == 334


TEXTS = st.text() | st.text(
    st.sampled_from(
        list(
            "aAbBoO.'’-_#@&;:/!?0123 ,%…\n\u0301\u200d\ufe0f\ud83d👍🏽🇺🇸)(<3cotmhpw\"*$"
        )
    )
)


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_tokens_of_any_text(text: str) -> None:
    for tokenizer in (PLAIN, KNOWING):
        tokens = tokenizer(text)
        assert tokens == tokenizer(text)  # warm
        cold = [tokenizer.chunk_tokens(chunk) for chunk in text.split()]
        assert tokens == [token for chunk_tokens in cold for token in chunk_tokens]
        for token in tokens:
            assert token
            assert not any(character.isspace() for character in token)
            assert token.lower() == token or token.lower().lower() == token.lower()
            token.encode("utf-8")
        assert tokens == Tokenizer(words=WORDS if tokenizer is KNOWING else None)(text)


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_the_plain_shortcut_changes_nothing(text: str) -> None:
    """What `plain` and `sign` catch is what the other alternatives would have given."""
    source = patterns.PATTERN.pattern
    start, end = source.index("(?P<plain>"), source.index("(?P<mention>")
    slow = re.compile(source[:start] + source[end:], re.VERBOSE | re.IGNORECASE)
    for part in patterns.clean(text).split():
        assert [m[0] for m in slow.finditer(part)] == [
            m[0] for m in patterns.PATTERN.finditer(part)
        ]


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(
        st.sampled_from(sorted(patterns.DOTTED)),
        st.sampled_from(["HTTPS", "www", "Mr", "INC", "\u212a", "sooo", "B"]),
        st.text(st.sampled_from("aAbBoOiz\u212a\u0130'1"), min_size=1, max_size=6),
    ),
    st.sampled_from(["", *",.!?;:\"')(]*"]),
)
def test_a_word_and_a_sign_are_what_the_pattern_finds(word: str, sign: str) -> None:
    invisible = "\u200b"  # is dropped, but keeps a chunk from being taken at sight
    for tokenizer in (PLAIN, KNOWING):
        assert tokenizer(word + sign) == tokenizer(word + sign + invisible)


@given(
    st.sampled_from(["http", "https"]),
    st.text("azAZ09:/._?=%~+-&#!\"<,;')…é", max_size=12),
)
@settings(deadline=None)
def test_a_link_taken_at_sight_is_what_the_pattern_finds(
    scheme: str, rest: str
) -> None:
    link, invisible = f"{scheme}:{rest}", "\u200b"
    for option in ("drop", "mark", "keep"):
        for words in (None, WORDS):
            tokenizer = Tokenizer(urls=option, words=words)
            assert tokenizer(link) == tokenizer(link + invisible)


@given(st.text(st.characters(categories=["Ll", "Lu", "Mn", "Zs", "Nd"])))
@settings(deadline=None)
def test_composed_and_decomposed_text_are_the_same(text: str) -> None:
    composed = unicodedata.normalize("NFC", text)
    assert PLAIN(composed) == PLAIN(unicodedata.normalize("NFD", composed))


def test_copies_work_and_leave_the_memo_behind() -> None:
    tokenizer = Tokenizer(words=WORDS, urls="mark")
    expected = tokenizer("#bostonstrong http://x.y can't")
    assert tokenizer._remembered.cache_info().currsize
    for twin in (pickle.loads(pickle.dumps(tokenizer)), copy.deepcopy(tokenizer)):
        assert not twin._remembered.cache_info().currsize
        assert twin("#bostonstrong http://x.y can't") == expected
        assert twin.config() == tokenizer.config()
    assert "urls='mark'" in repr(tokenizer)


def test_the_memo_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("siamese_news.text.tokens._MEMO_CHUNKS", 10)
    tokenizer = Tokenizer()
    text = " ".join(f"w{number}" for number in range(100))
    assert tokenizer(text) == text.split()
    assert tokenizer._remembered.cache_info().currsize <= 10
    misses = tokenizer._remembered.cache_info().misses
    tokenizer("x" * 1000)
    assert tokenizer._remembered.cache_info().misses == misses


# Ours, then nltk's TweetTokenizer(preserve_case=False, reduce_len=True), and why they differ.
AGAINST_NLTK = [
    ("the bomb went off .", None, "same"),
    ("Boston, MA: 3 dead!", None, "same"),
    ("great game 👍🏽 :)", None, "same"),
    ("10:30 is late", None, "same: times"),
    ("#BostonStrong now", "#bostonstrong boston strong now", "hashtags are also split"),
    (
        "@CNN says http://t.co/x1",
        "says",
        "mentions and links name no word of the story",
    ),
    ("don't it's", "do n't it 's", "GloVe has n't and 's, not don't"),
    ("sooooo", "soo", "nltk stops at three letters, which GloVe hardly has"),
    ("U.S. troops", "u.s. troops", "nltk cuts u . s .; GloVe has u.s."),
    ("mr. obama", "mr. obama", "the dot of a title belongs to it, as in GloVe"),
    ("no!!! 😂😂😂", "no ! 😂", "a mark that is only repeated counts once"),
    ("wait....", None, "same: three dots"),
    ("AT&amp;T", "at&t", "nltk cuts at & t; GloVe has at&t"),
    ("love ❤️", "love ❤", "without the variation selector both spellings are one token"),
    (":-)", ":)", "smileys lose their nose"),
    ("20% of $5", None, "same: signs stand alone"),
    ("1,000 people", None, "same: thousands"),
    ("'90s", "'90s", "GloVe has the decade with its apostrophe"),
    ("“quoted”", '" quoted "', "curly quotes are made straight"),
    ("so…", "so ...", "an ellipsis is three dots"),
    ("a_b", None, "same: nothing known, nothing split"),
]


@pytest.mark.parametrize(("text", "ours", "why"), AGAINST_NLTK)
def test_differences_from_tweet_tokenizer(
    text: str, ours: str | None, why: str
) -> None:
    tokenize = pytest.importorskip("nltk.tokenize", reason="nltk is not installed")
    theirs = tokenize.TweetTokenizer(preserve_case=False, reduce_len=True).tokenize(
        text
    )
    if ours is None:
        assert PLAIN(text) == theirs, why
    else:
        assert PLAIN(text) == ours.split(), why
        assert PLAIN(text) != theirs, "no difference any more: say so in the table"
