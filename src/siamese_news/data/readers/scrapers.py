"""The formats of programs that collect posts without the interface for researchers of a platform.

Their field names are those that the programs, and the web pages of the platforms, write.
"""

from collections.abc import Callable
from typing import Any

from siamese_news.data.lines import BadRow
from siamese_news.data.readers.fields import Converted, Record
from siamese_news.data.readers.formats import CONTEXT, Format
from siamese_news.data.readers.platforms import FORMATS as PLATFORMS
from siamese_news.data.readers.platforms import WATCH, from_v1, has
from siamese_news.data.readers.values import (
    id_value,
    inside,
    post_of,
    text_value,
    without_html,
)
from siamese_news.data.records import Post

_TIKTOK = "https://www.tiktok.com/@"


def _is_captured(record: Record) -> bool:
    """An item of Zeeschuimer, or one as 4CAT keeps it: the item itself, with `__import_meta`."""
    return isinstance(record.get("__import_meta"), dict) or (
        record.keys() >= {"nav_index", "item_id", "source_platform"}
        and isinstance(record["data"], dict)
    )


def _from_zeeschuimer(record: Record) -> Converted:
    """The post of an item, whose shape is that of the web page of its platform."""
    uploaded = record.get("__import_meta")
    item = record["data"] if uploaded is None else record
    for matches, convert in _ITEMS:
        if matches(item):
            return convert(item)
    for known_form in PLATFORMS:  # Truth Social has the format of Mastodon
        if known_form.fits(item):
            return known_form.converter(item)(item)
    platform = inside(record if uploaded is None else uploaded, "source_platform")
    raise BadRow(
        "unknown platform",
        f"an item of {platform!r} in a shape that is not read; expected a post of X, TikTok, "
        "Instagram, Threads or Truth Social, or a comment of TikTok; export others from 4CAT as "
        "CSV",
    )


def _tweet(item: Record) -> Record:
    """A tweet of X's web page in the shape of API v1.1, which its `legacy` nearly has."""
    tweet = item.get("tweet") or item
    legacy = tweet["legacy"]
    user = inside(tweet, "core", "user_results", "result") or tweet.get("user") or {}
    names = (inside(user, key, "screen_name") for key in ("core", "legacy"))
    long_text = inside(tweet, "note_tweet", "note_tweet_results", "result", "text")
    record = {
        **legacy,
        "id_str": tweet.get("rest_id") or legacy["id_str"],
        "full_text": long_text or legacy["full_text"],
        "user": {
            "screen_name": next(filter(None, names), None) or user.get("screen_name"),
            "id_str": legacy.get("user_id_str"),
        },
    }
    original = inside(legacy, "retweeted_status_result", "result")
    if _is_tweet(original):
        record["retweeted_status"] = _tweet(original)
    return record


def _is_tweet(item: Any) -> bool:
    return isinstance(inside(item, "tweet", "legacy") or inside(item, "legacy"), dict)


def _from_tiktok(item: Record) -> Post:
    """A video: its description."""
    post_id = id_value(item["id"], "id")
    author = inside(item, "author", "uniqueId") or item["author"]
    return post_of(
        post_id,
        text_value(item["desc"], "desc"),
        item,
        "created_at=createTime",
        author=author,
        permalink=f"{_TIKTOK}{author if isinstance(author, str) else ''}/video/{post_id}",
    )


def _from_tiktok_comment(item: Record) -> Post:
    video = item["aweme_id"]
    answered = str(item.get("reply_id") or "0")
    return post_of(
        id_value(item["cid"], "cid"),
        text_value(item["text"], "text"),
        item,
        "created_at=create_time lang=comment_language author=user.unique_id thread=aweme_id",
        reply_to=video if answered == "0" else answered,
        permalink=f"{_TIKTOK}/video/{video}",
    )


def _from_instagram(item: Record) -> Post:
    """A post of Instagram or Threads; its id is the code in its address."""
    code = id_value(item["code"], "code")
    user = inside(item, "user", "username")
    page = (
        f"https://www.threads.com/@{user}/post/"
        if "text_post_app_info" in item
        else _INSTAGRAM
    )
    text = text_value(inside(item["caption"], "text") or "", "caption.text")
    return post_of(
        code,
        text,
        item,
        "created_at=taken_at author=user.username|owner.username",
        permalink=page + code,
    )


_INSTAGRAM = "https://www.instagram.com/p/"


