"""Truncation of a text's tokens to the limits of a model."""

from collections.abc import Mapping
from typing import Any, Literal, TypeVar

import numpy as np

from siamese_news.errors import InputError
from siamese_news.text.token_ids import TokenIds

Side = Literal["article", "post"]
"""Which of the two a text is: each has its own limit of tokens."""

Tokens = TypeVar("Tokens", list[str], np.ndarray)


def check_limits(limits: Mapping[str, Any], where: str = "limits") -> None:
    """Refuse limits of another form than `truncate` reads.

    Args:
        limits: see `truncate`.
        where: what the error names them.

    Raises:
        InputError: a limit is neither a whole number from 1 nor None, or ``keep`` is unknown.
    """
    if limits["keep"] not in ("first", "last"):
        raise InputError(f"{where}.keep is {limits['keep']!r}, expected 'first' or 'last'")
    for name in ("article_tokens", "post_tokens"):
        limit = limits[name]
        if limit is not None and (type(limit) is not int or limit < 1):
            raise InputError(f"{where}.{name} is {limit!r}, expected 1 or more, or null for all")


def truncate(tokens: Tokens, limits: Mapping[str, Any], side: Side) -> Tokens:
    """The tokens of a text that a model reads.

    Args:
        tokens: (S,) of the text, words or ids.
        limits: ``article_tokens`` and ``post_tokens``, the most that are read (None: all), and
            ``keep``: ``"first"``, or ``"last"`` as the released code of the AST paper does.
        side: the side whose limit applies.
    """
    limit = limits[f"{side}_tokens"]
    if limit is None:
        return tokens
    return tokens[-limit:] if limits["keep"] == "last" else tokens[:limit]


def truncated(texts: TokenIds, limits: Mapping[str, Any], side: Side) -> TokenIds:
    """`truncate` of many texts at once."""
    limit, lengths = limits[f"{side}_tokens"], texts.lengths
    if limit is None or lengths.max(initial=0) <= limit:
        return texts
    places = np.arange(len(texts.flat)) - np.repeat(texts.offsets[:-1], lengths)
    if limits["keep"] == "last":
        return texts.where(places >= np.repeat(lengths - limit, lengths))
    return texts.where(places < limit)
