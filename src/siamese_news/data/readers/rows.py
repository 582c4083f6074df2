"""Converts rows into posts, a block at a time; other rows are counted or kept as rejected."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import orjson

from siamese_news.data.jsonl import decode_object, not_an_object
from siamese_news.data.lines import BadRow, raw_lines
from siamese_news.data.readers.detect import Detected
from siamese_news.data.readers.duplicates import SeenIds
from siamese_news.data.readers.fields import LINE, Convert, Record
from siamese_news.data.readers.formats import SHAPE
from siamese_news.data.readers.inputs import Input
from siamese_news.data.readers.rejected import Counts, Rejection, shown
from siamese_news.data.readers.shares import Share, SharedLines
from siamese_news.data.records import Post

Rows = Iterator[tuple[int, Record | BadRow, Any]]
"""Line, record or what is wrong with it, and the row as in the file."""

# Posts whose ids are looked up together; so few that they stay in the processor's cache.
_BLOCK = 256


def json_rows(stream: Any, share: Share | None) -> Rows:
    """Rows of JSON lines, or this part of them."""
    mine = None if share is None else SharedLines(stream, share)
    for number, line in raw_lines(stream if mine is None else mine):
        if mine is not None:
            number += mine.skipped
        if isinstance(line, BadRow):
            yield number, line, b""
            continue
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError:
            # Lone surrogates, raw control characters, NaN: the slow decoder takes them.
            if not line.strip():
                continue
            try:
                record = decode_object(line)
            except BadRow as bad:
                record = bad
        if type(record) is not dict and not isinstance(record, BadRow):
            record = not_an_object(record)
        yield number, record, line


def post_blocks(
    rows: Rows, source: Input, found: Detected, counts: Counts
) -> Iterator[tuple[list[Post], list[int], list[Rejection]]]:
    """Posts, their lines, and rejections, many at a time."""
    if found.kind == "empty":
        return
    convert = found.converter()
    numbered = found.id_field == LINE and LINE not in found.names
    name = "_".join(source.name.split())
    posts: list[Post] = []
    lines: list[int] = []
    rejections: list[Rejection] = []
    for line, record, row in rows:
        try:
            if isinstance(record, BadRow):
                raise record
            if numbered:
                record[LINE] = f"{name}:{line}"
            try:
                made: Any = convert(record)
            except (BadRow, RecursionError, *SHAPE):
                made = _convert(convert, record, row, found)
        except BadRow as bad:
            rejections.append(Rejection(source.name, line, bad, shown(row)))
        else:
            if type(made) is Post:
                posts.append(made)
                lines.append(line)
            elif made is None:
                counts.skipped += 1
            else:
                for item in made:
                    if item is None:
                        counts.skipped += 1
                    elif isinstance(item, BadRow):
                        rejections.append(Rejection(source.name, line, item, shown(row)))
                    else:
                        posts.append(item)
                        lines.append(line)
        if len(posts) + len(rejections) >= _BLOCK:
            yield posts, lines, rejections
            posts, lines, rejections = [], [], []
    yield posts, lines, rejections


def _convert(convert: Convert, record: Record, row: Any, found: Detected) -> Any:
    """Try once more to convert a record, now with an exact decoder, or say what is wrong."""
    try:
        return _shaped(convert, record, found)
    except BadRow:
        if not isinstance(row, bytes):
            raise
    # orjson makes a rounded number of an integer beyond 64 bits: the other decoder keeps digits.
    return _shaped(convert, decode_object(row), found)


def _shaped(convert: Convert, record: Record, found: Detected) -> Any:
    """The converted record; any error of a converter makes it a bad row."""
    try:
        return convert(record)
    except RecursionError as error:
        raise BadRow("nested too deeply", "nested too deeply; expected a flat object") from error
    except SHAPE as error:
        raise BadRow(
            "unexpected shape", f"not in the shape of {found.format} ({type(error).__name__})"
        ) from error


def without_duplicates(
    posts: list[Post], lines: list[int], seen: SeenIds, source: Input, taken: Collection[str]
) -> tuple[Sequence[int], list[Rejection]]:
    """The indexes of posts whose id is new, and the rejections of the others.

    Args:
        posts: the posts.
        lines: their line numbers.
        seen: the ids of the posts before.
        source: their file.
        taken: ids that a post of another part has already.
    """
    again = seen.add([post.id for post in posts])
    if taken:
        again = sorted({*again, *(n for n, post in enumerate(posts) if post.id in taken)})
    if not again:
        return range(len(posts)), []
    rejections = []
    for index in again:
        post = posts[index]
        bad = BadRow(
            "duplicate id", f"the id '{post.id}' was already used; ids must differ: remove one"
        )
        row = shown({"id": post.id, "text": post.text})
        rejections.append(Rejection(source.name, lines[index], bad, row))
    gone = set(again)
    return [index for index in range(len(posts)) if index not in gone], rejections