def _from_instagram_graph(item: Record) -> Post:
    code = id_value(item["shortcode"], "shortcode")
    captions = item["edge_media_to_caption"]["edges"]
    text = text_value(
        captions[0]["node"]["text"] if captions else "", "edge_media_to_caption"
    )
    return post_of(
        code,
        text,
        item,
        "created_at=taken_at_timestamp author=user.username|owner.username",
        permalink=_INSTAGRAM + code,
    )


# The shapes of items, and what makes posts of them.
_ITEMS: tuple[tuple[Callable[[Record], bool], Callable[[Record], Converted]], ...] = (
    (_is_tweet, lambda item: from_v1(_tweet(item))),
    (has("desc", "createTime", "author"), _from_tiktok),
    (has("cid", "aweme_id", "text"), _from_tiktok_comment),
    (has("code", "caption", "taken_at"), _from_instagram),
    (has("shortcode", "edge_media_to_caption"), _from_instagram_graph),
)


def _from_comment_downloader(record: Record) -> Converted:
    """A comment; the id of a reply is that of the comment that it answers, a dot, and its own.

    The file does not name the video. `time` is relative to the download, and `channel` is the
    author's.
    """
    post_id = id_value(record["cid"], "cid")
    opening, dot, _ = post_id.partition(".")
    return post_of(
        post_id,
        text_value(record["text"], "text"),
        record,
        "created_at=time_parsed author",
        thread=opening,
        reply_to=opening if dot else None,
    )


def _from_ytdlp(comment: Record) -> Converted:
    """A comment, or a reply: its `parent` is another comment, and not ``root``."""
    post_id = id_value(comment["id"], "id")
    text = (
        without_html(text_value(comment["html"], "html"))
        if comment.get("text") is None
        else text_value(comment["text"], "text")
    )
    page = comment.get(CONTEXT) or {}
    video = page.get("id")
    address = str(page.get("webpage_url"))
    parent = comment["parent"]
    return post_of(
        post_id,
        text,
        comment,
        "created_at=timestamp author=author|author_id",
        thread=video,
        reply_to=video if parent in ("root", None) else parent,
        permalink=f"{address}&lc={post_id}" if address.startswith(WATCH) else None,
    )


_NO_VALUE = ("", "NA", None)  # as R writes it


def _from_traktok(record: Record) -> Converted:
    """A video: its title or description, then the words spoken in it."""
    post_id = id_value(record["video_id"], "video_id")
    parts = [record.get("video_description"), record.get("voice_to_text")]
    if "video_title" in record:
        parts = [record["video_title"]]
    text = "\n".join(
        text_value(text_part, "text")
        for text_part in parts
        if text_part not in _NO_VALUE
    )
    author = next(
        (record[name] for name in ("author_username", "author_name") if name in record),
        None,
    )
    name = None if author in _NO_VALUE else author
    return post_of(
        post_id,
        text,
        record,
        "created_at=video_timestamp|create_time",
        author=name,
        permalink=f"{_TIKTOK}{name or ''}/video/{post_id}",
    )


FORMATS: tuple[Format, ...] = (
    Format(
        "Zeeschuimer",
        "`nav_index`, `item_id`, `source_platform`, `data`; also as 4CAT keeps it "
        "(`__import_meta`): X, TikTok and its comments, Instagram, Threads, Truth Social",
        "full_text, desc, text, caption.text",
        "rest_id, id, cid, code",
        matches=_is_captured,
        convert=_from_zeeschuimer,
    ),
    Format(
        "youtube-comment-downloader",
        '`cid`, `text`, `author`, `channel`, `votes`; dates are only as exact as "2 weeks ago"',
        "text",
        "cid",
        matches=has("cid", "text", "author", "channel", "votes"),
        convert=_from_comment_downloader,
        inside=("comments",),
        flat=True,
    ),
    Format(
        "yt-dlp comments",
        "`comments` of an `.info.json`, with `id`, `parent`, `text`, `author`; replies are linked",
        "text",
        "id",
        matches=lambda record: (
            record.keys() >= {"id", "parent"}
            and not record.keys().isdisjoint(("text", "html"))
            and not record.keys().isdisjoint(("author", "author_id"))
        ),
        convert=_from_ytdlp,
        inside=("comments",),
        context=True,
    ),
    Format(
        "traktok",
        "`video_id` with `video_timestamp` and `video_title`, or with `create_time`, "
        "`author_name` and `video_description`",
        "video_title, video_description + voice_to_text",
        "video_id",
        matches=lambda record: (
            record.keys() >= {"video_id", "video_timestamp", "video_title"}
            or record.keys()
            >= {"video_id", "create_time", "author_name", "video_description"}
        ),
        convert=_from_traktok,
        flat=True,
    ),
)
