"""Filters by words: the full-text indexes of a database of results, and their queries.

Words between spaces are found by prefix (FTS5, one index of words). Scripts without spaces are
found by any part of a run: their index has the overlapping pairs of characters in order, so that a
phrase of pairs is a substring.
"""

import re
import unicodedata
from itertools import pairwise

from siamese_news.text.spaceless import MARKS, east_asian, has_letter

TABLES = """
CREATE VIRTUAL TABLE words USING fts5(text, content = 'posts', content_rowid = 'rank',
    detail = 'none', prefix = '3 4 5 6', tokenize = 'unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE pairs USING fts5(text, content = '', tokenize = 'ascii');
"""
"""The indexes, for a table ``posts`` with ``rank`` and ``text``."""

_RUN = re.compile(rf"[\w{MARKS}]+")
_SIGNS = re.compile(r"[^\w\s\x00-\u218f]+")  # emoji, arrows, marks of East Asian typography


def split(text: str) -> tuple[list[str], list[str]]:
    """The words that a post must contain, and those (after a minus) that it must not."""
    words = text.split()
    without = [word for word in words if word.startswith("-") and len(word) > 1]
    return [word for word in words if word not in without], [word[1:] for word in without]


def pairs_of(text: str) -> str:
    """The pairs of characters, as indexed, of the runs that are found by any part.

    These are runs with letters of scripts without spaces, and runs of emoji and the like.

    In hexadecimal, five digits per character: tokenizers of FTS5 split at the vowel signs of Thai.
    The last character of a run is also a token of its own: thus each character begins a token, and
    no phrase continues into the next run.
    """
    plain = _plain(text)
    runs = [run for run in _RUN.findall(plain) if has_letter(run)] if east_asian(text) else []
    found: list[str] = []
    for run in runs + _SIGNS.findall(plain):
        codes = [f"{ord(sign):05x}" for sign in run]
        found += [*map("".join, pairwise(codes)), codes[-1]]
    return " ".join(found)


def matching(words: list[str]) -> tuple[str, list[str]]:
    """The statement for posts that contain all of these words, and the values of its marks.

    It selects the ranks of the posts, in order, as its only column ``rowid``.

    Args:
        words: at least one.
    """
    spaced: list[str] = []
    phrases: list[str] = []
    rest: list[str] = []
    for word in words:
        runs = _RUN.findall(_plain(word)) if east_asian(word) else []
        if not any(sign.isalnum() for sign in word):
            known = _SIGNS.fullmatch(_plain(word))
            (phrases if known else rest).append(_phrase(_plain(word)) if known else word)
        elif any(has_letter(run) for run in runs):
            phrases += [_phrase(run) for run in runs if has_letter(run)]
            spaced += [_beginning(run) for run in runs if not has_letter(run)]
        else:
            # As the index cuts texts into words: at everything but letters and digits.
            cut = "".join(sign if sign.isalnum() else " " for sign in word)
            spaced += [_beginning(part) for part in cut.split()]
    parts, values = [], []
    for table, terms in (("words", spaced), ("pairs", phrases)):
        if terms:
            parts.append(f"SELECT rowid FROM {table} WHERE {table} MATCH ?")
            values.append(" AND ".join(terms))
    for word in rest:
        # Plain punctuation alone is in no index.
        parts.append("SELECT rowid FROM posts WHERE text LIKE ? ESCAPE '\\'")
        values.append("%" + re.sub(r"([\\%_])", r"\\\1", word) + "%")
    if len(parts) == 1:
        return parts[0], values
    each = " AND ".join(f"rowid IN ({part})" for part in parts)
    return f"SELECT rowid FROM posts WHERE {each}", values


def _plain(text: str) -> str:
    """Normalize width, case and composed characters."""
    return unicodedata.normalize("NFKC", text).casefold()


def _beginning(word: str) -> str:
    return f'"{word}"' + "*" * (len(word) > 2)


def _phrase(run: str) -> str:
    codes = [f"{ord(sign):05x}" for sign in run]
    if len(codes) == 1:
        return f'"{codes[0]}"*'
    return '"' + " ".join(map("".join, pairwise(codes))) + '"'
