"""Files, folders, globs and pipes; bad rows; passes; progress."""

import gzip
import io
import json
import os
import sys
from pathlib import Path

import pytest
import zstandard

from siamese_news.data import lines
from siamese_news.data.readers import open_posts
from siamese_news.errors import InputError
from siamese_news.utils.files import unpack

GOOD = '{"id": "1", "text": "a post"}\n'


def line(number, text="t"):
    return json.dumps({"id": str(number), "text": text}) + "\n"


class Stdin:
    def __init__(self, data):
        self.buffer = io.BufferedReader(io.BytesIO(data))


def test_a_folder_is_read_by_name_and_only_its_data(write, tmp_path):
    write("d/b.jsonl.gz", line(2))
    write("d/a.jsonl", line(1))
    write("d/sub/c.csv", "id,text\n3,c\n")
    write("d/README.md", "no posts")
    write("d/.hidden.jsonl", line(9))
    write("d/out.rejected.jsonl", line(9))
    write("d/empty.jsonl", "")
    stream = open_posts([tmp_path / "d"])
    assert [post.id for post in stream] == ["1", "2", "3"]
    assert [os.path.basename(d.source) for d in stream.detected] == [
        "a.jsonl",
        "b.jsonl.gz",
        "empty.jsonl",
        "c.csv",
    ]


def test_a_glob_and_a_file_in_it_give_every_file_once(write, tmp_path):
    for number in (3, 1, 2):
        write(f"p{number}.jsonl", line(number))
    stream = open_posts([tmp_path / "p2.jsonl", str(tmp_path / "p*.jsonl")])
    assert [post.id for post in stream] == ["2", "1", "3"]
    assert stream.counts.rejected == 0


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("no.jsonl", "no such file"),
        ("no*.jsonl", "no file matches"),
        ("folder", "holds no file that ends in"),
    ],
)
def test_what_is_not_there_is_named(tmp_path, source, message):
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=message):
        open_posts([str(tmp_path / source)])
    with pytest.raises(InputError, match="no posts came"):
        open_posts([])


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
def test_standard_input_is_looked_at_and_still_read_whole(monkeypatch, pack):
    data = "".join(line(n) for n in range(5000)).encode()
    monkeypatch.setattr(sys, "stdin", Stdin(pack(data)))
    stream = open_posts(["-"])
    assert stream.detected[0].format == "JSON lines"
    assert stream.total_bytes is None
    assert [post.id for post in stream] == [str(n) for n in range(5000)]
    with pytest.raises(InputError, match="standard input: can be read only once"):
        list(stream)


def test_standard_input_twice_where_it_was_asked_for(monkeypatch):
    data = "id;text\n" + "".join(f"{n};post {n}\n" for n in range(20_000))
    monkeypatch.setattr(sys, "stdin", Stdin(data.encode()))
    stream = open_posts(["-"])
    stream.spool()
    assert stream.total_bytes == len(data)
    assert list(stream) == list(stream)
    assert stream.counts.read == 20_000


def test_a_named_pipe_is_read(write, tmp_path):
    import threading

    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text(line(1) + line(2)))
    writer.start()
    assert [post.id for post in open_posts([pipe])] == ["1", "2"]
    writer.join()


def test_a_second_pass_is_the_same_and_counts_anew(read):
    stream, posts = read("p.jsonl", line(1) + "bad\n" + line(2))
    assert list(stream) == posts
    assert (stream.counts.read, stream.counts.rejected) == (2, 1)


@pytest.mark.parametrize("name", ["p.jsonl", "p.jsonl.gz", "p.jsonl.zst", "p.csv"])
def test_progress_ends_at_the_size_on_disk(write, name):
    rows = "".join(line(n, os.urandom(20).hex()) for n in range(30_000))
    if name == "p.csv":
        rows = "id,text\n" + "".join(
            f"{n},{os.urandom(20).hex()}\n" for n in range(30_000)
        )
    path = write(name, rows)
    stream = open_posts([path, write("z.jsonl", line("z"))])
    steps = [stream.bytes_read for _ in stream]
    assert stream.total_bytes == path.stat().st_size + len(line("z"))
    assert steps == sorted(steps)
    assert 0 < steps[0] < steps[20_000] <= path.stat().st_size
    assert stream.bytes_read == stream.total_bytes


