"""Arbitrary texts come back, arbitrary bytes break nothing."""

import csv
import gzip
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from siamese_news.data.readers import open_posts
from siamese_news.data.records import clean_text
from siamese_news.errors import InputError

quick = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
scalars = st.text(st.characters(exclude_categories=("Cs",)), max_size=30)
anything = st.text(max_size=30)  # lone surrogates, NULs and controls too
# Ids such as 12.0 and 1.2E+18 are refused, as rounded numbers; test_stream.py has them.
ids = st.text(
    st.characters(min_codepoint=33, exclude_categories=("Cs", "Z", "C")), min_size=1
).filter(lambda i: not i.endswith(".0") and "+" not in i)


def posts_of(path):
    return [(post.id, post.text) for post in open_posts([path], strict=True)]


def table(ids, texts):
    return st.lists(
        st.tuples(ids, texts), min_size=1, max_size=8, unique_by=lambda row: row[0]
    )


@quick
@given(
    rows=table(ids, anything),
    ascii_only=st.booleans(),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_json_lines_round_trip(tmp_path, rows, ascii_only, end):
    path = tmp_path / "p.jsonl"
    lines = (
        json.dumps({"id": i, "text": t}, ensure_ascii=ascii_only) + end for i, t in rows
    )
    data = "".join(lines).encode("utf-8", "surrogatepass")
    path.write_bytes(data)
    raw_surrogates = not ascii_only and any(
        0xD800 <= ord(c) <= 0xDFFF for _, t in rows for c in t
    )
    if raw_surrogates:  # then it is no UTF-8
        with pytest.raises(InputError, match="not UTF-8"):
            posts_of(path)
    else:
        assert posts_of(path) == [(i, clean_text(t)) for i, t in rows]


@quick
@given(number=st.integers(0, 10**40))
def test_every_integer_is_an_id_digit_for_digit(tmp_path, number):
    path = tmp_path / "p.jsonl"
    path.write_text(f'{{"id": {number}, "text": ""}}\n')
    assert posts_of(path) == [(str(number), "")]


@quick
@given(
    rows=table(ids, scalars),
    delimiter=st.sampled_from(",;\t|"),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_csv_round_trip(tmp_path, rows, delimiter, quoting):
    path = tmp_path / "p.csv"
    out = io.StringIO()
    # A bare \r is a line end to the csv module where it is not quoted.
    rows = [(i, t.replace("\r", "\n")) for i, t in rows]
    writer = csv.writer(out, delimiter=delimiter, quoting=quoting, lineterminator="\n")
    writer.writerows([("id", "text"), *rows])
    path.write_bytes(out.getvalue().encode())
    assert posts_of(path) == [(i, clean_text(t)) for i, t in rows]


@quick
@given(rows=table(ids, scalars), size=st.integers(1, 3))
def test_parquet_round_trip(tmp_path, rows, size):
    path = tmp_path / "p.parquet"
    columns = {"id": [i for i, _ in rows], "text": [t for _, t in rows]}
    pq.write_table(pa.table(columns), path, row_group_size=size)
    assert posts_of(path) == [(i, clean_text(t)) for i, t in rows]


def damaged(data):
    """The same bytes with a few of them changed, or the end missing."""
    change = st.tuples(st.integers(0, len(data) - 1), st.integers(0, 255))

    def apply(changes, length):
        changed = bytearray(data)
        for at, byte in changes:
            changed[at] = byte
        return bytes(changed[: length or None])

    return st.builds(
        apply, st.lists(change, max_size=5), st.just(0) | st.integers(1, len(data))
    )


def _parquet():
    out = io.BytesIO()
    columns = {
        "id": [str(n) for n in range(60)],
        "text": [f"post {n}" for n in range(60)],
    }
    pq.write_table(
        pa.table({**columns, "date": pa.array(range(60), pa.timestamp("ns"))}), out
    )
    return out.getvalue()


_LINES = "".join(
    json.dumps({"id": str(n), "text": f"post {n**9}"}) + "\n" for n in range(60)
)
_FILES = {
    "p.parquet": _parquet(),
    "p.jsonl.gz": gzip.compress(_LINES.encode()),
    "p.jsonl.zst": zstandard.compress(_LINES.encode()),
    "p.jsonl": _LINES.encode(),
}


@pytest.mark.sampled(2)
@settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@pytest.mark.parametrize("name", _FILES)
@given(data=st.data())
def test_a_damaged_file_is_read_in_part_or_refused(tmp_path, name, data):
    path = tmp_path / name
    path.write_bytes(data.draw(damaged(_FILES[name])))
    try:
        stream = open_posts([path])
        assert len(list(stream)) == stream.counts.read <= 60 + 5
    except InputError as error:
        assert str(path) in str(error)


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner)
    ),
    max_leaves=4,
)
FIELDS = [
    "id",
    "text",
    "_id",
    "metadata",
    "data",
    "includes",
    "author_id",
    "entities",
    "id_str",
    "user",
    "retweeted_status",
    "did",
    "kind",
    "time_us",
    "commit",
    "content",
    "account",
    "uri",
    "reblog",
    "subreddit",
    "body",
    "selftext",
    "created_at",
    "referenced_tweets",
    "extended_tweet",
]
records = st.dictionaries(st.sampled_from(FIELDS), json_values, max_size=8)
good = '{"id": "good", "text": "good"}\n'


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    content=st.binary(max_size=120)
    | st.lists(records, max_size=4)
    | st.tuples(
        st.sampled_from(
            [b"id,text\n", b'{"id":', b"PAR1", b"\x1f\x8b\x08\x00", b"\x28\xb5\x2f\xfd"]
        ),
        st.binary(max_size=80),
    ),
    name=st.sampled_from(
        ["p.jsonl", "p.csv", "p.tsv", "p", "p.parquet", "p.gz", "p.zst"]
    ),
    rejected=st.booleans(),
)
@example(
    content=[{"id_str": -(2**63) - 1, "text": None, "retweeted_status": True}],
    name="p.jsonl",
    rejected=False,
)  # once failed: wrong in its shape and, to the first decoder, in its number
def test_whatever_comes_is_read_counted_or_refused(tmp_path, content, name, rejected):
    if isinstance(content, list):
        content = "".join(json.dumps(r) + "\n" for r in content).encode()
    if isinstance(content, tuple):
        content = b"".join(content)
    path = tmp_path / name
    path.write_bytes(content)
    kept = tmp_path / "r.rejected.jsonl"
    try:
        stream = open_posts([path], rejected=kept if rejected else None)
        posts = list(stream)
    except InputError as error:
        assert str(path) in str(error)
        return
    assert len(posts) == stream.counts.read == len({post.id for post in posts})
    for post in posts:
        assert post.id.split() == [post.id]
        f"{post.id}{json.dumps(post.metadata, ensure_ascii=False)}{post.text}".encode()
    if rejected and kept.exists():
        assert (
            len(kept.read_text(encoding="utf-8").splitlines()) == stream.counts.rejected
        )
        kept.unlink()
