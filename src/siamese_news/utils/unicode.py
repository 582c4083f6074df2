"""Unicode normalization in linear time, whatever the text."""

import re
import unicodedata
from typing import Literal

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]

_LONGEST = 30  # non-starters in a row; no language needs as many
_JOINER = "\u034f"  # the combining grapheme joiner: invisible, and a starter

# Non-starters are combining marks, which are not \w, and two voicing signs of Katakana, which are.
_MARKS = re.compile(rf"(?:[^\w\x00-\x7f]|[\uff9e\uff9f]){{{_LONGEST + 1},}}+")


def normalized(form: Form, text: str) -> str:
    """The text in a normalization form, in time linear in its length.

    `unicodedata.normalize` sorts each run of combining marks by insertion, so the time for one long
    run is quadratic in its length. As in the Stream-Safe Text Format (Unicode Standard Annex #15,
    section 13) a combining grapheme joiner cuts such a run after 30 non-starters.

    Example:
        >>> from siamese_news.utils.unicode import normalized
        >>> normalized("NFC", "cafe" + chr(0x301))
        'café'
    """
    if text.isascii():
        return text
    if len(text) > _LONGEST:
        text = _MARKS.sub(_stream_safe, text)
    return unicodedata.normalize(form, text)


def _stream_safe(match: re.Match[str]) -> str:
    """The characters of a match, with a joiner before the 31st non-starter of a run, and so on."""
    pieces: list[str] = []
    length = 0  # of the run of non-starters that ends here
    for character in match[0]:
        classes = [
            *map(unicodedata.combining, unicodedata.normalize("NFKD", character))
        ]
        leading = next(
            (at for at, value in enumerate(classes) if not value), len(classes)
        )
        if length + leading > _LONGEST:
            pieces.append(_JOINER)
            length = 0
        if leading == len(classes):
            length += leading
        else:
            length = next(at for at, value in enumerate(reversed(classes)) if not value)
        pieces.append(character)
    return "".join(pieces)
