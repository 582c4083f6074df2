"""Converts rows into posts, a block at a time; counts and rejects the other rows.

Several readers can share the same files, so that exactly one of them reads each row.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from siamese_news.data.jsonl import decode_object
from siamese_news.data.lines import BadRow, raw_lines
from siamese_news.data.readers.detect import Detected
from siamese_news.data.readers.duplicates import PostIds, version_of
from siamese_news.data.readers.fields import LINE, PARTS, Record
from siamese_news.data.readers.formats import SHAPE
from siamese_news.data.readers.inputs import Input
from siamese_news.data.readers.repair import repaired, suspicious
from siamese_news.data.readers.values import DELETED, LOST, UNREAD
from siamese_news.data.records import Post
from siamese_news.utils.files import readable_name
from siamese_news.utils.terminal import clean, counted

# Line, record or its error, and the row as in the file.
Rows = Iterator[tuple[int, Record | BadRow, Any]]

# Posts whose ids are looked up together; few enough to stay in the processor's cache.
_BLOCK = 256

_KEPT = 1000  # characters of a row
_LOST = {
    "reply_to": "to answered posts (reply_to)",
    "thread": "to conversations (thread)",
    "quotes": "to quoted posts (quotes)",
    "retweet_of": "to originals (retweet_of)",
}
_REPEATED = "duplicate id"
_ROWS = 512  # of a file, that go to one part in turn

Row = TypeVar("Row")


@dataclass(slots=True)
class Counts:
    """Counts of the rows read so far."""

    read: int = 0  # posts
    empty: int = 0  # of them with an empty text
    skipped: int = 0  # records without a post: likes, notices of deletions
    deleted: int = 0  # posts whose text was deleted
    reasons: dict[str, int] = field(default_factory=dict)  # of rejected rows
    # Dates and links that cannot be right.
    lost: dict[str, int] = field(default_factory=dict)
    unreadable: int = 0  # files of a folder
    renamed: int = 0  # posts whose id a different post has
    example: str = ""  # the new id of one of them
    repaired: int = 0  # texts that were encoded twice or written as escapes
    garbled: int = 0  # texts that look like it and stay as they are

    @property
    def rejected(self) -> int:
        """Rows that could not be used."""
        return sum(self.reasons.values())

    def __str__(self) -> str:
        """A summary such as ``1,000 posts read, 3 rows rejected (2 not JSON, 1 duplicate id)``."""
        listed = ", ".join(
            f"{count:,} {reason}"
            for reason, count in sorted(
                self.reasons.items(), key=lambda item: (-item[1], item[0])
            )
        )
        wrong = {name: n for name, n in self.lost.items() if name != UNREAD}
        lost = " and ".join(
            f"{counted(n, 'link')} {_LOST[name]}"
            if name in _LOST
            else counted(n, "date")
            for name, n in wrong.items()
        )
        unread = self.lost.get(UNREAD, 0)
        empty = f" ({self.empty:,} with an empty text)" if self.empty else ""
        parts = [
            (True, f"{counted(self.read, 'post')} read{empty}"),
            (
                self.renamed,
                f"{counted(self.renamed, 'id')} of different posts made different by the place "
                f"or file in front (such as {clean(self.example)})",
            ),
            (
                self.skipped,
                f"{counted(self.skipped, 'record')} without a post skipped (reposts, likes, deletions "
                "and the like)",
            ),
            (self.deleted, f"{counted(self.deleted, 'deleted post')} left out"),
            (self.reasons, f"{counted(self.rejected, 'row')} rejected ({listed})"),
            (
                self.repaired,
                f"{counted(self.repaired, 'text')} repaired (encoded twice, or in escapes)",
            ),
            (
                self.garbled,
                f"{counted(self.garbled, 'text')} left that may be encoded twice",
            ),
            (wrong, f"{lost} left out because they cannot be right"),
            (
                unread,
                f"{counted(unread, 'date')} not understood (--date-format says how they are "
                "written)",
            ),
            (
                self.unreadable,
                f"{counted(self.unreadable, 'unreadable file')} left out",
            ),
        ]
        return ", ".join(phrase for happened, phrase in parts if happened)


@dataclass(frozen=True, slots=True)
class Rejection:
    """One row that could not be used."""

    source: str
    line: int
    bad: BadRow
    row: str

    def __str__(self) -> str:
        return f"{self.source}:{self.line}: {self.bad.message}"

    def json_line(self) -> bytes:
        """The row as a line of JSON."""
        position = {"source": self.source, "line": self.line}
        cause = {"reason": self.bad.reason, "detail": self.bad.message}
        text = (
            json.dumps({**position, **cause, "row": self.row}, ensure_ascii=False)
            + "\n"
        )
        return text.encode("utf-8", "backslashreplace")


@dataclass(frozen=True, slots=True)
class Share:
    """Part `index` (from 0) of `count` parts of the input."""

    index: int
    count: int

    def rows(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The rows of this part, out of all."""
        for number, row in enumerate(rows):
            if number // _ROWS % self.count == self.index:
                yield row


