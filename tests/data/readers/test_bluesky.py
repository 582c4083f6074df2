"""Bluesky's link cards, descriptions of pictures, and dates that cannot be right."""

import json

import pytest

from siamese_news.data.readers import open_posts

from ...commands import siamese_news as process

CARD = {
    "$type": "app.bsky.embed.external",
    "external": {
        "uri": "https://paper.example/weir",
        "title": "The weir at Tansy Mill gives way",
        "description": "Two hundred leave their homes",
    },
}
PICTURES = {
    "$type": "app.bsky.embed.images",
    "images": [
        {"alt": "A broken weir", "image": {}},
        {"alt": "", "image": {}},
        {"image": {}},
    ],
}
VIDEO = {"$type": "app.bsky.embed.video", "alt": "Water over the weir", "video": {}}
QUOTE = {"record": {"uri": "at://did:plc:z/app.bsky.feed.post/9"}}
BOTH = {"$type": "app.bsky.embed.recordWithMedia", "record": QUOTE, "media": CARD}
CARD_TEXT = "The weir at Tansy Mill gives way\nTwo hundred leave their homes"


def view(
    key, text, created="2026-03-04T05:06:07Z", indexed="2026-03-04T05:06:09Z", **record
):
    return {
        "uri": f"at://did:plc:a/app.bsky.feed.post/{key}",
        "cid": "c",
        "author": {"did": "did:plc:a", "handle": "a.example"},
        "record": {
            "$type": "app.bsky.feed.post",
            "text": text,
            "createdAt": created,
            **record,
        },
        "indexedAt": indexed,
    }


def event(
    key, text, created="2026-03-04T05:06:07Z", arrived=1772600769000000, **record
):
    return {
        "did": "did:plc:a",
        "time_us": arrived,
        "kind": "commit",
        "commit": {
            "operation": "create",
            "collection": "app.bsky.feed.post",
            "rkey": key,
            "record": {"text": text, "createdAt": created, **record},
        },
    }


def posts_of(path, rows, **options):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return list(open_posts(path, **options))


@pytest.mark.parametrize("make", [view, event])
@pytest.mark.parametrize(
    ("text", "embed", "whole"),
    [
        ("", CARD, CARD_TEXT),
        ("look", CARD, f"look\n{CARD_TEXT}"),
        ("look", BOTH, f"look\n{CARD_TEXT}"),
        ("look", PICTURES, "look\nA broken weir"),
        ("look", VIDEO, "look\nWater over the weir"),
        ("look", {"media": PICTURES, "record": QUOTE}, "look\nA broken weir"),
        ("look", QUOTE, "look"),
        ("look", {"external": "?", "images": "?", "alt": 3}, "look"),
        ("look", [], "look"),
    ],
)
def test_words_of_cards_and_pictures_are_searched(tmp_path, make, text, embed, whole):
    post, *_ = posts_of(tmp_path / "p.jsonl", [make("1", text, embed=embed)])
    assert post.text == whole
    assert post.metadata["created_at"] == "2026-03-04T05:06:07Z"
    if embed in (CARD, BOTH):
        assert post.metadata["url"] == "https://paper.example/weir"


@pytest.mark.sampled(6)
@pytest.mark.parametrize("make", [view, event])
@pytest.mark.parametrize(
    ("created", "expected"),
    [
        ("2026-03-04T05:06:07Z", "2026-03-04T05:06:07Z"),
        ("2026-03-04T23:59:00Z", "2026-03-04T23:59:00Z"),  # a clock in another zone
        ("2013-04-15T19:00:00Z", "2013-04-15T19:00:00Z"),  # brought from elsewhere
        *(
            (value, "2026-03-04T05:06:09Z")
            for value in ("1970-01-01T00:00:00Z", None, "soon")
        ),
        *(
            (value, "2026-03-04T05:06:09Z")
            for value in ("2199-12-31T00:00:00Z", "0001-01-01")
        ),
        *(
            (value, "2026-03-04T05:06:09Z")
            for value in ("1984-05-05T00:00:00Z", "2027-01-01")
        ),
    ],
)
def test_an_impossible_date_is_that_of_the_arrival(tmp_path, make, created, expected):
    path = tmp_path / "p.jsonl"
    post, *_ = posts_of(path, [make("1", "look", created)])
    assert post.metadata["created_at"] == expected
    stream = open_posts(path)
    list(stream)
    assert not stream.counts.lost


