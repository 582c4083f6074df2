"""Prose that a reader can follow: no long sentences, and pages for users that stay short."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    *sorted((ROOT / "docs").glob("*.md")),
    *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")),
    *(ROOT / "benchmarks").glob("*.md"),
    *(ROOT / folder / "README.md" for folder in ("desk", "models/star")),
]
LONGEST = 40  # words of a sentence
SHORT = {"certify.md": 900, "papers.md": 900, "quality.md": 900, "start.md": 600}
"""Words of the pages that users read first; methods have pages of their own."""


def prose(text):
    """The paragraphs and points of a page, one a line, without code, tables, headings and links."""
    text = re.sub(r"^ *```.*?^ *```", "", text, flags=re.S | re.M)
    text = re.sub(r"<[^>]+>|!\[[^\]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`]*`", "Code", text)  # a sentence may begin with it
    lines = [
        "" if line.lstrip().startswith(("|", "#", ">")) else line
        for line in text.splitlines()
    ]
    lines = [re.sub(r"^ *([-*]|\d+\.) ", "\n", line) for line in lines]
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", "\n".join(lines))]


def sentences(text):
    """The sentences of a page's prose; a colon or a semicolon does not end one."""
    return [
        sentence
        for part in prose(text)
        for sentence in re.split(r"(?<=[.!?])[\"”)*]*\s+(?=[\"“(*]*[A-Z])", part)
    ]


def words(text):
    return re.findall(r"[^\W_][\w'’.,/-]*", text)


def test_a_long_sentence_is_seen_and_a_list_is_none():
    long = "This " + "very " * 40 + "long sentence."
    assert len(words(sentences(f"Short.\n{long} Short again.")[1])) == 43
    page = "- one point\n- another\n\n| a | table |\n\nSee [a page](x.md). `a b` c."
    assert [s for s in sentences(page) if s] == [
        "one point",
        "another",
        "See a page.",
        "Code c.",
    ]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_sentence_is_too_long(path):
    text = path.read_text(encoding="utf-8")
    long = {s: n for s in sentences(text) if (n := len(words(s))) > LONGEST}
    assert not long


@pytest.mark.parametrize("name", SHORT)
def test_a_page_for_users_is_short(name):
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    plain = re.sub(r"^ *```.*?^ *```", "", text, flags=re.S | re.M)
    assert len(words(plain)) <= SHORT[name]
