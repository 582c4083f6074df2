"""Posts inside the records of a JSON that is of no known format."""

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
    assert "'tags'" in remark and "no text or no id" in remark


def test_a_bad_record_does_not_cost_those_inside(tmp_path):
    rows = [*ROWS[:2], {**ROWS[2], "body": 5}]
    path = tmp_path / "dump.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    stream = open_posts([path])
    assert {"a2", "b2"} <= {post.id for post in stream}
    assert stream.counts.reasons == {"no text": 1}


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


@pytest.mark.parametrize("indent", [None, 1])
def test_a_document_that_is_nested_too_deeply_says_so(tmp_path, indent):
    reply = {"id": "x", "text": "x"}
    for n in range(320):
        reply = {"id": f"d{n}", "text": "x", "replies": [reply]}
    path = tmp_path / "dump.json"
    path.write_text(json.dumps([reply], indent=indent))
    with pytest.raises(InputError, match="dump.json: nested deeper than 500 levels"):
        open_posts([path])
