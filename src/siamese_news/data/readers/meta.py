"""Facebook's own download; Threads and CrowdTangle, by their APIs."""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from siamese_news.data.readers.fields import Converted, Record
from siamese_news.data.readers.formats import Format
from siamese_news.data.readers.values import id_value, inside, put, text_value
from siamese_news.data.records import Post

_DOWNLOADED = {"timestamp", "data", "attachments", "title", "tags"}
_PARTS = {"post", "comment", "update_timestamp", "backdated_timestamp"}


def is_downloaded(record: Record) -> bool:
    """A post or a comment of "Download your information"."""
    data, attachments = record.get("data", []), record.get("attachments", [])
    return (
        "timestamp" in record
        and record.keys() <= _DOWNLOADED
        and isinstance(data, list)
        and isinstance(attachments, list)
        and bool(data or attachments)
        and all(isinstance(part, dict) and part.keys() <= _PARTS for part in data)
    )


def from_downloaded(record: Record) -> Converted:
    """The post, or what is written below its pictures; its ``title`` says only what was done.

    A record has no id, so the time and a hash of the record serve as one.
    """
    metadata: dict[str, Any] = {}
    put(metadata, "created_at", record["timestamp"])
    words, captions = [], []
    for name, value in _strings([record.get("data"), record.get("attachments")]):
        if name in ("post", "comment"):
            words.append(_as_utf8(value))
        elif name == "description":
            captions.append(_as_utf8(value))
        elif name == "author":
            put(metadata, "author", _as_utf8(value))
        elif name == "url" and "url" not in metadata:
            put(metadata, "url", _as_utf8(value))
    text = "\n".join(dict.fromkeys(words or captions))
    whole = json.dumps(record, sort_keys=True, default=str).encode()
    post_id = f"{record['timestamp']}-{hashlib.sha256(whole).hexdigest()[:12]}"
    return Post(id_value(post_id, "timestamp"), text_value(text, "data.post"), metadata)


def _strings(value: Any) -> Iterator[tuple[str, str]]:
    """The names and values of all strings inside lists and objects."""
    if isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, dict):
        for name, inner in value.items():
            if isinstance(inner, str):
                yield name, inner
            else:
                yield from _strings(inner)


def _as_utf8(text: str) -> str:
    """The text that was meant: the download writes each byte of UTF-8 as a character."""
    try:
        return text.encode("latin-1").decode()
    except UnicodeError:
        return text


def is_threads(record: Record) -> bool:
    """A post of the Threads API."""
    if record.get("media_product_type") == "THREADS":
        return True
    return {"id", "permalink", "shortcode"} <= record.keys() and "timestamp" in record


def from_threads(record: Record) -> Converted:
    """The post; one that repeats another has no text of its own."""
    if record.get("media_type") == "REPOST_FACADE":
        return None
    metadata: dict[str, Any] = {}
    put(metadata, "created_at", record.get("timestamp"))
    put(metadata, "author", record.get("username"))
    put(metadata, "url", record.get("link_attachment_url"))
    put(metadata, "permalink", record.get("permalink"))
    put(metadata, "reply_to", inside(record, "replied_to", "id"))
    put(metadata, "thread", inside(record, "root_post", "id"))
    put(metadata, "quotes", inside(record, "quoted_post", "id"))
    # A picture without words has no `text` at all.
    text = text_value(record.get("text") or "", "text")
    return Post(id_value(record["id"], "id"), text, metadata)


def is_crowdtangle(record: Record) -> bool:
    """A post of CrowdTangle's API."""
    return "platformId" in record and "postUrl" in record


def from_crowdtangle(record: Record) -> Converted:
    """The post: its message, or title and description of what it links to where it has none."""
    metadata: dict[str, Any] = {}
    account = record.get("account") or {}
    put(metadata, "created_at", record.get("date"))
    put(metadata, "lang", record.get("languageCode"))
    put(metadata, "author", account.get("handle") or account.get("name"))
    put(metadata, "url", record.get("link"))
    put(metadata, "permalink", record.get("postUrl"))
    put(metadata, "channel", account.get("name"))
    text = record.get("message")
    if not text:
        parts = (record.get("title"), record.get("description"))
        text = "\n".join(part for part in parts if part)
    return Post(id_value(record["platformId"], "platformId"), text_value(text, "message"), metadata)


FORMATS = (
    Format(
        "Facebook download",
        "`timestamp` with `data` or `attachments`, as in `your_posts_1.json`; also `comments_v2`, "
        "`group_posts_v2`",
        "data.post",
        "timestamp and a hash of the record",
        matches=is_downloaded,
        convert=from_downloaded,
        inside=("comments_v2", "group_posts_v2"),
    ),
    Format(
        "Threads API",
        "`data` with `media_product_type`: `THREADS`",
        "text",
        "id",
        matches=is_threads,
        convert=from_threads,
        inside=("data",),
    ),
    Format(
        "CrowdTangle API",
        "`result.posts` with `platformId`, `postUrl`",
        "message, title + description",
        "platformId",
        matches=is_crowdtangle,
        convert=from_crowdtangle,
        inside=("result.posts",),
    ),
)
