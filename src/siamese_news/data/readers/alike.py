"""Files of one record each: those of the same form share the look that finds their format.

To detect a format takes a third of a millisecond, in which forty posts are read. Folders can have a
hundred thousand files of one post.
"""

import re
from contextlib import suppress
from dataclasses import replace
from typing import Any

import msgspec

from siamese_news.data.readers import platforms
from siamese_news.data.readers.detect import Detected, detect
from siamese_news.data.readers.fields import Choice
from siamese_news.data.readers.inputs import Input, plain_suffix
from siamese_news.data.readers.known_formats import FORMATS

_SMALL = 2**16  # bytes of a file
# Names whose values formats are recognized by.
_DECIDING = frozenset(("kind", "type", "media_product_type"))
# What else values are looked at for: HTML, fractions, the x of rtweet, the order of day and month.
_TELLING = re.compile(
    rb"(?i)<br|<\\?/(?:p|a|div|span)|\\u003c|[.,]0+\"|\"x\d{5,}\"|"
    rb"(?<!\d)\d{1,2}\\?[./-] ?\d{1,2}\\?[./-] ?(?:\d{4}|\d\d?)(?!\d)"
)


class FormatsByForm:
    """The formats of files by the form of their one record, for files with the same choices."""

    def __init__(self, choice: Choice) -> None:
        self._choice = choice
        self._formats: dict[Any, Detected] = {}
        # Bytes of small files that may be kept, so that each is opened once.
        self._room = 2**26

    def detect(self, source: Input) -> Detected:
        """What `detect` says of a file, from an earlier one of the same form if there is one."""
        form = self._form_of(source)
        detected = self._formats.get(form)
        if detected is not None:
            return replace(detected, source=source.name)
        detected = detect(source, self._choice)
        metadata = detected.fields.metadata if detected.fields else {}
        # Values tell whether a thread is the channel, and remarks name a file.
        values_matter = {"thread", "channel"} <= metadata.keys() or detected.remarks
        if form is not None and not values_matter:
            self._formats[form] = detected
        return detected

    def _form_of(self, source: Input) -> Any:
        """The form of a file; None if it is not one object, or its values may tell more."""
        # A reader of another package, which comes first, may look at any value.
        if source.path is None or FORMATS[0] is not platforms.FORMATS[0]:
            return None
        with source.open() as stream:
            data = stream.read(_SMALL)
        if len(data) < min(_SMALL, self._room):
            self._room -= len(data)
            source.content = data
        if len(data) < _SMALL and not _TELLING.search(data):
            with suppress(ValueError, RecursionError):
                lines = b"\n" in data.strip()
                return (
                    plain_suffix(source.name),
                    lines,
                    _form(msgspec.json.decode(data)),
                )
        return None


def _form(value: Any) -> Any:
    """The names and types in a value, and the values of `_DECIDING` names.

    Raises:
        ValueError: it has several objects in a list, which tell more together.
    """
    if isinstance(value, dict):
        return tuple(
            (n, v if n in _DECIDING and isinstance(v, str) else _form(v))
            for n, v in value.items()
        )
    if isinstance(value, list):
        objects = [item for item in value if isinstance(item, dict)]
        if len(objects) > 1:
            raise ValueError
        return bool(value), *map(_form, objects)
    return (float, value.is_integer()) if isinstance(value, float) else type(value)
