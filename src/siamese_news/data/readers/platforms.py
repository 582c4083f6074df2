"""The platforms' own formats: records with depth, each with the function that makes its posts.

A repost has the text of its original, whole and without ``RT @name:``, so both have one text;
``retweet_of`` names the original.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np

from siamese_news.data.readers.fields import Convert, Converted, Record
from siamese_news.data.readers.formats import CONTEXT, Format, each
from siamese_news.data.readers.values import (
    DELETED,
    Deleted,
    id_value,
    inside,
    is_deleted,
    post_of,
    put,
    replace,
    text_of,
    text_value,
    unescaped,
    whole_number,
    without_html,
)
from siamese_news.data.records import Post, clean_text

FORMATS: list[Format] = []


def _known(
    name: str, recognized: str, text_field: str, id_field: str, **options: Any
) -> Callable[[Convert], Convert]:
    """Add a format to `FORMATS` whose converter is the decorated function."""

    def add(convert: Convert) -> Convert:
        FORMATS.append(
            Format(name, recognized, text_field, id_field, convert=convert, **options)
        )
        return convert

    return add


def has(*names: str) -> Callable[[Record], bool]:
    """A test whether a record has all these fields."""
    return lambda record: record.keys() >= {*names}


# Twitter: API v2 as twarc2 saves it (pages or flattened), and v1.1. It escapes ``&``, ``<``, ``>``.
_OWN_LINKS = ("https://twitter.com/", "https://x.com/", "http://twitter.com/")
_LINKS = {"retweeted": "retweet_of", "replied_to": "reply_to", "quoted": "quotes"}
_V1_TEXTS = ("full_text", "text")
# Notices that v1.1 streams send between the tweets.
_NOTICES = set(
    "delete limit scrub_geo status_withheld user_withheld warning disconnect friends event".split()
)


def _is_v2(record: Record) -> bool:
    """A page of API v2 (`data` and its companions), or one tweet."""
    if isinstance(record.get("data"), list | dict):
        if not record.keys().isdisjoint(
            ("includes", "meta", "__twarc", "matching_rules")
        ):
            return True
    if "id" not in record or "text" not in record or "user" in record:
        return False
    v2_fields = ("conversation_id", "public_metrics", "referenced_tweets", "entities")
    return "edit_history_tweet_ids" in record or (
        "author_id" in record and not record.keys().isdisjoint(v2_fields)
    )


@_known(
    "Twitter API v2 (twarc2)",
    "a page (`data`, `includes`, `meta`) or a tweet a line",
    "data.text",
    "data.id",
    matches=_is_v2,
)
def _from_v2(record: Record) -> Converted:
    """The tweets of a page, or the one of a flattened line."""
    if not isinstance(record.get("data"), list | dict):
        if record.keys() <= {
            "meta",
            "__twarc",
            "includes",
            "errors",
            "title",
            "detail",
            "type",
        }:
            return None  # a page without a tweet
        return _v2_tweet(record, {}, {})
    includes = record.get("includes") or {}
    users = {user["id"]: user for user in includes.get("users") or ()}
    tweets = {tweet["id"]: tweet for tweet in includes.get("tweets") or ()}
    data = record["data"] if isinstance(record["data"], list) else [record["data"]]
    return each(lambda tweet: _v2_tweet(tweet, users, tweets), data)


def _v2_tweet(tweet: Record, users: Record, tweets: Record) -> Post:
    post_id = id_value(tweet.get("id"), "id")
    text = (tweet.get("note_tweet") or tweet).get("text")
    links = {}
    for reference in tweet.get("referenced_tweets") or ():
        if reference["type"] == "retweeted":
            original = tweets.get(reference["id"], reference)
            text = (original.get("note_tweet") or original).get("text") or text
        if reference["type"] in _LINKS:
            links[_LINKS[reference["type"]]] = reference["id"]
    user = users.get(tweet.get("author_id") or "") or tweet.get("author") or {}
    name = user.get("username")
    return post_of(
        post_id,
        unescaped(text_value(text, "text")),
        tweet,
        "created_at lang thread=conversation_id",
        author=name or tweet.get("author_id"),
        url=_tweet_link(tweet),
        permalink=f"https://twitter.com/{name or 'i'}/status/{post_id}",
        **links,
    )


@_known(
    "Twitter API v1.1",
    "`id_str` with `full_text` or `text` and `user`; search results (`statuses`); a retweet "
    "has the text of its original",
    "full_text",
    "id_str",
    matches=lambda record: (
        "id_str" in record
        and not record.keys().isdisjoint(_V1_TEXTS)
        and (isinstance(record.get("user"), dict) or "retweeted_status" in record)
    ),
    inside=("statuses",),
)
def from_v1(record: Record) -> Converted:
    """The post of a tweet of API v1.1; None for a notice."""
    if "id_str" not in record and not _NOTICES.isdisjoint(record):
        return None
    post_id = id_value(record.get("id_str", record.get("id")), "id_str")
    original = record.get("retweeted_status") or record
    longer = original.get("extended_tweet") or {}
    return post_of(
        post_id,
        unescaped(
            text_of(
                original if longer.keys().isdisjoint(_V1_TEXTS) else longer, *_V1_TEXTS
            )
        ),
        record,
        "created_at lang author=user.screen_name|user.id_str retweet_of=retweeted_status.id_str "
        "reply_to=in_reply_to_status_id_str quotes=quoted_status_id_str thread=conversation_id_str",
        url=_tweet_link(longer or record),
        permalink="https://twitter.com/"
        f"{inside(record, 'user', 'screen_name') or 'i'}/status/{post_id}",
    )


ARCHIVE = "Twitter archive"
REDDIT = "Reddit dump"


@_known(
    ARCHIVE,
    "`tweets.js`: `window.YTD.tweets.part0 = […]`",
    "tweet.full_text",
    "tweet.id_str",
    matches=lambda record: record["tweet"].keys() >= {"full_text", "id_str"},
)
def _from_archive(record: Record) -> Converted:
    return from_v1(record["tweet"])


def _tweet_link(tweet: Record) -> str | None:
    """The first link that leads out of Twitter, expanded."""
    for entry in (tweet.get("entities") or {}).get("urls") or ():
        link = entry.get("unwound_url") or entry.get("expanded_url") or entry.get("url")
        if link and not link.startswith(_OWN_LINKS):
            return str(link)
    return None


_BLUESKY_POSTS = "app.bsky.feed.post"


@_known(
    "Bluesky Jetstream",
    "`did`, `time_us`, `commit`; deletions, likes and the like are skipped",
    "commit.record.text",
    "did + commit.rkey",
    matches=has("did", "kind", "time_us"),
)
def _from_jetstream(event: Record) -> Converted:
    """The post of an event that creates one; its id is its ``at://`` address."""
    if event["kind"] != "commit":
        return None
    commit = event["commit"]
    if commit["collection"] != _BLUESKY_POSTS or commit["operation"] == "delete":
        return None
    record = commit["record"]
    author = event["did"]
    key = commit["rkey"]
    post_id = id_value(f"at://{author}/{_BLUESKY_POSTS}/{key}", "commit.rkey")
    return Post(
        post_id,
        _bluesky_text(record, "commit.record.text"),
        _bluesky(record, author, author, key, event["time_us"]),
    )


