"""What links posts has one name each, whatever the platform calls it."""

import pytest

NAMES = ("reply_to", "thread", "quotes", "channel")


def bluesky(author, key, text, **record):
    commit = {
        "operation": "create",
        "collection": "app.bsky.feed.post",
        "rkey": key,
        "record": {"text": text, **record},
    }
    return {"did": author, "kind": "commit", "time_us": 1, "commit": commit}


def uri(key):
    return f"at://did:a/app.bsky.feed.post/{key}"


ANSWER = {"reply": {"parent": {"uri": uri(2)}, "root": {"uri": uri(1)}}}
QUOTE = {"embed": {"record": {"uri": uri(1)}}}
WITH_PICTURE = {"embed": {"record": {"record": {"uri": uri(1)}}, "media": {}}}
A_LIST = {"embed": {"record": {"uri": "at://did:a/app.bsky.graph.list/1"}}}
TWEET = {
    "text": "t",
    "author_id": "1",
    "edit_history_tweet_ids": ["0"],
    "conversation_id": "1",
}
V1 = {"full_text": "t", "user": {"screen_name": "a"}}
TOOT = {"content": "c", "account": {"acct": "a"}, "visibility": "public"}
SHARED = {"id": "9", "url": "u", "date": "2020-01-01", "rawContent": "r"}


def video(number, **snippet):
    return {
        "kind": "youtube#comment",
        "id": number,
        "snippet": {"textOriginal": "t", **snippet},
    }


THREAD = {
    "kind": "youtube#commentThread",
    "snippet": {"videoId": "v", "topLevelComment": video("c1", videoId="v")},
    "replies": {"comments": [video("c2", parentId="c1")]},
}
CHAT = {
    "name": "Town",
    "type": "public_supergroup",
    "id": 7,
    "messages": [
        {"id": 1, "type": "message", "date": "2020-01-01T00:00:00", "text": "a"},
        {
            "id": 2,
            "type": "message",
            "date": "2020-01-01T00:00:00",
            "text": "b",
            "reply_to_message_id": 1,
        },
        {
            "id": 3,
            "type": "message",
            "date": "2020-01-01T00:00:00",
            "text": "c",
            "reply_to_message_id": 5,
            "reply_to_peer_id": "channel8",
        },
    ],
}

CASES = {
    "Bluesky Jetstream": (
        [
            bluesky("did:a", "1", "a"),
            bluesky("did:b", "3", "b", **ANSWER),
            bluesky("did:c", "4", "c", **QUOTE),
            bluesky("did:c", "5", "c", **WITH_PICTURE),
            bluesky("did:c", "6", "c", **A_LIST),
            bluesky("did:c", "7", "c", reply="?", embed={"record": [1]}),
        ],
        [
            {},
            {"reply_to": uri(2), "thread": uri(1)},
            {"quotes": uri(1)},
            {"quotes": uri(1)},
            {},
            {},
        ],
    ),
    "Bluesky feed or search": (
        [
            {
                "uri": uri(3),
                "author": {"did": "did:a"},
                "record": {"text": "t", **ANSWER},
            }
        ],
        [{"reply_to": uri(2), "thread": uri(1)}],
    ),
    "Mastodon": (
        [
            {**TOOT, "id": "1", "in_reply_to_id": None},
            {**TOOT, "id": "2", "in_reply_to_id": "1"},
            {
                **TOOT,
                "id": "3",
                "quote": {"state": "accepted", "quoted_status": {"id": "1"}},
            },
            {**TOOT, "id": "4", "quote": {"id": "1"}},
        ],
        [{}, {"reply_to": "1"}, {"quotes": "1"}, {"quotes": "1"}],
    ),
    "Mastodon outbox": (
        [
            {
                "type": "Create",
                "actor": "a",
                "object": {
                    "id": "n2",
                    "content": "c",
                    "inReplyTo": "https://s.example/1",
                },
            }
        ],
        [{"reply_to": "https://s.example/1"}],
    ),
    "Reddit dump": (
        [
            {"id": "s", "title": "T", "selftext": "", "subreddit": "town"},
            {
                "id": "c",
                "body": "b",
                "subreddit": "town",
                "parent_id": "t3_s",
                "link_id": "t3_s",
            },
            {
                "id": "d",
                "body": "b",
                "subreddit": "town",
                "parent_id": "t1_c",
                "link_id": "t3_s",
            },
        ],
        [
            {"channel": "town"},
            {"reply_to": "t3_s", "thread": "t3_s", "channel": "town"},
            {"reply_to": "t1_c", "thread": "t3_s", "channel": "town"},
        ],
    ),
    "Telegram Desktop": (
        [CHAT],
        [
            {"channel": "Town"},
            {"reply_to": "7/1", "channel": "Town"},
            {"reply_to": "8/5", "channel": "Town"},
        ],
    ),
    "Twitter API v2 (twarc2)": (
        [
            {**TWEET, "id": "1"},
            {
                **TWEET,
                "id": "2",
                "referenced_tweets": [
                    {"type": "quoted", "id": "8"},
                    {"type": "replied_to", "id": "1"},
                ],
            },
        ],
        [{"thread": "1"}, {"thread": "1", "reply_to": "1", "quotes": "8"}],
    ),
    "Twitter API v1.1": (
        [
            {
                **V1,
                "id_str": "2",
                "in_reply_to_status_id_str": "1",
                "quoted_status_id_str": "3",
            }
        ],
        [{"reply_to": "1", "quotes": "3"}],
    ),
    "snscrape, twscrape": (
        [
            {
                **SHARED,
                "inReplyToTweetId": 5,
                "conversationId": 4,
                "quotedTweet": {"id": 3},
            },
            {**SHARED, "id": "8", "inReplyToTweetId": None, "conversationId": 8},
        ],
        [{"reply_to": "5", "thread": "4", "quotes": "3"}, {"thread": "8"}],
    ),
    "YouTube Data API": (
        [THREAD],
        [{"reply_to": "v", "thread": "v"}, {"reply_to": "c1", "thread": "v"}],
    ),
    "TikTok Research API": (
        [
            {
                "id": 2,
                "text": "t",
                "create_time": 1,
                "video_id": 1,
                "parent_comment_id": 1,
            }
        ],
        [{"reply_to": "1", "thread": "1"}],
    ),
    "Threads API": (
        [
            {
                "media_product_type": "THREADS",
                "id": "3",
                "timestamp": "2024-01-01",
                "text": "t",
                "replied_to": {"id": "2"},
                "root_post": {"id": "1"},
                "quoted_post": {"id": "9"},
            }
        ],
        [{"reply_to": "2", "thread": "1", "quotes": "9"}],
    ),
    "CrowdTangle API": (
        [
            {
                "platformId": "1_2",
                "postUrl": "u",
                "message": "m",
                "account": {"name": "Town"},
            }
        ],
        [{"channel": "Town"}],
    ),
    # 4CAT's tables have `id`, `thread_id` and `body`, whatever the platform.
    "CSV": (
        "id,thread_id,timestamp,body,reply_to\n1,1,2020-01-01,a,\n2,1,2020-01-01,b,1\n",
        [{"thread": "1"}, {"reply_to": "1", "thread": "1"}],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_links_have_one_name_each(read, name):
    content, expected = CASES[name]
    stream, posts = read("p.csv" if isinstance(content, str) else "p.jsonl", content)
    assert stream.detected[0].format == name
    own = [{k: v for k, v in post.metadata.items() if k in NAMES} for post in posts]
    assert own == expected, stream.counts
