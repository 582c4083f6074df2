"""Tweets: API v2 as twarc2 saves it (pages or flattened), and v1.1.

A retweet has the text of the tweet that it repeats, whole and without ``RT @name:``, so both have
one text; ``retweet_of`` names that tweet. Twitter escapes ``&``, ``<`` and ``>``; here they are
themselves.
"""

import html
from typing import Any

from siamese_news.data.lines import BadRow
from siamese_news.data.readers.fields import Converted, Record
from siamese_news.data.readers.formats import Format, each
from siamese_news.data.readers.values import id_value, put, text_value
from siamese_news.data.records import Post

_OWN_LINKS = ("https://twitter.com/", "https://x.com/", "http://twitter.com/")
_LINKS = {"retweeted": "retweet_of", "replied_to": "reply_to", "quoted": "quotes"}
_V1_TEXTS = ("full_text", "text")
# What v1.1 streams send between the tweets.
_NOTICES = set(
    "delete limit scrub_geo status_withheld user_withheld warning disconnect friends event".split()
)


def is_page(record: Record) -> bool:
    """A page of API v2: `data` with what belongs to it."""
    if not isinstance(record.get("data"), list | dict):
        return False
    return not record.keys().isdisjoint(("includes", "meta", "__twarc", "matching_rules"))


def is_flat(record: Record) -> bool:
    """One tweet of API v2."""
    if "id" not in record or "text" not in record or "user" in record:
        return False
    if "edit_history_tweet_ids" in record:
        return True
    others = ("conversation_id", "public_metrics", "referenced_tweets", "entities")
    return "author_id" in record and not record.keys().isdisjoint(others)


def is_v2(record: Record) -> bool:
    """A page or a tweet of API v2."""
    return is_page(record) or is_flat(record)


def is_v1(record: Record) -> bool:
    """One tweet of API v1.1."""
    if "id_str" not in record or record.keys().isdisjoint(_V1_TEXTS):
        return False
    return isinstance(record.get("user"), dict) or "retweeted_status" in record


def from_v2(record: Record) -> Converted:
    """The tweets of a page, or the one of a flattened line."""
    if not isinstance(record.get("data"), list | dict):
        if record.keys() <= {"meta", "__twarc", "includes", "errors", "title", "detail", "type"}:
            return None  # a page without a tweet
        return _v2(record, {}, {})
    includes = record.get("includes") or {}
    users = {user["id"]: user for user in includes.get("users") or ()}
    tweets = {tweet["id"]: tweet for tweet in includes.get("tweets") or ()}
    data = record["data"] if isinstance(record["data"], list) else [record["data"]]
    return each(lambda tweet: _v2(tweet, users, tweets), data)


def _v2(tweet: Record, users: Record, tweets: Record) -> Post:
    post_id = id_value(tweet.get("id"), "id")
    text = (tweet.get("note_tweet") or tweet).get("text")
    metadata: dict[str, Any] = {}
    for reference in tweet.get("referenced_tweets") or ():
        if reference["type"] == "retweeted":
            original = tweets.get(reference["id"], reference)
            text = (original.get("note_tweet") or original).get("text") or text
        if reference["type"] in _LINKS:
            put(metadata, _LINKS[reference["type"]], reference["id"])
    user = users.get(tweet.get("author_id") or "") or tweet.get("author") or {}
    put(metadata, "created_at", tweet.get("created_at"))
    put(metadata, "lang", tweet.get("lang"))
    put(metadata, "author", user.get("username") or tweet.get("author_id"))
    put(metadata, "url", _link(tweet))
    put(metadata, "thread", tweet.get("conversation_id"))
    metadata["permalink"] = f"https://twitter.com/{user.get('username') or 'i'}/status/{post_id}"
    return Post(post_id, unescaped(text_value(text, "text")), metadata)


def from_v1(record: Record) -> Converted:
    """One tweet; None for the notices of a stream."""
    if "id_str" not in record and not _NOTICES.isdisjoint(record):
        return None
    post_id = id_value(record.get("id_str", record.get("id")), "id_str")
    original = record.get("retweeted_status")
    metadata: dict[str, Any] = {}
    if original:
        put(metadata, "retweet_of", original.get("id_str"))
    text = _v1_text(original or record)
    user = record.get("user") or {}
    put(metadata, "created_at", record.get("created_at"))
    put(metadata, "lang", record.get("lang"))
    put(metadata, "author", user.get("screen_name") or user.get("id_str"))
    put(metadata, "url", _link((original or record).get("extended_tweet") or record))
    put(metadata, "reply_to", record.get("in_reply_to_status_id_str"))
    put(metadata, "quotes", record.get("quoted_status_id_str"))
    name = user.get("screen_name") or "i"
    metadata["permalink"] = f"https://twitter.com/{name}/status/{post_id}"
    return Post(post_id, unescaped(text), metadata)


def is_archived(record: Record) -> bool:
    """A tweet of the archive that one can ask for of one's own account."""
    inner = record.get("tweet")
    return isinstance(inner, dict) and "full_text" in inner and "id_str" in inner


def from_archived(record: Record) -> Converted:
    """The tweet; it does not say whose it is."""
    return from_v1(record["tweet"])


def _v1_text(tweet: Record) -> str:
    for source in (tweet.get("extended_tweet") or {}, tweet):
        for name in _V1_TEXTS:
            if name in source:
                return text_value(source[name], name)
    raise BadRow("no text", "field 'full_text', 'text' (any one of them) is missing")


def _link(tweet: Record) -> str | None:
    """The first link that leads out of Twitter, expanded."""
    for entry in (tweet.get("entities") or {}).get("urls") or ():
        link = entry.get("unwound_url") or entry.get("expanded_url") or entry.get("url")
        if link and not link.startswith(_OWN_LINKS):
            return str(link)
    return None


def unescaped(text: str) -> str:
    """The text with HTML references resolved."""
    return html.unescape(text) if "&" in text else text


FORMATS = (
    Format(
        "Twitter API v2 (twarc2)",
        "a page (`data`, `includes`, `meta`) or a tweet a line",
        "data.text",
        "data.id",
        matches=is_v2,
        convert=from_v2,
    ),
    Format(
        "Twitter API v1.1",
        "`id_str` with `full_text` or `text` and `user`; search results (`statuses`); a retweet "
        "has the text of its original",
        "full_text",
        "id_str",
        matches=is_v1,
        convert=from_v1,
        inside=("statuses",),
    ),
    Format(
        "Twitter archive",
        "`tweets.js`: `window.YTD.tweets.part0 = […]`",
        "tweet.full_text",
        "tweet.id_str",
        matches=is_archived,
        convert=from_archived,
    ),
)