@_known(
    "Bluesky feed or search",
    "`feed` or `posts` with `uri`, `author`, `record`; `records` with `uri`, `cid`, `value`; also "
    "one post a line",
    "record.text",
    "uri",
    matches=lambda record: any(
        record.get("post", record).keys() >= {"uri", *names}
        for names in (("author", "record"), ("cid", "value"))
    ),
    inside=("feed", "posts", "records"),
)
def _from_view(record: Record) -> Converted:
    """The post of a view, or of a user's repository, which has likes and the like as well."""
    view = record.get("post", record)
    inner = view.get("record") or view["value"]
    if inner.get("$type", _BLUESKY_POSTS) != _BLUESKY_POSTS:
        return None
    post_id = id_value(view["uri"], "uri")
    author = view.get("author") or {"did": post_id.split("/")[2]}
    handle = author.get("handle") or author["did"]
    key = post_id.rpartition("/")[2]
    metadata = _bluesky(inner, handle, author["did"], key, view.get("indexedAt"))
    reason = record.get("reason")
    if isinstance(reason, dict) and str(reason.get("$type", "")).endswith(
        "reasonRepost"
    ):
        by = reason.get("by") or {}
        did = by.get("did") or "unknown"
        put(metadata, "retweet_of", post_id)
        replace(metadata, "created_at", reason.get("indexedAt"))
        put(metadata, "author", by.get("handle") or did)
        post_id = id_value(f"{post_id}#repost-{did}", "uri")
    return Post(post_id, _bluesky_text(inner, "record.text"), metadata)


