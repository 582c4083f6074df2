"""Normalization is Unicode's, and no text takes quadratic time."""

import json
import re
import subprocess
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siamese_news.data.readers.values import unescaped
from siamese_news.utils.unicode import normalized

from ..commands import siamese_news as process
from ..installed import WITH_DESK

FORMS = ("NFC", "NFD", "NFKC", "NFKD")
MARKS = "\u0301\u0327\u0344\u0f73\u0f71\uff9e\u3099\u05b0\u064b\u0940\u20dd"


def longest_run(text):
    """The most non-starters in a row, after compatibility decomposition."""
    longest = run = 0
    for character in unicodedata.normalize("NFKD", text):
        run = run + 1 if unicodedata.combining(character) else 0
        longest = max(longest, run)
    return longest


@given(st.sampled_from(FORMS), st.text(max_size=200))
def test_ordinary_texts_are_normalized_as_unicode_does(form, text):
    if longest_run(text) <= 30:
        assert normalized(form, text) == unicodedata.normalize(form, text)


@pytest.mark.parametrize("form", FORMS)
def test_thirty_marks_on_a_letter_are_kept_in_their_order(form):
    text = "e" + "\u0315\u0300\u0327" * 10
    assert normalized(form, text) == unicodedata.normalize(form, text)


@given(st.sampled_from(FORMS), st.text(f"{MARKS}aé한ก😀", max_size=300))
def test_long_runs_of_marks_are_stream_safe(form, text):
    """UAX #15, section 13: at most 30 non-starters follow each other, and nothing else changes."""
    safe = normalized(form, text)
    assert longest_run(safe) <= 30 + 2  # two may belong to the letter before the run
    joined = unicodedata.normalize(form, safe)
    assert joined == safe
    if longest_run(text) > 30 + 2:
        assert "\u034f" in safe


def test_no_non_starter_escapes_the_search_for_long_runs():
    for code in range(0x110000):
        if not 0xD800 <= code < 0xE000 and unicodedata.combining(
            unicodedata.normalize("NFKD", chr(code))[0]
        ):
            assert re.search(r"\u034f", normalized("NFD", chr(code) * 40)), hex(code)


# Everything that reads the text of a post or a field of a form, on runs of 100,000 characters. Each
# step has 20 seconds of the processor; a linear one takes a tenth of a second, a quadratic minutes.
LINEAR = """
import signal, sys
from siamese_news.data.readers.fields import normal
from siamese_news.data.readers.values import iso_date, unescaped, without_html
from siamese_news.data.splits import same_text_key
from siamese_news.search.clusters import normal_form
from siamese_news.search.report.page import visible
from siamese_news.text.languages import language_of, looks_english
from siamese_news.text.patterns import clean, first_link
from siamese_news.text.tokens import Tokenizer
from siamese_news.utils.terminal import clean as shown, guarded

STEPS = [
    Tokenizer(words=["so", "the"]), clean, first_link, normal_form, language_of, looks_english,
    without_html, unescaped, iso_date, normal, visible, same_text_key, shown, guarded,
]
"""
OF_THE_DESK = """
from siamese_news_desk.labels.sheets import RawLabel, check_value
from siamese_news_desk.page.project import safe_name
from siamese_news_desk.page.words import patterns, searchable

def verdict(text):
    try:
        RawLabel("", "", "", "", text, "", None).verdict
    except Exception:
        pass

STEPS += [searchable, patterns, safe_name, verdict, lambda text: check_value("p", text)]
"""
RUN = """
for text in map(eval, sys.argv[1:]):
    for step in STEPS:
        print(ascii(text), step, flush=True)
        signal.setitimer(signal.ITIMER_PROF, 20)
        step((text * 100_000)[:100_000])
"""
MARKS_OF_SCRIPTS = (
    "\u0315\u0300",
    "\u0301\uff9e",
    "\u0f73",
    "a\u0301\u0327",
    "क\u094d",
)
OTHERS = (
    *(
        "1",
        "1.",
        "a.",
        "@",
        "a@",
        "#",
        "#a",
        "/",
        "http://",
        "www.",
        "&",
        "&#1",
        "&a",
        "<",
        "<a",
    ),
    *(
        " ",
        "\n",
        "\t ",
        "\x00",
        "\r",
        "'",
        "n't",
        "-",
        "a-",
        ":",
        ":-",
        "😀",
        "\u200d",
        "🇩",
        "\ufe0f",
    ),
    *(
        "ß",
        "ﷺ",
        "İ",
        "𝐁",
        "漢",
        "ก",
        "한",
        "\u1039\u1000",
        "_",
        "rt @a ",
        "…",
        '"',
        "\\u",
        "Ã©",
    ),
)


@pytest.mark.parametrize(
    "runs",
    [
        MARKS_OF_SCRIPTS[:2],
        pytest.param(MARKS_OF_SCRIPTS[2:] + OTHERS, marks=pytest.mark.slow),
    ],
)
def test_no_text_takes_quadratic_time(runs):
    code = LINEAR + (OF_THE_DESK if WITH_DESK else "") + RUN
    command = [sys.executable, "-c", code, *map(ascii, runs)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert not done.returncode, done.stdout.splitlines()[-1:]


def test_a_post_and_a_seed_of_marks_stop_no_search(tmp_path):
    marks = "\u0315\u0300\u0327" * 10_000
    posts = [
        f"the mill burns {marks}",
        marks,
        "a fire destroys the old mill",
        "my cat sleeps",
    ]
    rows = "".join(
        json.dumps({"id": str(n), "text": t}) + "\n" for n, t in enumerate(posts)
    )
    (tmp_path / "posts.jsonl").write_text(rows)
    (tmp_path / "seed.txt").write_text(f"The old mill burns down in a fire. {marks}\n")
    found = [*("--articles", "seed.txt", "--posts", "posts.jsonl")]
    done = process("rank", *found, "--dedupe", "--out", "list.jsonl", folder=tmp_path)
    assert not done.returncode, done.stderr
    lines = (tmp_path / "list.jsonl").read_text().splitlines()
    assert {json.loads(line)["post"] for line in lines[:2]} == {"0", "2"}
    done = process("explain", *found, "--post", "0", folder=tmp_path)
    assert not done.returncode, done.stderr


def test_a_reference_of_thousands_of_digits_costs_no_post():
    endless = f"&#{'1' * 5000};"
    assert (
        unescaped(f"the river &amp; the {endless} bridge")
        == "the river & the \ufffd bridge"
    )
    assert unescaped("&#65;&#x42;&#1234567;") == "AB\ufffd"
