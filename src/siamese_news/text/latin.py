"""Words of alphabets in Latin letters, so that a name is alike in most languages that spell it."""

from functools import cache

from anyascii import anyascii

# Greek, Cyrillic, Armenian, Georgian, the scripts of India. Scripts that leave vowels out (Arabic,
# Hebrew) share too little with how names are spelled here, and words of Chinese, Japanese, Korean
# and Thai are pairs of characters.
_SCRIPTS = ((0x0370, 0x052F), (0x0531, 0x0589), (0x0900, 0x0DFF), (0x10A0, 0x10FF))


@cache
def _letters() -> dict[int, str]:
    codes = [code for first, last in _SCRIPTS for code in range(first, last + 1)]
    spelled = {code: anyascii(chr(code)).lower() for code in codes}
    return {code: "".join(filter(str.isalnum, text)) for code, text in spelled.items()}


def in_latin(word: str) -> str:
    """A word in lower-case Latin letters, as far as its letters are of an alphabet that has them.

    Example:
        >>> from siamese_news.text.latin import in_latin
        >>> in_latin("челябинск"), in_latin("αθήνα"), in_latin("überfall")
        ('chelyabinsk', 'athina', 'überfall')
    """
    return word if word.isascii() else word.translate(_letters()) or word