@_known(
    "Bluesky thread",
    "`thread` of getPostThread, with `parent` and `replies` of each post",
    "post.record.text",
    "post.uri",
    matches=lambda record: (
        isinstance(record["thread"], dict)
        and not record["thread"].keys().isdisjoint(("post", "parent", "replies"))
    ),
)
def _from_thread(record: Record) -> Converted:
    """The posts above the one that was asked for, that post, and its replies."""
    return each(_from_view, _views(record["thread"]))


def _views(node: Record) -> list[Record]:
    """The views of a thread in their order; those of deleted and blocked posts have no post."""
    above = _views(node["parent"]) if node.get("parent") else []
    return [
        *above,
        *([node] * ("post" in node)),
        *chain.from_iterable(map(_views, node.get("replies") or ())),
    ]


def _bluesky_text(record: Record, name: str) -> str:
    """The words of a post, then those of its link card, and the descriptions of its pictures."""
    text = text_value(record.get("text"), name)
    embed = record.get("embed")
    if not isinstance(embed, dict):
        return text
    media = inside(embed, "media") or embed
    card = inside(media, "external")
    images = inside(media, "images")
    # A video is alone.
    pictures = [
        *(images if isinstance(images, list) else ()),
        media,
    ]
    words = [inside(card, "title"), inside(card, "description")]
    words += [inside(picture, "alt") for picture in pictures]
    embedded_words = [
        clean_text(word) for word in words if isinstance(word, str) and word.strip()
    ]
    return "\n".join(dict.fromkeys(filter(None, (text, *embedded_words))))


_EARLIEST = "2006-03"  # the first tweet: people bring posts from elsewhere to Bluesky


@lru_cache(64)
def _day_after(day: str | int) -> str:
    """The end of the day after a day, which is a date or the number of days since 1970."""
    start = (
        date.fromisoformat(day)
        if isinstance(day, str)
        else date(1970, 1, 1) + timedelta(day)
    )
    return f"{start + timedelta(2)}"


def _put_bluesky_date(metadata: dict[str, Any], created: Any, arrived: Any) -> None:
    """The date that the author's program wrote, or of the arrival if that cannot be right.

    It cannot be later than the arrival, by more than the zone and error of a clock.
    """
    put(metadata, "created_at", created)
    written = metadata.get("created_at", "")
    try:
        latest = _day_after(
            arrived[:10] if isinstance(arrived, str) else arrived // 86_400_000_000
        )
    except (ValueError, TypeError, OverflowError):
        return
    if latest > _EARLIEST and not _EARLIEST <= written <= latest:
        replace(metadata, "created_at", arrived)


def _bluesky(
    record: Record, author: str, did: str, key: str, arrived: str | int | None
) -> dict[str, Any]:
    """Metadata by direct calls of `put`: `post_of` would slow a firehose down by a tenth."""
    metadata: dict[str, Any] = {}
    _put_bluesky_date(metadata, record.get("createdAt"), arrived)
    put(metadata, "lang", next(iter(record.get("langs") or ()), None))
    put(metadata, "author", author)
    put(metadata, "url", _bluesky_link(record))
    if "reply" in record:
        put(metadata, "reply_to", inside(record, "reply", "parent", "uri"))
        put(metadata, "thread", inside(record, "reply", "root", "uri"))
    # One level deeper if there are pictures, too.
    if quoted := inside(record, "embed", "record"):
        uri = inside(quoted, "uri") or inside(quoted, "record", "uri")
        if f"/{_BLUESKY_POSTS}/" in str(uri):  # not a list or a feed
            put(metadata, "quotes", uri)
    metadata["permalink"] = f"https://bsky.app/profile/{did}/post/{key}"
    return metadata


def _bluesky_link(record: Record) -> str | None:
    if embed := record.get("embed"):
        uri = inside(embed, "external", "uri") or inside(
            embed, "media", "external", "uri"
        )
        if uri:
            return str(uri)
    for facet in record.get("facets") or ():
        for feature in facet.get("features") or ():
            if feature.get("uri"):
                return str(feature["uri"])
    return None


