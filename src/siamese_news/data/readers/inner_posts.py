"""Posts inside posts of a JSON that is of no known format: comments, replies, answers."""

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from siamese_news.data.lines import BadRow
from siamese_news.data.readers.fields import (
    METADATA,
    TEXTS,
    TITLES,
    Choice,
    Convert,
    Converted,
    Fields,
    Record,
    UnknownFields,
    find_fields,
    generic,
    normal,
)
from siamese_news.data.readers.formats import each
from siamese_news.data.readers.values import Deleted, inside
from siamese_news.data.records import Post

ListPath = tuple[str, ...]

# Objects that describe a post or where it was written, and fields by which others have words.
_ABOUT = {"metadata", *METADATA["author"], *METADATA["channel"]}
_WORDS = {*TEXTS, *TITLES, "description"}
_SPOKEN = re.compile(r"\w\W+\w+\W+\w+\W+\w")  # four words


def inner_posts(
    records: Sequence[Record], location: str, *, html: bool = False
) -> tuple[dict[ListPath, Fields], list[str]]:
    """The fields of the inner objects that are posts themselves, and a remark on others.

    They are in lists, or single ones with words. A list or an object is a field of the records, or
    of an object that is one of their fields; or of an object in such a list, at any depth. Around
    texts in `html`, theirs are so as well, even if few of them show it.
    """
    objects: dict[ListPath, list[Record]] = {}
    for path, item in _objects(records):
        objects.setdefault(path, []).append(item if isinstance(item, dict) else {})
    posts: dict[ListPath, Fields] = {}
    for path, items in objects.items():
        names = dict.fromkeys(name for item in items for name in item)
        try:
            fields = find_fields(names, location, Choice(), items)
            posts[path] = replace(fields, html=html or fields.html)
        except UnknownFields:
            continue
    unread = ", ".join(f"'{'.'.join(path)}'" for path in objects if path not in posts)
    remark = f"{location}: not read: what is in {unread}, which has no text or no id"
    # Those in an object that is a post are found with it.
    outer = {p: f for p, f in posts.items() if not {p[:1], p[1:]} <= posts.keys()}
    return outer, [remark] * bool(unread)


def _unpacked(value: Any, minimum: int = 1) -> Any:
    """The objects that a text writes, or that are in one by their ids; another value as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        for decode in (json.loads, ast.literal_eval):
            with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
                return _unpacked(decode(value.strip()), minimum)
    if isinstance(value, dict) and isinstance(value.get("node"), dict):
        return value["node"]  # of an edge of GraphQL
    if isinstance(value, dict) and len(value) >= minimum:
        objects = [item for item in value.values() if isinstance(item, dict)]
        if len(objects) == len(value) and any(map(_has_words, objects)):
            return objects
    return value


def _has_words(item: Record) -> bool:
    words = (name for name, value in item.items() if isinstance(value, str))
    return not _WORDS.isdisjoint(map(normal, words))


def _objects(records: Iterable[Record]) -> Iterator[tuple[ListPath, Any]]:
    """The objects, and the lists and texts of some words in lists, with their paths."""
    pending = list(records)
    while pending:
        for name, value in pending.pop().items():
            if normal(name) in TEXTS:
                continue
            value = _unpacked(value, 2)
            values: dict[ListPath, Any] = {(name,): value}
            if isinstance(value, dict):
                values |= {(name, key): inner for key, inner in value.items()}
            for path, items in values.items():
                # An object about the author has an id, and may have words.
                if isinstance(items, dict) and normal(name) not in _ABOUT:
                    if _has_words(items):
                        yield path, items
                for item in map(_unpacked, items) if isinstance(items, list) else ():
                    if isinstance(item, dict):
                        pending.append(item)
                    if isinstance(item, dict | list) or _SPOKEN.search(str(item)):
                        yield path, item


def with_inner_posts(
    convert: Convert, inner: Mapping[ListPath, Fields], empty_names: Sequence[str]
) -> Convert:
    """Posts, each with those inside it; in lists these answer it unless they say what they answer.

    A field of `empty_names`, which has no value in the first records, is looked at when it has one.
    """
    converters = {path: generic(fields) for path, fields in inner.items()}
    empty = set(empty_names)

    def converted(record: Record, convert_record: Convert = convert) -> Converted:
        posts: list[Post | BadRow | Deleted | None] = []
        filled = {name: record[name] for name in empty if record.get(name)}
        late, unread = inner_posts([filled], "inside the post") if filled else ({}, [])
        empty.difference_update(filled)
        converters.update({path: generic(fields) for path, fields in late.items()})
        for path, convert_inner in converters.items():
            items = _unpacked(inside(record, *path))
            for item in map(_unpacked, items if isinstance(items, list) else [items]):
                if isinstance(item, dict):
                    posts = posts or each(convert_record, [record])
                    convert_item = partial(converted, convert_record=convert_inner)
                    reply, *replies = each(convert_item, [item])
                    opening = posts[0] if isinstance(items, list) else None
                    if isinstance(opening, Post) and isinstance(reply, Post):
                        metadata = {"reply_to": opening.id, **reply.metadata}
                        reply = Post(reply.id, reply.text, metadata)
                    posts += [reply, *replies]
        if unread:
            posts = posts or each(convert_record, [record])
            posts += [BadRow("not read inside a post", remark) for remark in unread]
        return posts or convert_record(record)

    return converted
