"""Posts inside posts of a JSON that is of no known format: comments, replies, answers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from siamese_news.data.lines import BadRow
from siamese_news.data.readers.fields import (
    Choice,
    Convert,
    Converted,
    Fields,
    Record,
    UnknownFields,
    find_fields,
    generic,
)
from siamese_news.data.readers.formats import each
from siamese_news.data.readers.values import Deleted, inside
from siamese_news.data.records import Post

ListPath = tuple[str, ...]


def inner_posts(
    records: Sequence[Record], location: str
) -> tuple[dict[ListPath, Fields], list[str]]:
    """The fields of the objects in lists that are posts themselves, and a remark on other lists.

    A list is a field of the records, or of an object that is one of their fields; or of an object
    in such a list, at any depth.
    """
    objects: dict[ListPath, list[Record]] = {}
    for path, item in _objects(records):
        objects.setdefault(path, []).append(item)
    posts: dict[ListPath, Fields] = {}
    for path, items in objects.items():
        names = dict.fromkeys(name for item in items for name in item)
        try:
            posts[path] = find_fields(names, location, Choice(), items)
        except UnknownFields:
            continue
    unread = ", ".join(f"'{'.'.join(path)}'" for path in objects if path not in posts)
    remark = (
        f"{location}: not read: the objects in {unread}, which have no text or no id"
    )
    return posts, [remark] * bool(unread)


def _objects(records: Iterable[Record]) -> Iterator[tuple[ListPath, Record]]:
    pending = list(records)
    while pending:
        for name, value in pending.pop().items():
            lists: dict[ListPath, Any] = {(name,): value}
            if isinstance(value, dict):
                lists = {(name, key): inner for key, inner in value.items()}
            for path, items in lists.items():
                for item in items if isinstance(items, list) else ():
                    if isinstance(item, dict):
                        pending.append(item)
                        yield path, item


def with_inner_posts(convert: Convert, inner: Mapping[ListPath, Fields]) -> Convert:
    """Posts, each with those inside it; these answer it unless they say which post they answer."""
    converters = {path: generic(fields) for path, fields in inner.items()}

    def converted(record: Record, convert_record: Convert = convert) -> Converted:
        answers: list[Post | BadRow | Deleted | None] = []
        for path, convert_inner in converters.items():
            items = inside(record, *path)
            for item in items if isinstance(items, list) else ():
                if isinstance(item, dict):
                    posts = converted(item, convert_inner)
                    answers += posts if isinstance(posts, list) else [posts]
        if not answers:
            return convert_record(record)
        (opening,) = each(convert_record, [record])
        if not isinstance(opening, Post):
            return [opening, *answers]
        return [
            opening,
            *(
                Post(post.id, post.text, {"reply_to": opening.id, **post.metadata})
                if isinstance(post, Post)
                else post
                for post in answers
            ),
        ]

    return converted
