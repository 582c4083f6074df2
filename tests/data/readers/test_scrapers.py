"""Programs that read web pages or apps: records in their real shapes, with invented posts."""

import json

import pytest

from siamese_news.data.readers import open_posts
from siamese_news.errors import InputError


def captured(platform, data):
    """An item of Zeeschuimer's NDJSON."""
    return {
        "id": 1,
        "nav_index": "3:12:1",
        "item_id": data.get("id"),
        "timestamp_collected": 1714650000123,
        "source_platform": platform,
        "source_platform_url": f"https://{platform}/home",
        "source_url": f"https://{platform}/api",
        "user_agent": "Mozilla/5.0",
        "data": data,
    }


def tweet(number, text, name="ann", **legacy):
    return {
        "rest_id": str(number),
        "id": str(number),
        "core": {
            "user_results": {
                "result": {"rest_id": "7", "legacy": {"screen_name": name}}
            }
        },
        "legacy": {
            "id_str": str(number),
            "full_text": text,
            "created_at": "Thu May 02 10:00:00 +0000 2024",
            "conversation_id_str": "1786000000000000000",
            "user_id_str": "7",
            "lang": "en",
            "entities": {"urls": []},
            **legacy,
        },
    }


def test_tweets_that_zeeschuimer_saw(read):
    cut = tweet(
        1786000000000000002,
        "RT @bo: the dam has been sold, and nob…",
        retweeted_status_result={"result": {"tweet": tweet(5, "cut", "bo")}},
    )
    original = cut["legacy"]["retweeted_status_result"]["result"]["tweet"]
    original["note_tweet"] = {
        "note_tweet_results": {"result": {"text": "the whole of the text"}}
    }
    reply = tweet(
        1786000000000000001,
        "no bridge &amp; no boat",
        in_reply_to_status_id_str="1786000000000000000",
        quoted_status_id_str="1700000000000000000",
    )
    moved = tweet(1786000000000000003, "where X keeps names since 2025")
    moved["core"]["user_results"]["result"] = {
        "core": {"screen_name": "cy"},
        "legacy": {},
    }
    old = {"id": 4, "type": "adaptive", "user": {"screen_name": "di"}}
    old["legacy"] = tweet(1600000000000000004, "a search of 2022")["legacy"]
    withheld = tweet(
        1786000000000000006, "RT @x: gone", retweeted_status_result={"result": {}}
    )
    rows = [
        captured("twitter.com", item) for item in (cut, reply, moved, old, withheld)
    ]
    stream, posts = read("zs.ndjson", rows)
    assert stream.detected[0].format == "Zeeschuimer"
    assert [post.text for post in posts] == [
        "the whole of the text",
        "no bridge & no boat",
        "where X keeps names since 2025",
        "a search of 2022",
        "RT @x: gone",
    ]
    assert posts[0].metadata["retweet_of"] == "5"
    assert [post.metadata["author"] for post in posts] == [
        "ann",
        "ann",
        "cy",
        "di",
        "ann",
    ]
    assert posts[1].id == "1786000000000000001"
    assert posts[1].metadata == {
        "created_at": "2024-05-02T10:00:00Z",
        "lang": "en",
        "author": "ann",
        "thread": "1786000000000000000",
        "reply_to": "1786000000000000000",
        "quotes": "1700000000000000000",
        "permalink": "https://twitter.com/ann/status/1786000000000000001",
    }


TIKTOK = {
    "id": "7001",
    "desc": "A flood",
    "createTime": 1714644000,
    "author": {"uniqueId": "bo"},
}
COMMENT = {
    "id": "7009",
    "cid": "7009",
    "aweme_id": "7001",
    "text": "which bridge",
    "create_time": 1714644000,
    "reply_id": "0",
    "comment_language": "en",
    "user": {"unique_id": "cy"},
}
INSTAGRAM = {
    "id": "3_9",
    "code": "C6x",
    "caption": {"text": "A flood"},
    "taken_at": 1714644000,
}
GRAPH = {
    "id": "4",
    "shortcode": "C6z",
    "edge_media_to_caption": {"edges": [{"node": {"text": "A flood"}}]},
    "taken_at_timestamp": 1714644000,
    "owner": {"username": "di"},
}
TRUTH = {
    "id": "112",
    "created_at": "2024-05-02T10:00:00.000Z",
    "content": "<p>A flood</p>",
    "visibility": "public",
    "account": {"acct": "ed"},
    "url": "https://truthsocial.com/@ed/112",
}


