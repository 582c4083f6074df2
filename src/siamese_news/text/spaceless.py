"""Scripts that write words without spaces between them, and Korean: text into character bigrams.

Chinese, Japanese, Thai, Lao, Khmer and Burmese put no space between words, and a Korean word
carries its particles with it, so that a word of a post is hardly ever equal to one of an article.
Overlapping pairs of characters are. For retrieval they do about as well as a segmenter (McNamee and
Mayfield, "Character n-gram tokenization for European language text retrieval", Information
Retrieval 7, 2004; Lee and Ahn, "Using n-grams for Korean text retrieval", SIGIR 1996), need no
dictionary, and cut an article and a post in the same way.

A character is a unit for its reader: a letter with the marks on it, and the letters that a virama
stacks below it.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import chain, groupby, pairwise


def ranges(code_points: list[int]) -> str:
    """A character class body of these ascending code points, as ranges."""
    parts = []
    for _, group in groupby(enumerate(code_points), lambda pair: pair[1] - pair[0]):
        run = [chr(code) for _, code in group]
        parts.append(f"{re.escape(run[0])}-{re.escape(run[-1])}")
    return "".join(parts)


# Combining marks are not \w for `re`, yet Hindi, Thai and decomposed accents are made of them.
# Variation selectors and the keycap mark are left to the emoji.
# Body of a character class: combining marks.
MARKS = ranges(
    [
        code
        for code in chain(range(0x300, 0x3100), range(0xA66F, 0xAC00), [0xFB1E])
        if unicodedata.category(chr(code))[0] == "M"
        and not 0xFE00 <= code <= 0xFE0F
        and code != 0x20E3
    ]
)


# Bodies of character classes: letters and marks. Digits stay numbers, signs stay marks.
_SCRIPT = {
    "Han": "\u3005-\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af",
    "kana": "\u3041-\u3096\u3099-\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff",
    "bopomofo": "\u3105-\u312f\u31a0-\u31bf",
    "Hangul": "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb",
    "Thai": "\u0e01-\u0e3a\u0e40-\u0e4e",
    "Lao": "\u0e81-\u0ece\u0edc-\u0edf",
    "Myanmar": "\u1000-\u103f\u1050-\u108f\u109a-\u109d\ua9e0-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa76"
    "\uaa7a-\uaa7f",
    "Khmer": "\u1780-\u17d3\u17d7-\u17d7\u17dc-\u17dd",
}
# Forms of width, and signs made of such letters, that NFKC takes apart. Not the number sign, the
# apostrophe and the at sign, which have their rule everywhere, nor the two signs that are emoji.
_WIDE = (
    "\u2f00-\u2fdf\u3200-\u3296\u3298\u329a-\u33ff"
    "\uff01\uff02\uff04-\uff06\uff08-\uff1f\uff21-\uffdc"
)
# Body of a character class: the letters and marks of these scripts.
LETTERS = "".join(_SCRIPT.values())

_EAST_ASIAN = re.compile(rf"[{LETTERS}{_WIDE}]")
_LETTER = re.compile(rf"[{LETTERS}]")
_IN = rf"[\w{MARKS}]"


# These two take long to compile, and most searches never meet such a letter.
@cache
def _parts() -> re.Pattern[str]:
    """A hashtag with such a letter (on Weibo with a second sign at its end), or a run of them.

    None of these letters has a case, and to look for one would take long.
    """
    return re.compile(
        rf"(?P<tag>(?i:(?<![a-z0-9&]))\#(?=[^\W{LETTERS}]*+[{LETTERS}]){_IN}++\#?)"
        rf"|(?P<run>[{LETTERS}]++)"
    )


@cache
def _scripts() -> re.Pattern[str]:
    """One script after the other: a Thai letter makes no pair with a Chinese one."""
    chinese = "".join(_SCRIPT[name] for name in ("Han", "kana", "bopomofo"))
    spaceless = (
        _SCRIPT[name] for name in ("Hangul", "Thai", "Lao", "Myanmar", "Khmer")
    )
    return re.compile("|".join(f"[{letters}]++" for letters in (chinese, *spaceless)))


_UNSPACED = re.compile(
    rf"[{''.join(_SCRIPT[name] for name in _SCRIPT if name != 'Hangul')}]"
)
_STACK = "\u1039\u17d2"
_CHARACTER = re.compile(rf".[{MARKS}]*+(?:(?<=[{_STACK}]).[{MARKS}]*+)*+", re.DOTALL)
_LONG_RUN = re.compile(r"(.)\1{2,}", re.DOTALL)


def east_asian(chunk: str) -> bool:
    """Whether a chunk holds a letter of these scripts, or one in a form of their typography."""
    return _EAST_ASIAN.search(chunk) is not None


def has_letter(text: str) -> bool:
    """Whether a text holds a letter of these scripts."""
    return _LETTER.search(text) is not None


def length_of(text: str) -> tuple[int, str]:
    """How long a text is, and the noun of the unit.

    Words, or characters if most of the text is in a script without spaces between words.
    """
    words = text.split()
    unspaced = len(_UNSPACED.findall(text))
    return (
        (sum(map(len, words)), "character")
        if unspaced > len(words)
        else (len(words), "word")
    )


def parts(chunk: str) -> Iterator[tuple[str, str]]:
    """Cut a chunk into hashtags with letters of these scripts, runs of them, and the rest.

    Yield ``tag``, ``run`` or ``rest``, and the piece; together they are as long as the chunk. Full
    stops, commas and quotation marks of these scripts become those of ASCII, which are never
    content words.
    """
    chunk = chunk.translate(_SIGNS)
    start = 0
    for match in _parts().finditer(chunk):
        if match.start() > start:
            yield "rest", chunk[start : match.start()]
        assert match.lastgroup is not None
        yield match.lastgroup, match[0]
        start = match.end()
    if start < len(chunk):
        yield "rest", chunk[start:]


def characters(run: str) -> list[str]:
    """The characters of a run as a reader counts them; joined, they are the run."""
    return _CHARACTER.findall(run)


def bigrams(run: str) -> list[str]:
    """The overlapping pairs of neighboring characters; one character alone is itself.

    A character three times or more counts as twice, as in words of other scripts.
    """
    pairs: list[str] = []
    for script in _scripts().findall(_LONG_RUN.sub(r"\1\1", run)):
        units = characters(script)
        if len(units) == 1:
            pairs += units
        pairs += map("".join, pairwise(units))
    return pairs


def phrase(left_token: str, right_token: str) -> str:
    """Two tokens that follow each other as a reader sees them.

    Overlapping bigrams share a character, which is written once; words have a space between them.
    """
    if has_letter(left_token) and has_letter(right_token):
        left_units = characters(left_token)
        right_units = characters(right_token)
        if len(left_units) == len(right_units) == 2 and left_units[1] == right_units[0]:
            return left_token + right_units[1]
    return f"{left_token} {right_token}"


_SIGNS = {
    code: '"' if unicodedata.category(chr(code)) in ("Ps", "Pe", "Pi", "Pf") else ","
    for start, end in (
        (0x3000, 0x303F),
        (0x30A0, 0x30FF),
        (0xFE10, 0xFE6F),
        (0x0E00, 0x0EFF),
        (0x1000, 0x109F),
        (0x17D4, 0x17DF),
    )
    for code in range(start, end + 1)
    if unicodedata.category(chr(code))[0] == "P" and code not in (0x3030, 0x303D)
}
_SIGNS |= dict.fromkeys(map(ord, "。។။"), ".")
