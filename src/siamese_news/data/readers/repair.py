"""Texts that another program encoded twice or wrote as escapes: read as they were meant.

A text is changed only where that is certain. One that is probably damaged stays and is counted.
"""

import ast
import json
import re
from collections.abc import Sequence
from typing import Literal

State = Literal["whole", "repaired", "garbled"]

# One of these is in every escape, and in the UTF-8 of usual letters, quotation marks and emoji that
# was read as cp1252 or Latin-1. To look for plain strings in many texts at once takes no time.
_ESCAPES = ("\\u", "\\x", "<U+", "><")
_LEADS = "ÃÂÐØÎ€¤¸‚Ÿ¼\x80\x81\x82\x9a\x9f"


def suspicious(texts: Sequence[str]) -> bool:
    """Whether one of many texts may be damaged; of literals of bytes, the first text tells."""
    if texts and texts[0].startswith(("b'", 'b"')):
        return True
    joined = "\n".join(texts)
    if any(sign in joined for sign in _ESCAPES) and _ESCAPED.search(joined):
        return True
    joined = "\n".join(text for text in texts if not text.isascii())
    if not any(lead in joined for lead in _LEADS):
        return False
    return _SEQUENCE.search(joined) is not None


def repaired(text: str) -> tuple[str, State]:
    r"""The text as it was meant, and whether it was whole, repaired, or is probably damaged.

    - UTF-8 that was read as Latin-1 or cp1252, also more than once: ``cafÃ©``. All of the text must
      be of that kind, and a letter, sign or emoji of everyday use must come of it.
    - A literal of bytes, as Python writes it into tables: ``b'caf\xc3\xa9'``.
    - Escapes of JSON for characters outside ASCII: ``caf\u00e9``.
    - Escapes of R: ``<U+00E9>``, and bytes of UTF-8, ``<c3><a9>``.

    Example:
        >>> from siamese_news.data.readers.repair import repaired
        >>> repaired("caf\\u00e9"), repaired("caf<U+00E9>"), repaired(r"b'caf\xc3\xa9'")[0]
        (('café', 'repaired'), ('café', 'repaired'), 'café')
    """
    plain = _of_literal(text)
    if "<U+" in plain:
        plain = _of_r(plain)
    if "><" in plain:
        plain = _R_BYTES.sub(_of_r_bytes, plain)
    if "\\u" in plain and not _PATH.search(plain):
        plain = _of_json(plain)
    garbled = False
    for _ in range(_TIMES):
        once, garbled = _decoded(plain)
        if once == plain:
            break
        plain = once
    if plain != text:
        return plain, "repaired"
    return text, "garbled" if garbled or _LEFT.search(text) else "whole"


_TIMES = 3  # encoded again and again
_ESCAPED = re.compile(r"\\[ux][0-9a-fA-F]|<U\+[0-9A-F]|<[0-9a-f]{2}><")
_LITERAL = re.compile(r"b'(?:[^'\\\n]|\\.)*+'|b\"(?:[^\"\\\n]|\\.)*+\"")
_R_CODES = re.compile(r"(?:<U\+[0-9A-F]{4,8}>)++")
_R_BYTES = re.compile(r"(?:<[0-9a-f]{2}>){2,}+")
_JSON = re.compile(r"(?:\\u[0-9a-fA-F]{4})++")
# Of Windows, in which a folder may be called "u00e4".
_PATH = re.compile(r"\b[A-Za-z]:\\")
_LEFT = re.compile(r"<U\+[0-9A-F]{4,8}>|(?:<[c-f][0-9a-f]>)(?:<[89ab][0-9a-f]>)")


def _of_literal(text: str) -> str:
    if text[:2] not in ("b'", 'b"') or _LITERAL.fullmatch(text) is None:
        return text
    try:
        return str(ast.literal_eval(text).decode())
    except (SyntaxError, ValueError):  # also bytes that are not UTF-8
        return text