@_known(
    "Mastodon",
    "`account`, `content`, also in `statuses` (search), `ancestors`, `descendants` (context); "
    "HTML is taken out, a boost has the text of its original",
    "content",
    "id",
    matches=lambda record: (
        "content" in record
        and isinstance(record.get("account"), dict)
        and not record.keys().isdisjoint(("uri", "visibility", "reblog"))
    ),
    inside=("statuses", "ancestors", "descendants"),
    edited="edited_at",
)
def _from_mastodon(status: Record) -> Converted:
    original = status.get("reblog") or status
    return post_of(
        id_value(status.get("id"), "id"),
        _with_warning(
            original.get("content"), original.get("spoiler_text"), "spoiler_text"
        ),
        {**status, "shown": original},
        # Mastodon has the quoted status one level deeper than other servers.
        "created_at edited_at lang=shown.language author=account.acct url=shown.card.url "
        "permalink=url|uri "
        "reply_to=in_reply_to_id quotes=shown.quote.quoted_status.id|shown.quote.id "
        "retweet_of=reblog.id",
    )


@_known(
    "Mastodon outbox",
    "`orderedItems` of an archive's `outbox.json`, of several edits the last; boosts and deletions "
    "are skipped",
    "object.content",
    "object.id",
    matches=has("type", "actor", "object"),
    inside=("orderedItems",),
    edited="object",  # which has `updated`
)
def _from_activity(record: Record) -> Converted:
    """The note that an activity creates or edits; None for a boost, which has only an address."""
    note = record["object"]
    edits = record["type"] == "Update"
    if not isinstance(note, dict) or not (edits or record["type"] == "Create"):
        return None
    if edits and "content" not in note:  # of a profile
        return None
    times = (note.get("updated"), record.get("published"), note.get("published"))
    return post_of(
        id_value(note.get("id"), "object.id"),
        _with_warning(
            note.get("content"),
            note.get("name") or note.get("summary"),
            "object.summary",
        ),
        record,
        "created_at=object.published|published author=object.attributedTo|actor "
        "permalink=object.url|object.id reply_to=object.inReplyTo "
        "quotes=object.quote|object.quoteUrl|object.quoteUri",
        lang=next(iter(note.get("contentMap") or ()), None),
        edited_at=next(filter(None, times if edits else times[:1]), None),
    )


def _with_warning(content: Any, warning: Any, name: str) -> str:
    text = without_html(text_value(content, "content"))
    return f"{text_value(warning, name)}\n{text}" if warning else text


def _full_name(value: Any, kind: str) -> Any:
    """The full name of a post; Reddit's ids are numbers in base 36."""
    number = whole_number(value) if isinstance(value, float) else value
    if type(number) is str and number.isdigit() and value is not number:
        number = int(number)
    if type(number) is not int or number < 0:
        return value
    return f"{kind}_{np.base_repr(number, 36).lower()}"


@_known(
    REDDIT,
    "`subreddit` with `body` or `selftext`, as in the monthly `.zst` files",
    "body, title + selftext",
    "id",
    matches=lambda record: (
        "subreddit" in record and ("body" in record or "selftext" in record)
    ),
    edited="edited",
)
def _from_reddit(record: Record) -> Converted:
    """The post of a comment or submission, unless its text is deleted.

    The id is the full name (``t1_`` a comment, ``t3_`` a submission): the short ones overlap.
    """
    comment = "selftext" not in record and "title" not in record
    body = record.get("body", record.get("selftext"))
    text = text_value(body, "body") if comment else text_value(body or "", "selftext")
    if not comment:
        title = text_value(record.get("title"), "title")
        remaining = [piece for piece in (title, text) if not is_deleted(piece)]
        if not remaining:
            return DELETED
        text = "\n".join(remaining).strip()
    if is_deleted(text):
        return DELETED
    kind = "t1" if comment else "t3"
    short = id_value(_full_name(record.get("id"), kind), "id")
    full = short if short.startswith("t") and "_" in short else f"{kind}_{short}"
    link = record.get("permalink")
    linked = isinstance(link, str) and link.startswith("/")
    thread = _full_name(record.get("link_id"), "t3")
    # Pushshift writes the number of the comment that is answered, or null if it is the submission.
    parent = _full_name(record.get("parent_id"), "t1")
    if parent is None and comment and "parent_id" in record:
        parent = thread
    return post_of(
        full,
        unescaped(text),
        record,
        "created_at=created_utc edited_at=edited author retweet_of=crosspost_parent "
        "channel=subreddit",
        reply_to=parent,
        thread=thread,
        url=None if comment or record.get("is_self") else record.get("url"),
        permalink=f"https://www.reddit.com{link}" if linked else None,
    )


