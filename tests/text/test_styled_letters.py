"""Letters in styles of mathematics, circles and the like are letters."""

import json
import unicodedata

import pytest

from siamese_news.text.patterns import clean, joined_letters
from siamese_news.text.tokens import Tokenizer

from ..commands import siamese_news as process

WORDS = "the quick weir jumps over lazy dams foxglove bzk"
SMALL = dict(zip(map(chr, range(97, 123)), "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘǫʀꜱᴛᴜᴠᴡxʏᴢ", strict=True))
# The letters that the mathematical alphabets lack are in the block of letterlike symbols.
HOLES = {
    name: chr(code)
    for code in range(0x2100, 0x2150)
    if (name := unicodedata.name(chr(code)))
}


def styled(style):
    """The alphabet in a style, by the names of its letters."""
    letters = {}
    for letter in "abcdefghijklmnopqrstuvwxyz":
        for case, own in (("SMALL", letter), ("CAPITAL", letter.upper())):
            name = style.format(case=case, letter=letter.upper())
            try:
                letters[own] = unicodedata.lookup(name)
            except KeyError:
                old = name.replace("MATHEMATICAL ", "").replace(
                    "FRAKTUR", "BLACK-LETTER"
                )
                letters[own] = HOLES.get(old) or HOLES.get("PLANCK CONSTANT", own)
    return letters


MATHS = [
    f"MATHEMATICAL {style} {{case}} {{letter}}"
    for style in (
        *(
            "BOLD",
            "ITALIC",
            "BOLD ITALIC",
            "SCRIPT",
            "BOLD SCRIPT",
            "FRAKTUR",
            "DOUBLE-STRUCK",
        ),
        *(
            "BOLD FRAKTUR",
            "SANS-SERIF",
            "SANS-SERIF BOLD",
            "SANS-SERIF BOLD ITALIC",
            "MONOSPACE",
        ),
    )
]


@pytest.mark.parametrize(
    "style",
    [
        *MATHS,
        "FULLWIDTH LATIN {case} LETTER {letter}",
        "CIRCLED LATIN {case} LETTER {letter}",
    ],
)
def test_every_style_is_read_as_its_letters(style):
    letters = styled(style)
    tokens = Tokenizer()
    for text in (WORDS, WORDS.title()):
        written = "".join(letters.get(letter, letter) for letter in text)
        assert written != text
        assert tokens(written) == tokens(text)
        assert tokens(f"#{written.split()[2]}") == tokens(f"#{text.split()[2]}")


@pytest.mark.parametrize(
    "start",
    [0x249C, 0x1F110, 0x1F130, 0x1F150, 0x1F170],
    ids="parens caps squares black box".split(),
)
def test_capitals_in_frames_are_letters(start):
    emoji = {0x1F170, 0x1F171, 0x1F17E, 0x1F17F}
    text = "weirs give" if start == 0x1F170 else WORDS  # without a, b, o, p
    written = "".join(chr(start + ord(c) - 97) if c != " " else c for c in text)
    assert not emoji & set(map(ord, written))
    assert Tokenizer()(written) == Tokenizer()(text)


def test_small_capitals_are_letters():
    written = "".join(SMALL.get(letter, letter) for letter in WORDS)
    assert Tokenizer()(written) == Tokenizer()(WORDS)


@pytest.mark.parametrize(
    "text", ["ˈpʰɪʟɪ", "ʀɪɴ", "5 ℓ", "ℝ", "№ 5", "™", "🅰", "🅱", "Ⓜ", "½", "①", "x²"]
)
def test_phonetic_spellings_signs_and_emoji_are_what_they_were(text):
    assert clean(text) == unicodedata.normalize("NFC", text)


def test_accents_on_styled_letters_stay():
    assert Tokenizer()("𝐫é𝐬𝐮𝐦é") == ["résumé"]
    assert Tokenizer()("𝟐𝟎𝟐𝟔 𝟗𝟎𝟎") == ["2026", "900"]


