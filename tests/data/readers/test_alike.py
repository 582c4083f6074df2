"""Files of one record share the look at their format, and are read as each is alone."""

import json
from itertools import permutations

import pytest

from siamese_news.data.readers import alike, open_posts
from siamese_news.errors import InputError

PLAIN = {"id": "7", "text": "a flood", "date": "2026-03-02", "thread_id": None}
VARIANTS = {
    "HTML": {"text": "<p>a &amp; flood</p>"},
    "HTML in escapes": {"text": "two<br>lines"},
    "a day above 12": {"date": "13/02/2026"},
    "a month above 12": {"date": "02/13/2026"},
    "an id of rtweet": {"id": "x1234567"},
    "a fraction of a data frame": {"id": "17.0"},
    "a reply": {"reply_to": "3"},
    "replies": {"replies": [{"id": "8", "text": "b"}, {"id": "9", "text": "c"}]},
    "the chat as a thread": {"thread_id": "1", "channel": "1"},
    "another thread": {"thread_id": "2", "channel": "1"},
    "a number as an id": {"id": 7},
    "an old date": {"date": "1970-01-01"},
}


def outcome(path):
    try:
        stream = open_posts([path])
        posts = [(post.id, post.text, dict(post.metadata)) for post in stream]
    except InputError as error:
        return str(error)
    return posts, stream.detected[0].format, str(stream.counts)


def in_folder(folder):
    stream = open_posts([folder])
    found = {detected.source: [] for detected in stream.detected}
    for detected, source in zip(stream.detected, stream._inputs, strict=True):
        rows = stream._rows(source, detected, None)
        convert = detected.converter()
        for _, record, _ in rows:
            post = convert(record)
            for each in post if isinstance(post, list) else [post]:
                found[detected.source].append((each.id, each.text))
    return found, stream


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("turned", [False, True])
def test_a_file_is_read_as_it_is_alone(tmp_path, name, turned):
    rows = [PLAIN, {**PLAIN, **VARIANTS[name]}, {**PLAIN, "text": "an end"}]
    for number, row in enumerate(rows[::-1] if turned else rows):
        (tmp_path / f"{number}.json").write_text(
            json.dumps(row, indent=number % 2 or None)
        )
    found, _ = in_folder(tmp_path)
    for path in sorted(tmp_path.iterdir()):
        alone = outcome(path)
        assert [post[:2] for post in alone[0]] == found[str(path)]


def test_formats_that_a_value_tells_are_told_apart(tmp_path):
    comment = {
        "kind": "youtube#comment",
        "id": "Ugc",
        "snippet": {"textOriginal": "a comment", "title": "x"},
    }
    video = {**comment, "kind": "youtube#video"}
    other = {**comment, "kind": "something else"}
    for order in permutations((comment, video)):
        for number, row in enumerate(order):
            (tmp_path / f"{number}.json").write_text(json.dumps(row))
        texts = {text for posts in in_folder(tmp_path)[0].values() for _, text in posts}
        assert texts == {"a comment", "x"}
    (tmp_path / "2.json").write_text(json.dumps(other))
    stream = open_posts([tmp_path])
    assert len(stream.unreadable) == 1  # no format has that kind


def test_a_form_is_looked_at_once(tmp_path, monkeypatch):
    looks = []
    detect = alike.detect
    monkeypatch.setattr(
        alike, "detect", lambda *arguments: looks.append(1) or detect(*arguments)
    )
    for number in range(20):
        row = {**PLAIN, "id": f"{number}", "text": f"post {number}"}
        (tmp_path / f"{number:02}.json").write_text(json.dumps(row))
    posts = list(open_posts([tmp_path]))
    assert [post.text for post in posts] == [f"post {n}" for n in range(20)]
    assert len(looks) == 1
