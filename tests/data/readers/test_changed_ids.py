"""Ids and links that a spreadsheet or a data frame changed: read as what they were, or named."""

import json

import pandas as pd
import pytest

from siamese_news.data.readers import open_posts
from siamese_news.data.readers.values import LOST, put, whole_number
from siamese_news.errors import InputError

from ...commands import siamese_news as process

ROUNDED = [
    *(
        "1.859E+18",
        "1,859E+18",
        "1.859e18",
        "1.859E18",
        "2e+18",
        "1.85903e+18",
        "1.859 E+18",
    ),
    *(
        "1.859 x 10^18",
        "1,859×10^18",
        "1859000000000000000.0",
        "1859000000000000000,00",
        1.859e18,
    ),
]


@pytest.mark.parametrize("name", ["reply_to", "thread", "quotes", "retweet_of"])
@pytest.mark.parametrize("value", ROUNDED)
def test_a_rounded_link_is_lost_in_any_spelling(name, value):
    metadata = {}
    put(metadata, name, value)
    assert metadata == {LOST: [name]}


@pytest.mark.parametrize(
    ("value", "link"),
    [
        *(
            (text, text)
            for text in ("1859031234567890123", "at://did:a/1", "12e45678", "x1.5e+3")
        ),
        *((value, "17") for value in ("17", 17, "17.0", 17.0, "17,0")),
        *(
            (value, None)
            for value in ("", None, "nan", "NaN", "None", "null", "<NA>", float("nan"))
        ),
    ],
)
def test_other_links_are_what_they_were(value, link):
    metadata = {}
    put(metadata, "thread", value)
    assert metadata == ({} if link is None else {"thread": link})


def written(path, frame):
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".tsv":
        frame.to_csv(path, index=False, sep="\t")
    elif path.suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_parquet(path, index=False)
    return path


KINDS = ("csv", "tsv", "jsonl", "parquet")


@pytest.mark.parametrize("kind", KINDS)
def test_strangers_are_not_joined_by_a_rounded_conversation(tmp_path, kind):
    frame = pd.DataFrame(
        {
            "id": ["a1", "a2", "a3", "a4"],
            "text": ["the weir breaks", "coffee first", "the weir at dawn", "sleep"],
            "conversation_id": [1.859e18, 1.859e18, 1.86e18, 12.0],
        }
    )
    stream = open_posts(written(tmp_path / f"posts.{kind}", frame))
    assert [post.metadata.get("thread") for post in stream] == [None, None, None, "12"]
    assert stream.counts.lost == {"thread": 3}
    assert "3 links to conversations (thread) left out" in str(stream.counts)


def test_links_that_a_spreadsheet_wrote_out_in_zeros_are_named(tmp_path):
    rows = [f"{n},weir {n},185903123456{n}000000\n" for n in range(100, 110)]
    (tmp_path / "posts.csv").write_text(
        "id,text,in_reply_to_status_id\n" + "".join(rows)
    )
    stream = open_posts(tmp_path / "posts.csv")
    assert not any(post.metadata for post in stream)
    assert "'in_reply_to_status_id' is not used" in stream.detected[0].remarks[0]
    (tmp_path / "seed.txt").write_text("The weir breaks.\n")
    rank = ("rank", "--articles", "seed.txt", "--posts", "posts.csv")
    assert (
        "'in_reply_to_status_id' is not used" in process(*rank, folder=tmp_path).stderr
    )


@pytest.mark.parametrize("kind", KINDS)
def test_whole_numbers_of_a_data_frame_are_ids(tmp_path, kind):
    frame = pd.DataFrame(
        {"id": [17.0, 18.0, 2.0**52], "text": ["a weir", "a cat", "a mill"]}
    )
    path = written(tmp_path / f"posts.{kind}", frame)
    if kind == "jsonl":
        rows = [
            {"id": 17.0, "text": "a weir"},
            {"id": 18.0, "text": "a"},
            {"id": 4e15, "text": "b"},
        ]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    stream = open_posts(path)
    assert [post.id for post in stream][:2] == ["17", "18"]
    assert "17.0 is the id 17" in stream.detected[0].remarks[0]
    assert stream.counts.read == 3


def test_next_to_other_fractions_such_a_number_is_not_read_as_an_id(tmp_path):
    (tmp_path / "posts.csv").write_text("id,text\n1.0,a weir\n1.1,a cat\n1.2,a mill\n")
    stream = open_posts(tmp_path / "posts.csv")
    assert [post.id for post in stream] == ["1.1", "1.2"]
    assert stream.counts.reasons == {"id lost digits": 1}


def test_fractions_without_all_their_digits_are_refused(tmp_path):
    (tmp_path / "posts.csv").write_text(
        "id,text\n1859031234567890200.0,a weir\n18.0,a cat\n"
    )
    with pytest.raises(InputError, match="rounded number"):
        list(open_posts(tmp_path / "posts.csv", strict=True))
    assert whole_number(str(2**53 - 1) + ".0") == str(2**53 - 1)
    assert whole_number(str(2**53) + ".0") is None


def test_a_chat_is_no_conversation(tmp_path):
    """In 4CAT's tables of Telegram messages `thread_id` repeats the chat."""
    rows = [
        "1,mills,mills,the weir breaks,10",
        "2,mills,mills,coffee,11",
        "3,dogs,dogs,woof,12",
    ]
    header = "id,thread_id,chat,body,unix_timestamp\n"
    (tmp_path / "chat.csv").write_text(header + "\n".join(rows) + "\n")
    stream = open_posts(tmp_path / "chat.csv")
    assert [post.metadata.get("thread") for post in stream] == [None] * 3
    assert {post.metadata["channel"] for post in open_posts(tmp_path / "chat.csv")} == {
        "mills",
        "dogs",
    }
    assert (
        "'thread_id' is not used as the conversation" in stream.detected[0].remarks[0]
    )
    rows[2] = "3,1,dogs,woof,12"  # a thread of its own, as on an image board
    (tmp_path / "board.csv").write_text(header + "\n".join(rows) + "\n")
    assert [
        post.metadata.get("thread") for post in open_posts(tmp_path / "board.csv")
    ] == [
        None,
        None,
        "1",
    ]
