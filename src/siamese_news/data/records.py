"""Articles, posts and the pairs between them, as every reader returns them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from siamese_news.errors import InputError

Qrels = dict[str, dict[str, int]]
"""Article id -> post id -> grade; a grade of 1 or more is relevant."""

# Characters that an id in a TREC file (fields split by white space, UTF-8) cannot have.
_NOT_IN_AN_ID = re.compile(r"[\s\x00\ud800-\udfff]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Article:
    """One news article: an id without white space, its text without the title, its title.

    `metadata` is everything else known about it, such as its date.

    Example:
        >>> from siamese_news import Article
        >>> article = Article("a1", "Cellars are full of water.", title="A river floods a town")
        >>> article.full_text.splitlines()
        ['A river floods a town', 'Cellars are full of water.']
    """

    id: str
    text: str
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def full_text(self) -> str:
        """Title, newline, text; the text alone if there is no title."""
        return f"{self.title}\n{self.text}" if self.title else self.text


@dataclass(frozen=True, slots=True)
class Post:
    """One social media post: an id without white space, and its text, which may be empty.

    `metadata` is everything else known about it, such as its author and date.

    Example:
        >>> from siamese_news import Post
        >>> Post("7", "the river is in my cellar").text
        'the river is in my cellar'
    """

    id: str
    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Collection:
    """Articles, posts, and per split the judged pairs (qrels)."""

    name: str
    articles: dict[str, Article]
    posts: dict[str, Post]
    qrels: dict[str, Qrels]

    def split(self, name: str) -> Qrels:
        """The qrels of one split.

        Raises:
            InputError: the collection has no such split.
        """
        if name not in self.qrels:
            have = ", ".join(sorted(self.qrels)) or "none"
            raise InputError(
                f"collection '{self.name}' has no split '{name}'; it has: {have}. "
                "Name one of these, or cut new ones with data.split.by=article"
            )
        return self.qrels[name]


def clean_text(text: str) -> str:
    """The text without the characters that UTF-8 or C strings cannot carry.

    A NUL becomes a space, a lone surrogate becomes U+FFFD.
    """
    if "\x00" in text:
        text = text.replace("\x00", " ")
    if text.isascii():
        return text
    try:
        text.encode()  # many times faster than a search for lone surrogates, which it refuses
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text)
    return text


def check_id(value: str, location: str) -> str:
    """The id unchanged, if every file format that we write can hold it; `location` begins messages.

    Raises:
        InputError: for an empty id, and one with white space, a NUL or a lone surrogate.
    """
    if not value:
        raise InputError(f"{location} is empty, expected an id; every record needs one")
    if _NOT_IN_AN_ID.search(value):
        raise InputError(
            f"{location} is {value[:80]!r}, which contains white space, a NUL or a broken character; "
            "a TREC run cannot hold it: replace those characters"
        )
    return value
