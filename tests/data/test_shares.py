"""The parts of an input are, together, the input: each row once, with its own number."""

import csv
import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siamese_news.data.readers import open_posts, rows
from siamese_news.data.readers.rows import Share, owners


@given(st.lists(st.integers(0, 50), min_size=1, max_size=12), st.integers(1, 6))
def test_files_go_to_parts_of_like_size(sizes, count):
    found = owners(sizes, count)
    loads = [
        sum(s for s, owner in zip(sizes, found, strict=True) if owner == n)
        for n in range(count)
    ]
    assert all(
        sizes[n] > sum(sizes) / count / 2
        for n, owner in enumerate(found)
        if owner is None
    )
    assert max(loads) - min(loads) <= max(sum(sizes) / count / 2, 0)


def posts(count):
    return [
        {"id": f"i{n % 900}", "text": f"river {n}" if n % 11 else None}
        for n in range(count)
    ]


def written(folder, rows):
    lines = [json.dumps(row) for row in rows]
    lines[7] = "{broken"
    (folder / "a.jsonl").write_text("\n".join(lines[:700]) + "\n")
    with gzip.open(folder / "b.jsonl.gz", "wt") as stream:
        stream.write("\n".join(lines[700:900]))
    with (folder / "c.csv").open("w", newline="") as stream:
        out = csv.writer(stream)
        out.writerow(["id", "text"])
        out.writerows([f"c{n}", f"a text\nof {n} lines"] for n in range(300))
    (folder / "d.json").write_text(
        json.dumps([{"id": f"d{n}", "text": "x"} for n in range(90)])
    )


@pytest.mark.parametrize("count", [1, 2, 7])
def test_the_parts_of_files_of_all_kinds(tmp_path, monkeypatch, count):
    monkeypatch.setattr(rows, "_ROWS", 20)
    written(tmp_path, posts(900))
    whole = open_posts([tmp_path])
    expected = list(whole)
    found, reasons, places = [], {}, []
    for index in range(count):
        part = open_posts([tmp_path], share=Share(index, count))
        found += list(part)
        places += part.places
        for name, number in part.counts.reasons.items():
            reasons[name] = reasons.get(name, 0) + number
    assert len(set(places)) == len(places) == len(found)
    assert [post for _, post in sorted(zip(places, found, strict=True))] == expected
    assert reasons == whole.counts.reasons


def test_an_id_that_another_part_has_is_a_duplicate(tmp_path):
    (tmp_path / "a.jsonl").write_text(
        '{"id": "1", "text": "a"}\n{"id": "2", "text": "b"}\n'
    )
    stream = open_posts([tmp_path], share=Share(0, 1), reserved_ids=["2"])
    assert [post.id for post in stream] == ["1"]
    assert stream.counts.reasons == {"duplicate id": 1}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.json.gz", "a.csv.gz"])
@pytest.mark.parametrize("count", [2, 5])
def test_a_damaged_file_counts_once_in_all_parts(tmp_path, name, count):
    rows = [{"id": str(n), "text": f"river {n} {n * n % 977}"} for n in range(6000)]
    lines = [json.dumps(row) for row in rows]
    content = "\n".join(lines)
    if ".json." in name:
        content = "[" + ",".join(lines) + "]"
    if ".csv." in name:
        content = "id,text\n" + "\n".join(f"{r['id']},{r['text']}" for r in rows)
    packed = gzip.compress(content.encode())
    (tmp_path / name).write_bytes(packed[: len(packed) * 2 // 3])
    one = open_posts([tmp_path / name])
    expected = {post.id for post in one}
    assert one.counts.reasons == {"damaged file": 1}
    parts = [open_posts([tmp_path / name], share=Share(n, count)) for n in range(count)]
    assert {post.id for part in parts for post in part} == expected
    reasons = [part.counts.reasons.get("damaged file", 0) for part in parts]
    assert sum(reasons) == 1