@_known(
    "Reddit listing",
    "`kind`: `Listing`, with `data.children`",
    "data.body, data.title + data.selftext",
    "data.id",
    matches=lambda record: (
        record["kind"] in ("t1", "t3") and isinstance(record["data"], dict)
    ),
    inside=("data.children", "[].data.children"),
)
def _from_listing(record: Record) -> Converted:
    """A post or comment, then the replies below it; None for those that the listing leaves out."""
    if record["kind"] == "more":
        return None
    return [
        *each(_from_reddit, [record["data"]]),
        *each(
            _from_listing, inside(record["data"], "replies", "data", "children") or ()
        ),
    ]


@_known(
    "Telegram Desktop",
    "`messages` of a `result.json`, of one chat or of all (`chats.list`)",
    "text",
    "id of the chat / id",
    matches=lambda record: (
        record["type"] in ("message", "service") and "id" in record and "date" in record
    ),
    inside=("messages", "chats.list.[].messages", "left_chats.list.[].messages"),
    context=True,
    edited="edited",
)
def _from_telegram(message: Record) -> Converted:
    """The post of a message; None for notices (a new photo, somebody joined).

    Messages are numbered within their chat, so the id is the chat's and the message's.
    """
    if message["type"] != "message":
        return None
    chat = message.get(CONTEXT) or {}
    number = id_value(message["id"], "id")
    chat_id = chat.get("id")
    post_id = number if chat_id is None else f"{chat_id}/{number}"
    answered = message.get("reply_to_message_id")
    if answered is not None:
        peer = (
            str(message.get("reply_to_peer_id") or "").removeprefix("channel")
            or chat_id
        )
        answered = answered if peer is None else f"{peer}/{answered}"
    public = chat_id is not None and str(chat.get("type", "")).endswith(
        ("channel", "supergroup")
    )
    # The text may lie in pieces.
    pieces = message.get("text")
    pieces = pieces if isinstance(pieces, list) else [pieces]
    texts = [
        p if isinstance(p, str) else text_value(inside(p, "text"), "text")
        for p in pieces
    ]
    poll = [value for name, value in _strings(message.get("poll")) if name in _POLL]
    links = [
        p.get("href") or (p["text"] if p.get("type") == "link" else None)
        for p in pieces
        if isinstance(p, dict)
    ]
    return post_of(
        id_value(post_id, "id"),
        text_value("\n".join(filter(None, ("".join(texts), *poll))), "text"),
        message,
        # `date` is the time of the computer that exported, without a zone.
        "created_at=date_unixtime|date edited_at=edited_unixtime|edited "
        f"author=from_id|actor_id channel={CONTEXT}.name",
        reply_to=answered,
        url=next(filter(None, links), None),
        permalink=f"https://t.me/c/{chat_id}/{number}" if public else None,
    )


_POLL = ("question", "text")
# The address of a video, without its id.
WATCH = "https://www.youtube.com/watch?v="
_YOUTUBE = [
    f"youtube#{kind}" for kind in ("commentThread", "comment", "video", "searchResult")
]


@_known(
    "YouTube Data API",
    "`kind`: `youtube#commentThread`, `youtube#comment`, `youtube#video`; replies are read too",
    "snippet.textOriginal; title + description of videos",
    "id",
    matches=lambda record: record["kind"] in _YOUTUBE,
    inside=("items",),
    edited="snippet",  # which has `updatedAt`
)
def _from_youtube(record: Record) -> Converted:
    """The comments of a thread, first the one that opens it; a comment; a video."""
    if record["kind"] == "youtube#comment":
        return _comment(record)
    if record["kind"] != "youtube#commentThread":
        return _video(record)
    comments = [record["snippet"]["topLevelComment"]]
    comments += (record.get("replies") or {}).get("comments") or ()
    return each(
        lambda comment: _comment(comment, record["snippet"].get("videoId")), comments
    )


