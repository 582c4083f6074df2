"""Shares such as .9 as people type them."""

import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

# No exponents: 1e-999999999 is a few characters, and a number that fills the memory.
_EXACT = re.compile(r"\s*\+?(\d{0,24}\.?\d{0,24}|\d{1,24}/\d{1,24})\s*")


def exact(text: str) -> Fraction:
    """A number that is typed as a decimal or a fraction, read exactly.

    Raises:
        ValueError: for another text; ``ZeroDivisionError`` for a fraction of zero.

    Example:
        >>> from siamese_news_desk.labels.shares import exact
        >>> exact(".9") == exact("9/10")
        True
    """
    if not _EXACT.fullmatch(text):
        raise ValueError(f"{text[:40]!r} is not a number such as .9 or 9/10")
    return Fraction(text)


def typed_share(word: str) -> str:
    """A share that a person typed, as `siamese_news_desk.decide` takes it.

    A share stays unchanged, so that a plan quotes the user. So does a number from 1 to 10, which is
    more likely a slip than a percentage, and whatever is not one share; both are refused later.

    Example:
        >>> from siamese_news_desk.labels.shares import typed_share
        >>> [typed_share(word) for word in ("90%", "90", "92,5 %", "0,9", ".9", "80,90")]
        ['0.9', '0.9', '0.925', '0.9', '.9', '80,90']
    """
    plain = re.sub(r"\s+%", "%", word.strip()).replace(",", ".")
    if not re.fullmatch(r"(\d+\.?\d*|\.\d+)%?", plain) or re.fullmatch(
        r"\d\d,\d\d", word
    ):
        return word
    number = Decimal(plain.removesuffix("%"))
    return f"{number / 100:f}" if "%" in plain or number >= 10 else plain


_TYPED = ("targets", "target", "confidence", "recall", "ratio")


def by_value(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings in which shares of one value are equal, however they were typed.

    Example:
        >>> from siamese_news_desk.labels.shares import by_value
        >>> by_value({"targets": [".9", "0.95"], "confidence": "0.950", "seed": 0})
        {'targets': ['9/10', '19/20'], 'confidence': '19/20', 'seed': 0}
    """

    def value_of(name: str, typed: Any) -> Any:
        if isinstance(typed, Mapping):
            return by_value(typed)
        if isinstance(typed, list | tuple):
            return [value_of(name, element) for element in typed]
        try:
            return str(exact(typed)) if name in _TYPED else typed
        except (TypeError, ValueError, ZeroDivisionError):
            return typed

    return {name: value_of(name, typed) for name, typed in settings.items()}
