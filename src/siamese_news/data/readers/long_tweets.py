"""Whole texts for an archive of X, which keeps those of long posts in a file of their own."""

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from siamese_news.data.lines import BadRow
from siamese_news.data.readers.documents import document_rows
from siamese_news.data.readers.fields import Convert, Converted, Record
from siamese_news.data.readers.inputs import is_note_file
from siamese_news.data.readers.values import inside, iso_date, unescaped
from siamese_news.data.records import Post, clean_text
from siamese_news.errors import InputError
from siamese_news.utils.files import open_binary

_LINKS = re.compile(r"https?://\S+")
_START = 100  # characters by which a text that is cut off is recognized
_CUT = "…"
_NEAR = 600  # seconds between the dates of a post and its note

# By the id, and by the beginning: the date of a note and its text.
LongTexts = dict[str, list[tuple[str, str]]]


def long_texts(tweets: Path) -> tuple[LongTexts, list[str]]:
    """The texts in the files next to a file of tweets, and remarks on what cannot be read.

    They are held in memory: an archive has the posts of one person.
    """
    texts: LongTexts = {}
    remarks: set[str] = set()
    for path in sorted(filter(is_note_file, tweets.parent.iterdir())):
        try:
            with open_binary(path) as stream:
                for _, record, _ in document_rows(stream, ("item",)):
                    if isinstance(record, BadRow):
                        remarks.add(
                            f"{path}: {record.reason}; the long posts that are not read in it "
                            f"end at '{_CUT}'"
                        )
                    note = inside(record, "noteTweet")
                    if isinstance(text := inside(note, "core", "text"), str):
                        dated_text = (iso_date(note.get("createdAt")) or "", text)
                        for key in (
                            str(note.get("noteTweetId")),
                            _plain(text)[:_START],
                        ):
                            texts.setdefault(key, []).append(dated_text)
        except InputError as error:
            remarks.add(str(error))
    return texts, sorted(remarks)


def with_long_texts(convert: Convert, texts: LongTexts) -> Convert:
    """The posts of an archive with their whole texts."""

    def converted(record: Record) -> Converted:
        post = convert(record)
        if not isinstance(post, Post):
            return post
        notes = texts.get(post.id, [])
        if not notes and _CUT in post.text[_START:]:
            notes = _near(texts.get(_plain(post.text)[:_START], []), post)
        if len({text for _, text in notes}) != 1:
            return post
        return Post(post.id, clean_text(unescaped(notes[0][1])), post.metadata)

    return converted


def _near(notes: Sequence[tuple[str, str]], post: Post) -> list[tuple[str, str]]:
    """The notes that begin with all of a post's text before its cut, of those the nearest in time.

    One that was written at another time belongs to another post.
    """
    begin = _plain(post.text.rpartition(_CUT)[0])
    notes = [note for note in notes if _plain(note[1]).startswith(begin)]
    date = post.metadata.get("created_at", "")
    if not date or any(not written for written, _ in notes):
        return notes
    away = [
        abs((datetime.fromisoformat(w) - datetime.fromisoformat(date)).total_seconds())
        for w, _ in notes
    ]
    return [n for n, s in zip(notes, away, strict=True) if s == min(away) <= _NEAR]


def _plain(text: str) -> str:
    """A text without links, which the two files write differently."""
    return " ".join(_LINKS.sub("", unescaped(text)).split())
