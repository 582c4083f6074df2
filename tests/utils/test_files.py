"""Files are whole or not there."""

import gzip
import os
import stat
import subprocess
import sys
import threading

import pytest
from typer.testing import CliRunner

from siamese_news.cli import app
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


def test_a_link_is_followed_and_stays_a_link(tmp_path):
    """A result written to a link lands in the file that the link names."""
    (tmp_path / "elsewhere").mkdir()
    real, link = tmp_path / "elsewhere" / "real.txt", tmp_path / "link.txt"
    link.symlink_to(real)
    for content in ("new", "newer"):  # a link to nothing yet, and one to a file
        with atomic_write(link) as stream:
            stream.write(content)
        assert link.is_symlink() and real.read_text() == content
    assert [p.name for p in real.parent.iterdir()] == ["real.txt"]


@pytest.mark.parametrize("through_a_link", [False, True])
def test_a_named_pipe_is_written_through(tmp_path, through_a_link):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    target = pipe
    if through_a_link:
        target = tmp_path / "link"
        target.symlink_to(pipe)
    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    with atomic_write(target, "wb") as stream:
        assert stream.tell() == 0  # a Parquet file asks for its place
        stream.write(b"rows")
    reader.join(20)
    assert got == [b"rows"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_pipe_gets_nothing_of_what_failed(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(RuntimeError), atomic_write(pipe) as stream:
        stream.write("half")
        raise RuntimeError  # without a reader the pipe would never open
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def _search(tmp_path):
    (tmp_path / "a.txt").write_text(
        "Flood\nThe river rose over the bridge in the town.\n"
    )
    posts = "".join(f'{{"id": "{n}", "text": "flood river {n}"}}\n' for n in range(3))
    (tmp_path / "p.jsonl").write_text(posts)
    return [
        sys.executable,
        "-m",
        "siamese_news",
        "rank",
        "--articles",
        "a.txt",
        "--posts",
        "p.jsonl",
        "--format",
        "csv",
        "--out",
    ]


def test_rank_writes_to_standard_output_named_as_a_device(tmp_path):
    """`--out /dev/stdout` writes to the pipe behind it and puts no file beside the device."""
    beside = set(os.listdir("/dev"))
    done = subprocess.run(
        [*_search(tmp_path), "/dev/stdout"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("article,rank,score") and done.stdout.count("\n") == 4
    assert os.path.islink("/dev/stdout") and set(os.listdir("/dev")) == beside


def test_rank_leaves_a_link_to_the_results_in_place(tmp_path, tiny_model, monkeypatch):
    tiny_model.save(tmp_path / "model", card="")
    (tmp_path / "big-disk").mkdir()
    (tmp_path / "out.csv").symlink_to(tmp_path / "big-disk" / "out.csv")
    monkeypatch.chdir(tmp_path)
    command = [*_search(tmp_path)[3:], "out.csv", "--model", "model"]
    assert CliRunner().invoke(app, command).exit_code == 0
    assert (tmp_path / "out.csv").is_symlink()
    assert (tmp_path / "big-disk" / "out.csv").read_text().count("\n") == 4


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_what_is_replaced_keeps_its_mode(tmp_path, mode):
    path = tmp_path / "results.csv"
    path.write_text("old")
    path.chmod(mode)
    with atomic_write(path) as stream:
        stream.write("new")
    assert path.read_text() == "new" and stat.S_IMODE(path.stat().st_mode) == mode
    with pytest.raises(RuntimeError), atomic_write(path) as stream:
        stream.write("half")
        raise RuntimeError
    assert path.read_text() == "new" and stat.S_IMODE(path.stat().st_mode) == mode
