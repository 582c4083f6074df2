"""Threads and CrowdTangle, by their APIs."""

from typing import Any

from siamese_news.data.readers.fields import Converted, Record
from siamese_news.data.readers.formats import Format
from siamese_news.data.readers.values import id_value, put, text_value
from siamese_news.data.records import Post


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
    text = record.get("message")
    if not text:
        parts = (record.get("title"), record.get("description"))
        text = "\n".join(part for part in parts if part)
    return Post(id_value(record["platformId"], "platformId"), text_value(text, "message"), metadata)


FORMATS = (
    Format(
        "Threads API",
        "`data` with `media_product_type`: `THREADS`",
        "text",
        "id",
        """\
{
  "data": [
    {
      "id": "1234567", "media_product_type": "THREADS", "media_type": "TEXT_POST",
      "permalink": "https://www.threads.net/@ann/post/abcdefg", "owner": {"id": "1"},
      "username": "ann", "text": "The river is over the bridge",
      "timestamp": "2024-05-02T10:00:00+0000", "shortcode": "abcdefg", "is_quote_post": false
    }
  ],
  "paging": {"cursors": {"before": "b", "after": "a"}}
}
""",
        "threads.json",
        matches=is_threads,
        convert=from_threads,
        inside=("data",),
    ),
    Format(
        "CrowdTangle API",
        "`result.posts` with `platformId`, `postUrl`",
        "message, title + description",
        "platformId",
        """\
{
  "status": 200,
  "result": {
    "posts": [
      {
        "id": 1, "platformId": "100_200", "platform": "Facebook", "date": "2020-05-02 10:00:00",
        "updated": "2020-05-03 10:00:00", "type": "link", "message": "The river is over the bridge",
        "link": "https://paper.example/story", "languageCode": "en",
        "postUrl": "https://www.facebook.com/100/posts/200",
        "account": {"id": 7, "name": "Harlow News", "handle": "harlownews"}
      }
    ],
    "pagination": {}
  }
}
""",
        "crowdtangle.json",
        matches=is_crowdtangle,
        convert=from_crowdtangle,
        inside=("result.posts",),
    ),
)
