"""Whole texts for an archive of X, which keeps those of long posts in a file of their own."""

import re
from pathlib import Path

from siamese_news.data.readers.documents import document_rows
from siamese_news.data.readers.fields import Convert, Converted, Record
from siamese_news.data.readers.values import inside, unescaped
from siamese_news.data.records import Post, clean_text
from siamese_news.utils.files import open_binary

_NAME = "note-tweet.js"
_LINKS = re.compile(r"https?://\S+")
_START = 100  # characters by which a text that is cut off is recognized
_CUT = "…"


def long_texts(tweets: Path) -> dict[str, str]:
    """The texts in the file next to a file of tweets, by id and by their beginning.

    They are held in memory: an archive has the posts of one person.
    """
    texts: dict[str, str] = {}
    path = tweets.with_name(_NAME)
    if not path.is_file():
        return texts
    with open_binary(path) as stream:
        for _, record, _ in document_rows(stream, ("item",)):
            note = inside(record, "noteTweet")
            text = inside(note, "core", "text")
            if isinstance(text, str):
                texts[str(note.get("noteTweetId"))] = text
                texts[_start_of(text)] = text
    return texts


def with_long_texts(convert: Convert, texts: dict[str, str]) -> Convert:
    """The posts of an archive with their whole texts."""

    def converted(record: Record) -> Converted:
        post = convert(record)
        if not isinstance(post, Post):
            return post
        text = texts.get(post.id)
        if text is None and _CUT in post.text[_START:]:
            text = texts.get(_start_of(post.text))
        if text is None:
            return post
        return Post(post.id, clean_text(unescaped(text)), post.metadata)

    return converted


def _start_of(text: str) -> str:
    """The beginning of a text without links, which the two files write differently."""
    return " ".join(_LINKS.sub("", unescaped(text)).split())[:_START]