BAD = [
    ("not JSON", "{not json}"),
    ("not JSON", '{"id": "2", "text": "x"'),
    ("not an object", '["a"]'),
    ("no id", '{"text": "x"}'),
    ("no id", '{"id": null, "text": "x"}'),
    ("no id", '{"id": [1], "text": "x"}'),
    ("id lost digits", '{"id": 1.5, "text": "x"}'),
    ("id lost digits", '{"id": "1.05012E+18", "text": "x"}'),
    ("id lost digits", '{"id": "1050118621198921728.0", "text": "x"}'),
    ("unusable id", '{"id": "a b", "text": "x"}'),
    ("unusable id", '{"id": "", "text": "x"}'),
    ("unusable id", '{"id": "a\\ud800", "text": "x"}'),
    ("no text", '{"id": "2"}'),
    ("no text", '{"id": "2", "text": 5}'),
    ("no text", '{"id": "2", "text": NaN}'),
    ("bad metadata", '{"id": "2", "text": "", "metadata": 3}'),
    ("nested too deeply", "[" * 100_000 + "]" * 100_000),
    (
        "nested too deeply",
        '{"id": "2", "text": "", "metadata": ' + '{"a":' * 900 + "1" + "}" * 901,
    ),
    ("duplicate id", '{"id": "1", "text": "a post"}'),
    ("duplicate id", '{"id": 1, "text": "a post"}'),
]


@pytest.mark.parametrize(("reason", "row"), BAD)
def test_a_bad_row_is_counted_and_kept_and_stops_nothing(write, tmp_path, reason, row):
    path = write("p.jsonl", GOOD + row + "\n" + line(3))
    kept = tmp_path / "out.rejected.jsonl"
    stream = open_posts([path], rejected=kept)
    assert [post.id for post in stream] == ["1", "3"]
    assert stream.counts.reasons == {reason: 1}
    (record,) = map(json.loads, kept.read_text().splitlines())
    assert (record["source"], record["line"], record["reason"]) == (
        str(path),
        2,
        reason,
    )
    if reason != "duplicate id":
        assert record["row"] == row[:1000]


@pytest.mark.parametrize("row", [row for _, row in BAD])
def test_strict_names_file_and_line(write, row):
    path = write("p.jsonl", GOOD + row + "\n" + line(3))
    with pytest.raises(InputError) as caught:
        list(open_posts([path], strict=True))
    assert str(caught.value).startswith(f"{path}:2: ")


def test_strict_names_the_first_bad_row_whatever_its_kind(write):
    path = write("p.jsonl", GOOD + GOOD + "bad\n")
    with pytest.raises(InputError, match=r"p\.jsonl:2: .*already used"):
        list(open_posts([path], strict=True))


def test_bytes_that_are_not_utf8_cost_one_row(read):
    stream, posts = read(
        "p.jsonl", GOOD.encode() + b'{"id": "2", "text": "\xe9"}\n' + b"\xff\n"
    )
    assert [post.id for post in posts] == ["1"]
    assert stream.counts.reasons == {"not UTF-8": 2}


def test_nothing_usable_is_an_error_with_the_first_line(write, tmp_path):
    path = write("p.jsonl", "\n{bad\n[1]\n")
    kept = tmp_path / "r.rejected.jsonl"
    with pytest.raises(InputError, match=r"p\.jsonl:2: not JSON.*2 rows rejected"):
        list(open_posts([path], rejected=kept))
    assert not kept.exists()
    with pytest.raises(InputError, match="the file is empty"):
        open_posts([write("e.jsonl.gz", "")])
    likes = [{"did": "d", "time_us": 1, "kind": "identity"}]
    with pytest.raises(
        InputError, match=r"no post in the file; .*1 record without a post"
    ):
        list(open_posts([write("l.jsonl", likes)]))


def test_the_rejected_file_is_whole_or_as_it_was(write, tmp_path):
    kept = tmp_path / "r.rejected.jsonl"
    kept.write_text("from the last run\n")
    path = write("p.jsonl", "".join(line(n) + "bad\n" for n in range(9000)))
    passing = iter(open_posts([path], rejected=kept))
    next(passing)
    passing.close()
    assert kept.read_text() == "from the last run\n"
    list(open_posts([path], rejected=kept))
    assert len(kept.read_text().splitlines()) == 9000
    list(open_posts([write("good.jsonl", GOOD)], rejected=kept))
    assert kept.read_text() == ""
    list(
        open_posts([tmp_path / "good.jsonl"], rejected=tmp_path / "none.rejected.jsonl")
    )
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "good.jsonl",
        "p.jsonl",
        "r.rejected.jsonl",
    ]


