"""The threads of exports of four platforms, as the commands bring them into a report."""

import json

import pytest
from tests.commands import siamese_news

pytestmark = pytest.mark.slow
STORY = (
    "Harlow bridge collapses in flood\nThe old bridge over the river Harlow collapsed on Friday "
    "after days of flood water. Engineers had warned that the bridge could collapse.\n"
)
# Key, what it answers, text: two found posts, what lies between them, and replies.
TALK = (
    (
        "1",
        None,
        "The old bridge over the Harlow collapsed after the flood this morning",
    ),
    ("2", "1", "so true"),
    (
        "3",
        "2",
        "I crossed that bridge over the Harlow an hour before it collapsed in the flood",
    ),
    ("4", "3", "glad you are safe"),
    ("5", "1", "and nobody says a word"),
    ("6", None, "My cat has learned to open doors"),
    ("7", "6", "mine too"),
    *((str(n), None, f"Recipe {n} with beans and rice") for n in range(8, 108)),
)


def bluesky(key, parent, text):
    def uri(key):
        return f"at://did:plc:a/app.bsky.feed.post/{key}"

    reply = (
        {"parent": {"uri": uri(parent)}, "root": {"uri": uri(1)}} if parent else None
    )
    record = {"text": text, "createdAt": f"2024-03-01T10:{int(key) % 60:02}:00Z"}
    commit = {
        "operation": "create",
        "collection": "app.bsky.feed.post",
        "rkey": key,
        "record": record | ({"reply": reply} if reply else {}),
    }
    return {"did": "did:plc:a", "time_us": 1, "kind": "commit", "commit": commit}


def mastodon(key, parent, text):
    return {
        "id": key,
        "content": f"<p>{text}</p>",
        "in_reply_to_id": parent,
        "visibility": "public",
        "account": {"acct": "ann"},
        "created_at": f"2024-03-01T10:{int(key) % 60:02}:00Z",
    }


def reddit(key, parent, text):
    own = {"id": key, "subreddit": "town", "created_utc": 1_700_000_000 + int(key)}
    if parent is None:
        return own | {"title": text, "selftext": "", "is_self": True}
    above = f"t3_{parent}" if parent in ("1", "6") else f"t1_{parent}"
    return own | {
        "body": text,
        "parent_id": above,
        "link_id": "t3_6" if key == "7" else "t3_1",
    }


def telegram(key, parent, text):
    reply = {"reply_to_message_id": int(parent)} if parent else {}
    own = {
        "id": int(key),
        "type": "message",
        "date_unixtime": str(1_700_000_000 + int(key)),
    }
    return own | {"date": "2023-11-14T22:13:20", "text": text} | reply


@pytest.mark.parametrize("platform", [bluesky, mastodon, reddit, telegram])
@pytest.mark.parametrize("width", [1280, 380])
def test_a_thread_is_one_entry_that_opens(tmp_path, visit, platform, width):
    records = [platform(*post) for post in TALK]
    dump = tmp_path / ("result.json" if platform is telegram else "dump.jsonl")
    if platform is telegram:
        dump.write_text(
            json.dumps({"name": "Town", "type": "x", "id": 7, "messages": records})
        )
    else:
        dump.write_text("".join(json.dumps(record) + "\n" for record in records))
    (tmp_path / "story.txt").write_text(STORY)
    found, threads, page = (
        tmp_path / n for n in ("found.jsonl", "threads.jsonl", "page.html")
    )
    for arguments in (
        (
            "rank",
            "--articles",
            tmp_path / "story.txt",
            "--posts",
            dump,
            "--top",
            2,
            "--out",
            found,
        ),
        ("threads", "--results", found, "--posts", dump, "--out", threads),
        ("report", "--results", threads, "--out", page),
    ):
        run = siamese_news(*arguments)
        assert run.returncode == 0, run.stderr
    shown = visit(page, viewport={"width": width, "height": 900})
    assert shown.locator(".cluster").count() == 1
    assert not shown.locator(".thread li").first.is_visible()
    shown.locator(".thread summary").click()
    lines = shown.locator(".thread > ol > li").all()
    assert all(line.is_visible() for line in lines)
    said = [line.inner_text() for line in lines]
    order = [
        number for text in said for number, post in enumerate(TALK) if post[2] in text
    ]
    above = said.index("the post above")
    order.insert(above, {0: 0, 2: 2}[above])
    assert order == [0, 1, 2, 3, 4]
    assert [line.get_attribute("class").split()[0] for line in lines] == [
        "depth-0",
        "depth-1",
        "depth-2",
        "depth-3",
        "depth-1",
    ]
    assert shown.evaluate("document.documentElement.scrollWidth") <= width
    assert shown.complaints == [] and shown.asked == [page.as_uri()]
