"""A damaged packed file yields what is before the fault, which is counted; it is never a crash."""

import csv
import gzip
import io
import json
import random
import zlib
from contextlib import suppress

import pytest
import zstandard

from siamese_news.data.articles import read_articles
from siamese_news.data.readers import open_posts
from siamese_news.errors import InputError
from siamese_news.utils.files import unpack

NAMES = "river asker flood bridge cellar cat sleeps pizza harlow water".split()
PACK = {"gz": gzip.compress, "zst": zstandard.ZstdCompressor(level=1).compress}


def contents():
    """Rows that hardly shrink, so that a packed file has many blocks."""
    numbers = random.Random(7)
    rows = [
        {"id": f"p{n}", "text": f"{numbers.choice(NAMES)} {numbers.random()}"}
        for n in range(15_000)
    ]
    table = io.StringIO()
    writer = csv.DictWriter(table, ["id", "text"])
    writer.writeheader()
    writer.writerows(rows)
    return rows, {
        "jsonl": "".join(json.dumps(row) + "\n" for row in rows),
        "json": json.dumps(rows),
        "csv": table.getvalue(),
    }


ROWS, CONTENTS = contents()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("packing", PACK)
@pytest.mark.parametrize("kind", CONTENTS)
def test_half_a_download_yields_its_rows(tmp_path, kind, packing):
    data = PACK[packing](CONTENTS[kind].encode())
    path = tmp_path / f"posts.{kind}.{packing}"
    path.write_bytes(data[: len(data) // 2])
    stream = open_posts(path, rejected=tmp_path / "rejected.jsonl")
    posts = list(stream)
    assert stream.counts.reasons == {"damaged file": 1}
    assert 1_000 < len(posts) < 14_000
    pairs = [(post.id, post.text) for post in posts]
    assert pairs == [(row["id"], row["text"]) for row in ROWS[: len(posts)]]
    assert "fetch or make it again" in (tmp_path / "rejected.jsonl").read_text()
    with pytest.raises(InputError, match="fetch or make it again"):
        list(open_posts(path, strict=True))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("packing", PACK)
def test_any_byte_may_be_wrong(tmp_path, packing):
    data = PACK[packing](CONTENTS["jsonl"].encode())
    numbers = random.Random(5)
    for place in (4, 9, *numbers.sample(range(10, len(data)), 12), len(data) - 1):
        wrong = bytearray(data)
        wrong[place] ^= 1 << numbers.randrange(8)
        path = tmp_path / f"posts.jsonl.{packing}"
        path.write_bytes(wrong)
        try:
            stream = open_posts(path)
            list(stream)
        except InputError:
            continue
        # Some bytes, such as those of the time in a gzip header, mean nothing to a reader.
        assert stream.counts.reasons or stream.counts.read == len(ROWS)


def before_the_fault(data, packing):
    """What comes out if an unpacker gets one byte after the other."""
    unpacker = (
        zlib.decompressobj(31)
        if packing == "gz"
        else zstandard.ZstdDecompressor().decompressobj()
    )
    pieces = []
    with suppress(zlib.error, zstandard.ZstdError):
        for place in range(len(data)):
            pieces.append(unpacker.decompress(data[place : place + 1]))
    return b"".join(pieces)


@pytest.mark.parametrize("packing", PACK)
def test_nothing_before_a_fault_is_lost(packing):
    data = PACK[packing](CONTENTS["jsonl"].encode()[:60_000])
    numbers = random.Random(11)
    for place in numbers.sample(range(20, len(data)), 10):
        wrong = bytearray(data)
        wrong[place] ^= 1 << numbers.randrange(8)
        out = bytearray()
        with unpack(io.BufferedReader(io.BytesIO(wrong))) as stream:
            with suppress(EOFError):
                while piece := stream.read1(1000):
                    out += piece
        assert out == before_the_fault(bytes(wrong), packing)


def test_frames_follow_each_other_with_zeros_between_them():
    data = gzip.compress(b"a river\n") + bytes(500) + gzip.compress(b"a bridge\n")
    assert unpack(io.BufferedReader(io.BytesIO(data))).read() == b"a river\na bridge\n"


def test_an_id_that_the_damage_repeats_ends_the_file_and_not_the_command(tmp_path):
    rows = [{"id": f"q{n}", "text": f"{NAMES[n % 7]} {n}"} for n in range(300)]
    rows[250]["id"] = "q3"  # as if a flipped bit had made it so
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    packed = bytearray(gzip.compress(data))
    packed[-6] ^= 1  # the checksum
    (tmp_path / "a.jsonl.gz").write_bytes(packed)
    (tmp_path / "b.jsonl").write_text('{"id": "q900", "text": "a cat"}\n')
    stream = open_posts(tmp_path, rejected=tmp_path / "rejected.jsonl")
    assert [post.id for post in stream] == [*(f"q{n}" for n in range(250)), "q900"]
    assert stream.counts.reasons == {"damaged file": 1}
    assert json.loads((tmp_path / "rejected.jsonl").read_text())["line"] == 251
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(data))
    (tmp_path / "b.jsonl").unlink()
    with pytest.raises(InputError, match="the id 'q3' is that of another post"):
        list(open_posts(tmp_path))


@pytest.mark.parametrize("packing", PACK)
def test_unpacking_has_one_error(tmp_path, packing):
    data = PACK[packing](CONTENTS["jsonl"].encode())
    for wrong in (data[:-20], data[:5] + bytes(30) + data[35:]):
        with pytest.raises(EOFError):
            unpack(io.BufferedReader(io.BytesIO(wrong))).read()


@pytest.mark.parametrize("packing", PACK)
@pytest.mark.parametrize("ending", [".txt", ".csv", ".html", ".sav", ""])
def test_a_damaged_article_is_refused(tmp_path, packing, ending):
    path = tmp_path / f"a{ending}.{packing}"
    data = PACK[packing](CONTENTS["csv"].encode())
    path.write_bytes(data[: 12 if ending in ("", ".sav") else len(data) // 2])
    with pytest.raises(InputError, match="damaged or cut off"):
        read_articles(path)


def test_an_id_that_a_changed_byte_repeats_is_damage(tmp_path):
    """The checksum at the end says so, not the user's ids."""
    rows = "".join(f'{{"id": "p{n}", "text": "post {n}"}}\n' for n in range(10))
    stored = gzip.compress(rows.encode(), 0).replace(b'"p7"', b'"p6"')
    path = tmp_path / "p.jsonl.gz"
    path.write_bytes(stored)
    stream = open_posts([path])
    assert [post.id for post in stream] == [f"p{n}" for n in range(7)]
    assert stream.counts.reasons == {"damaged file": 1}


def test_zstd_that_begins_with_a_frame_to_skip_is_unpacked(tmp_path):
    """As pzstd writes it, which says the size of each frame in front of it."""
    half = len(CONTENTS["jsonl"]) // 2
    content = CONTENTS["jsonl"].encode()
    frames = [PACK["zst"](content[:half]), PACK["zst"](content[half:])]
    path = tmp_path / "posts.jsonl.zst"
    path.write_bytes(
        b"".join(
            b"\x50\x2a\x4d\x18\4\0\0\0" + len(frame).to_bytes(4, "little") + frame
            for frame in frames
        )
    )
    stream = open_posts(path, strict=True)
    assert len(list(stream)) == len(ROWS)
    assert stream.detected[0].packed == "zst"
