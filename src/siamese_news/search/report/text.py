"""The text of a post as a page may show it: inert, visible, its matched terms marked."""

import re
import unicodedata
from collections.abc import Sequence

# What steers a reader's screen or hides: controls, bidi embeddings, overrides and isolates, and
# invisible signs. Joiners (emoji, Persian, Hindi) and plain direction marks do no harm and stay.
_HIDDEN = re.compile(
    r"([\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u180e\u200b\u202a-\u202e\u2060-\u206f\ufeff"
    r"\ufff9-\ufffb\ufffe\uffff\ud800-\udfff\U000e0001])\1*"
)
# Marks that stack on one letter: eight are more than any language needs, hundreds stop a browser.
_STACKED = re.compile(
    r"([\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{8})"
    r"([\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+)"
)
_LINE_ENDS = re.compile(r"\r\n?|[\u2028\u2029\x85\x0b\x0c]")


def visible(text: str) -> str:
    """The text with everything hidden in it spelled out, as in ``⟨U+202E⟩``."""
    if text.isascii() and text.isprintable():
        return text
    text = _STACKED.sub(lambda match: f"{match[1]}⟨{len(match[2])} more marks⟩", text)
    return _HIDDEN.sub(_spelled, _LINE_ENDS.sub("\n", text))


def pieces(text: str, terms: Sequence[str]) -> list[tuple[bool, str]]:
    """The text cut at its matched terms.

    Args:
        text: of a post.
        terms: words; each is marked where it occurs as a whole word, in any case.

    Returns:
        (marked, piece) pairs that make up the text.
    """
    wanted = sorted({term for term in terms if term.strip()}, key=len, reverse=True)
    if not wanted:
        return [(False, text)] if text else []
    # Split at the one group: every second piece is a match.
    either = "|".join(map(re.escape, wanted))
    cut = re.split(rf"(?<!\w)({either})(?!\w)", text, flags=re.IGNORECASE)
    return [(bool(number % 2), piece) for number, piece in enumerate(cut) if piece]


def _spelled(match: re.Match[str]) -> str:
    character, count = match[1], len(match[0])
    if unicodedata.category(character) == "Cs":
        return "\ufffd" * min(count, 3)
    return f"⟨U+{ord(character):04X}{f'×{count}' if count > 1 else ''}⟩"
