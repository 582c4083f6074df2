"""Files that grow while they are read, and JSON lines through a pipe."""

import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from itertools import islice

import pytest

from siamese_news.data.readers.stream import PostStream
from siamese_news.errors import InputError
from siamese_news.search.query import FILTER
from siamese_news.search.watch import sources
from siamese_news.search.watch.sources import Folder, cut, standard_input

FIELDS = FILTER.reading()


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(sources, "TICK", 0.05)
    monkeypatch.setattr(sources, "_QUIET", 0.2)


def line(number, text="a flood"):
    return json.dumps({"id": f"p{number}", "text": f"{text} {number}"}) + "\n"


def drained(batches, looks=8):
    """The batches of some looks at a folder."""
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


def test_a_file_is_read_as_it_grows_and_each_post_comes_once(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(line(1) + line(2)[:9])
    batches = iter(Folder(tmp_path, {}, FIELDS))
    assert ids(drained(batches)) == ["p1"]
    with path.open("a") as stream:
        stream.write(line(2)[9:] + line(3))
    (tmp_path / "b.jsonl").write_text(line(4).rstrip())
    found = drained(batches)
    assert ids(found) == ["p2", "p3", "p4"]
    # A later run goes on at the cursor of any batch.
    with path.open("a") as stream:
        stream.write(line(5))
    assert ids(drained(iter(Folder(tmp_path, found[0].cursor, FIELDS))))[-2:] == ["p5", "p4"]
    assert ids(drained(iter(Folder(tmp_path, found[-1].cursor, FIELDS)))) == ["p5"]


def test_a_file_that_is_packed_is_read_once_it_is_whole(tmp_path):
    data = gzip.compress("".join(map(line, range(50))).encode())
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(data[:-20])
    past = time.time() - 60
    os.utime(path, (past, past))
    batches = iter(Folder(tmp_path, {}, FIELDS))
    found = drained(batches)
    assert ids(found) == []
    assert [event.name for batch in found for event in batch.events] == ["incomplete"]
    path.write_bytes(data)
    os.utime(path, (past, past))
    assert ids(drained(batches)) == [f"p{n}" for n in range(50)]


def test_a_file_that_was_changed_is_said_and_read_anew(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(line(1) + line(2))
    batches = iter(Folder(tmp_path, {}, FIELDS))
    assert ids(drained(batches)) == ["p1", "p2"]
    path.write_text(line(7) + line(8) + line(9))
    found = drained(batches)
    assert ids(found) == ["p7", "p8", "p9"]
    assert [event.name for batch in found for event in batch.events] == ["replaced"]


def test_rows_that_are_no_posts_are_kept_with_their_lines(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(line(1).encode() + b'{"id": 2\n' + line(3).encode())
    (tmp_path / "b.txt").write_text("not posts")
    found = drained(iter(Folder(tmp_path, {}, FIELDS)))
    assert ids(found) == ["p1", "p3"]
    assert [bad.line for batch in found for bad in batch.rejections] == [2]


def piped(monkeypatch, data, cursor):
    with tempfile.TemporaryFile() as stream:
        stream.write(data)
        stream.seek(0)
        monkeypatch.setattr(sys, "stdin", stream)
        return list(standard_input(cursor, FIELDS))


@pytest.mark.parametrize(("ending", "magic"), [(".gz", b"\x1f\x8b"), (".zst", b"\x28\xb5\x2f\xfd")])
def test_a_damaged_file_does_not_end_the_watch(tmp_path, ending, magic):
    (tmp_path / f"a.jsonl{ending}").write_bytes(magic + b"neither gzip nor zstd")
    (tmp_path / "b.jsonl").write_text(line(1))
    time.sleep(0.3)
    found = drained(iter(Folder(tmp_path, {}, FIELDS)))
    assert ids(found) == ["p1"]
    (event,) = [event for batch in found for event in batch.events]
    assert event.name == {".gz": "incomplete", ".zst": "unreadable"}[ending]
    assert event.message.count("a.jsonl") == 1
    stream = PostStream(tmp_path)  # other commands leave it out as well
    assert [post.id for post in stream] == ["p1"]
    assert stream.counts.unreadable + stream.counts.rejected == 1


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
    with pytest.raises(InputError, match="begins like the stream of the earlier run, but differs"):
        piped(monkeypatch, pack(whole.replace(b"a flood 90", b"a fire 90x")), cursor)


@pytest.mark.parametrize("data", [b"id,text\n1,a flood\n", b"<html></html>\n", b"\xff\xfe{\0"])
def test_other_streams_are_refused(monkeypatch, data):
    with pytest.raises(InputError, match="standard input"):
        piped(monkeypatch, data, {})


def test_a_pipe_that_never_sends_ends_when_it_was_idle(tmp_path):
    (tmp_path / "seed.txt").write_text("A river floods a town\n\nCellars are full of water.\n")
    command = [
        sys.executable,
        "-m",
        "siamese_news",
        "watch",
        "--articles",
        "seed.txt",
        "--source",
        "stdin",
        "--threshold",
        "0.1",
        "--out",
        "found.jsonl",
        "--idle",
        "2",
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
    assert row["post"] == "p1" and row["state"].startswith("1-")
    assert json.loads((tmp_path / "found.jsonl.metrics.json").read_text())["counts"]["read"] == 2


def test_a_folder_that_is_taken_away_is_waited_for(tmp_path):
    folder = tmp_path / "dumps"
    folder.mkdir()
    batches = iter(Folder(folder, {}, FIELDS))
    assert ids(drained(batches, 1)) == []
    folder.rmdir()
    events = [event.name for batch in islice(batches, 3) for event in batch.events]
    assert events == ["missing"]
    folder.mkdir()
    (folder / "a.jsonl").write_text(line(1))
    assert ids(drained(batches, 2)) == ["p1"]


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (line(1).rstrip().encode(), None),
        (b"\xef\xbb\xbf" + line(1).rstrip().encode(), None),
        ('{"id": "p1", "text": "a flood in a café"}'.encode("cp1252"), "cp1252"),
    ],
)
def test_a_lone_line_without_an_end_is_read(tmp_path, data, encoding):
    (tmp_path / "a.jsonl").write_bytes(data)
    fields = {**FIELDS, "encoding": encoding}
    found = drained(iter(Folder(tmp_path, {}, fields)))
    assert ids(found) == ["p1"]
    assert not any("\ufffd" in post.text for batch in found for post in batch.posts)


def test_a_torn_line_is_reported_and_read_once_its_rest_is_there(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(line(1) + line(2)[:12])
    batches = iter(Folder(tmp_path, {}, FIELDS))
    found = drained(batches)
    assert ids(found) == ["p1"]
    assert [event.name for batch in found for event in batch.events] == ["unfinished"]
    path.write_text(line(1) + line(2).rstrip())
    found = drained(batches)
    assert ids(found) == ["p2"]
    assert not [bad for batch in found for bad in batch.rejections]


def test_a_line_without_an_end_is_read_from_a_quiet_pipe(monkeypatch):
    reader, writer = os.pipe()
    os.write(writer, line(1).encode() + line(2).rstrip().encode())
    with open(reader) as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        batches = standard_input({}, FIELDS)
        assert ids(drained(batches, 2)) == ["p1", "p2"]
        os.write(writer, ("\n" + line(3) + line(4)[:9]).encode())
        found = drained(batches, 2)
        assert ids(found) == ["p3"]
        os.write(writer, line(4)[9:].encode() + b"[]\n")
        os.close(writer)
        found = list(batches)
        assert ids(found) == ["p4"]
        assert [bad.line for batch in found for bad in batch.rejections] == [5]
