"""Long posts in an archive of X, whose whole texts are in a file of their own."""

import json

import pytest

from siamese_news.data.readers import open_posts
from siamese_news.errors import InputError

LONG = (
    "All day we carried sandbags & nobody slept, " * 8
    + "and at five the pump of Mill Lane failed."
)


def archive(folder, tweets, notes, hours=()):
    """An archive with a tweet an hour from eight on, and notes of these hours or without a date."""
    rows = [
        {
            "tweet": {
                "id_str": id,
                "full_text": text,
                "created_at": f"Mon Mar 02 {8 + number:02}:00:00 +0000 2026",
            }
        }
        for number, (id, text) in enumerate(tweets)
    ]
    (folder / "tweets.js").write_text("window.YTD.tweets.part0 = " + json.dumps(rows))
    long = [
        {"noteTweet": {"noteTweetId": id, "core": {"text": text}}} for id, text in notes
    ]
    for note, hour in zip(long, hours, strict=False):
        note["noteTweet"]["createdAt"] = f"2026-03-02T{hour:02}:00:00.412Z"
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


def whole_texts(folder):
    return [post.text.rpartition(" ")[2] for post in open_posts([folder])]


def test_of_notes_that_begin_alike_the_date_decides(tmp_path):
    cut = f"{LONG[:270]}… https://t.co/b2"
    tweets = [(str(id), cut) for id in (21, 22, 23)]
    notes = [("7", f"{LONG} later"), ("8", f"{LONG} earlier")]
    archive(tmp_path, tweets, notes, hours=(9, 8))
    # The note of the third, at ten, is not in the archive.
    assert whole_texts(tmp_path) == ["earlier", "later", "https://t.co/b2"]


def test_without_dates_a_beginning_of_two_notes_decides_nothing(tmp_path):
    cut = f"{LONG[:270]}… https://t.co/b2"
    differing = (
        LONG[:200] + "and then, at last, the sluice of the old mill gave way." * 3
    )
    archive(
        tmp_path,
        [("21", cut), ("22", f"{differing[:270]}… https://t.co/b3")],
        [("7", f"{LONG} one"), ("8", f"{LONG} two"), ("9", f"{differing} three")],
    )
    # All of the text before the cut counts, not only its first words.
    assert whole_texts(tmp_path) == ["https://t.co/b2", "three"]


def test_a_file_of_long_posts_is_not_said_to_be_skipped(tmp_path):
    archive(tmp_path, [("17", "river")], [("17", "river, the whole")])
    (tmp_path / "like.js").write_text("window.YTD.like.part0 = []")
    stream = open_posts([tmp_path])
    assert [path.name for path in stream.skipped.unknown] == ["like.js"]
    assert stream.detected[0].remarks == ()


def test_what_is_no_file_of_long_posts_is_named(tmp_path):
    archive(tmp_path, [("17", "river")], [])
    path = tmp_path / "note-tweet.js"
    secret = tmp_path / "secret.txt"
    for content, problem in (
        ("", "is empty"),
        ("my password", "damaged file"),
        (None, "no such"),
    ):
        path.unlink()
        secret.unlink(missing_ok=True)
        if content is not None:
            secret.write_text(content)
        path.symlink_to(secret)
        stream = open_posts([tmp_path / "tweets.js"])
        assert [post.text for post in stream] == ["river"]
        (remark,) = stream.detected[0].remarks
        assert f"{path}: " in remark and problem in remark and "password" not in remark


def test_an_archive_with_a_damaged_file_of_long_posts_is_read(tmp_path):
    archive(tmp_path, [("17", "river")], [("17", "river, the whole")])
    path = tmp_path / "note-tweet.js"
    path.write_text(path.read_text()[:-9])
    stream = open_posts([tmp_path])
    assert [post.id for post in stream] == ["17"]
    (remark,) = stream.detected[0].remarks
    assert f"{path}: damaged file" in remark


def test_a_file_of_long_posts_may_be_named_with_the_posts(tmp_path):
    cut = LONG[:270].replace("&", "&amp;") + "… https://t.co/a1"
    archive(tmp_path, [("1700000000000000001", cut)], [("1800", LONG)])
    for sources in (
        [tmp_path / "note-tweet.js", tmp_path / "tweets.js"],
        f"{tmp_path}/*.js",
    ):
        stream = open_posts(sources, strict=True)
        assert [post.text for post in stream] == [LONG]
        assert not stream.skipped.unknown
    with pytest.raises(InputError, match=r"read with its tweets\.js: name that file"):
        open_posts(tmp_path / "note-tweet.js")


def test_only_the_files_of_an_archive_are_read_with_others(tmp_path):
    """A table whose name begins like that of an archive's file is a table of its own."""
    for name in ("tweets", "note-tweets"):
        (tmp_path / f"{name}.csv").write_text(f"id,text\n{name},a flood\n")
    assert {post.id for post in open_posts([tmp_path])} == {"tweets", "note-tweets"}


def test_the_names_of_an_archive_may_have_capitals(tmp_path):
    archive(tmp_path, [("7", LONG[:270] + "… https://t.co/a1")], [("1", LONG)])
    for name in ("tweets.js", "note-tweet.js"):
        (tmp_path / name).rename(tmp_path / name.title())
    assert [post.text for post in open_posts([tmp_path])] == [LONG]
