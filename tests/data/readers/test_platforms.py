"""Every platform's records, in their real shapes, with invented posts."""

import json

import pytest

V2_PAGE = {
    "data": [
        {
            "id": "1500000000000000001",
            "text": "Water up to the knees in Lower Street &amp; rising https://t.co/a",
            "author_id": "77",
            "created_at": "2022-03-05T11:00:01.000Z",
            "lang": "en",
            "conversation_id": "1500000000000000001",
            "entities": {
                "urls": [
                    {
                        "url": "https://t.co/p",
                        "expanded_url": "https://twitter.com/x/status/1",
                    },
                    {
                        "url": "https://t.co/a",
                        "expanded_url": "https://news.example/flood",
                    },
                ]
            },
        },
        {
            "id": "1500000000000000002",
            "text": "RT @mira: Water up to the knees in Lower Street and the mayor is nowhere to…",
            "author_id": "78",
            "created_at": "2022-03-05T11:02:00.000Z",
            "lang": "en",
            "referenced_tweets": [{"type": "retweeted", "id": "1499999999999999999"}],
        },
        {"id": "1500000000000000003", "author_id": "78"},
    ],
    "includes": {
        "users": [{"id": "77", "username": "jon"}, {"id": "78", "username": "ada"}],
        "tweets": [
            {
                "id": "1499999999999999999",
                "text": "Water up to the knees in Lower Street and the mayor is nowhere",
                "note_tweet": {
                    "text": "Water up to the knees in Lower Street and the mayor is nowhere to be "
                    "seen, again, as in every spring since the dam was sold."
                },
            }
        ],
    },
    "meta": {"result_count": 3},
}


def test_a_page_of_twarc2_gives_all_its_tweets(read):
    stream, posts = read("tweets.jsonl", [V2_PAGE, {"meta": {"result_count": 0}}])
    assert stream.detected[0].format == "Twitter API v2 (twarc2)"
    first, retweet = posts
    assert first.id == "1500000000000000001"
    assert first.text.startswith("Water up to the knees in Lower Street & rising")
    assert first.metadata == {
        "created_at": "2022-03-05T11:00:01Z",
        "lang": "en",
        "author": "jon",
        "url": "https://news.example/flood",
        "permalink": "https://twitter.com/jon/status/1500000000000000001",
        "thread": "1500000000000000001",
    }
    assert retweet.text.endswith("since the dam was sold.")
    assert not retweet.text.startswith("RT")
    assert retweet.metadata["retweet_of"] == "1499999999999999999"
    assert retweet.metadata["author"] == "ada"
    # One tweet of the page is bad, not the page; a page without tweets is none.
    assert stream.counts.reasons == {"no text": 1}
    assert stream.counts.skipped == 1


def test_flattened_tweets_of_twarc2(read):
    original = {
        "type": "retweeted",
        "id": "9",
        "text": "The whole of the text of the tweet",
    }
    rows = [
        {
            "id": "10",
            "text": "plain",
            "author_id": "5",
            "author": {"id": "5", "username": "bo"},
            "edit_history_tweet_ids": ["10"],
        },
        {
            "id": "11",
            "text": "RT @al: The whole of the…",
            "author_id": "6",
            "referenced_tweets": [original],
        },
        {
            "id": "12",
            "text": "an answer",
            "author_id": "6",
            "referenced_tweets": [{"type": "replied_to", "id": "10", "text": "plain"}],
        },
    ]
    stream, posts = read("flat.jsonl", rows)
    assert stream.detected[0].format == "Twitter API v2 (twarc2)"
    assert [post.text for post in posts] == [
        "plain",
        "The whole of the text of the tweet",
        "an answer",
    ]
    assert [post.metadata.get("retweet_of") for post in posts] == [None, "9", None]
    assert [post.metadata["author"] for post in posts] == ["bo", "6", "6"]


def v1(number, **more):
    return {
        "created_at": "Wed Oct 10 20:19:24 +0000 2018",
        "id": float(number),
        "id_str": str(number),
        "user": {"id_str": "3", "screen_name": "kim"},
        "lang": "de",
        "entities": {"urls": []},
        **more,
    }


