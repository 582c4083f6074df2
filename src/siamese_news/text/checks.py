"""Texts come in lists: a single string would be read letter by letter."""

from collections.abc import Sequence

from siamese_news.errors import InputError


def check_texts(texts: Sequence[str], where: str) -> None:
    """Refuse a value that is not a list of texts; `where` names the function or argument."""
    if isinstance(texts, str):
        raise InputError(f"{where} got one string; expected a list of texts: [text]")
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"{where}: item {row} is {type(text).__name__}, expected str")
