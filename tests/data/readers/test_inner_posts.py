"""Posts inside the records of a JSON that is of no known format."""

import csv
import json

import pytest

from siamese_news.data.readers import open_posts
from siamese_news.errors import InputError

ROWS = [
    {
        "post_id": f"q{n}",
        "body": f"question {n}",
        "tags": [{"tag": "flood"}],
        "answers": {
            "items": [
                {
                    "answer_id": f"a{n}",
                    "id": f"a{n}",
                    "answer_text": f"answer {n}",
                    "answers": {"items": [{"id": f"b{n}", "answer_text": "and more"}]},
                }
            ]
        },
    }
    for n in range(3)
]


@pytest.mark.parametrize("lines", [True, False])
def test_answers_and_their_answers_are_posts(tmp_path, lines):
    path = tmp_path / ("dump.jsonl" if lines else "dump.json")
    path.write_text("\n".join(map(json.dumps, ROWS)) if lines else json.dumps(ROWS))
    stream = open_posts([path])
    posts = {post.id: post for post in stream}
    assert [posts[id].text for id in ("q1", "a1", "b1")] == [
        "question 1",
        "answer 1",
        "and more",
    ]
    assert posts["b1"].metadata["reply_to"] == "a1"
    assert posts["a1"].metadata["reply_to"] == "q1"
    assert len(posts) == 9
    (remark,) = stream.detected[0].remarks
    assert "'tags'" in remark and "has no text or no id" in remark


def test_a_bad_record_does_not_cost_those_inside(tmp_path):
    rows = [*ROWS[:2], {**ROWS[2], "body": 5}]
    path = tmp_path / "dump.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    stream = open_posts([path])
    assert {"a2", "b2"} <= {post.id for post in stream}
    assert stream.counts.reasons == {"no text": 1}


REPLY = {"id": "r1", "text": "so it is", "reply_to": "7"}


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
@pytest.mark.parametrize(
    "replies",
    [
        json.dumps([REPLY]),
        str([REPLY]),
        [json.dumps(REPLY)],
        {"r1": REPLY, "r2": {"id": "r2", "text": "no"}},
    ],
    ids=["json", "python", "list", "by id"],
)
def test_posts_that_are_written_as_a_text_or_by_their_ids(tmp_path, replies, kind):
    rows = [{"id": "7", "text": "rain", "replies": replies}]
    rows += [{"id": "8", "text": "{sun", "replies": None}]
    path = tmp_path / f"dump.{kind}"
    if kind == "csv":
        rows[0]["replies"] = (
            replies if isinstance(replies, str) else json.dumps(replies)
        )
        with path.open("w") as stream:
            writer = csv.DictWriter(stream, rows[0])
            writer.writeheader()
            writer.writerows(rows)
    else:
        path.write_text("\n".join(map(json.dumps, rows)))
    posts = {post.id: post for post in open_posts([path])}
    assert posts["r1"].text == "so it is"
    assert posts["r1"].metadata["reply_to"] == "7"
    assert len(posts) == 3 + isinstance(replies, dict)


@pytest.mark.parametrize(
    "replies",
    [["this is far too much", "is it?"], [[REPLY]], [{"text": "no id at all"}]],
)
def test_replies_that_are_not_read_are_named(tmp_path, replies):
    row = {
        "id": "7",
        "text": "rain",
        "tags": ["flood", "Harlow Bridge"],
        "replies": replies,
    }
    (tmp_path / "dump.jsonl").write_text(json.dumps(row))
    stream = open_posts([tmp_path / "dump.jsonl"])
    (remark,) = stream.detected[0].remarks
    assert "not read: what is in 'replies'" in remark and len(list(stream)) == 1


@pytest.mark.parametrize(
    ("late", "reads"),
    [([REPLY], True), (json.dumps([REPLY]), True), (["this is not read here"], False)],
)
def test_replies_that_the_first_rows_lack_are_read_or_named(tmp_path, late, reads):
    rows = [{"id": f"p{n}", "text": "rain", "replies": []} for n in range(150)]
    rows[120]["replies"] = rows[140]["replies"] = late
    rows[140]["replies"] = str(late).replace("r1", "r2")
    (tmp_path / "dump.jsonl").write_text("\n".join(map(json.dumps, rows)))
    stream = open_posts([tmp_path / "dump.jsonl"])
    posts = {post.id for post in stream}
    assert ({"r1", "r2"} <= posts) == reads and len(posts) == 150 + 2 * reads
    assert stream.counts.reasons == ({} if reads else {"not read inside a post": 1})


def test_deep_nesting_is_a_bad_row(tmp_path):
    deep = "[]"
    for n in range(400):
        deep = f'[{{"id": "d{n}", "text": "x", "replies": {deep}}}]'
    path = tmp_path / "dump.jsonl"
    path.write_text(
        '{"id": "1", "text": "a", "replies": [{"id": "2", "text": "b"}]}\n'
        f'{{"id": "3", "text": "c", "replies": {deep}}}\n'
    )
    stream = open_posts([path])
    assert {"1", "2"} <= {post.id for post in stream}


