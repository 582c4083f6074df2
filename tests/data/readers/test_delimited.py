"""CSV, TSV and Parquet."""

from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from siamese_news.data.readers import delimited, open_posts
from siamese_news.errors import InputError

BIG = 2**53 + 1


def test_csv_with_everything_in_it(read):
    content = (
        b'\xef\xbb\xbfid,text\r\n\r\n1,"two\nlines, ""quoted"""\r\n2,\r\n3,  spaces  \r\n'
        b'4,"nul \x00 in it"\r\n"5",plain\r\n'
    )
    stream, posts = read("p.csv", content)
    assert [(post.id, post.text) for post in posts] == [
        ("1", 'two\nlines, "quoted"'),
        ("2", ""),
        ("3", "  spaces  "),
        ("4", "nul   in it"),
        ("5", "plain"),
    ]
    assert stream.counts.rejected == 0


def test_bad_rows_of_a_csv_are_named_by_line(write, tmp_path):
    import json

    content = b'id,text\n1,"a\nb"\n2\n3,x,y\n4,ok\n5,\xff\n6,trailing,,\n7,"never closed\n8,x\n'
    path = write("p.csv", content)
    kept = tmp_path / "r.rejected.jsonl"
    stream = open_posts([path], rejected=kept)
    assert [post.id for post in stream] == ["1", "4", "6", "8"]
    records = [json.loads(row) for row in kept.read_text().splitlines()]
    assert [(r["line"], r["reason"]) for r in records] == [
        (4, "wrong number of columns"),
        (5, "wrong number of columns"),
        (7, "not UTF-8"),
        (9, "stray quotation mark"),
    ]


def test_a_missing_quotation_mark_swallows_no_whole_file(write, monkeypatch):
    import csv

    old = csv.field_size_limit(2000)
    monkeypatch.setattr(delimited, "FIELD_CAP", 2000)
    rows = "".join(f"{n},text {n}\n" for n in range(2, 1000))
    try:
        stream = open_posts([write("p.csv", f'id,text\n0,"fine"\n1,"open\n{rows}')])
        found = [post.id for post in stream]
    finally:
        csv.field_size_limit(old)
    assert found[0] == "0" and found[-1] == "999"
    assert len(found) == 999
    assert stream.counts.reasons == {"stray quotation mark": 1}


def test_a_post_of_a_million_characters_fits(read):
    _, (post,) = read("p.csv", "id,text\n1," + "x" * 10**6 + "\n")
    assert len(post.text) == 10**6


def test_tsv_with_and_without_quoting(read):
    _, posts = read("p.tsv", 'id\ttext\n1\t"a\tb"\n2\tx\n')
    assert [post.text for post in posts] == ["a\tb", "x"]
    _, posts = read(
        "p.tsv", 'id\ttext\n1\t"to begin with\n2\tit is 5" wide\n3\t"x" y\n'
    )
    assert [post.text for post in posts] == ['"to begin with', 'it is 5" wide', '"x" y']


def parquet(tmp_path, columns, **options):
    path = tmp_path / "p.parquet"
    pq.write_table(pa.table(columns), path, **options)
    return path


@pytest.mark.parametrize(
    "ids",
    [
        pa.array([str(BIG), "b"]),
        pa.array([BIG, 7], pa.int64()),
        pa.array([2**64 - 1, 7], pa.uint64()),
        pa.array([b"a", b"b"], pa.binary()),
        pa.array(["a", "b"]).dictionary_encode(),
        pa.array(["a", "b"], pa.large_string()),
    ],
)
def test_parquet_ids_of_every_type_keep_their_digits(tmp_path, ids):
    path = parquet(tmp_path, {"id": ids, "text": ["x", "y"]})
    values = [v.decode() if isinstance(v, bytes) else str(v) for v in ids.to_pylist()]
    assert [post.id for post in open_posts([path])] == values


@pytest.mark.parametrize(
    "ids", [[1.0, 2.5], [Decimal("1.5"), Decimal("2")], [[1], [2]]]
)
def test_parquet_ids_that_cannot_be_trusted(tmp_path, ids):
    path = parquet(tmp_path, {"id": ids, "text": ["x", "y"]})
    with pytest.raises(InputError, match=r"p\.parquet:1: field 'id' is a"):
        list(open_posts([path]))