def _of_r(text: str) -> str:
    """Resolve R's codes; a single letter between blanks may be what the post is about."""
    codes = _R_CODES.findall(text)
    alone = len(codes) == 1 and f" {codes[0]} " in f" {text} "
    if alone and _R_CODES.sub(_of_r_codes, codes[0]).isalpha():
        return text
    return _R_CODES.sub(_of_r_codes, text)


def _of_r_codes(match: re.Match[str]) -> str:
    codes = [int(code, 16) for code in match[0][3:-1].split("><U+")]
    if any(code > 0x10FFFF or code < 0x80 for code in codes):
        return match[0]
    return _paired("".join(map(chr, codes))) or match[0]


def _of_r_bytes(match: re.Match[str]) -> str:
    data = bytes.fromhex(match[0].replace("<", "").replace(">", ""))
    if data.isascii():
        return match[0]
    try:
        return _paired(data.decode("utf-8", "surrogatepass")) or match[0]
    except UnicodeDecodeError:
        return match[0]


def _paired(text: str) -> str:
    """The text with its pairs of surrogates joined; empty if one is alone."""
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        return ""


def _of_json(text: str) -> str:
    """Resolve the escapes of JSON if one of them is for a letter that touches or follows another.

    A single escape between spaces may be what the post is about.
    """
    runs = _JSON.findall(text)
    if not runs or (len(runs) == 1 and len(runs[0]) == 6 and not _TOUCHES.search(text)):
        return text
    decoded = {run: _paired(json.loads(f'"{run}"')) for run in runs}
    if any(not value or value.isascii() for value in decoded.values()):
        return text
    plain = _JSON.sub(lambda match: decoded[match[0]], text)
    return plain.replace("\\n", "\n").replace("\\/", "/").replace('\\"', '"')


_TOUCHES = re.compile(r"[^\W\d_]\\u[0-9a-fA-F]{4}|\\u[0-9a-fA-F]{4}[^\W\d_]")

# The bytes of UTF-8 as cp1252 shows them, and those that it lacks as Latin-1 does.
_BYTES = {
    ord(bytes([n]).decode("cp1252", "ignore") or chr(n)): n for n in range(0x80, 0x100)
}
_BYTES |= {n: n for n in range(0x80, 0xA0)}
_NEXT = re.escape("".join(chr(sign) for sign, n in _BYTES.items() if n < 0xC0))
_SEQUENCE = re.compile(
    f"[\xc2-\xdf][{_NEXT}]|[\xe0-\xef][{_NEXT}]{{2}}|[\xf0-\xf4][{_NEXT}]{{3}}"
)
# Letters of Western languages, quotation marks, dashes, signs and emoji.
_EVERYDAY = re.compile(
    "[\xa0-\xbf\xc0-\xd6\xd8-\xf6\xf8-\xff\u0152\u0153\u2010-\u2026\u20ac\u2122\u2190-\u2bff"
    "\ufe0f\U0001f300-\U0001faff]"
)
_FEW = 3  # letters of other scripts that make a word


def _decoded(text: str) -> tuple[str, bool]:
    """The text decoded once more where that is certain, and whether it looks as if it should be."""
    if text.isascii():
        return text, False
    sequences = list(_SEQUENCE.finditer(text))
    if not sequences:
        return text, False
    decoded: dict[str, str] = {}
    for sequence in dict.fromkeys(match[0] for match in sequences):
        data = bytes(_BYTES[ord(sign)] for sign in sequence)
        try:
            decoded[sequence] = data.decode()
        except UnicodeDecodeError:
            return text, False
    # "IRMÃ!" and "AMANHÃ»" end in a letter of Portuguese: after a capital, two signs prove nothing.
    telling = [
        decoded[match[0]]
        for match in sequences
        if len(match[0]) > 2 or not text[: match.start()][-1:].isupper()
    ]
    everyday = any(map(_EVERYDAY.match, telling))
    likely = everyday or len(telling) >= _FEW
    remainder = _SEQUENCE.sub("", text)
    if likely and remainder.isascii():
        return _SEQUENCE.sub(lambda match: decoded[match[0]], text), True
    return text, (everyday and "â€" in text) or "ðŸ" in text
