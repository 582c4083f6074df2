"""Comments in the XML that Disqus and WordPress export, streamed.

Only a document type can declare entities, which could fill the memory or name files of this machine.
These exports have none, and a file with one is not read.
"""

import re
from collections.abc import Iterator
from typing import IO, Any
from xml.etree import ElementTree

from siamese_news.data.lines import LINE_CAP, BadRow
from siamese_news.data.readers.fields import Record
from siamese_news.data.readers.formats import CONTEXT

_CHUNK = 2**16
# What a file begins with, and the elements that are comments.
_COMMENTS = {rb"<disqus\b": "post", rb"<rss\b[^>]*\sxmlns:wp=": "comment"}
_PROLOG = rb"(?s)(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--.{0,2000}?-->\s*)*"
_DECLARATION = re.compile(rb"\A(?:\xef\xbb\xbf)?\s*<\?xml[^>]*>")
_AROUND = 100  # plain values around a comment that are kept


def comment_element(head: bytes) -> str | None:
    """The name of the elements with comments, by the beginning of a file; None for another file."""
    return next(
        (name for mark, name in _COMMENTS.items() if re.match(_PROLOG + mark, head)),
        None,
    )


def xml_rows(
    stream: IO[bytes], element: str
) -> Iterator[tuple[int, Record | BadRow, Any]]:
    """Yield (number of the comment from 1, record, the record again) of XML in UTF-8.

    A record has the inner elements and, over them, the attributes of a comment, without their
    namespaces; as `CONTEXT` it has the plain values of the element that it is in.
    """
    number = 0
    try:
        for record in _records(stream, element):
            number += 1
            yield number, record, record
    except BadRow as bad:
        yield number + 1, bad, ""
    except (ElementTree.ParseError, EOFError, OSError, RecursionError) as error:
        message = (
            f"the XML cannot be read further ({error}); the rest of the file is not read: fetch or "
            "make it again"
        )
        yield number + 1, BadRow("damaged file", message), ""


def _records(stream: Any, element: str) -> Iterator[Record]:
    parser: Any = ElementTree.XMLPullParser(("start", "end"))
    opened: list[ElementTree.Element] = []
    comment: Any = None  # the one that is open
    size = 0  # bytes since an element outside of comments ended
    # The stream is in UTF-8, whatever the file declares.
    piece = _DECLARATION.sub(b"", stream.read1(_CHUNK))
    while piece:
        parser.feed(piece)
        size += len(piece)
        for event, node in parser.read_events():
            if event == "start":
                opened.append(node)
                if comment is None and _name(node.tag) == element:
                    comment = node
                continue
            opened.pop()
            if node is comment:
                yield {**_value(node), CONTEXT: _plain(opened[-1])}
                comment = None
            elif comment is not None or not opened:
                continue
            size = 0
            # Plain values are kept, because they may be those around a comment.
            if len(node) or len(opened[-1]) > _AROUND:
                opened[-1].remove(node)
        if size > LINE_CAP:
            raise BadRow(
                "record too long",
                f"an element is longer than {LINE_CAP:,} bytes; the rest of the file is not read",
            )
        piece = stream.read1(_CHUNK)
    parser.close()


def _value(node: ElementTree.Element) -> Any:
    inner = {_name(child.tag): _value(child) for child in node}
    inner |= {_name(name): value for name, value in node.attrib.items()}
    return inner or node.text or ""


def _plain(node: ElementTree.Element) -> dict[str, str]:
    return {_name(child.tag): child.text or "" for child in node if not len(child)}


def _name(tag: str) -> str:
    return tag.rpartition("}")[2]