def test_parquet_metadata_nulls_and_bad_text(tmp_path):
    bad = pa.array([b"ok", b"\xff", b"x", b"y"]).view(pa.string())
    columns = {
        "id": ["1", "2", None, "4"],
        "text": bad,
        "created_at": pa.array([1500000000, 1, 2, 2**40], pa.timestamp("s")),
        "author": ["kim", None, "al", "bo"],
        "unused": [[1], [2], [3], [4]],
    }
    stream = open_posts([parquet(tmp_path, columns)])
    first, last = stream
    assert (first.id, first.text) == ("1", "ok")
    assert first.metadata == {"created_at": "2017-07-14T02:40:00Z", "author": "kim"}
    assert last.metadata == {"author": "bo"}
    assert stream.counts.reasons == {"not UTF-8": 1, "no id": 1}


def test_parquet_in_many_groups_with_progress(tmp_path):
    n = 30_000
    columns = {"id": list(range(n)), "text": [f"post {i}" for i in range(n)]}
    path = parquet(tmp_path, columns, row_group_size=1000)
    stream = open_posts([path])
    steps = [stream.bytes_read for _ in stream]
    assert steps == sorted(steps)
    assert 0 < steps[0] < steps[-1] <= path.stat().st_size == stream.bytes_read


def test_parquet_from_standard_input(tmp_path, monkeypatch):
    import io
    import sys

    path = parquet(tmp_path, {"id": ["1"], "text": ["x"]})

    class Stdin:
        buffer = io.BufferedReader(io.BytesIO(path.read_bytes()))

    monkeypatch.setattr(sys, "stdin", Stdin)
    assert [post.id for post in open_posts(["-"])] == ["1"]


def test_a_parquet_file_that_promises_too_much(tmp_path):
    n = 2_000_000
    columns = {"id": pa.array([0] * n, pa.int8()), "text": pa.array([""] * n)}
    path = parquet(tmp_path, columns, compression="zstd")
    assert path.stat().st_size < 20_000
    with pytest.raises(InputError, match="promises 2,000,000 rows"):
        open_posts([path])


def test_two_columns_with_one_name(tmp_path):
    path = tmp_path / "p.parquet"
    table = pa.Table.from_arrays([pa.array(["1"])] * 3, names=["id", "text", "text"])
    pq.write_table(table, path)
    with pytest.raises(InputError, match="two columns have one name"):
        open_posts([path])


QUOTED = [
    r"the mayor: \"storm, flood, and fire\", she said",
    r"\"No\", he said, \"not here\"",
    r"plain text",
    r"C:\new has no mark",
]


@pytest.mark.parametrize("first", [0, 150])
def test_marks_escaped_by_backslashes_cost_no_row(read, first):
    """In the first rows, where the layout of the table shows, and only later."""
    rows = [(f"p{n}", f"row {n}, plain") for n in range(first)]
    rows += [(f"q{n}", QUOTED[n % 4]) for n in range(30)]
    text = "id,text,lang\n" + "".join(f'{name},"{value}",en\n' for name, value in rows)
    stream, posts = read("p.csv", text)
    assert stream.counts.rejected == 0
    assert [(post.id, post.text) for post in posts] == [
        (name, value.replace('\\"', '"')) for name, value in rows
    ]
    assert {post.metadata["lang"] for post in posts} == {"en"}


def test_escaped_marks_in_columns_of_several_lines(read):
    rows = "".join(f'{n},"line one, \\"quoted\\",\nline two",x\n' for n in range(20))
    stream, posts = read("p.csv", "id,text,author\n" + rows)
    assert [post.text for post in posts] == ['line one, "quoted",\nline two'] * 20
    assert stream.counts.rejected == 0


def test_a_backslash_at_the_end_of_a_column_remains(read):
    text = 'id,text,lang\n1,"the folder C:\\",en\n2,"he said ""no"", twice",en\n'
    stream, posts = read("p.csv", text)
    assert [post.text for post in posts] == ["the folder C:\\", 'he said "no", twice']
    assert stream.counts.rejected == 0