def test_a_post_in_bold_is_found(tmp_path):
    bold = styled("MATHEMATICAL SANS-SERIF BOLD {case} {letter}")
    text = "The weir at Tansy Mill gives way, hundreds flee"
    written = "".join(bold.get(letter, letter) for letter in text)
    posts = [
        written,
        "my cat sleeps on the sofa",
        "coffee first",
        "a goal in the last minute",
    ]
    rows = "".join(
        json.dumps({"id": str(n), "text": t}) + "\n" for n, t in enumerate(posts)
    )
    (tmp_path / "posts.jsonl").write_text(rows)
    (tmp_path / "plain.jsonl").write_text(
        rows.replace(json.dumps(written), json.dumps(text))
    )
    (tmp_path / "seed.txt").write_text(
        "The weir at Tansy Mill gave way; hundreds fled.\n"
    )
    scores = []
    for name in ("posts", "plain"):
        rank = (
            "rank",
            "--articles",
            "seed.txt",
            "--posts",
            f"{name}.jsonl",
            "--format",
            "jsonl",
        )
        done = process(*rank, folder=tmp_path)
        assert not done.returncode, done.stderr
        first = json.loads(done.stdout.splitlines()[0])
        assert first["post"] == "0"
        scores.append(first["score"])
    assert scores[0] == scores[1] > 0.3


DISGUISES = {
    "lines under": lambda word: "".join(f"{letter}\u0332" for letter in word),
    "lines through": lambda word: "".join(f"{letter}\u0336" for letter in word),
    "slashes": lambda word: "".join(f"{letter}\u0337" for letter in word),
    "heaps of accents": lambda word: "".join(f"{c}\u0323\u0317\u0301" for c in word),
    "thousands": lambda word: "".join(f"{letter}\u0489" for letter in word),
    "nothing between": "\u034f".join,
    "ties over two": "\u0361".join,
    "an accent and a ring": lambda word: "".join(f"{c}\u0301\u0488" for c in word),
    "medieval letters": lambda word: "".join(f"{c}\u1dd4\u1ab2" for c in word),
    "half marks": lambda word: "".join(f"{letter}\ufe22" for letter in word),
    "Hebrew points": lambda word: "".join(f"{letter}\u05b8" for letter in word),
    "circles around": lambda word: "".join(f"{letter}\u20dd" for letter in word),
    "letters of flags": lambda word: "".join(
        f"{chr(0x1F1E6 + ord(letter) - 97)}\u200b" for letter in word
    ),
    "black boxes": lambda word: "".join(chr(0x1F170 + ord(c) - 97) for c in word),
    "Cyrillic": lambda word: word.translate(str.maketrans("aeopcyx", "аеорсух")),
    "Greek": lambda word: word.translate(str.maketrans("aopv", "αορν")),
    "letter by letter": " ".join,
}


@pytest.mark.parametrize("disguise", DISGUISES)
def test_letters_in_disguise_are_letters(disguise):
    words = "weirbank tansy gives way over blackpool".split()
    written = "   ".join(map(DISGUISES[disguise], words))
    assert written != "   ".join(words)
    assert Tokenizer()(written) == words


@pytest.mark.parametrize(
    "text",
    [
        "ẹ́ yọ̀",  # Yoruba: one accent on a letter with a dot below
        "Việt Nam",
        "příští",  # three accents in a row
        "שָׁלוֹם",
        "за́мок",  # the stress of a Russian word
        "οσα και",
        "оса",  # all its letters look like Latin ones
        "≠",
        "5\ufe0f\u20e3",
        "🇮🇹🇫🇷",
        "🅰🅱🅾",
        "μTorrent",
        "a b or c d",
    ],
)
def test_accents_scripts_and_signs_of_their_own_stay(text):
    chunks = unicodedata.normalize("NFC", text).split()
    assert [clean(chunk) for chunk in chunks] == chunks
    assert joined_letters(text) == text


def test_underlined_words_keep_their_accents():
    """Lines under letters go, while the accents of the language stay."""
    underlined = "".join(f"{letter}\u0332" for letter in "příští")
    assert clean(underlined) == unicodedata.normalize("NFC", "příští")


def test_a_latin_letter_in_a_cyrillic_word_is_cyrillic():
    assert Tokenizer()("нaвoднение") == ["наводнение"]


