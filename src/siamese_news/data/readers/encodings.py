"""Text files that are not UTF-8: detection of their encoding, and conversion to UTF-8."""

import codecs
import io
import re
from collections.abc import Iterator

from siamese_news.errors import InputError
from siamese_news.text.languages import language_of
from siamese_news.utils.files import as_file

UTF8 = "utf-8"

_CHUNK = 2**16
_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, UTF8),
)
_ENOUGH = 0.3  # share of zero bytes in every other place that makes a text UTF-16
# Inside a word cp1252 has letters; another code page read as cp1252 has signs there.
_SIGN_IN_WORD = re.compile("[A-Za-z][\xa1-\xbf\xd7\xf7†‡ˆ‰‹›][A-Za-z]")
_IN_WORD = re.compile("[A-Za-z][^\x00-\x7f]|[^\x00-\x7f][A-Za-z]")
_LETTER = re.compile(r"[^\W\d_]")
_LINES = 3  # lines that are needed to guess a code page
# Share of letters outside ASCII from which a text is hardly Western European.
_FOREIGN = 0.3
# The code pages of Windows for languages in Latin letters that are not Western European.
_PAGES = dict.fromkeys("bs cs hr hu pl ro sk sl".split(), "cp1250") | {
    "lt": "cp1257",
    "lv": "cp1257",
    "tr": "cp1254",
}


def detect_encoding(head: bytes) -> str:
    """Detect the encoding of a text file from its beginning.

    A byte order mark decides, then zero bytes in every other place (UTF-16), then whether most of
    the lines that are not ASCII are UTF-8: a few broken lines do not change the encoding of a file.
    Otherwise it is the code page of Windows for the language that the letters of ASCII tell, cp1252
    (which Excel writes in Western Europe) if that yields words, else the guess of charset-normalizer.
    JSON is always Unicode.
    """
    for mark, name in _BOMS:
        if head.startswith(mark):
            return name
    if len(head) >= 4 and head.count(0):
        for start, name in ((1, "utf-16-le"), (0, "utf-16-be")):
            half = head[start::2]
            if half.count(0) > _ENOUGH * len(half):
                return name
        return UTF8
    if head.lstrip()[:1] in (b"{", b"["):
        return UTF8
    good = bad = 0
    lines = [line for line in head.split(b"\n") if not line.isascii()]
    for line in lines:
        try:
            line.decode()
            good += 1
        except UnicodeDecodeError:
            bad += 1
    # The last line may be cut off in the middle of a character.
    if bad <= good or (
        bad == 1 and lines[-1] == head.rpartition(b"\n")[2] and len(lines) > 1
    ):
        return UTF8
    data = b"\n".join(lines)
    western = data.decode("cp1252", "replace")
    letters = _LETTER.findall(western)
    foreign = sum(not letter.isascii() for letter in letters)
    page = _PAGES.get(language_of(western) or "", "cp1252")
    is_western = (
        "\ufffd" not in western
        and _IN_WORD.search(western)
        and not _SIGN_IN_WORD.search(western)
    )
    if foreign <= _FOREIGN * len(letters) and (page != "cp1252" or is_western):
        return page
    if bad < _LINES:
        return UTF8
    from charset_normalizer import from_bytes

    # Words with signs inside them are not Western European.
    best = from_bytes(data, cp_exclusion=["cp1252", "latin_1"]).best()
    return UTF8 if best is None else str(best.encoding).replace("_", "-")


def check_encoding(name: str) -> str:
    """The user's choice, as Python calls it.

    Raises:
        InputError: the text encoding is unknown.
    """
    try:
        if not codecs.lookup(name)._is_text_encoding:
            raise LookupError
        return codecs.lookup(name).name
    except (LookupError, ValueError) as error:
        raise InputError(
            f"--encoding is {name!r}, which is unknown; expected a name such as utf-8, "
            "utf-16, cp1252, cp1251 or shift_jis"
        ) from error


def as_utf8(stream: io.BufferedReader, encoding: str) -> io.BufferedReader:
    """The same text in UTF-8; bytes that are invalid in the encoding become invalid UTF-8."""
    if encoding == UTF8:
        return stream
    errors = (
        "replace" if encoding.startswith(("utf-16", "utf-32")) else "surrogateescape"
    )
    decoder = codecs.getincrementaldecoder(encoding)(errors)

    def pieces() -> Iterator[bytes]:
        while data := stream.read1(_CHUNK):
            yield decoder.decode(data).encode("utf-8", errors)
        yield decoder.decode(b"", final=True).encode("utf-8", errors)

    return as_file(pieces(), stream)
