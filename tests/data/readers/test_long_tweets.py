"""Long posts in an archive of X, whose whole texts are in a file of their own."""

import json

from siamese_news.data.readers import open_posts

LONG = (
    "All day we carried sandbags & nobody slept, " * 8
    + "and at five the pump of Mill Lane failed."
)


def archive(folder, tweets, notes):
    rows = [
        {
            "tweet": {
                "id_str": id,
                "full_text": text,
                "created_at": "Mon Mar 02 08:00:00 +0000 2026",
            }
        }
        for id, text in tweets
    ]
    (folder / "tweets.js").write_text("window.YTD.tweets.part0 = " + json.dumps(rows))
    long = [
        {"noteTweet": {"noteTweetId": id, "core": {"text": text}}} for id, text in notes
    ]
    (folder / "note-tweet.js").write_text(
        "window.YTD.note_tweet.part0 = " + json.dumps(long)
    )


def test_a_long_post_is_one_post_with_its_whole_text(tmp_path):
    cut = LONG[:270].replace("&", "&amp;") + "… https://t.co/a1"
    archive(
        tmp_path,
        [
            ("1700000000000000001", cut),
            ("1700000000000000002", "short &amp;lt; …"),
            ("1700000000000000003", "cut here…"),
        ],
        # The numbers of the two files differ, as in real archives.
        [
            ("1699999999999999999", LONG),
            ("1700000000000000003", "cut here and whole there"),
        ],
    )
    for source in (tmp_path, tmp_path / "tweets.js"):
        posts = {post.id: post.text for post in open_posts([source])}
        assert posts == {
            "1700000000000000001": LONG,
            "1700000000000000002": "short &lt; …",
            "1700000000000000003": "cut here and whole there",
        }


def test_an_archive_with_a_damaged_file_of_long_posts_is_read(tmp_path):
    archive(tmp_path, [("17", "river")], [("17", "river, the whole")])
    path = tmp_path / "note-tweet.js"
    path.write_text(path.read_text()[:-9])
    assert [post.id for post in open_posts([tmp_path])] == ["17"]