@pytest.mark.parametrize(
    ("platform", "item", "text", "expected"),
    [
        ("tiktok.com", TIKTOK, "A flood", ("7001", "bo", None)),
        ("tiktok.com", {**TIKTOK, "author": "bo"}, "A flood", ("7001", "bo", None)),
        ("tiktok-comments", COMMENT, "which bridge", ("7009", "cy", "7001")),
        (
            "tiktok-comments",
            {**COMMENT, "reply_id": "7008"},
            "which bridge",
            ("7009", "cy", "7008"),
        ),
        (
            "instagram.com",
            {**INSTAGRAM, "user": {"username": "di"}},
            "A flood",
            ("C6x", "di", None),
        ),
        ("instagram.com", GRAPH, "A flood", ("C6z", "di", None)),
        ("truthsocial.com", TRUTH, "A flood", ("112", "ed", None)),
    ],
)
def test_items_of_zeeschuimer_and_as_4cat_keeps_them(
    read, platform, item, text, expected
):
    line = captured(platform, item)
    _, (post,) = read("zs.ndjson", [line])
    about = {name: value for name, value in line.items() if name != "data"}
    _, (other,) = read("4cat.ndjson", [{**item, "__import_meta": about}])
    assert other == post
    assert post.text == text and post.metadata["created_at"] == "2024-05-02T10:00:00Z"
    assert (post.id, post.metadata["author"], post.metadata.get("reply_to")) == expected
    assert post.metadata["permalink"].startswith("https://")


def test_a_post_of_threads_has_an_address_of_threads(read):
    item = {
        **INSTAGRAM,
        "user": {"username": "di"},
        "text_post_app_info": {},
        "caption": None,
    }
    _, (post,) = read("zs.ndjson", [captured("threads.net", item)])
    assert (post.text, post.metadata["permalink"]) == (
        "",
        "https://www.threads.com/@di/post/C6x",
    )


def test_an_item_of_another_platform_is_counted_by_name(read):
    rows = [
        captured("tiktok.com", TIKTOK),
        captured("linkedin.com", {"id": "urn:li:1"}),
    ]
    stream, posts = read("zs.ndjson", rows)
    assert len(posts) == 1 and stream.counts.reasons == {"unknown platform": 1}


def downloaded(cid, text, **more):
    return {
        "cid": cid,
        "text": text,
        "time": "2 weeks ago",
        "author": "@ann",
        "channel": "UCann",
        "votes": "1",
        "replies": "",
        "photo": "https://yt3.example/a",
        "heart": False,
        "reply": "." in cid,
        **more,
    }


COMMENTS = [
    downloaded("Ug1", "a storm", time_parsed=1714644000.25),
    downloaded("Ug1.A9", "where", time_parsed=1714730400.5),
    downloaded("Ug2", "no date"),
]


def table(records):
    names = list(COMMENTS[0])
    rows = [",".join(str(record.get(name, "")) for name in names) for record in records]
    return "\n".join([",".join(names), *rows]) + "\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("comments.json", COMMENTS),
        ("pretty.json", json.dumps({"comments": COMMENTS}, indent=4)),
        ("comments.csv", table(COMMENTS)),
    ],
)
def test_comments_of_youtube_comment_downloader(read, name, content):
    stream, posts = read(name, content)
    assert stream.detected[0].format == "youtube-comment-downloader"
    assert [(post.id, post.text) for post in posts] == [
        ("Ug1", "a storm"),
        ("Ug1.A9", "where"),
        ("Ug2", "no date"),
    ]
    assert posts[0].metadata == {
        "created_at": "2024-05-02T10:00:00Z",
        "author": "@ann",
        "thread": "Ug1",
    }
    assert posts[1].metadata["reply_to"] == posts[1].metadata["thread"] == "Ug1"
    assert "created_at" not in posts[2].metadata and stream.counts.rejected == 0


INFO = {
    "id": "vid12345678",
    "title": "Flood",
    "formats": [{"format_id": "18", "url": "https://v.example/1"}],
    "tags": ["a", "b"],
    "webpage_url": "https://www.youtube.com/watch?v=vid12345678",
    "comments": [
        {
            "id": "Ug1",
            "parent": "root",
            "text": "a storm",
            "author": "@a",
            "timestamp": 1714644000,
        },
        {
            "id": "Ug1.A9",
            "parent": "Ug1",
            "text": "where",
            "author": "@b",
            "timestamp": 1714730400,
        },
        {"id": "Ug2", "parent": "root", "html": "no<br>text", "author_id": "UC1"},
    ],
}


@pytest.mark.parametrize("indent", [None, 1])
def test_comments_and_replies_of_yt_dlp(read, indent):
    stream, posts = read("flood.info.json", json.dumps(INFO, indent=indent))
    assert stream.detected[0].format == "yt-dlp comments"
    assert [post.text for post in posts] == ["a storm", "where", "no\ntext"]
    assert posts[1].metadata == {
        "created_at": "2024-05-03T10:00:00Z",
        "author": "@b",
        "thread": "vid12345678",
        "reply_to": "Ug1",
        "permalink": "https://www.youtube.com/watch?v=vid12345678&lc=Ug1.A9",
    }
    assert [post.metadata["reply_to"] for post in posts] == [
        "vid12345678",
        "Ug1",
        "vid12345678",
    ]


