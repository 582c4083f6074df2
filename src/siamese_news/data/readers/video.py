"""YouTube's Data API and TikTok's Research API."""

from typing import Any

from siamese_news.data.readers.fediverse import without_html
from siamese_news.data.readers.fields import Converted, Record
from siamese_news.data.readers.formats import Format, each
from siamese_news.data.readers.values import id_value, put, text_value
from siamese_news.data.records import Post

_WATCH = "https://www.youtube.com/watch?v="


def is_youtube(record: Record) -> bool:
    """A thread of comments, a comment or a video."""
    kinds = ("youtube#commentThread", "youtube#comment", "youtube#video", "youtube#searchResult")
    return record.get("kind") in kinds


def from_youtube(record: Record) -> Converted:
    """The comments of a thread, first the one that opens it; a comment; a video."""
    if record["kind"] == "youtube#comment":
        return _comment(record)
    if record["kind"] != "youtube#commentThread":
        return _video(record)
    comments = [record["snippet"]["topLevelComment"]]
    comments += (record.get("replies") or {}).get("comments") or ()
    video = record["snippet"].get("videoId")
    return each(lambda comment: _comment(comment, video), comments)


def _comment(comment: Record, video: Any = None) -> Post:
    snippet = comment["snippet"]
    post_id = id_value(comment.get("id"), "id")
    text = snippet.get("textOriginal")
    if text is None:
        text = without_html(text_value(snippet.get("textDisplay"), "snippet.textDisplay"))
    metadata: dict[str, Any] = {}
    put(metadata, "created_at", snippet.get("publishedAt"))
    put(metadata, "author", snippet.get("authorDisplayName"))
    video = snippet.get("videoId") or video
    put(metadata, "reply_to", snippet.get("parentId") or video)
    put(metadata, "thread", video)
    if video:
        put(metadata, "permalink", f"{_WATCH}{video}&lc={post_id}")
    return Post(post_id, text_value(text, "snippet.textOriginal"), metadata)


def _video(record: Record) -> Converted:
    found = record.get("id")
    if isinstance(found, dict):
        found = found.get("videoId")
        if found is None:
            return None  # a channel or a playlist
    snippet = record["snippet"]
    post_id = id_value(found, "id")
    title = text_value(snippet.get("title") or "", "snippet.title")
    about = text_value(snippet.get("description") or "", "snippet.description")
    metadata: dict[str, Any] = {}
    put(metadata, "created_at", snippet.get("publishedAt"))
    put(metadata, "lang", snippet.get("defaultLanguage"))
    put(metadata, "author", snippet.get("channelTitle"))
    put(metadata, "channel", snippet.get("channelTitle"))
    put(metadata, "permalink", f"{_WATCH}{post_id}")
    return Post(post_id, f"{title}\n{about}".strip(), metadata)


def is_tiktok(record: Record) -> bool:
    """A video or a comment of the Research API."""
    if "create_time" not in record or "id" not in record:
        return False
    return "video_description" in record or ("text" in record and "video_id" in record)


def from_tiktok(record: Record) -> Converted:
    """The post of a video (its description, then what is said in it) or of a comment."""
    post_id = id_value(record["id"], "id")
    metadata: dict[str, Any] = {}
    put(metadata, "created_at", record["create_time"])
    name = record.get("username")
    put(metadata, "author", name)
    if "video_description" in record:
        said = record.get("voice_to_text") or ""
        text = f"{record['video_description'] or ''}\n{said}".strip()
        put(metadata, "permalink", f"https://www.tiktok.com/@{name or ''}/video/{post_id}")
    else:
        text = record["text"]
        put(metadata, "reply_to", record.get("parent_comment_id") or record["video_id"])
        put(metadata, "thread", record["video_id"])
        put(metadata, "permalink", f"https://www.tiktok.com/@/video/{record['video_id']}")
    return Post(post_id, text_value(text, "text"), metadata)


FORMATS = (
    Format(
        "YouTube Data API",
        "`kind`: `youtube#commentThread`, `youtube#comment`, `youtube#video`; replies are read too",
        "snippet.textOriginal; title + description of videos",
        "id",
        matches=is_youtube,
        convert=from_youtube,
        inside=("items",),
    ),
    Format(
        "TikTok Research API",
        "`data.videos` or `data.comments`",
        "video_description + voice_to_text, text",
        "id",
        matches=is_tiktok,
        convert=from_tiktok,
        inside=("data.videos", "data.comments"),
    ),
)
