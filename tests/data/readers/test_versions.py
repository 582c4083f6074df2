"""Versions of a post that was edited: the last one is read, wherever it is."""

import gzip
import json

import pytest
import zstandard

from siamese_news.data.readers import open_posts
from siamese_news.data.readers.rows import Share


def note(id, text, edited=None):
    return {
        "id": id,
        "account": {"acct": "rosa"},
        "content": f"<p>{text}</p>",
        "created_at": "2026-03-02T08:00:00Z",
        "edited_at": edited,
        "uri": f"https://example.social/{id}",
    }


VERSIONS = [
    note("7", "the riber", "2026-03-02T08:05:00Z"),
    note("8", "tea"),
    note("7", "the river rises", "2026-03-02T09:30:00Z"),
    note("7", "the riber"),
    note("7", "the river rises", "2026-03-02T09:30:00Z"),
]


def written(path, rows):
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    path.write_bytes(
        gzip.compress(lines.encode()) if path.suffix == ".gz" else lines.encode()
    )
    return path


def texts(stream):
    return {post.id: post.text for post in stream}


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_the_last_edit_is_read_in_every_pass(tmp_path, name):
    stream = open_posts([written(tmp_path / name, VERSIONS)])
    for _ in range(2):
        assert texts(stream) == {"7": "the river rises", "8": "tea"}
        assert stream.counts.reasons == {"older version": 2, "duplicate id": 1}
    assert "2 older version" in str(stream.counts)


def test_the_last_edit_may_be_in_another_file_and_part(tmp_path):
    written(tmp_path / "a.jsonl", VERSIONS[:2])
    written(tmp_path / "b.jsonl", VERSIONS[2:])
    assert texts(open_posts([tmp_path]))["7"] == "the river rises"
    parts = [open_posts([tmp_path], share=Share(n, 2)) for n in range(2)]
    assert [post.text for part in parts for post in part].count("the river rises") == 1
    assert sum(part.counts.reasons.get("older version", 0) for part in parts) == 2


def test_a_table_with_a_column_of_edits(tmp_path):
    path = tmp_path / "posts.csv"
    path.write_text(
        "id,text,last_edited_at,edited_at\n"
        "1859438947518565999,old,,2026-03-02 10:00\n"
        "1859438947518565999,new,,2026-03-02 11:00\n"
    )
    assert texts(open_posts([path])) == {"1859438947518565999": "new"}


@pytest.mark.parametrize("edited_first", [False, True])
@pytest.mark.parametrize("updated", [{"updated": "2026-03-02T09:30:00Z"}, {}])
def test_an_update_of_an_outbox_is_a_version(tmp_path, updated, edited_first):
    object_of = {"id": "https://example.social/7", "content": "<p>the riber</p>"}
    wrote = {"id": "a", "type": "Create", "actor": "ann", "object": object_of}
    wrote["published"] = "2026-03-02T08:00:00Z"
    change = {**wrote, "id": "b", "type": "Update", "published": "2026-03-02T09:30:00Z"}
    change["object"] = {**object_of, "content": "<p>the river</p>", **updated}
    others = [
        {**change, "type": "Delete", "object": {"type": "Tombstone", "id": "t"}},
        {**change, "object": {"type": "Person", "id": "p", "name": "Ann"}},
        {**change, "type": "Announce", "object": "https://example.social/content"},
    ]
    rows = [change, wrote] if edited_first else [wrote, change]
    page = {"type": "OrderedCollection", "orderedItems": [*rows, *others]}
    stream = open_posts([written(tmp_path / "outbox.json", [page])])
    assert list(texts(stream).values()) == ["the river"]
    assert stream.counts.reasons == {"older version": 1}
    assert "3 records without a post skipped (reposts, likes, deletions" in str(
        stream.counts
    )


def test_numbers_of_chats_are_no_versions(tmp_path):
    path = tmp_path / "posts.csv"
    path.write_text(
        "id,text,channel,edited_at\n1,cats sleep,cats,\n1,dogs bark,dogs,2026-03-02 11:00\n"
    )
    assert sorted(texts(open_posts([path])).values()) == ["cats sleep", "dogs bark"]


MESSAGES = [
    {"id": 1, "type": "message", "date": "2026-03-02T08:00:00", "text": "the riber"},
    {"id": 2, "type": "message", "date": "2026-03-02T08:00:00", "text": "tea"},
]
EDITED = {**MESSAGES[0], "edited": "2026-03-02T09:05:00", "text": "the river"}


