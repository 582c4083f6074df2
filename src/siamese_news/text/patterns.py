"""The compiled pattern of a token, and the cleaning of a chunk of text for it.

A *chunk* is a piece of text without whitespace. No alternative of the pattern matches whitespace,
so a text may be cut at whitespace first and its chunks tokenized, and remembered, one by one.
"""

import html
import re
import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from siamese_news.text.spaceless import MARKS, east_asian
from siamese_news.utils.unicode import normalized

_IN = rf"[\w{MARKS}]"  # inside a word
_START = r"[^\W_]"  # a word starts with a letter or a digit
_LETTER = r"[^\W\d_]"
_TLD = r"(?:com|org|net|gov|edu|info|tv|co|us|uk|ca|au|de|fr|eu|io|ly|me|gl|be|fm|in|it|al|tl|st)"

# One pictograph, its variation selector, skin tone and tags (the flags of England and Scotland).
_PICTURE = (
    r"[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u24c2\u25aa-\u25fe"
    r"\u2600-\u27bf\u2934\u2935\u2b05-\u2b55\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
    r"\ufe0f?[\U0001f3fb-\U0001f3ff]?[\U000e0020-\U000e007f]*+"
)

# Titles, companies and months whose dot belongs to the word, as GloVe has them.
DOTTED = frozenset(
    "mr mrs ms dr jr sr st prof gov sen rep gen lt sgt col capt maj rev hon "
    "inc corp co ltd bros vs etc jan feb aug sept oct nov dec".split()
)
_DOTTED = "|".join(sorted(DOTTED))

_DOTTED_ANY = rf"(?i:(?:{_DOTTED})\.)"

# `word` would find all that `plain` and `joined` find, and `mark` all of `sign`: these come first
# because they are most of a text, and the other alternatives take long to fail.
# Every repetition over mixed characters is possessive or bounded: time is linear in the text.
PATTERN = re.compile(
    rf"""
    (?!\Z)(?:
    (?P<plain>(?-i:[A-Za-z]++(?=[,!?;"'()\]*…]?\Z)
        | (?=[A-Za-z]{{2,}}+\.\Z)(?!{_DOTTED_ANY})[A-Za-z]++))
  | (?P<joined>(?-i:[A-Za-z]++(?:['-][A-Za-z]++)++(?=[,!?".]?\Z)))
  | (?P<sign>[,!?"(){{}}%] | [:;.]\Z)
  | (?P<mention>(?<!{_IN})@\w++)
  | (?P<hashtag>(?<![\w&])\#(?=[\d_]*+{_LETTER}){_IN}++)
  | (?P<url>https?:[^\s"<>]*(?<![).,!?;']) | www\.[^\s"<>]++ | pic\.twitter\.com/[^\s"<>]*+
        | (?<![\w@.-])(?:[a-z0-9-]{{1,63}}\.){{1,4}}{_TLD}/[^\s"<>]*+)
  | (?P<mail>(?<![\w.+-])[\w.+-]{{1,64}}@(?:[a-z0-9-]{{1,63}}\.){{1,4}}[a-z]++)
  | (?P<emoji>[\U0001f1e6-\U0001f1ff]{{2}} | [0-9#*]\ufe0f?\u20e3
        | {_PICTURE}(?:\u200d{_PICTURE})*+)
  | (?P<smile>(?<!\w)[:;=]['-]?(?:[()\[\]|/\\*]++|[DPpOo3](?!\w)) | </?3++(?!\w))
  | (?P<abbreviation>(?<!{_IN})(?:(?:{_LETTER}\.)++(?:{_LETTER}(?!{_IN}))?+(?<=..\S)
        | (?-i:[B-HJ-Z])\.(?!{_IN}) | (?:{_DOTTED})\.(?!{_IN})))
  | (?P<number>\d++(?:[.,:/-]\d++)*+{_IN}*+(?:['-]{_START}{_IN}*+)*+
        | (?<![\w.])\.\d++)
  | (?P<domain>(?<![\w.-])(?:[a-z0-9-]{{2,63}}\.){{1,4}}(?:com|org|net|gov|edu)(?!{_IN}))
  | (?P<word>(?<!{_IN})'(?:em|til|cause|n|tis|twas|\d0s)(?!{_IN})
        | [a-z]{{1,3}}&[a-z]{{1,3}}(?!{_IN})
        | {_START}{_IN}*+(?:['-]{_START}{_IN}*+)*+)
  | (?P<dots>\.{{2,}}+ | …++)
  | (?P<dash>-{{2,}}+)
  | (?P<mark>[^\w\s]))
    """,
    re.VERBOSE | re.IGNORECASE,
)

