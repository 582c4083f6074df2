"""The platforms whose records are known, and posts from those that are not Twitter."""

import html
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from siamese_news.data.readers import twitter
from siamese_news.data.readers.fields import Convert, Converted, Record, id_value, put, text_value
from siamese_news.data.readers.twitter import unescaped
from siamese_news.data.records import Post

_POSTS = "app.bsky.feed.post"
_GONE = ("[deleted]", "[removed]")
_BREAK = re.compile(r"<br[^<>]*>|</p>", re.IGNORECASE)
# No `<` inside: so a text of many `<` takes no quadratic time, and servers escape a real one.
_TAG = re.compile(r"</?[a-zA-Z!][^<>]*>")


@dataclass(frozen=True, slots=True)
class Platform:
    """One shape of records.

    Attributes:
        name: for people.
        matches: whether a record has this shape.
        convert: its posts.
        text_field: where the text is, for people.
        id_field: where the id is, likewise.
    """

    name: str
    matches: Callable[[Record], bool]
    convert: Convert
    text_field: str
    id_field: str


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
    metadata: dict[str, Any] = {}
    put(metadata, "created_at", record.get("createdAt"))
    put(metadata, "lang", next(iter(record.get("langs") or ()), None))
    put(metadata, "author", author)
    put(metadata, "url", _bluesky_link(record))
    metadata["permalink"] = f"https://bsky.app/profile/{author}/post/{key}"
    post_id = id_value(f"at://{author}/{_POSTS}/{key}", "commit.rkey")
    return Post(post_id, text_value(record.get("text"), "commit.record.text"), metadata)


def _bluesky_link(record: Record) -> str | None:
    embed = record.get("embed") or {}
    external = embed.get("external") or (embed.get("media") or {}).get("external") or {}
    if external.get("uri"):
        return str(external["uri"])
    for facet in record.get("facets") or ():
        for feature in facet.get("features") or ():
            if feature.get("uri"):
                return str(feature["uri"])
    return None


def is_mastodon(record: Record) -> bool:
    """A status of Mastodon."""
    if "content" not in record or not isinstance(record.get("account"), dict):
        return False
    return not record.keys().isdisjoint(("uri", "visibility", "reblog"))


def from_mastodon(status: Record) -> Converted:
    """The post of a status, without HTML; a boost has the text of what it boosts."""
    shown = status.get("reblog") or status
    metadata: dict[str, Any] = {}
    if shown is not status:
        put(metadata, "retweet_of", shown.get("id"))
    put(metadata, "created_at", status.get("created_at"))
    put(metadata, "lang", shown.get("language"))
    put(metadata, "author", status["account"].get("acct"))
    put(metadata, "url", (shown.get("card") or {}).get("url"))
    put(metadata, "permalink", status.get("url") or status.get("uri"))
    text = without_html(text_value(shown.get("content"), "content"))
    warning = shown.get("spoiler_text")
    if warning:
        text = f"{text_value(warning, 'spoiler_text')}\n{text}"
    return Post(id_value(status.get("id"), "id"), text, metadata)


def without_html(text: str) -> str:
    """The text of simple HTML: breaks and paragraphs end lines, other tags vanish."""
    if "<" in text:
        text = _TAG.sub("", _BREAK.sub("\n", text)).strip()
    return html.unescape(text)


def is_reddit(record: Record) -> bool:
    """A comment or a submission of a Reddit dump."""
    return "subreddit" in record and not record.keys().isdisjoint(("body", "selftext"))


def from_reddit(record: Record) -> Converted:
    """The post of a comment or submission; None for one whose text is deleted.

    The id is the full name (``t1_`` a comment, ``t3_`` a submission): the short ones overlap.
    """
    comment = "body" in record
    text = text_value(record["body"] if comment else record.get("selftext"), "body")
    if not comment:
        body = "" if text in _GONE else text
        text = f"{text_value(record.get('title'), 'title')}\n{body}".strip()
    if text in _GONE:
        return None
    short = id_value(record.get("id"), "id")
    post_id = short if short.startswith("t") and "_" in short else f"t{1 if comment else 3}_{short}"
    metadata: dict[str, Any] = {}
    put(metadata, "created_at", record.get("created_utc"))
    put(metadata, "author", record.get("author"))
    if not comment and not record.get("is_self"):
        put(metadata, "url", record.get("url"))
    link = record.get("permalink")
    if isinstance(link, str) and link.startswith("/"):
        metadata["permalink"] = f"https://www.reddit.com{link}"
    put(metadata, "retweet_of", record.get("crosspost_parent"))
    return Post(post_id, unescaped(text), metadata)


PLATFORMS = (
    Platform("Twitter API v2 (twarc2)", twitter.is_v2, twitter.from_v2, "data.text", "data.id"),
    Platform("Twitter API v1.1", twitter.is_v1, twitter.from_v1, "full_text", "id_str"),
    Platform(
        "Bluesky Jetstream", is_jetstream, from_jetstream, "commit.record.text", "did + commit.rkey"
    ),
    Platform("Mastodon", is_mastodon, from_mastodon, "content", "id"),
    Platform("Reddit dump", is_reddit, from_reddit, "body, title + selftext", "id"),
)
"""Where a record has the shape of several, the first of them counts."""