def test_a_cyrillic_letter_in_a_latin_word_is_latin():
    """A small h looks like no Cyrillic letter."""
    assert Tokenizer()("тhе rivеr") == ["the", "river"]


@pytest.mark.parametrize("text", ["r1v3r", "r*i*v*e*r", "h5n1", "covid19", "b-a-n"])
def test_digits_and_signs_inside_words_stay(text):
    """What leet writes is also how viruses, models and roads are called."""
    assert clean(text) == text


def test_a_hashtag_is_cut_at_its_capitals():
    words = "for the low bridge pray news from town".split()
    words += [f"{n}" for n in range(300)] + ["har"]
    tokenizer = Tokenizer(words=words, hashtags="split")
    assert tokenizer("#HarlowBridge") == ["harlow", "bridge"]
    assert tokenizer("#PrayforTown") == ["pray", "for", "town"]
    assert tokenizer("#NewsfromHarlow") == ["news", "from", "harlow"]


def test_blanks_of_any_kind_between_letters():
    for blank, gap in ("\u00a0\u3000", "\u2009 ", "\u202f\n"):
        written = f"{blank.join('weir')}{gap * 2}{blank.join('fails')}"
        assert Tokenizer()(written) == ["weir", "fails"]


def test_words_without_a_border_are_cut_as_a_hashtag_is():
    tokens = Tokenizer(words=["the", "weir", "at", "mill", "fails", "now"])
    for text in ("T H E W E I R F A I L S", "t h e w e i r f a i l s"):
        assert tokens(text) == ["#theweirfails", "the", "weir", "fails"]
    assert tokens("W E I R") == ["weir"]  # one word has no border


def test_variants_of_letters_and_flags_that_spell():
    plain = Tokenizer()("weir fails")
    assert Tokenizer()("".join(f"{c}\ufe0e" for c in "weir fails")) == plain
    flags = {c: chr(0x1F1E6 + ord(c) - 97) for c in "abcdefghijklmnopqrstuvwxyz"}
    spelled = " ".join(
        "\u200b".join(map(flags.get, word)) for word in ("weir", "fails")
    )
    assert Tokenizer()(spelled) == plain
    assert Tokenizer()("🇫🇷\u200b🇩🇪") == ["🇫🇷", "🇩🇪"]


@pytest.mark.parametrize("mark", "\u030a\u0301\u033a\u033d\u0302")
def test_one_mark_on_each_letter_is_none(mark):
    written = "".join(c if c == " " else c + mark for c in "thank fails")
    assert Tokenizer()(written) == ["thank", "fails"]


@pytest.mark.parametrize("word", ["ọ̀nà", "ń̩lá", "m̀bọ̀", "ẹ̀kọ́", "sv\u0327v\u0327"])
def test_accents_of_spellings_stay(word):
    assert clean(word) == unicodedata.normalize("NFC", word)


@pytest.mark.parametrize(
    ("disguise", "word"),
    [
        *(("wеіr", "weir"), ("ԝеir", "weir"), ("Ꮃeir", "Weir"), ("faiⅼs", "fails")),
        *(("Wꓰir", "WEir"), ("wɑɡer", "wager"), ("wɑterlıne", "waterline")),
        ("fⲟrt", "fort"),
    ],
)
def test_look_alikes_of_further_scripts(disguise, word):
    assert clean(disguise) == word


@pytest.mark.parametrize("word", ["yıldırım", "ɡoʊst", "λόγoς", "ꓡꓲꓢꓴ", "ⲡⲛⲟⲩⲧⲉ"])
def test_letters_of_other_spellings_stay(word):
    """A Turkish word, one in phonetic spelling, and words of other scripts."""
    assert clean(word) == word


@pytest.mark.parametrize("disguise", ["lines under", "lines through", "circles"])
def test_letters_apart_may_be_in_disguise_as_well(disguise):
    letters = DISGUISES.get(
        disguise, lambda word: "".join(chr(0x24D0 + ord(c) - 97) for c in word)
    )
    written = "   ".join(" ".join(map(letters, word)) for word in ("weir", "fails"))
    assert Tokenizer()(written) == ["weir", "fails"]
    assert Tokenizer()(letters("x") + " or " + letters("y")) != ["xory"]