_REFERENCE = re.compile(
    r"&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31});", re.IGNORECASE
)
# Quotes, hyphens and full-width signs in the form that the pattern and GloVe know.
_PLAIN = str.maketrans(
    {
        **dict.fromkeys("’‘‛ʼ＇", "'"),
        **dict.fromkeys("“”„‟«»", '"'),
        **dict.fromkeys("‐‑", "-"),
        "＃": "#",
        "＠": "@",
    }
)
# Letters in the styles of mathematics and small capitals, with which posts write words in bold or
# past a filter.
_A_TO_Z = "abcdefghijklmnopqrstuvwxyz"
_SMALL = dict(zip("ᴀᴄᴅᴇꜰᴊᴋᴍᴏᴘꞯꜱᴛᴜᴠᴡᴢ", "acdefjkmopqstuvwz", strict=True))
_PLAIN |= {ord(style): letter for style, letter in _SMALL.items()}
_PLAIN |= {
    code: unicodedata.normalize("NFKC", chr(code)) for code in range(0x1D400, 0x1D800)
}
# These are letters of phonetic spellings and signs as well: they count as such capitals and letters
# only next to one of the others.
_NEXT_TO_STYLED = str.maketrans(
    "ʙɢʜɪʟɴǫʀʏℂℊℋℌℍℎℐℑℒℓℕℙℚℛℜℝℤℨℬℭℯℰℱℳℴ", "bghilnqryCgHHHhIILlNPQRRRZZBCeEFMo"
)
_STYLED = re.compile(f"[{''.join(_SMALL)}\U0001d400-\U0001d7ff]")
# Letters in circles, squares and brackets: one or two are signs, such as a mark of copyright. Four
# of them are emoji.
_FRAMED = {
    start + number: letter
    for start in (0x249C, 0x24B6, 0x24D0, 0x1F110, 0x1F130, 0x1F150, 0x1F170)
    for number, letter in enumerate(_A_TO_Z)
}
_FRAMED_EMOJI = "\u24c2\U0001f170\U0001f171\U0001f17e\U0001f17f"
_FRAMES = "".join(map(chr, _FRAMED))
_FRAMED_WORD = re.compile(
    f"(?=[{_FRAMED_EMOJI}\ufe0f]*[{_FRAMES.translate(dict.fromkeys(map(ord, _FRAMED_EMOJI)))}])"
    f"(?:[{_FRAMES}]\ufe0f?){{3,}}"
)
# Letters of flags with invisible signs between them spell words; two without one are a flag.
_FLAG = "[\U0001f1e6-\U0001f1ff]"
_SPELLED = re.compile(f"(?<!{_FLAG})(?:{_FLAG}\u200b)+{_FLAG}?(?!{_FLAG})")
_SPELLED_LETTERS = {0x1F1E6 + number: letter for number, letter in enumerate(_A_TO_Z)}
_MARK = re.compile(rf"[{MARKS}\ufe20-\ufe2f\u20e3]")
# Marks of no spelling: lines through and under letters, those over two letters, rings around
# letters, the rows of marks for dialects and medieval writing, and those of other scripts on Latin.
_ORNAMENTS = re.compile(
    r"[\u0305\u0332-\u0338\u033f\u035c-\u0362\u0488\u0489\u1ab0-\u1aff\u1dc0-\u1dff\ua66f-\ua672"
    r"\ufe20-\ufe2f]++|(?<=[^\W\d_]|[\u0300-\u036f])[\u20d0-\u20f0]++"
    rf"|(?<=[A-Za-z])(?:(?![\u0300-\u036f])[{MARKS}])++"
)
# Two accents on a letter that has no character of its own; accents on four letters in a row or on
# all of a word, which tell only where there were ornaments as well, or consonants that have no
# character with this accent.
_HEAPED = re.compile("[\u0300-\u036f]{2}")
_ON_EACH = re.compile(
    r"(?:[^\W\d_][\u0300-\u036f]++){4}|\A(?:[^\W\d_][\u0300-\u036f]++){2,}+\Z"
)
_ODD_CONSONANT = re.compile("[b-df-hj-np-tv-zB-DF-HJ-NP-TV-Z][\u0300-\u036f]")
_ACCENTS = re.compile("[\u0300-\u036f]++")
# Letters of two scripts in one word, and those that look alike: of phonetic spellings, Greek,
# Cyrillic, Armenian, Cherokee, Coptic and Lisu, and numbers of Rome. A Turkish ı is one of them only
# next to another one.
_OTHERS = "[ɑɡɩ\u0370-\u058f\u13a0-\u13f4\u2160-\u217f\u2c80-\u2cb1\ua4d0-\ua4f7]"
_MIXED = re.compile(f"[A-Za-z]{_OTHERS}|{_OTHERS}[A-Za-z]")
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_TO_LATIN = str.maketrans(
    "авекмнорстухАВЕКМНОРСТУХһіјѕԁԛԝғІЈЅαβειηκνορτυχγΑΒΕΖΗΙΚΜΝΟΡΤΥΧ"
    "օսհոցզյᎪᏴᏟᎠᎬᏀᎻᎫᏦᏞᎷᏢᎡᏚᎢᏙᎳᏃᎽᎥⅰⅴⅹⅼⅽⅾⅿⅠⅤⅩⅬⅭⅮⅯ"
    "ɑɡɩıⲔⲔⲞⲢⲤⲦⲬⲘⲚⲎⲒⲟⲣⲥⲭⲓꓐꓑꓓꓔꓖꓗꓙꓚꓜꓝꓟꓠꓡꓢꓣꓦꓧꓪꓫꓬꓮꓰꓲꓳꓴ",
    "abekmhopctyxABEKMHOPCTYXhijsdqwfIJSabeinkvoptuxyABEZHIKMNOPTYX"
    "ouhngqjABCDEGHJKLMPRSTVWZYiivxlcdmIVXLCDM"
    "agiiKKOPCTXMNHIopcxiBPDTGKJCZFMNLSRVHWXYAEIOU",
)
# A small b, h, m or t looks like none of theirs.
_TO_CYRILLIC = str.maketrans("aekopcyxABEKMHOPCTYX", "аекорсухАВЕКМНОРСТУХ")
_LONE = re.compile(
    rf"(?<!\S)(?:[\w{_FRAMES}] (?=[\w{_FRAMES}](?!\S))){{2,}}[\w{_FRAMES}](?!\S)"
)
_CYRILLIC = re.compile("[\u0400-\u052f]")
_UNCUT = 20  # letters and blanks of several words with one blank between all letters
_WIDE = " \u00a0\u2007\u2009\u200a\u202f\u3000"
_BLANKS = dict.fromkeys(map(ord, _WIDE), " ")
# Controls, bidi and other invisible signs, surrogates and non-characters go. A joiner stays where
# it holds an emoji together, and the tags U+E0020.. stay for the flags.
_INVISIBLE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u180e\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u206f"
    rf"\ufeff\ufff0-\uffff\ud800-\udfff]++|(?<={_IN})\u200d"
    # Variants of a letter; those of signs choose between a sign and an emoji.
    r"|[\ufe00-\ufe0f\U000e0100-\U000e01ef](?<=[^\W\d_\u2139].)"
)