def _comment(comment: Record, video: Any = None) -> Post:
    snippet = comment["snippet"]
    post_id = id_value(comment.get("id"), "id")
    text = snippet.get("textOriginal")
    if text is None:
        text = without_html(
            text_value(snippet.get("textDisplay"), "snippet.textDisplay")
        )
    video = snippet.get("videoId") or video
    return post_of(
        post_id,
        text_value(text, "snippet.textOriginal"),
        {**snippet, "video": video},
        "created_at=publishedAt edited_at=updatedAt author=authorDisplayName "
        "reply_to=parentId|video thread=video",
        permalink=f"{WATCH}{video}&lc={post_id}" if video else None,
    )


def _video(record: Record) -> Post | None:
    video_id = record.get("id")
    snippet = record["snippet"]
    if isinstance(video_id, dict):
        video_id = video_id.get("videoId")
        if video_id is None:
            return None  # a channel or a playlist
    post_id = id_value(video_id, "id")
    title = text_value(snippet.get("title") or "", "snippet.title")
    about = text_value(snippet.get("description") or "", "snippet.description")
    return post_of(
        post_id,
        f"{title}\n{about}".strip(),
        snippet,
        "created_at=publishedAt lang=defaultLanguage author=channelTitle channel=channelTitle",
        permalink=f"{WATCH}{post_id}",
    )


@_known(
    "TikTok Research API",
    "`data.videos` or `data.comments`",
    "video_description + voice_to_text, text",
    "id",
    matches=lambda record: (
        record.keys() >= {"create_time", "id"}
        and ("video_description" in record or record.keys() >= {"text", "video_id"})
    ),
    inside=("data.videos", "data.comments"),
)
def _from_tiktok(record: Record) -> Converted:
    """The post of a video (its description, then the words spoken in it) or of a comment."""
    post_id = id_value(record["id"], "id")
    paths = "created_at=create_time author=username"
    if "video_description" in record:
        text = f"{record['video_description'] or ''}\n{record.get('voice_to_text') or ''}".strip()
        video = f"{record.get('username') or ''}/video/{post_id}"
    else:
        text = record["text"]
        video = f"/video/{record['video_id']}"
        paths += " reply_to=parent_comment_id|video_id thread=video_id"
    return post_of(
        post_id,
        text_value(text, "text"),
        record,
        paths,
        permalink=f"https://www.tiktok.com/@{video}",
    )


_DOWNLOADED = {"timestamp", "data", "attachments", "title", "tags"}
_PARTS = {"post", "comment", "update_timestamp", "backdated_timestamp"}


def _is_downloaded(record: Record) -> bool:
    """A post or a comment of Facebook's "Download your information"."""
    data = record.get("data", [])
    attachments = record.get("attachments", [])
    return (
        "timestamp" in record
        and record.keys() <= _DOWNLOADED
        and isinstance(data, list)
        and isinstance(attachments, list)
        and bool(data or attachments)
        and all(isinstance(entry, dict) and entry.keys() <= _PARTS for entry in data)
    )


@_known(
    "Facebook download",
    "`timestamp` with `data` or `attachments`, as in `your_posts_1.json`; also `comments_v2`, "
    "`group_posts_v2`",
    "data.post",
    "timestamp and a hash of the record",
    matches=_is_downloaded,
    inside=("comments_v2", "group_posts_v2"),
)
def _from_downloaded(record: Record) -> Converted:
    """The post, or the text below its pictures; its ``title`` only names the action."""
    values: dict[str, list[str]] = {}
    for name, value in _strings([record.get("data"), record.get("attachments")]):
        values.setdefault("post" if name == "comment" else name, []).append(
            _repaired(value)
        )
    return _downloaded(
        record,
        record["timestamp"],
        values.get("post") or values.get("description") or [],
        author=next(filter(None, reversed(values.get("author", []))), None),
        url=next(filter(None, values.get("url", [])), None),
    )