def owners(sizes: Sequence[int], count: int) -> list[int | None]:
    """The part that reads each file, by their sizes; None if each part reads some of its rows.

    Files too large for one part are shared by rows. The others, largest first, go whole to the part
    with the least so far, so that no part reads many files of which it needs little.
    """
    owners_of: list[int | None] = [None] * len(sizes)
    fair = sum(sizes) / count
    loads = [0] * count
    for file in sorted(range(len(sizes)), key=lambda file: (-sizes[file], file)):
        if sizes[file] > fair / 2:
            continue
        owners_of[file] = lightest = min(range(count), key=loads.__getitem__)
        loads[lightest] += sizes[file]
    return owners_of


def shown(row: Any) -> str:
    """The beginning of a row, whatever it is."""
    if isinstance(row, bytes):
        return row[:_KEPT].decode("utf-8", "backslashreplace").rstrip("\r\n")
    if not isinstance(row, str):
        try:
            row = json.dumps(row, ensure_ascii=False, default=str)
        except RecursionError:
            row = ""
    return row[:_KEPT].encode("utf-8", "backslashreplace").decode()


def json_rows(stream: Any, share: Share | None) -> Rows:
    """Rows of JSON lines, or this part of them."""
    lines = raw_lines(stream)
    for number, line in lines if share is None else share.rows(lines):
        if isinstance(line, BadRow):
            yield number, line, b""
            continue
        record: Any
        try:
            record = decode_object(line)
        except BadRow as bad:
            if not line.strip():
                continue
            record = bad
        yield number, record, line


def post_blocks(
    rows: Rows, source: Input, detected: Detected, counts: Counts
) -> Iterator[tuple[list[Post], list[int], list[Rejection]]]:
    """Posts, their lines, and rejections, many at a time."""
    if detected.kind == "empty":
        return
    convert = detected.converter()
    numbered = detected.id_field == LINE and LINE not in detected.names
    name = "_".join(readable_name(source.name).split())
    posts: list[Post] = []
    lines: list[int] = []
    rejections: list[Rejection] = []
    for line, record, row in rows:
        converted: Any = record
        if not isinstance(record, BadRow):
            if numbered:
                record[LINE] = f"{name}:{line}"
            try:
                converted = convert(record)
            except BadRow as bad:
                converted = bad
            except RecursionError:
                expected = "nested too deeply; expected a flat object"
                converted = BadRow("nested too deeply", expected)
            except SHAPE as error:
                problem = (
                    f"not in the shape of {detected.format} ({type(error).__name__})"
                )
                converted = BadRow("unexpected shape", problem)
        if type(converted) is Post:  # by far the most frequent
            posts.append(converted)
            lines.append(line)
        else:
            for item in converted if isinstance(converted, list) else [converted]:
                if item is None:
                    counts.skipped += 1
                elif item is DELETED:
                    counts.deleted += 1
                elif isinstance(item, BadRow):
                    rejections.append(Rejection(source.name, line, item, shown(row)))
                else:
                    posts.append(item)
                    lines.append(line)
        if len(posts) + len(rejections) >= _BLOCK:
            yield _checked(posts, counts), lines, rejections
            posts = []
            lines = []
            rejections = []
    yield _checked(posts, counts), lines, rejections


