"""Filters by words: the form in which texts are searched, and what it contains if a word is there.

Words between spaces are found by their beginning, scripts without spaces by any part of a run.
"""

import re

from siamese_news.text.spaceless import MARKS, has_letter
from siamese_news.utils.unicode import normalized

# Words, and runs of signs.
_PARTS = re.compile(rf"((?:[^\W_]|[{MARKS}])+)|(?:[^\w\s{MARKS}]|_)+")
_ACCENTS = re.compile("[\u0300-\u036f]+")


def split(text: str) -> tuple[list[str], list[str]]:
    """The words that a post must contain, and those (after a minus) that it must not."""
    words = text.split()
    without = [word for word in words if word.startswith("-") and len(word) > 1]
    return [word for word in words if word not in without], [
        word[1:] for word in without
    ]


def searchable(text: str) -> str:
    """A text without case, accents and forms of width, with a space around each run."""
    return f" {' '.join(match[0] for match in _PARTS.finditer(_plain(text)))} "


def patterns(word: str) -> list[str]:
    """The texts that `searchable` contains, all of them, if the post contains the word.

    Words of three letters or more match at their beginning, shorter ones as a whole. The signs of a
    word with letters do not count.
    """
    parts = list(_PARTS.finditer(_plain(word)))
    runs = [match[1] for match in parts if match[1]]
    return [
        run if has_letter(run) else f" {run}" + " " * (len(run) < 3) for run in runs
    ] or [match[0] for match in parts]


def _plain(text: str) -> str:
    if text.isascii():
        return text.lower()
    plain = _ACCENTS.sub("", normalized("NFKD", text).casefold())
    return normalized("NFC", plain)