def chat(path, messages, indent):
    content = {"name": "c", "type": "public_channel", "id": 5, "messages": messages}
    path.write_text(json.dumps(content, indent=indent))
    return path


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("edited_first", [False, True])
def test_edited_messages_of_telegram_in_two_exports(tmp_path, indent, edited_first):
    both = [MESSAGES, [EDITED, MESSAGES[1]]]
    for name, messages in zip("ab", reversed(both) if edited_first else both, strict=1):
        chat(tmp_path / f"{name}.json", messages, indent)
    assert texts(open_posts([tmp_path])) == {"5/1": "the river", "5/2": "tea"}


@pytest.mark.parametrize("indent", [None, 1])
def test_an_edit_inside_one_export(tmp_path, indent):
    path = tmp_path / "posts.json"
    path.write_text(json.dumps(VERSIONS, indent=indent))
    assert texts(open_posts([path])) == {"7": "the river rises", "8": "tea"}
    path = chat(tmp_path / "result.json", [*MESSAGES, EDITED], indent)
    assert texts(open_posts([path])) == {"5/1": "the river", "5/2": "tea"}


@pytest.mark.parametrize(
    "name",
    ["edit_date", "updatedAt", "edited", "edited_timestamp", "updated", "lastModified"],
)
def test_the_time_of_the_edit_has_several_names(tmp_path, name):
    rows = [
        {"id": "1859438947518565999", "text": text, name: f"2026-03-02T{hour}:00:00Z"}
        for text, hour in (("old", "09"), ("new", "10"), ("older", "08"))
    ]
    stream = open_posts([written(tmp_path / "a.jsonl", rows)])
    assert texts(stream) == {"1859438947518565999": "new"}
    assert stream.counts.reasons == {"older version": 2}


@pytest.mark.parametrize("split", [False, True])
def test_short_ids_need_the_same_time_and_author(tmp_path, split):
    posted = {"created_at": "2026-03-02T08:00:00Z", "author": "rosa"}
    rows = [
        {"id": "1", "text": "the river", "edited_at": "2026-03-02T09:00:00Z", **posted},
        {"id": "2", "text": "tea", "edited_at": None, **posted},
        {"id": "1", "text": "the riber", "edited_at": None, **posted},
    ]
    written(tmp_path / "a.jsonl", rows[:2] if split else rows)
    if split:
        written(tmp_path / "b.jsonl", rows[2:])
    stream = open_posts(tmp_path)
    assert texts(stream) == {"1": "the river", "2": "tea"}
    assert stream.counts.reasons == {"older version": 1}
    # The first comment under another story is no version of it.
    rows[2]["created_at"] = "2026-03-05T08:00:00Z"
    written(tmp_path / "a.jsonl", rows[:2])
    written(tmp_path / "b.jsonl", rows[2:])
    assert texts(open_posts(tmp_path))["b.jsonl/1"] == "the riber"


@pytest.mark.parametrize("packed", [False, True])
def test_edits_of_reddit_are_numbers(tmp_path, packed):
    """Its packed dumps, which have each post once, are not read for them."""
    comment = {"id": "k3x9", "subreddit": "tansy", "created_utc": 1_790_000_000}
    rows = [
        {**comment, "body": body, "edited": edited}
        for body, edited in (
            ("old", False),
            ("new", 1_790_000_900.0),
            ("older", 1_790_000_100),
        )
    ]
    path = written(tmp_path / "c.jsonl", rows)
    if packed:
        data = zstandard.ZstdCompressor().compress(path.read_bytes())
        path = tmp_path / "c.zst"
        path.write_bytes(data)
    stream = open_posts([path])
    assert texts(stream) == {"t1_k3x9": "old" if packed else "new"}
    reasons = {"duplicate id": 2} if packed else {"older version": 2}
    assert stream.counts.reasons == reasons


def wall_post(text, edited=None):
    """A post of VK, whose ids count the posts of a wall."""
    row = {"id": 4, "owner_id": -9, "from_id": 12, "date": 1772438400, "text": text}
    return row if edited is None else {**row, "edited": edited}


def comment(text, edited):
    """A comment of YouTube's API, in which each has the time of its last change."""
    snippet = {"textOriginal": text, "publishedAt": "2026-03-02T08:00:00Z"}
    snippet["updatedAt"] = edited
    return {"kind": "youtube#comment", "id": "UgxKa", "snippet": snippet}


@pytest.mark.parametrize("edited_first", [False, True])
@pytest.mark.parametrize(
    "versions",
    [
        [wall_post("the riber"), wall_post("the river", 1772440000)],
        [
            comment("the riber", "2026-03-02T08:00:00Z"),
            comment("the river", "2026-03-02T08:20:00Z"),
        ],
    ],
    ids=["vk", "youtube"],
)
def test_edits_of_walls_and_videos(tmp_path, versions, edited_first):
    rows = versions[::-1] if edited_first else versions
    stream = open_posts([written(tmp_path / "a.jsonl", rows)])
    assert list(texts(stream).values()) == ["the river"]
    assert stream.counts.reasons == {"older version": 1}