def test_twitter_v1_texts_are_whole_and_ids_exact(read):
    number = 1050118621198921729
    quoted = v1(number + 9, full_text="what the quoted one says")
    rows = [
        v1(number, text="short"),
        v1(number + 1, full_text="long &lt;3"),
        v1(
            number + 2,
            text="cut o…",
            extended_tweet={
                "full_text": "cut off no more",
                "entities": {"urls": [{"expanded_url": "https://a.example/1"}]},
            },
        ),
        v1(
            number + 3,
            text="RT @x: cut o…",
            retweeted_status=v1(
                number + 2,
                text="cut o…",
                extended_tweet={"full_text": "cut off no more"},
            ),
        ),
        v1(
            number + 4,
            full_text="RT @x: lo…",
            retweeted_status=v1(number + 1, full_text="long, whole"),
        ),
        v1(number + 5, full_text="look at this", quoted_status=quoted),
        {"delete": {"status": {"id_str": "1"}}},
    ]
    stream, posts = read("tweets.json.gz", rows)
    assert stream.detected[0].format == "Twitter API v1.1"
    assert [post.id for post in posts] == [str(number + n) for n in range(6)]
    assert [post.text for post in posts] == [
        "short",
        "long <3",
        "cut off no more",
        "cut off no more",
        "long, whole",
        "look at this",
    ]
    assert [post.metadata.get("retweet_of") for post in posts] == [
        None,
        None,
        None,
        str(number + 2),
        str(number + 1),
        None,
    ]
    assert posts[0].metadata["created_at"] == "2018-10-10T20:19:24Z"
    assert posts[2].metadata["url"] == "https://a.example/1"
    assert (stream.counts.skipped, stream.counts.rejected) == (1, 0)


def jetstream(key, text="hi", **record):
    return {
        "did": "did:plc:abc",
        "time_us": 1725911162329308,
        "kind": "commit",
        "commit": {
            "rev": "3l3",
            "operation": "create",
            "collection": "app.bsky.feed.post",
            "rkey": key,
            "record": {
                "$type": "app.bsky.feed.post",
                "text": text,
                "createdAt": "2024-09-09T19:46:02.102Z",
                "langs": ["fr", "en"],
                **record,
            },
        },
    }


def test_jetstream_events(read):
    like = jetstream("l1")
    like["commit"]["collection"] = "app.bsky.feed.like"
    link = {"$type": "app.bsky.richtext.facet#link", "uri": "https://b.example/"}
    rows = [
        {
            "did": "did:plc:x",
            "time_us": 1,
            "kind": "identity",
            "identity": {"handle": "a.b"},
        },
        like,
        jetstream(
            "k1", embed={"external": {"uri": "https://a.example/", "title": "T"}}
        ),
        {
            "did": "did:plc:x",
            "time_us": 2,
            "kind": "commit",
            "commit": {
                "operation": "delete",
                "collection": "app.bsky.feed.post",
                "rkey": "k0",
            },
        },
        jetstream("k2", facets=[{"features": [link]}]),
        jetstream("k3", text=7),
    ]
    stream, posts = read("jetstream.ndjson.zst", rows)
    assert stream.detected[0].format == "Bluesky Jetstream"
    assert [post.id for post in posts] == [
        "at://did:plc:abc/app.bsky.feed.post/k1",
        "at://did:plc:abc/app.bsky.feed.post/k2",
    ]
    assert posts[0].metadata == {
        "created_at": "2024-09-09T19:46:02Z",
        "lang": "fr",
        "author": "did:plc:abc",
        "url": "https://a.example/",
        "permalink": "https://bsky.app/profile/did:plc:abc/post/k1",
    }
    assert posts[1].metadata["url"] == "https://b.example/"
    assert stream.counts.skipped == 3
    assert stream.counts.reasons == {"no text": 1}


def test_records_of_a_bluesky_repository(read):
    def record(key, collection, **value):
        address = f"at://did:plc:a/{collection}/{key}"
        return {"uri": address, "cid": "c", "value": {"$type": collection, **value}}

    post = "app.bsky.feed.post"
    page = {
        "records": [
            record(
                "k1", post, text="one", createdAt="2024-01-01T10:00:00Z", langs=["en"]
            ),
            record(
                "k2", "app.bsky.feed.like", subject={"uri": f"at://did:plc:b/{post}/k"}
            ),
            record(
                "k3",
                post,
                text="two",
                reply={"parent": {"uri": f"at://did:plc:b/{post}/k"}},
            ),
        ],
        "cursor": "k3",
    }
    stream, posts = read("records.json", json.dumps(page))
    assert [(p.id, p.text) for p in posts] == [
        (f"at://did:plc:a/{post}/k1", "one"),
        (f"at://did:plc:a/{post}/k3", "two"),
    ]
    assert posts[0].metadata == {
        "created_at": "2024-01-01T10:00:00Z",
        "lang": "en",
        "author": "did:plc:a",
        "permalink": "https://bsky.app/profile/did:plc:a/post/k1",
    }
    assert posts[1].metadata["reply_to"] == f"at://did:plc:b/{post}/k"
    assert stream.counts.skipped == 1