def test_lists_inside_lists_of_other_names_are_posts_too(tmp_path):
    comment = {
        "comment_id": "2",
        "comment_text": "so it is",
        "replies": [{"reply_id": "3", "reply_text": "indeed"}],
    }
    path = tmp_path / "dump.json"
    path.write_text(
        json.dumps([{"post_id": "1", "text": "rain", "comments_full": [comment]}])
    )
    posts = {post.id: post for post in open_posts([path])}
    assert list(posts) == ["1", "2", "3"]
    assert posts["3"].metadata["reply_to"] == "2"


def test_questions_with_answers_and_comments(tmp_path):
    answer = {"answer_id": 6, "question_id": 5, "body": "no", "comments": []}
    answer["comments"].append({"comment_id": 7, "body": "why"})
    question = {"question_id": 5, "title": "T", "body": "a flood?", "answers": [answer]}
    path = tmp_path / "questions.json"
    path.write_text(json.dumps({"items": [question], "has_more": False}))
    assert [post.id for post in open_posts([path])] == ["5", "6", "7"]


def test_the_list_around_the_posts_is_named_where_it_is_not_read(tmp_path):
    rows = [{"name": "x", "comments": [{"id": n, "text": "t"}]} for n in range(2)]
    path = tmp_path / "dump.json"
    path.write_text(json.dumps({"threads": rows}, indent=1))
    (detected,) = open_posts([path]).detected
    assert detected.format == "JSON (threads.item.comments; not read: threads)"


@pytest.mark.parametrize(
    ("document", "form"),
    [
        ({"topic": {"id": 9, "text": "t"}, "replies": [1]}, "replies; not read: topic"),
        ({"topic": {"id": 9, "text": "t", "replies": [1]}},
         "topic.replies; not read: topic"),
        ({"page": {"id": 9, "size": 2}, "replies": [1]}, "replies"),
    ],
)  # fmt: skip
def test_a_post_next_to_a_list_or_around_it_is_named(tmp_path, document, form):
    replies = [{"id": n, "text": f"reply {n}"} for n in range(3)]
    text = json.dumps(document).replace("[1]", json.dumps(replies))
    (tmp_path / "dump.json").write_text(text)
    stream = open_posts([tmp_path / "dump.json"])
    assert stream.detected[0].format == f"JSON ({form})" and len(list(stream)) == 3


@pytest.mark.parametrize("indent", [None, 1])
def test_a_document_that_is_nested_too_deeply_says_so(tmp_path, indent):
    reply = {"id": "x", "text": "x"}
    for n in range(320):
        reply = {"id": f"d{n}", "text": "x", "replies": [reply]}
    path = tmp_path / "dump.json"
    path.write_text(json.dumps([reply], indent=indent))
    with pytest.raises(InputError, match="dump.json: nested deeper than 500 levels"):
        open_posts([path])


def test_a_single_object_that_is_a_post_is_one(tmp_path):
    """Nothing is lost, though the object is in no list, and a bad one costs only itself."""
    rows = [
        {
            "id": f"n{n}",
            "body": f"seen {n}",
            "quote": {"post": {"uri": f"q{n}", "body": f"pump {n}" if n else 5}},
            "parent": {
                "id": f"p{n}",
                "body": "sluice",
                "parent": {"id": "r", "body": "root"},
            },
            "card": {"headline": "A weir gives way", "site": "courier.example"},
            "author": {"id": 4, "description": "a keeper of weirs"},
            "likes": {"count": 4, "top": {"id": "9"}},
        }
        for n in range(2)
    ]
    path = tmp_path / "dump.json"
    path.write_text(json.dumps(rows))
    stream = open_posts([path])
    posts = {post.id: post for post in stream}
    assert posts.keys() == {"n0", "n1", "q1", "p0", "p1", "r"}
    assert posts["q1"].text == "pump 1"
    # What a post shows or answers does not answer it.
    assert "reply_to" not in posts["q1"].metadata
    assert stream.counts.reasons == {"no text": 1, "duplicate id": 1}
    (remark,) = stream.detected[0].remarks
    assert "'card'" in remark and "author" not in remark and "likes" not in remark


def test_the_words_of_a_discord_embed_include_its_fields(tmp_path):
    message = {
        "id": "71",
        "type": "Default",
        "timestamp": "2026-03-02T08:00:00+00:00",
        "content": "bot",
        "author": {"name": "gauge"},
        "embeds": [
            {"title": "Tansy Mill", "fields": [{"name": "Level", "value": "4.2 m"}]},
            {"description": "rising", "fields": None},
        ],
    }
    path = tmp_path / "channel.json"
    path.write_text(json.dumps({"messages": [message]}))
    (post,) = open_posts([path])
    assert post.text.splitlines() == ["bot", "Tansy Mill", "Level", "4.2 m", "rising"]


@pytest.mark.parametrize(
    "header",
    [
        "ID публикации,Текст комментария,Дата и время",
        "Номер,Содержание,Дата создания",
        "メッセージID,メッセージ,日時",
        "评论ID,评论内容,发布时间",
    ],
)
def test_headers_of_other_scripts_are_known(tmp_path, header):
    path = tmp_path / "table.csv"
    path.write_text(f"{header}\nn1,the weir,2026-03-02 08:00\n")
    (post,) = open_posts([path])
    assert (post.id, post.text) == ("n1", "the weir")
    assert post.metadata["created_at"] == "2026-03-02T08:00:00Z"