def clean(chunk: str) -> str:
    """Prepare a chunk for the pattern: resolve references, apply NFC, drop invisible signs.

    With East Asian letters or forms of width in it, it is NFKC: half and full width are one.
    Letters in the styles of mathematics, and words in circles and the like, become plain letters, as
    do letters with lines, rings or heaps of accents; look-alikes of another script in a word become
    its own.
    ``&nbsp;`` and the like become whitespace, so the result may hold several chunks.
    """
    if "&" in chunk and ";" in chunk:
        chunk = _REFERENCE.sub(lambda match: html.unescape(match[0]), chunk)
    if chunk.isascii() and chunk.isprintable():
        return chunk
    if "\u200b" in chunk:
        chunk = _SPELLED.sub(lambda match: match[0].translate(_SPELLED_LETTERS), chunk)
    # Composed before as well: a variation selector after an accent belongs to the accented letter.
    chunk = normalized("NFC", chunk)
    chunk = _INVISIBLE.sub(lambda match: " " if match[0].isspace() else "", chunk)
    chunk = normalized("NFKC" if east_asian(chunk) else "NFC", chunk)
    plain = chunk.translate(_PLAIN)
    if plain != chunk and _STYLED.search(chunk):
        plain = plain.translate(_NEXT_TO_STYLED)
    plain = _FRAMED_WORD.sub(
        lambda match: match[0].replace("\ufe0f", "").translate(_FRAMED), plain
    )
    if _MARK.search(plain):
        plain, ornaments = _ORNAMENTS.subn("", plain)
        if _HEAPED.search(plain) or (
            (ornaments or _ODD_CONSONANT.search(plain))
            and _ON_EACH.search(normalized("NFD", plain))
        ):
            plain = _ACCENTS.sub("", normalized("NFD", plain))
    return _LETTERS.sub(_of_one_script, plain) if _MIXED.search(plain) else plain


