"""Telegram Desktop: ``result.json`` of one chat, or of all."""

from typing import Any

from siamese_news.data.readers.fields import Converted, Record
from siamese_news.data.readers.formats import CONTEXT, Format
from siamese_news.data.readers.values import id_value, put, text_value
from siamese_news.data.records import Post


def is_message(record: Record) -> bool:
    """A message of an export."""
    return record.get("type") in ("message", "service") and "id" in record and "date" in record


def from_message(message: Record) -> Converted:
    """The post of a message; None for notices (a new photo, somebody joined).

    Messages are numbered within their chat, so the id is the chat's and the message's.
    """
    if message["type"] != "message":
        return None
    chat = message.get(CONTEXT) or {}
    number = id_value(message["id"], "id")
    chat_id = chat.get("id")
    post_id = number if chat_id is None else f"{chat_id}/{number}"
    metadata: dict[str, Any] = {}
    # `date` is the time of the computer that exported, without a zone.
    put(metadata, "created_at", message.get("date_unixtime") or message.get("date"))
    put(metadata, "author", message.get("from_id") or message.get("actor_id"))
    put(metadata, "channel", chat.get("name"))
    if (answered := message.get("reply_to_message_id")) is not None:
        peer = str(message.get("reply_to_peer_id") or "").removeprefix("channel") or chat_id
        put(metadata, "reply_to", f"{peer}/{answered}" if peer is not None else answered)
    text, link = _text(message.get("text"))
    put(metadata, "url", link)
    if chat_id is not None and str(chat.get("type", "")).endswith(("channel", "supergroup")):
        put(metadata, "permalink", f"https://t.me/c/{chat_id}/{number}")
    return Post(id_value(post_id, "id"), text, metadata)


def _text(value: Any) -> tuple[str, str | None]:
    """The text, which may lie in pieces, and the first link in it."""
    if not isinstance(value, list):
        return text_value(value, "text"), None
    words: list[str] = []
    link = None
    for piece in value:
        if isinstance(piece, str):
            words.append(piece)
            continue
        words.append(text_value(piece["text"], "text"))
        if link is None:
            link = piece.get("href") or (piece["text"] if piece.get("type") == "link" else None)
    return text_value("".join(words), "text"), link


FORMATS = (
    Format(
        "Telegram Desktop",
        "`messages` of a `result.json`, of one chat or of all (`chats.list`)",
        "text",
        "id of the chat / id",
        matches=is_message,
        convert=from_message,
        inside=("messages", "chats.list.[].messages", "left_chats.list.[].messages"),
        context=True,
    ),
)
