"""Comments in the XML that Disqus and WordPress export, streamed; entities are refused."""

import re
from collections import deque
from collections.abc import Iterator
from typing import IO, Any
from xml.parsers import expat

from siamese_news.data.lines import LINE_CAP, BadRow
from siamese_news.data.readers.fields import Record
from siamese_news.data.readers.formats import CONTEXT

_CHUNK = 2**16
_AROUND = 100  # plain values around a comment that are kept
# What a file begins with, and the elements that are comments.
_COMMENTS = {
    rb"<disqus\b": "post",
    rb"<rss\b[^>]*\sxmlns:wp=": "wp:comment",
}
_PROLOG = rb"(?s)\s*(?:<\?xml[^>]*>\s*)?(?:<!--.{0,2000}?-->\s*)*"


def comment_element(head: bytes) -> str | None:
    """The name of the elements with comments, by the beginning of a file; None for another file."""
    names = (name for mark, name in _COMMENTS.items() if re.match(_PROLOG + mark, head))
    return next(names, None)


def xml_rows(
    stream: IO[bytes], element: str
) -> Iterator[tuple[int, Record | BadRow, Any]]:
    """Yield (number of the comment from 1, record, the record again) of XML in UTF-8.

    A record has the attributes and the inner elements of a comment, and as `CONTEXT` the plain
    values of the element that it is in.
    """
    comments = _Comments(element)
    number = 0
    problem: BadRow | None = None
    ended = False
    while not ended and problem is None:
        try:
            ended = comments.read(stream)
        except BadRow as bad:
            problem = bad
        except (expat.ExpatError, EOFError, OSError) as error:
            problem = BadRow(
                "damaged file",
                f"the XML cannot be read further ({error}); the rest of the file is not read: fetch "
                "or make it again",
            )
        while comments.records:
            number += 1
            record = comments.records.popleft()
            yield number, record, record
    if problem is not None:
        yield number + 1, problem, ""


class _Comments:
    """Makes records of the elements of one name; `records` has those that were not taken yet."""

    def __init__(self, element: str) -> None:
        self.records: deque[Record] = deque()
        self._element = element
        self._open: list[tuple[str, Record, list[str]]] = []  # name, content, text
        self._depth = 0  # of the comment that is open, in elements
        self._size = 0  # characters since an element outside of comments ended
        self._parser = expat.ParserCreate("utf-8")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.EntityDeclHandler = _refuse_entities

    def read(self, stream: Any) -> bool:
        """Read the next bytes; whether the stream has ended."""
        piece = stream.read1(_CHUNK)
        self._parser.Parse(piece, not piece)
        return not piece

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if name == self._element and not self._depth:
            self._depth = len(self._open) + 1
        self._grow(len(name) + sum(map(len, attributes.values())))
        self._open.append((name, dict(attributes), []))

    def _text(self, text: str) -> None:
        self._grow(len(text))
        self._open[-1][2].append(text)

    def _end(self, name: str) -> None:
        _, content, texts = self._open.pop()
        text = "".join(texts)
        if len(self._open) + 1 == self._depth:
            self._depth = 0
            self.records.append({**content, CONTEXT: dict(self._open[-1][1])})
        elif self._open:
            around = self._open[-1][1]
            if self._depth or (not content and len(around) < _AROUND):
                around[name] = content or text
        if not self._depth:
            self._size = 0

    def _grow(self, characters: int) -> None:
        self._size += characters + 1
        if self._size > LINE_CAP:
            raise BadRow(
                "record too long",
                f"an element is longer than {LINE_CAP:,} characters; the rest of the file is not "
                "read",
            )


def _refuse_entities(name: str, *declared: Any) -> None:
    raise BadRow(
        "entity in XML",
        f"declares the entity '{name[:40]}', which an export of comments does not need and which "
        "could fill the memory; the file is not read",
    )
