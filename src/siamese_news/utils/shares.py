"""Shares such as .9 as people type them."""

import re
from decimal import Decimal


def typed_share(word: str) -> str:
    """A share that a person typed, as `siamese_news.decide` takes it.

    A share stays unchanged, so that a plan quotes the user. So does a number from 1 to 10, which is
    more likely a slip than a percentage, and whatever is not one share; both are refused later.

    Example:
        >>> from siamese_news.utils.shares import typed_share
        >>> [typed_share(word) for word in ("90%", "90", "92,5 %", "0,9", ".9", "80,90")]
        ['0.9', '0.9', '0.925', '0.9', '.9', '80,90']
    """
    plain = re.sub(r"\s+%", "%", word.strip()).replace(",", ".")
    if not re.fullmatch(r"(\d+\.?\d*|\.\d+)%?", plain) or re.fullmatch(r"\d\d,\d\d", word):
        return word
    number = Decimal(plain.removesuffix("%"))
    return f"{number / 100:f}" if "%" in plain or number >= 10 else plain