def test_a_damaged_file_gives_what_came_before_and_the_next_file(write):
    rows = "".join(line(n, os.urandom(20).hex()) for n in range(20_000))
    path = write("a.jsonl.gz", rows)
    path.write_bytes(path.read_bytes()[:-5000])
    stream = open_posts([path, write("b.jsonl", line("last"))])
    found = [post.id for post in stream]
    assert found[-1] == "last"
    assert 10_000 < len(found) < 20_000
    assert stream.counts.reasons["damaged file"] == 1


def test_a_line_without_end_is_skipped_without_being_held(write):
    import tracemalloc

    long = b'{"id": "2", "text": "' + b"x" * 2**27 + b'"}\n'
    path = write("p.jsonl.zst", GOOD.encode() + long + line(3).encode())
    assert path.stat().st_size < 20_000
    del long
    tracemalloc.start()
    stream = open_posts([path])
    assert [post.id for post in stream] == ["1", "3"]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert stream.counts.reasons == {"line too long": 1}
    assert peak < 80 * 2**20


def test_a_file_that_is_no_lines_is_given_up(write, monkeypatch):
    monkeypatch.setattr(lines, "_SKIP_CAP", 2**25)
    path = write("p.jsonl.gz", GOOD.encode() + b"x" * 2**26 + b"\n" + line(3).encode())
    stream = open_posts([path])
    assert [post.id for post in stream] == ["1"]
    assert stream.counts.reasons == {"line too long": 1}


def test_a_bomb_of_zstd_frames_comes_out_in_pieces(tmp_path):
    bomb = zstandard.compress(bytes(2**28), 19)
    assert len(bomb) < 10_000
    path = tmp_path / "bomb.zst"
    path.write_bytes(bomb)
    with unpack(path.open("rb")) as stream:
        assert len(stream.raw.read(2**29)) <= 2**25


def test_a_long_window_is_read(tmp_path):
    parameters = zstandard.ZstdCompressionParameters(window_log=28, compression_level=1)
    path = tmp_path / "RC.zst"
    packer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    path.write_bytes(packer.compress(GOOD.encode()) + packer.flush())
    assert [post.id for post in open_posts([path])] == ["1"]


def test_an_ending_that_is_missing_is_no_obstacle(tmp_path):
    path = tmp_path / "dump"
    path.write_bytes(gzip.compress(GOOD.encode()))
    assert [post.id for post in open_posts([path])] == ["1"]


def test_many_duplicates_over_several_files(write):
    first = write("a.jsonl", "".join(line(n) for n in range(20_000)))
    second = write(
        "b.csv", "id,text\n" + "".join(f"{n},t\n" for n in range(10_000, 30_000))
    )
    stream = open_posts([first, second])
    assert [post.id for post in stream] == [str(n) for n in range(30_000)]
    assert stream.counts.reasons == {"duplicate id": 10_000}
    assert (
        str(stream.counts)
        == "30,000 posts read, 10,000 rows rejected (10,000 duplicate id)"
    )


def test_values_as_mongodb_exports_them(read):
    oid, when = {"$oid": "65f1"}, {"$date": {"$numberLong": "1714730400000"}}
    _, (post,) = read(
        "p.jsonl", [{"_id": oid, "text": "the river", "created_at": when}]
    )
    assert (post.id, post.metadata) == ("65f1", {"created_at": "2024-05-03T10:00:00Z"})


def test_a_folder_is_read_in_the_order_of_its_paths(write, tmp_path):
    names = [
        *("z.jsonl", "a/b.jsonl", "a-b.jsonl", "a/a/c.jsonl", "ab/x.jsonl", "B.jsonl"),
        *(".git/h.jsonl", "a/.h.jsonl", "a/k.rejected.jsonl", "out.jsonl"),
    ]
    for number, name in enumerate(names):
        write(f"d/{name}", line(number))
    write("d/out.jsonl.meta.json", "{}")
    (tmp_path / "d" / "again.jsonl").symlink_to(tmp_path / "d" / "z.jsonl")
    (tmp_path / "d" / "up").symlink_to(tmp_path / "d")  # not entered
    (tmp_path / "d" / "gone.jsonl").symlink_to(tmp_path / "nowhere")
    stream = open_posts([tmp_path / "d"])
    found = [
        Path(each.source).relative_to(tmp_path / "d").as_posix()
        for each in stream.detected
    ]
    expected = sorted(
        {*names[:6], "again.jsonl"} - {"z.jsonl"}, key=lambda n: Path(n).parts
    )
    assert found == expected
    assert len(stream.skipped.our_files) == 2