def _of_one_script(word: re.Match[str]) -> str:
    """The word in the script of most of its letters, if those of the other look alike."""
    text = word[0]
    latin = text.translate(_TO_LATIN)
    cyrillic = text.translate(_TO_CYRILLIC)
    mostly_latin = 2 * sum(map(str.isascii, text)) >= len(text)
    if latin.isascii() and (mostly_latin or any(map(str.isascii, cyrillic))):
        return latin
    mixed = any(map(str.isascii, cyrillic)) or not _CYRILLIC.search(text)
    return text if mixed else cyrillic


def joined_letters(text: str) -> str:
    """The text with words that are written letter by letter in one piece; blanks end lines of them.

    Two blanks are between such words; where one is, they are cut as a hashtag is. A text with fewer
    blanks than half its letters has hardly any.

    Example:
        >>> from siamese_news.text.patterns import joined_letters
        >>> joined_letters("R i v e r   A s k e r"), joined_letters("plan A is a plan")
        ('River   Asker', 'plan A is a plan')
    """
    bare = text
    # Lines under letters are characters, too.
    if not text.isascii() and 4 * sum(map(text.count, _WIDE)) > len(text):
        bare = _ORNAMENTS.sub("", text.translate(_BLANKS))
    if 3 * bare.count(" ") <= len(bare):
        return text
    is_uncut = "  " not in bare
    return _LONE.sub(
        lambda match: (
            "#" * (is_uncut and len(match[0]) > _UNCUT) + match[0].replace(" ", "")
        ),
        bare,
    )


def visible(mark: str) -> bool:
    """Whether a lone mark is worth a token: not a stray joiner, selector or combining mark."""
    return mark.isascii() or unicodedata.category(mark) not in (
        "Mn",
        "Mc",
        "Me",
        "Cf",
        "Cc",
        "Cs",
    )


_LINK = re.compile(r"https?://[^\s<>\"']+", re.IGNORECASE)


def first_link(text: str) -> str:
    """The first link in a text, "" if it has none."""
    match = _LINK.search(text)
    return match.group() if match else ""


def link_matches(
    queries: Sequence[Sequence[str]], urls: Sequence[str]
) -> NDArray[np.bool_]:
    """Whether a post has a link, and which words of its query the link's address contains.

    N posts have N queries, in lower case, and N links, "" for none. The result is (N, 1 + longest
    query), False where a query has no further word. A word counts anywhere: addresses write words
    together ("worldcup2014").
    """
    longest = max((len(words) for words in queries), default=0)
    matches = np.zeros((len(urls), 1 + longest), np.bool_)
    for row, (words, url) in enumerate(zip(queries, urls, strict=True)):
        if url:
            address = url.lower()
            matches[row, 0] = True
            matches[row, 1 : 1 + len(words)] = [word in address for word in words]
    return matches
