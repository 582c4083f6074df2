"""Reddit: dumps, listings of the API, and the tables that scripts with PRAW make."""

from typing import Any

from siamese_news.data.readers.fields import Converted, Record
from siamese_news.data.readers.formats import Columns, Format
from siamese_news.data.readers.twitter import unescaped
from siamese_news.data.readers.values import id_value, put, text_value
from siamese_news.data.records import Post

_GONE = ("[deleted]", "[removed]")


def is_reddit(record: Record) -> bool:
    """A comment or a submission of a Reddit dump."""
    return "subreddit" in record and not record.keys().isdisjoint(("body", "selftext"))


def from_reddit(record: Record) -> Converted:
    """The post of a comment or submission; None for one whose text is deleted.

    The id is the full name (``t1_`` a comment, ``t3_`` a submission): the short ones overlap.
    """
    comment = "selftext" not in record and "title" not in record
    body = record.get("body", record.get("selftext"))
    text = text_value(body, "body") if comment else text_value(body or "", "selftext")
    if not comment:
        kept = "" if text in _GONE else text
        text = f"{text_value(record.get('title'), 'title')}\n{kept}".strip()
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
    put(metadata, "reply_to", record.get("parent_id"))
    put(metadata, "thread", record.get("link_id"))
    put(metadata, "channel", record.get("subreddit"))
    return Post(post_id, unescaped(text), metadata)


def is_thing(record: Record) -> bool:
    """A comment or submission as a listing wraps it."""
    return record.get("kind") in ("t1", "t3") and isinstance(record.get("data"), dict)


def from_thing(record: Record) -> Converted:
    """The post of a wrapped comment or submission."""
    return from_reddit(record["data"])


FORMATS = (
    Format(
        "Reddit dump",
        "`subreddit` with `body` or `selftext`; `--long-window` for the monthly `.zst` files",
        "body, title + selftext",
        "id",
        matches=is_reddit,
        convert=from_reddit,
    ),
    Format(
        "Reddit listing",
        "`kind`: `Listing`, with `data.children`",
        "data.body, data.title + data.selftext",
        "data.id",
        matches=is_thing,
        convert=from_thing,
        inside=("data.children", "[].data.children"),
    ),
    Format(
        "Reddit submissions (PRAW)",
        "columns `title`, `num_comments`, and `body` or `selftext`",
        "title + body",
        "id",
        columns=Columns(
            ("title", "num_comments", "id"),
            ("body", "selftext", "text"),
            ("name", "id"),
            "title",
            {
                "created_at": ("created_utc", "created", "timestamp", "date"),
                "author": ("author",),
                "url": ("url",),
                "permalink": ("permalink",),
                "channel": ("subreddit",),
            },
        ),
    ),
)
