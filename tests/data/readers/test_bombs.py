"""Files that are small on disk and huge when they are read."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from siamese_news.data.readers import open_posts
from siamese_news.errors import InputError

PEAK = """
import re, sys
from siamese_news.data.readers import open_posts
from siamese_news.errors import InputError
try:
    print(sum(1 for _ in open_posts([sys.argv[1]])))
except InputError as error:
    print(error)
# The peak of this process alone; ru_maxrss would begin with what its parent held.
print(int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) // 1024)
"""


needs_proc = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")


def peak(path):
    """What reading a file says in a process of its own, and its peak in MB."""
    done = subprocess.run(
        [sys.executable, "-c", PEAK, str(path)], capture_output=True, text=True, timeout=300
    )
    assert not done.returncode, done.stderr
    said, memory = done.stdout.splitlines()
    return said, int(memory)


@needs_proc
def test_a_parquet_file_that_repeats_a_megabyte_20_000_times_is_refused(tmp_path):
    path = tmp_path / "bomb.parquet"
    text = pa.DictionaryArray.from_arrays(
        pa.array([0] * 20_000, pa.int32()), pa.array(["flood " * 170_000])
    )
    ids = [str(number) for number in range(20_000)]
    pq.write_table(pa.table({"id": ids, "text": text}), path, store_schema=False)
    said, memory = peak(path)  # 20 GB when decoded
    assert "made to fill the memory" in said
    assert memory < 500


def test_a_parquet_page_of_zeros_is_refused_by_its_sizes(tmp_path):
    path = tmp_path / "bomb.parquet"
    rows = pa.table({"id": [str(n) for n in range(300)], "text": ["0" * 2**20] * 300})
    pq.write_table(rows, path, compression="zstd", use_dictionary=False)
    assert path.stat().st_size < 2**20
    with pytest.raises(InputError, match="made to fill the memory"):
        open_posts([path])


@needs_proc
def test_a_json_array_takes_no_more_memory_than_its_records(tmp_path):
    row = '{"id": "%d", "text": "' + "the river " * 100 + '", "user": {"name": "ann"}}'
    for count in (100, 60_000):
        path = tmp_path / f"{count}.json"
        path.write_text("[\n" + ",\n".join(row % n for n in range(count)) + "\n]\n")
        said, memory = peak(path)
        assert said == str(count)
        assert memory < 300


@needs_proc
@pytest.mark.parametrize("depth", [600, 100_000])
def test_json_nested_too_deeply_ends_the_file_and_no_more(tmp_path, depth):
    deep = "[" * depth + "]" * depth
    path = tmp_path / "posts.json"
    path.write_text(f'[{{"id": "1", "text": "a"}},\n{{"id": "2", "text": "b", "x": {deep}}}]')
    said, memory = peak(path)
    assert said == "1"
    assert memory < 500


def test_brackets_and_constants_in_texts_are_text(tmp_path):
    path = tmp_path / "posts.json"
    texts = ["[{" * 2000, 'NaN "quoted" \\\\', "Infinity]", "\\" * 9]
    rows = [{"id": str(n), "text": text, "x": float("nan")} for n, text in enumerate(texts)]
    path.write_text(json.dumps(rows * 1, indent=1))
    assert [post.text for post in open_posts([path])] == texts


def test_a_json_array_that_was_cut_off_gives_every_complete_record(tmp_path):
    path = tmp_path / "posts.json"
    path.write_text('[{"id": "1", "text": "a"},\n {"id": "2", "text": "b"}, {"id": "3", "te')
    stream = open_posts([path])
    assert [post.id for post in stream] == ["1", "2"]
    assert stream.counts.reasons == {"damaged file": 1}