def test_an_instagram_download_has_captions_and_comments(read):
    def picture(number, title):
        return {
            "uri": f"{number}.jpg",
            "creation_timestamp": 1704103200 + number,
            "title": title,
        }

    content = [
        {"media": [picture(0, "The river \u00e2\u0080\u0093 again")]},
        {
            "media": [picture(1, ""), picture(2, "")],
            "title": "Two",
            "creation_timestamp": 1704103203,
        },
        {
            "media_list_data": [],
            "string_map_data": {
                "Kommentar": {"value": "so much water"},
                "Zeit": {"timestamp": 1704103204},
            },
        },
    ]
    _, posts = read("posts_1.json", json.dumps(content))
    assert [(post.text, post.metadata["created_at"]) for post in posts] == [
        ("The river – again", "2024-01-01T10:00:00Z"),
        ("Two", "2024-01-01T10:00:03Z"),
        ("so much water", "2024-01-01T10:00:04Z"),
    ]
    assert len({post.id for post in posts}) == 3
    _, posts = read("stories.json", json.dumps({"ig_stories": [picture(5, "a story")]}))
    assert [post.text for post in posts] == ["a story"]


def test_mastodon_statuses_lose_their_html(read):
    account = {"id": "1", "acct": "lee@social.example"}
    status = {
        "id": "110000000000000001",
        "created_at": "2023-03-10T09:00:00.000Z",
        "language": "en",
        "uri": "https://social.example/users/lee/statuses/110000000000000001",
        "url": "https://social.example/@lee/110000000000000001",
        "visibility": "public",
        "spoiler_text": "",
        "reblog": None,
        "account": account,
        "card": {"url": "https://a.example/story"},
        "content": '<p>Rain &amp; wind, x &lt; 3<br />see <a href="https://a.example/story">'
        '<span class="invisible">https://</span><span class="ellipsis">a.example</span>'
        '<span class="invisible">/story</span></a></p><p>#<span>storm</span></p>',
    }
    boost = {
        **status,
        "id": "2",
        "content": "",
        "reblog": status,
        "account": {"acct": "al"},
    }
    hidden = {**status, "id": "3", "spoiler_text": "weather", "content": "<p>wet</p>"}
    stream, posts = read("toots.jsonl", [status, boost, hidden])
    assert stream.detected[0].format == "Mastodon"
    assert posts[0].text == "Rain & wind, x < 3\nsee https://a.example/story\n#storm"
    assert posts[0].metadata["author"] == "lee@social.example"
    assert posts[0].metadata["permalink"] == status["url"]
    assert posts[0].metadata["url"] == "https://a.example/story"
    assert posts[1].text == posts[0].text
    assert (posts[1].metadata["retweet_of"], posts[1].metadata["author"]) == (
        status["id"],
        "al",
    )
    assert posts[2].text == "weather\nwet"


def test_reddit_comments_and_submissions_from_one_dump(read):
    rows = [
        {
            "id": "e1",
            "body": "so much &gt; rain",
            "subreddit": "town",
            "author": "zed",
            "created_utc": 1546300800,
            "link_id": "t3_aa",
            "permalink": "/r/town/comments/aa/_/e1/",
        },
        {
            "id": "e1",
            "title": "Flood",
            "selftext": "[removed]",
            "subreddit": "town",
            "author": "ann",
            "created_utc": "1546300801",
            "is_self": False,
            "is_video": False,
            "url": "https://a.example/flood",
            "crosspost_parent": "t3_zz",
        },
        {"id": "e2", "body": "[deleted]", "subreddit": "town", "author": "[deleted]"},
        {
            "id": "e3",
            "title": "Help",
            "selftext": "who has a boat",
            "subreddit": "town",
            "is_self": True,
            "url": "https://www.reddit.com/r/town/comments/e3",
        },
    ]
    stream, posts = read("RC_2019-01.zst", rows)
    assert stream.detected[0].format == "Reddit dump"
    assert stream.detected[0].packed == "zst"
    assert [(post.id, post.text) for post in posts] == [
        ("t1_e1", "so much > rain"),
        ("t3_e1", "Flood"),
        ("t3_e3", "Help\nwho has a boat"),
    ]
    assert posts[0].metadata == {
        "created_at": "2019-01-01T00:00:00Z",
        "author": "zed",
        "permalink": "https://www.reddit.com/r/town/comments/aa/_/e1/",
        "thread": "t3_aa",
        "channel": "town",
    }
    assert posts[1].metadata["url"] == "https://a.example/flood"
    assert posts[1].metadata["retweet_of"] == "t3_zz"
    assert "url" not in posts[2].metadata
    assert (stream.counts.deleted, stream.counts.skipped) == (1, 0)


