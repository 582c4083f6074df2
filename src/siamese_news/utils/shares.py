"""Shares such as .9 as people type them."""

import re
from decimal import Decimal

from siamese_news.errors import InputError


def typed_share(word: str) -> str:
    """A share that a person typed, as `siamese_news.decide` takes it.

    A share stays unchanged, so that a plan quotes the user. So does a number from 1 to 10, which is
    more likely a slip than a percentage, and is refused later.

    Raises:
        InputError: a comma may be inside a number or between two.

    Example:
        >>> from siamese_news.utils.shares import typed_share
        >>> typed_share("90%"), typed_share("90"), typed_share("0,9"), typed_share(".9")
        ('0.9', '0.9', '0.9', '.9')
    """
    word = word.replace(" %", "%").strip()
    if word.count(",") > 1 or re.fullmatch(r"\d\d,\d\d", word):
        raise InputError(
            f"{word!r} may be one share or several; expected a blank between two, such as .8 .9"
        )
    plain = word.replace(",", ".")
    if not re.fullmatch(r"(\d+\.?\d*|\.\d+)%?", plain):
        return word  # 9/10, or a text that is refused later
    number = Decimal(plain.removesuffix("%"))
    return f"{number / 100:f}" if "%" in plain or number >= 10 else plain