def test_the_videos_of_traktok(read):
    hidden = "video_id,video_timestamp,video_url,video_title,author_name\n7001,2024-05-02 10:00:00,u,"
    stream, (post,) = read("hidden.csv", f"{hidden}A flood,ann\n")
    assert stream.detected[0].format == "traktok"
    assert (post.id, post.text) == ("7001", "A flood")
    assert post.metadata == {
        "created_at": "2024-05-02T10:00:00Z",
        "author": "ann",
        "permalink": "https://www.tiktok.com/@ann/video/7001",
    }
    official = (
        '"video_id","author_name","create_time","video_description","voice_to_text"\n'
        '"7002","bo",2024-05-02T10:00:00Z,"A flood","the water rises"\n'
        '"7003","bo",2024-05-02T10:00:00Z,"A storm",NA\n'
    )
    stream, posts = read("research.csv", official)
    assert [post.text for post in posts] == ["A flood\nthe water rises", "A storm"]
    assert posts[1].metadata["created_at"] == "2024-05-02T10:00:00Z"


def test_rounded_ids_of_traktok_are_refused(read):
    rows = "".join(f"73640000000000{n}00000,2024-05-02,A flood,ann\n" for n in range(4))
    with pytest.raises(
        InputError, match=r"hidden.csv:1: all ids in 'video_id' end in zeros"
    ):
        read("hidden.csv", f"video_id,video_timestamp,video_title,author_name\n{rows}")


WHOLE = "status_id,created_at,screen_name,text,is_retweet,reply_to_status_id,quoted_status_id,url"
FEW = "status_id,created_at,screen_name,text,reply_to_status_id"


@pytest.mark.parametrize(
    ("header", "rest"),
    [(WHOLE, "FALSE,x1585341984679469056,NA,https://a.example"), (FEW, None)],
)
def test_the_x_of_rtweet_is_no_part_of_an_id(read, header, rest):
    rest = rest or "x1585341984679469056"
    rows = f"x1585341984679469057,2022-10-26 18:31:28,ann,A flood,{rest}\n"
    stream, (post,) = read("tweets.csv", f"{header}\n{rows}")
    assert post.id == "1585341984679469057"
    assert post.metadata == {
        "created_at": "2022-10-26T18:31:28Z",
        "author": "ann",
        "reply_to": "1585341984679469056",
    }
    assert any("rtweet" in remark for remark in stream.detected[0].remarks)


def test_the_missing_values_of_r_are_none(read):
    table = "id,text,lang,author,url,permalink,reply_to,date,channel\n1,a storm,NA,NA,NA,NA,NA,NA,NA\n"
    _, (post,) = read("p.csv", table)
    assert post.metadata == {"channel": "NA"}  # a place may have this name
    _, (post,) = read("p.csv", "id,text,lang,author\n1,a storm,na,Na\n")
    # The language of Nauru; a user.
    assert post.metadata == {
        "lang": "na",
        "author": "Na",
    }


def test_an_x_in_ids_that_rtweet_did_not_write_stays(read):
    _, posts = read("p.csv", "id,text,reply_to\nx12345,a storm,\nax9,a flood,x12345\n")
    assert [post.id for post in posts] == ["x12345", "ax9"]
    assert posts[1].metadata["reply_to"] == "x12345"


def test_a_whole_thread_of_hacker_news_is_read(tmp_path):
    """As Algolia's API gives it in one object: HTML is taken out, deleted comments keep answers."""

    def item(number, text, *answers, author="ann"):
        return {
            "id": number,
            "created_at": "2026-03-02T10:00:00.000Z",
            "created_at_i": 1772445600,
            "author": author,
            "title": "Weir" if number == 1 else None,
            "text": text,
            "parent_id": number - 1 if number > 1 else None,
            "story_id": 1,
            "children": [*answers],
        }

    deep = item(240, "last<p>words")
    for number in range(239, 3, -1):
        deep = item(number, f"answer {number}", deep)
    thread = item(
        1, None, item(2, "It &#x27;gave&#x27; way", item(3, None, deep, author=None))
    )
    for name, indent in (("a.json", 1), ("a.jsonl", None)):
        (tmp_path / name).write_text(json.dumps(thread, indent=indent))
        stream = open_posts(tmp_path / name, strict=True)
        posts = {post.id: post for post in stream}
        assert stream.detected[0].format == "Hacker News"
        assert [*posts] == ["1", "2", *map(str, range(4, 241))]
        assert (posts["1"].text, posts["2"].text) == ("Weir", "It 'gave' way")
        assert posts["240"].text == "last\nwords"
        assert posts["240"].metadata["reply_to"] == "239"
        assert stream.counts.deleted == 1
