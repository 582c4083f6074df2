"""Replies in the dumps of Pushshift, which writes the numbers behind Reddit's ids."""

import json

import pytest

from siamese_news.data.readers import open_posts


def posts_of(path, **fields):
    comment = {
        "id": "k3x9",
        "body": "the weir broke",
        "subreddit": "tansy",
        "created_utc": 1.6e9,
    }
    path.write_text(json.dumps(comment | fields) + "\n")
    return next(iter(open_posts(path))).metadata


@pytest.mark.parametrize(
    ("parent", "reply"),
    [
        (int("k3x8", 36), "t1_k3x8"),
        (float(int("k3x8", 36)), "t1_k3x8"),
        (31489741683, "t1_egs6g6r"),
        ("t1_k3x8", "t1_k3x8"),
        ("t3_z9", "t3_z9"),
        (None, "t3_z9"),  # the submission is answered
    ],
)
@pytest.mark.parametrize("link", ["t3_z9", int("z9", 36)])
def test_the_answered_post_is_known(tmp_path, parent, reply, link):
    metadata = posts_of(tmp_path / "c.jsonl", parent_id=parent, link_id=link)
    assert (metadata["reply_to"], metadata["thread"]) == (reply, "t3_z9")


def test_an_unknown_parent_is_none(tmp_path):
    assert "reply_to" not in posts_of(tmp_path / "c.jsonl", link_id="t3_z9")
