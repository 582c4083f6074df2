"""The choices of a search, by the names that commands, files and functions use for them."""

from typing import Any, Literal, get_args

from siamese_news.errors import InputError

About = Literal["auto", "event", "article"]
"""Which posts are wanted: those about the article's event, or about this very article; ``auto``
decides by the pool."""

Fusion = Literal["weighted", "words", "vectors"]
"""How words and vectors are combined: by the model's weight, or one alone."""

Format = Literal["table", "jsonl", "csv", "parquet", "trec"]
"""File formats of results."""


def check_choice(name: str, value: Any, choices: Any) -> None:
    """Check a value against a `Literal`.

    Raises:
        InputError: the value is not one of them.
    """
    if value not in get_args(choices):
        raise InputError(
            f"{name} is {value!r}; expected one of {', '.join(get_args(choices))}"
        )