def test_a_beir_corpus(read):
    rows = [
        {
            "_id": "d1",
            "title": "",
            "text": "a post",
            "metadata": {"event": "x", "n": 2**53 + 1},
        },
        {
            "_id": "d2",
            "title": "Head",
            "text": "body",
            "metadata": {"date": "2020-01-02"},
        },
    ]
    stream, posts = read("corpus.jsonl", rows)
    assert stream.detected[0].format == "BEIR corpus"
    assert [post.text for post in posts] == ["a post", "Head\nbody"]
    assert posts[0].metadata == {"event": "x", "n": 2**53 + 1}
    assert posts[1].metadata == {
        "date": "2020-01-02",
        "created_at": "2020-01-02T00:00:00Z",
    }


@pytest.mark.parametrize(
    "field", ["data", "includes", "referenced_tweets", "id", "author_id"]
)
@pytest.mark.parametrize("value", [None, 1, "x", [], {}, [1], [None], {"x": [1]}])
def test_a_tweet_of_a_wrong_shape_is_one_bad_row(read, field, value):
    good = {
        "id": "1",
        "text": "fine",
        "author_id": "2",
        "edit_history_tweet_ids": ["1"],
    }
    bad = {"id": "2", "text": "fine", "author_id": "2", "edit_history_tweet_ids": ["2"]}
    stream, posts = read("t.jsonl", [good, {**bad, field: value}])
    assert posts[0].id == "1"
    assert stream.counts.read + stream.counts.rejected + stream.counts.skipped in (1, 2)


def test_boosts_of_an_outbox_are_counted(read):
    note = {"id": "n1", "content": "<p>rain</p>", "published": "2020-02-22T14:16:41Z"}
    wrote = {"id": "a1", "type": "Create", "actor": "ann", "object": note}
    boosted = [
        {"id": f"b{n}", "type": "Announce", "actor": "ann", "object": "x"}
        for n in range(3)
    ]
    page = {"type": "OrderedCollection", "orderedItems": [wrote, *boosted]}
    for name, rows in (
        ("outbox.json", json.dumps(page, indent=1)),
        ("pages.jsonl", [page]),
    ):
        stream, posts = read(name, rows)
        assert [post.text for post in posts] == ["rain"] and stream.counts.skipped == 3
        assert "3 records without a post skipped" in str(stream.counts)


GONE = [
    "[deleted]",
    "[removed]",
    "[ Removed by Reddit ]",
    "[deleted by user]",
    " [Removed] ",
]


@pytest.mark.parametrize("gone", GONE)
def test_deleted_posts_of_reddit_are_counted_as_deleted(read, gone):
    comments = [
        {"id": "c1", "body": gone, "subreddit": "town"},
        {
            "id": "c2",
            "body": "my cellar is [removed] from the map",
            "subreddit": "town",
        },
        {
            "id": "s1",
            "title": "[deleted by user]",
            "selftext": gone,
            "subreddit": "town",
        },
        {"id": "s2", "title": "A storm", "selftext": gone, "subreddit": "town"},
    ]
    stream, posts = read("p.jsonl", comments)
    assert [post.text for post in posts] == [comments[1]["body"], "A storm"]
    assert (stream.counts.deleted, stream.counts.skipped, stream.counts.rejected) == (
        2,
        0,
        0,
    )
    assert str(stream.counts) == "2 posts read, 2 deleted posts left out"
    table = f'id,subreddit,text\nc1,town,"{gone}"\nc2,town,a storm\n'
    stream, posts = read("p.csv", table)
    assert [post.text for post in posts] == ["a storm"] and stream.counts.deleted == 1
    table = (
        f'id,title,body,num_comments\ns1,"A storm","{gone}",0\ns2,"{gone}","{gone}",0\n'
    )
    stream, posts = read("praw.csv", table)
    assert [post.text for post in posts] == ["A storm"] and stream.counts.deleted == 1


def test_a_text_in_brackets_elsewhere_is_a_text(read):
    stream, posts = read("p.csv", "id,text\n1,[deleted]\n2,a storm\n")
    assert len(posts) == 2 and stream.counts.deleted == 0
