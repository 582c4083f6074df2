"""Files are whole or not there."""

import gzip

import pytest

from siamese_news.errors import InputError
from siamese_news.utils.files import atomic_write, open_binary


def test_written_text_is_there_and_nothing_else(tmp_path):
    with atomic_write(tmp_path / "new" / "a.txt") as stream:
        stream.write("ä\n")
    assert (tmp_path / "new" / "a.txt").read_bytes() == "ä\n".encode()
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["a.txt"]


def test_a_failure_leaves_the_old_file_whole(tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("old")
    with pytest.raises(RuntimeError), atomic_write(target) as stream:
        stream.write("half")
        raise RuntimeError
    assert target.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_the_same_content_gives_the_same_compressed_bytes(tmp_path):
    for name in ("a.gz", "b.gz"):
        with atomic_write(tmp_path / name) as stream:
            stream.write("x" * 1000)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    assert gzip.open(tmp_path / "a.gz", "rt").read() == "x" * 1000


@pytest.mark.parametrize("name", ["plain.txt", "packed.gz", "packed.zst"])
def test_plain_and_compressed_files_read_alike(tmp_path, name):
    import zstandard

    data = b"line\n" * 100
    pack = {".txt": bytes, ".gz": gzip.compress, ".zst": zstandard.compress}
    path = tmp_path / name
    path.write_bytes(pack[path.suffix](data))
    with open_binary(path) as stream:
        assert stream.read() == data


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: None, "no such file"),
        (lambda p: p.mkdir(), "is a folder"),
        (lambda p: p.touch(), "is empty"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, make, message):
    path = tmp_path / "x.jsonl"
    make(path)
    with pytest.raises(InputError, match=f"x.jsonl: .*{message}|x.jsonl: {message}"):
        open_binary(path)


@pytest.mark.parametrize("name", ["cut.gz", "cut.zst"])
def test_a_cut_off_file_is_no_short_file(tmp_path, name):
    import random

    import zstandard

    data = random.Random(0).randbytes(300_000)
    pack = {".gz": gzip.compress, ".zst": zstandard.compress}
    path = tmp_path / name
    path.write_bytes(pack[path.suffix](data)[:-1000])
    with open_binary(path) as stream, pytest.raises(EOFError):
        stream.read()


def test_all_frames_of_a_zstd_file_are_read(tmp_path):
    import zstandard

    path = tmp_path / "two.zst"
    path.write_bytes(zstandard.compress(b"one\n") + zstandard.compress(b"two\n"))
    with open_binary(path) as stream:
        assert list(stream) == [b"one\n", b"two\n"]
