"""Which languages of a pool are named, and the remark on seeds about one story with --distinct."""

import json

import pytest
from tests.commands import siamese_news

from siamese_news.data.records import Article, Post
from siamese_news.search.language_remarks import UNKNOWN, SearchLanguages
from siamese_news.search.remarks import same_lists_remarks
from siamese_news.text.languages import is_confirmed

ENGLISH = "The storm took the roof of the school and it was on the news for days."
SWAHILI = [
    "Mvua kubwa imenyesha katika mji wa Mombasa na watu wengi wamepoteza nyumba zao",
    "Serikali imesema kwamba itasaidia watu wote walioathirika na mafuriko",
    "Rais wa nchi alisema jana kuwa uchaguzi utafanyika mwaka ujao",
]
# No language of the detector: Hindi in Latin letters, and words that somebody made up.
ELSE = [
    "mujhe nahi pata woh kahan gaya hai",
    "zumba kimbo wantala mosiki perando tulwa nakuti wera",
    "umbali kotani lukwesa mbotani sambulo chikwana",
]


def remarks(texts, *, seed=ENGLISH, **metadata):
    languages = SearchLanguages([Article("a", seed)])
    languages.note(
        Post(f"{n}-{k}", text, metadata)
        for k in range(20)
        for n, text in enumerate(texts)
    )
    return languages, " ".join(languages.remarks())


def test_a_language_that_the_words_bear_out_is_named():
    languages, told = remarks(SWAHILI)
    assert languages.shares == {"sw": 1.0} and "'sw' 100%" in told


@pytest.mark.parametrize("text", ELSE)
def test_a_language_that_the_detector_does_not_know_is_not_named(text):
    languages, told = remarks([text] * 3)
    assert set(languages.shares) <= {UNKNOWN}
    assert "'" not in told.replace("'und'", "?") or not told
    if languages.shares:
        assert "100% in a language that cannot be told" in told


def test_a_seed_may_be_in_the_language_that_cannot_be_told():
    languages, told = remarks(ELSE[1:], seed="zumba kimbo perando tulwa sambulo")
    assert languages.shares and not told


def test_a_few_posts_whose_language_is_known_say_nothing_of_all():
    languages, told = remarks([*SWAHILI, *["zq wx kj pv rt"] * 30])
    assert not languages.shares and not told


def test_what_the_platform_says_is_named():
    languages, told = remarks(ELSE, lang="hi")
    assert languages.shares == {"hi": 1.0} and "'hi' 100%" in told


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Der Sturm hat das Dach der Schule zerstört und wir sind ohne Strom", "de"),
        ("La tormenta se llevó el tejado de la escuela de mi pueblo", "es"),
        ("तूफान ने स्कूल की छत उड़ा दी", "hi"),
    ],
)
def test_words_and_alphabets_bear_a_language_out(text, language):
    assert is_confirmed(text, language)


def test_lists_that_are_nearly_the_same_are_named():
    same, other = set(range(20)), set(range(50, 70))
    (told,) = same_lists_remarks({"a": same, "b": same | {30}, "c": other}, 1000)
    assert told.startswith("The lists of a, b have nearly the same posts")
    assert not same_lists_remarks({"a": same, "c": other}, 1000)
    assert not same_lists_remarks({"a": same, "b": same}, 30)  # most of the pool


def test_rank_distinct_warns_of_seeds_about_one_story(tmp_path):
    for name in ("one", "two"):
        text = f"Storm over Velden {name}\n\nA storm took the roof of the school in Velden.\n"
        (tmp_path / f"{name}.txt").write_text(text)
    (tmp_path / "three.txt").write_text(
        "Bread\n\nA baker in Graz bakes rye bread with honey.\n"
    )
    stories = (
        "the storm took a roof in Velden",
        "rye bread of a baker in Graz",
        "a cat sleeps",
    )
    rows = [{"id": f"p{n}", "text": f"{stories[n % 3]} {n}"} for n in range(150)]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments = ["--posts", "p.jsonl", "--top", "50", "--distinct", "--out"]
    done = siamese_news(
        "rank",
        "--articles",
        "one.txt",
        "two.txt",
        *arguments,
        "x.jsonl",
        folder=tmp_path,
    )
    assert done.returncode == 0 and "have nearly the same posts" in " ".join(
        done.stderr.split()
    )
    done = siamese_news(
        "rank",
        "--articles",
        "one.txt",
        "three.txt",
        *arguments,
        "y.jsonl",
        folder=tmp_path,
    )
    assert done.returncode == 0 and "nearly the same posts" not in " ".join(
        done.stderr.split()
    )