@_known(
    "Instagram download",
    "`media` with `creation_timestamp`, as in `posts_1.json`; also reels, stories, and comments "
    "(`string_map_data`)",
    "title, media.title",
    "creation_timestamp and a hash of the record",
    matches=lambda record: (
        record.keys() >= {"media_list_data", "string_map_data"}
        or (record.get("media") or [record])[0].keys() >= {"uri", "creation_timestamp"}
    ),
    inside=(
        *("ig_stories", "ig_reels_media", "ig_igtv_media", "ig_archived_post_media"),
        "comments_reels_comments",
    ),
)
def _from_instagram(record: Record) -> Converted:
    """The words below the pictures of a post, or a comment."""
    if "string_map_data" in record:  # the names in it are in the user's language
        entries = [*record["string_map_data"].values()]
        texts = [entries[0]["value"]]
    else:
        entries = [record, *record.get("media", ())]
        texts = [entry["title"] for entry in entries if entry.get("title")]
    times = (
        entry.get("creation_timestamp") or entry.get("timestamp") for entry in entries
    )
    return _downloaded(record, next(filter(None, times)), list(map(_repaired, texts)))


def _downloaded(record: Record, time: Any, texts: list[str], **metadata: Any) -> Post:
    """A post of a download, which has no id: the time and a hash of the record serve as one."""
    content = json.dumps(record, sort_keys=True, default=str).encode()
    post_id = f"{time}-{hashlib.sha256(content).hexdigest()[:12]}"
    return post_of(
        id_value(post_id, "timestamp"),
        text_value("\n".join(dict.fromkeys(texts)), "text"),
        {},
        "",
        created_at=time,
        **metadata,
    )


def _repaired(text: str) -> str:
    """A text of a download, which writes each byte of UTF-8 as a character."""
    try:
        return text.encode("latin-1").decode()
    except UnicodeError:
        return text


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


_THREADS = has("id", "permalink", "shortcode", "timestamp")


@_known(
    "Threads API",
    "`data` with `media_product_type`: `THREADS`",
    "text",
    "id",
    matches=lambda record: (
        record.get("media_product_type") == "THREADS" or _THREADS(record)
    ),
    inside=("data",),
)
def _from_threads(record: Record) -> Converted:
    """The post; one that repeats another has no text of its own."""
    if record.get("media_type") == "REPOST_FACADE":
        return None
    return post_of(
        id_value(record["id"], "id"),
        text_value(
            record.get("text") or "", "text"
        ),  # missing for a picture without words
        record,
        "created_at=timestamp author=username url=link_attachment_url permalink "
        "reply_to=replied_to.id thread=root_post.id quotes=quoted_post.id",
    )


@_known(
    "CrowdTangle API",
    "`result.posts` with `platformId`, `postUrl`",
    "message, title + description",
    "platformId",
    matches=has("platformId", "postUrl"),
    inside=("result.posts",),
)
def _from_crowdtangle(record: Record) -> Converted:
    """The message of a post, or title and description of the page that it links to."""
    text = record.get("message")
    if not text:
        text = "\n".join(filter(None, (record.get("title"), record.get("description"))))
    return post_of(
        id_value(record["platformId"], "platformId"),
        text_value(text, "message"),
        record,
        "created_at=date lang=languageCode author=account.handle|account.name url=link "
        "permalink=postUrl channel=account.name",
    )


@_known(
    "DiscordChatExporter",
    "`messages` of a channel, with `timestamp`, `content`, `author`, `embeds`; the words of embeds "
    "and of forwarded messages are read too",
    "content, embeds",
    "id",
    matches=has("id", "timestamp", "content", "author", "embeds"),
    inside=("messages",),
    edited="timestampEdited",
)
def _from_discord(message: Record) -> Converted:
    """A message; None for a notice of Discord itself without a text."""
    messages = [message, message.get("forwardedMessage") or {}]
    cards = [card for written in messages for card in written.get("embeds") or ()]
    words = [
        *(written.get("content") for written in messages),
        *(
            block.get(name)
            for card in cards
            for block in (card, *(card.get("fields") or ()))
            for name in ("title", "description", "name", "value")
        ),
    ]
    text = "\n".join(clean_text(word) for word in words if word)
    if not text and message.get("type") not in ("Default", "Reply"):
        return None
    return post_of(
        id_value(message.get("id"), "id"),
        text,
        message,
        "created_at=timestamp edited_at=timestampEdited author=author.name "
        "reply_to=reference.messageId",
    )