def test_without_an_arrival_an_impossible_date_is_named(tmp_path):
    path = tmp_path / "p.jsonl"
    for count, dates in ((1, "1 date"), (2, "2 dates")):
        rows = [
            view(str(n), "look", "2199-01-01T00:00:00Z", None) for n in range(count)
        ]
        assert not any("created_at" in post.metadata for post in posts_of(path, rows))
        stream = open_posts(path)
        list(stream)
        said = f", {dates} left out because they cannot be right"
        assert said in str(stream.counts)


FIELD = "record.embed.external.title"


def test_a_field_of_the_user_keeps_what_the_platform_knows(tmp_path):
    rows = [view("1", "look", embed=CARD), view("2", "here", embed=CARD)]
    usual = posts_of(tmp_path / "p.jsonl", rows)
    chosen = posts_of(tmp_path / "p.jsonl", rows, text_field=FIELD)
    assert [post.text for post in chosen] == ["The weir at Tansy Mill gives way"] * 2
    assert [(post.id, post.metadata) for post in chosen] == [
        (post.id, post.metadata) for post in usual
    ]
    joined = posts_of(tmp_path / "p.jsonl", rows, text_field=["record.text", FIELD])
    assert joined[0].text == "look\nThe weir at Tansy Mill gives way"
    assert joined[0].metadata == {
        **usual[0].metadata,
        "@fields": [["record.text", 4], [FIELD, 32]],
    }
    numbered = posts_of(tmp_path / "p.jsonl", rows, id_field="cid")
    assert [(post.id, post.text) for post in numbered] == [("c", usual[0].text)]


def test_columns_of_a_tool_keep_their_dates_and_authors(tmp_path):
    header = "Post Created,Message,URL,Page Name,Description\n"
    row = "2026-03-04 05:06:07 EST,look,https://face.example/1,Tansy Gazette,The weir gives way\n"
    (tmp_path / "crowd.csv").write_text(header + row)
    usual, *_ = open_posts(tmp_path / "crowd.csv")
    chosen, *_ = open_posts(tmp_path / "crowd.csv", text_field="Description")
    assert (usual.text, chosen.text) == ("look", "The weir gives way")
    assert chosen.metadata == usual.metadata and chosen.id == usual.id
    assert chosen.metadata["created_at"] == "2026-03-04T10:06:07Z"


def test_html_of_the_chosen_field_is_taken_out(tmp_path):
    toot = {
        "id": "1",
        "content": "<p>look</p>",
        "account": {"acct": "a"},
        "visibility": "public",
        "created_at": "2026-03-04T05:06:07Z",
        "note": "<p>the weir<br>gives way</p>",
    }
    post, *_ = posts_of(tmp_path / "p.jsonl", [toot], text_field="note")
    assert post.text == "the weir\ngives way" and post.metadata["author"] == "a"


def test_the_card_is_found_by_the_command(tmp_path):
    rows = [view("1", "", embed=CARD), view("2", "my cat sleeps on the sofa")]
    posts_of(tmp_path / "p.jsonl", rows)
    (tmp_path / "seed.txt").write_text(
        "The weir at Tansy Mill gave way; hundreds left homes.\n"
    )
    for options in ((), ("--text-field", FIELD)):
        rank = ("rank", "--articles", "seed.txt", "--posts", "p.jsonl", *options)
        done = process(
            *rank, "--after", "2026-03-01", "--out", "list.jsonl", folder=tmp_path
        )
        assert not done.returncode, done.stderr
        first = json.loads((tmp_path / "list.jsonl").read_text().splitlines()[0])
        assert (
            first["post"].endswith("/1")
            and first["created_at"] == "2026-03-04T05:06:07Z"
        )
        assert first["score"] > 0.1
