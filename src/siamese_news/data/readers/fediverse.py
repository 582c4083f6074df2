"""Mastodon: statuses of its API, and the outbox of an account's archive (ActivityPub)."""

import html
import re
from typing import Any

from siamese_news.data.readers.fields import Converted, Record
from siamese_news.data.readers.formats import Format
from siamese_news.data.readers.values import id_value, inside, put, text_value
from siamese_news.data.records import Post

_BREAK = re.compile(r"<br[^<>]*>|</p>", re.IGNORECASE)
# No `<` inside: so a text of many `<` takes no quadratic time, and servers escape a real one.
_TAG = re.compile(r"</?[a-zA-Z!][^<>]*>")


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
    put(metadata, "reply_to", status.get("in_reply_to_id"))
    quoted = inside(shown, "quote", "quoted_status", "id")  # elsewhere than in Mastodon: the status
    put(metadata, "quotes", quoted or inside(shown, "quote", "id"))
    text = _with_warning(shown.get("content"), shown.get("spoiler_text"), "spoiler_text")
    return Post(id_value(status.get("id"), "id"), text, metadata)


def is_activity(record: Record) -> bool:
    """An activity of an outbox."""
    return "type" in record and "actor" in record and "object" in record


def from_activity(record: Record) -> Converted:
    """The note that an activity creates; None for a boost, which is the address of another's."""
    note = record["object"]
    if record["type"] != "Create" or not isinstance(note, dict):
        return None
    metadata: dict[str, Any] = {}
    put(metadata, "created_at", note.get("published") or record.get("published"))
    put(metadata, "lang", next(iter(note.get("contentMap") or ()), None))
    put(metadata, "author", note.get("attributedTo") or record["actor"])
    put(metadata, "permalink", note.get("url") or note.get("id"))
    put(metadata, "reply_to", note.get("inReplyTo"))
    put(metadata, "quotes", note.get("quote") or note.get("quoteUrl") or note.get("quoteUri"))
    text = _with_warning(note.get("content"), note.get("summary"), "object.summary")
    return Post(id_value(note.get("id"), "object.id"), text, metadata)


def _with_warning(content: Any, warning: Any, name: str) -> str:
    text = without_html(text_value(content, "content"))
    return f"{text_value(warning, name)}\n{text}" if warning else text


def without_html(text: str) -> str:
    """The text of simple HTML: breaks and paragraphs end lines, other tags vanish."""
    if "<" in text:
        text = _TAG.sub("", _BREAK.sub("\n", text)).strip()
    return html.unescape(text)


FORMATS = (
    Format(
        "Mastodon",
        "`account`, `content`; HTML is taken out, a boost has the text of its original",
        "content",
        "id",
        matches=is_mastodon,
        convert=from_mastodon,
        inside=("statuses",),
    ),
    Format(
        "Mastodon outbox",
        "`orderedItems` of an archive's `outbox.json`; boosts are skipped",
        "object.content",
        "object.id",
        matches=is_activity,
        convert=from_activity,
        inside=("orderedItems",),
    ),
)
