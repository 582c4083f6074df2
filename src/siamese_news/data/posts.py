"""Posts from JSON lines, one at a time."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from siamese_news.data.jsonl import id_of, metadata_of, read_jsonl, text_of
from siamese_news.data.records import Post
from siamese_news.errors import InputError


def read_posts(path: str | Path, *, unique: bool = True) -> Iterator[Post]:
    """Yield the posts of a JSONL file (plain, gz or zst), one per line, without holding them.

    Fields: ``_id``, ``id_str`` or ``id``; ``full_text`` or ``text``; ``metadata`` where there is
    one. Other fields are left alone. A post may be empty.

    Args:
        path: the file.
        unique: refuse an id that came before; costs some 100 bytes of memory per post.

    Raises:
        InputError: for unreadable files and records (`read_jsonl`), and an id used twice.
    """
    seen: set[str] = set()
    for number, record in read_jsonl(path):
        where = f"{path}:{number}"
        post = post_of(record, where)
        if unique:
            if post.id in seen:
                raise InputError(
                    f"{where}: field '_id' is '{post.id}', already used on an earlier line; "
                    "ids must differ: remove or rename one"
                )
            seen.add(post.id)
        yield post


def post_of(record: dict[str, Any], where: str) -> Post:
    """One post from a JSON object; `where` (``path:line``) starts every message.

    Raises:
        InputError: for a missing or wrong field.
    """
    return Post(
        # id_str before id: many dumps of tweets round the number of `id`.
        id=id_of(record, ["_id", "id_str", "id"], where),
        # full_text before text: where a dump has both, `text` is cut off.
        text=text_of(record, ["full_text", "text"], where),
        metadata=metadata_of(record, where),
    )