@_known(
    "Hacker News",
    "`by`, `id`, `time`, `type` of its API, of BigQuery or in `hits` of Algolia, whose `children` are "
    "read too; HTML is taken out",
    "title, text",
    "id",
    matches=lambda record: (
        record.keys() >= {"by", "id", "time", "type"}
        or record.keys() >= {"objectID", "created_at_i", "author"}
        or record.keys() >= {"children", "created_at_i", "author"}
    ),
    inside=("hits",),
    flat=True,
)
def _from_hacker_news(item: Record) -> Converted:
    """A story or a comment, and its answers; `DELETED` without either a title or a text."""
    words = [
        item.get("title"),
        item.get("comment_text") or item.get("story_text") or item.get("text"),
    ]
    post_id = id_value(item.get("id") or item.get("objectID"), "id")
    post: Post | Deleted | None = DELETED
    if any(words):
        post = post_of(
            post_id,
            "\n".join(without_html(text_value(word, "text")) for word in words if word),
            item,
            "created_at=time|created_at author=by|author url reply_to=parent|parent_id thread=story_id",
            permalink=f"https://news.ycombinator.com/item?id={post_id}",
        )
    # Other items have the ids of their answers alone.
    answers = [child for child in item.get("children") or () if type(child) is dict]
    return [post, *each(_from_hacker_news, answers)] if answers else post


@_known(
    "VK",
    "`owner_id`, `from_id`, `date`, `text` of `wall.get`, also in `response.items`; a repost has the "
    "text of its original",
    "text, copy_history.text",
    "owner_id + id",
    matches=has("id", "owner_id", "from_id", "date", "text"),
    inside=("response.items", "items"),
    edited="edited",
)
def _from_vk(record: Record) -> Converted:
    """A post of a wall, or a comment below one; an id counts the posts of its wall alone."""
    originals = record.get("copy_history") or ()
    words = [record["text"], *(original.get("text") for original in originals)]
    owner = record["owner_id"]
    number = record["id"]
    wall = f"{owner}_"
    post_id = id_value(f"{wall}{number}", "id")
    answered = record.get("reply_to_comment") or record.get("post_id")
    post = post_of(
        post_id,
        "\n".join(text_value(word, "text") for word in words if word),
        record,
        "created_at=date edited_at=edited author=from_id",
        reply_to=f"{wall}{answered}" if answered else None,
        retweet_of=next((f"{o['owner_id']}_{o['id']}" for o in originals), None),
        permalink=f"https://vk.com/wall{post_id}",
    )
    answers = inside(record, "thread", "items")
    return [post, *each(_from_vk, answers)] if answers else post


@_known(
    "Disqus",
    "`<disqus>`: the XML of an export; `message`, `createdAt`, `isSpam` in `response` of its API; "
    "HTML is taken out",
    "message",
    "id",
    matches=has("id", "message", "createdAt", "isSpam"),
    inside=("response",),
)
def _from_disqus(record: Record) -> Converted:
    """A comment; None for spam."""
    if str(record["isSpam"]).lower() == "true":
        return None
    if str(record.get("isDeleted")).lower() == "true":
        return DELETED
    return post_of(
        id_value(record["id"], "id"),
        without_html(text_value(record["message"], "message")),
        record,
        "created_at=createdAt author=author.username|author.name thread=thread.id|thread "
        "reply_to=parent.id|parent",
    )


@_known(
    "WordPress comments",
    "`<rss>` with `wp:comment`: the XML of an export; HTML is taken out, the posts are not read",
    "comment_content",
    "comment_id",
    matches=has("comment_id", "comment_content"),
    local_ids=True,
)
def _from_wordpress(record: Record) -> Converted:
    """A comment; None for spam, and for notices that another blog links here."""
    if not {"spam", "trash", "pingback", "trackback"}.isdisjoint(
        (record.get("comment_approved"), record.get("comment_type"))
    ):
        return None
    answered = record.get("comment_parent")
    return post_of(
        id_value(record["comment_id"], "comment_id"),
        without_html(text_value(record["comment_content"], "comment_content")),
        record,
        "created_at=comment_date_gmt|comment_date author=comment_author "
        f"thread={CONTEXT}.link permalink={CONTEXT}.link channel={CONTEXT}.title",
        reply_to=None if answered == "0" else answered,
    )
