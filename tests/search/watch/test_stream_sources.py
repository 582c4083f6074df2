"""JSON lines through a pipe."""

import gzip
import json
import os
import subprocess
import sys
import tempfile

import pytest

from siamese_news.errors import InputError
from siamese_news.search.query import FILTER
from siamese_news.search.watch import stream_sources
from siamese_news.search.watch.stream_sources import cut, standard_input

FIELDS = FILTER.reading()


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(stream_sources, "TICK", 0.05)


def line(number, text="a flood"):
    return json.dumps({"id": f"p{number}", "text": f"{text} {number}"}) + "\n"


def drained(batches, looks=8):
    """The batches until so many were empty."""
    found, empty = [], 0
    while empty < looks:
        found.append(next(batches))
        empty += not found[-1].posts
    return found


def ids(found):
    return [post.id for batch in found for post in batch.posts]


def test_lines_are_cut_at_their_ends():
    assert cut(b"one\ntwo\nth") == (b"one\ntwo\n", b"th")
    assert cut(b"one") == (b"", b"one")


def piped(monkeypatch, data, cursor, fields=FIELDS):
    with tempfile.TemporaryFile() as stream:
        stream.write(data)
        stream.seek(0)
        monkeypatch.setattr(sys, "stdin", stream)
        return list(standard_input(cursor, fields))


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (line(1).rstrip().encode(), None),
        (b"\xef\xbb\xbf" + line(1).rstrip().encode(), None),
        ('{"id": "p1", "text": "a flood in a café"}'.encode("cp1252"), "cp1252"),
    ],
)
def test_a_lone_line_without_an_end_is_read(monkeypatch, data, encoding):
    found = piped(monkeypatch, data, {}, {**FIELDS, "encoding": encoding})
    assert ids(found) == ["p1"]
    assert not any("\ufffd" in post.text for batch in found for post in batch.posts)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_the_same_stream_is_skipped_as_far_as_it_was_read(monkeypatch, pack):
    rows = [line(n) for n in range(400)]
    whole = "".join(rows).encode()
    cursor = piped(monkeypatch, pack("".join(rows[:150]).encode()), {})[-1].cursor
    again = piped(monkeypatch, pack(whole), cursor)
    assert ids(again) == [f"p{n}" for n in range(150, 400)]
    assert [event.name for batch in again for event in batch.events] == ["skipped"]
    after = piped(monkeypatch, pack("".join(rows[150:]).encode()), cursor)
    assert ids(after) == [f"p{n}" for n in range(150, 400)]
    assert [event.name for batch in after for event in batch.events] == ["continued"]
    with pytest.raises(
        InputError, match="begins like the stream of the earlier run, but differs"
    ):
        piped(monkeypatch, pack(whole.replace(b"a flood 90", b"a fire 90x")), cursor)


@pytest.mark.parametrize(
    "data", [b"id,text\n1,a flood\n", b"<html></html>\n", b"\xff\xfe{\0"]
)
def test_other_streams_are_refused(monkeypatch, data):
    with pytest.raises(InputError, match="standard input"):
        piped(monkeypatch, data, {})


def test_a_pipe_that_never_sends_ends_when_it_was_idle(tmp_path):
    (tmp_path / "seed.txt").write_text(
        "A river floods a town\n\nCellars are full of water.\n"
    )
    command = [
        sys.executable,
        "-m",
        "siamese_news",
        "watch",
        "--articles",
        "seed.txt",
        "--source",
        "stdin",
        "--min-score",
        "0.1",
        "--out",
        "found.jsonl",
        "--idle",
        "1",
    ]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    process.stdin.write(line(1, "a river floods the town") + line(2, "dinner"))
    process.stdin.flush()
    code = process.wait(timeout=60)
    assert process.stderr is not None
    said = process.stderr.read()
    assert code == 0, said
    assert "found.jsonl: 1 of 2 posts" in said
    assert "by 0 posts" in said
    (row,) = map(json.loads, (tmp_path / "found.jsonl").open())
    assert row["post"] == "p1" and row["state"] == 1


def test_a_line_waits_for_its_end_in_a_quiet_pipe(monkeypatch):
    reader, writer = os.pipe()
    os.write(writer, line(1).encode() + line(2).rstrip().encode())
    with open(reader) as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        batches = standard_input({}, FIELDS)
        assert ids(drained(batches, 2)) == ["p1"]
        os.write(writer, ("\n" + line(3) + line(4)[:9]).encode())
        found = drained(batches, 2)
        assert ids(found) == ["p2", "p3"]
        os.write(writer, line(4)[9:].encode() + b"[]\n")
        os.close(writer)
        found = list(batches)
        assert ids(found) == ["p4"]
        assert [bad.line for batch in found for bad in batch.rejections] == [5]