def _checked(posts: list[Post], counts: Counts) -> list[Post]:
    """The posts with repaired texts, and without the names of lost dates and links; all count."""
    if suspicious([post.text for post in posts]):
        posts = [_repaired(post, counts) for post in posts]
    for post in posts:
        if LOST in post.metadata:
            metadata = cast(dict[str, Any], post.metadata)
            for name in dict.fromkeys(metadata.pop(LOST)):
                counts.lost[name] = counts.lost.get(name, 0) + 1
    return posts


def _repaired(post: Post, counts: Counts) -> Post:
    if not suspicious([post.text]):
        return post
    text, state = repaired(post.text)
    if state == "whole":
        return post
    # Its lengths are those of the parts.
    if state == "garbled" or PARTS in post.metadata:
        counts.garbled += 1
        return post
    counts.repaired += 1
    return Post(post.id, text, post.metadata)


def without_older(
    posts: Sequence[Post],
    lines: Sequence[int],
    latest: Mapping[str, str],
    source: Input,
    *,
    platform_ids: bool,
) -> tuple[list[Post], list[int], list[Rejection]]:
    """The posts and lines without older versions of edited posts, and the rejections of these.

    `latest` has the time of the last edit of each post that was edited, by `version_of` it.
    """
    newest: list[int] = []
    older: list[Rejection] = []
    for index, post in enumerate(posts):
        edited_again = latest.get(version_of(post, platform_ids=platform_ids), "")
        if post.metadata.get("edited_at", "") >= edited_again:
            newest.append(index)
            continue
        message = f"the post '{post.id}' was edited again, at {edited_again}"
        row = shown({"id": post.id, "text": post.text})
        bad = BadRow("older version", message)
        older.append(Rejection(source.name, lines[index], bad, row))
    return [posts[index] for index in newest], [lines[index] for index in newest], older


def with_ids_of_their_own(
    posts: list[Post],
    lines: list[int],
    ids: PostIds,
    source: Input,
    number: int,
    detected: Detected,
    reserved: Collection[str],
    counts: Counts,
) -> tuple[Sequence[int], list[Rejection]]:
    """The indexes of the posts of file `number` to keep, and the rejections of the others.

    Posts that have the id of a different post get another id in place; they are counted.

    Raises:
        SameIdError: two posts have one id, and nothing tells them apart.
    """
    reasons: dict[int, str] = {}
    if detected.platform_ids:
        reasons = dict.fromkeys(ids.add(posts), _REPEATED)
    else:
        repeats, versions, renamed = ids.rename(
            posts, readable_name(source.name), number, placed=detected.placed
        )
        reasons = dict.fromkeys(repeats, _REPEATED) | dict.fromkeys(
            versions, "another version"
        )
        if renamed:
            counts.renamed += len(renamed)
            counts.example = counts.example or posts[renamed[0]].id
    if reserved:
        reasons |= dict.fromkeys(
            (index for index, post in enumerate(posts) if post.id in reserved),
            _REPEATED,
        )
    if not reasons:
        return range(len(posts)), []
    rejections = []
    for index, reason in sorted(reasons.items()):
        post = posts[index]
        cause = "" if reason == _REPEATED else " by another version of the post"
        message = (
            f"the id '{post.id}' was already used{cause}; ids must differ: remove one"
        )
        row = shown({"id": post.id, "text": post.text})
        rejections.append(
            Rejection(source.name, lines[index], BadRow(reason, message), row)
        )
    return [index for index in range(len(posts)) if index not in reasons], rejections
