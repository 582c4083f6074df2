"""Bluesky: events of the Jetstream, and posts as `getAuthorFeed` and `searchPosts` give them."""

from typing import Any

from siamese_news.data.readers.fields import Converted, Record
from siamese_news.data.readers.formats import Format
from siamese_news.data.readers.values import id_value, inside, put, text_value
from siamese_news.data.records import Post

_POSTS = "app.bsky.feed.post"


def is_jetstream(record: Record) -> bool:
    """An event of Bluesky's Jetstream."""
    return "did" in record and "kind" in record and "time_us" in record


def from_jetstream(event: Record) -> Converted:
    """The post of an event that creates one; its id is its ``at://`` address."""
    if event["kind"] != "commit":
        return None
    commit = event["commit"]
    if commit["collection"] != _POSTS or commit["operation"] != "create":
        return None
    record, author, key = commit["record"], event["did"], commit["rkey"]
    post_id = id_value(f"at://{author}/{_POSTS}/{key}", "commit.rkey")
    metadata = _metadata(record, author, author, key)
    return Post(post_id, text_value(record.get("text"), "commit.record.text"), metadata)


def is_view(record: Record) -> bool:
    """A post with its author and counts, alone or as an item of a feed."""
    shown = record.get("post", record)
    return isinstance(shown, dict) and {"uri", "author", "record"} <= shown.keys()


def from_view(record: Record) -> Converted:
    """The post of a view; a repost in a feed has the text of what it repeats."""
    shown = record.get("post", record)
    inner, author = shown["record"], shown["author"]
    post_id = id_value(shown["uri"], "uri")
    handle = author.get("handle") or author["did"]
    metadata = _metadata(inner, handle, author["did"], post_id.rpartition("/")[2])
    reason = record.get("reason")
    if isinstance(reason, dict) and str(reason.get("$type", "")).endswith("reasonRepost"):
        put(metadata, "retweet_of", post_id)
        by = (reason.get("by") or {}).get("did") or "unknown"
        put(metadata, "created_at", reason.get("indexedAt"))
        put(metadata, "author", (reason.get("by") or {}).get("handle") or by)
        post_id = id_value(f"{post_id}#repost-{by}", "uri")
    return Post(post_id, text_value(inner.get("text"), "record.text"), metadata)


def _metadata(record: Record, author: str, did: str, key: str) -> dict[str, Any]:
    metadata: dict[str, Any] = {}
    put(metadata, "created_at", record.get("createdAt"))
    put(metadata, "lang", next(iter(record.get("langs") or ()), None))
    put(metadata, "author", author)
    put(metadata, "url", _link(record))
    if "reply" in record:
        put(metadata, "reply_to", inside(record, "reply", "parent", "uri"))
        put(metadata, "thread", inside(record, "reply", "root", "uri"))
    if quoted := inside(record, "embed", "record"):  # one level more where there are pictures, too
        uri = inside(quoted, "uri") or inside(quoted, "record", "uri")
        if f"/{_POSTS}/" in str(uri):  # not a list or a feed
            put(metadata, "quotes", uri)
    metadata["permalink"] = f"https://bsky.app/profile/{did}/post/{key}"
    return metadata


def _link(record: Record) -> str | None:
    embed = record.get("embed") or {}
    external = embed.get("external") or (embed.get("media") or {}).get("external") or {}
    if external.get("uri"):
        return str(external["uri"])
    for facet in record.get("facets") or ():
        for feature in facet.get("features") or ():
            if feature.get("uri"):
                return str(feature["uri"])
    return None


FORMATS = (
    Format(
        "Bluesky Jetstream",
        "`did`, `time_us`, `commit`; deletions, likes and the like are skipped",
        "commit.record.text",
        "did + commit.rkey",
        matches=is_jetstream,
        convert=from_jetstream,
    ),
    Format(
        "Bluesky feed or search",
        "`feed` or `posts` with `uri`, `author`, `record`; also one post a line",
        "record.text",
        "uri",
        matches=is_view,
        convert=from_view,
        inside=("feed", "posts"),
    ),
)
