"""An index of somebody else, or one that was damaged: refused, never a crash or another answer."""

import hashlib
import json
import os
import random
import shutil
import subprocess
import sys

import numpy as np
import pytest

from siamese_news.search.index.segment import SEGMENT_FILES, Segment

from .conftest import POSTS, SEEDS, posts, run, write


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("received")
    for name, text in SEEDS.items():
        (folder / name).write_text(text)
    write(folder / "posts.jsonl", posts(POSTS))
    run("index", "--posts", folder / "posts.jsonl", "--out", folder / "index")
    return folder


@pytest.fixture
def received(built, tmp_path, monkeypatch):
    """A copy of the index, as it comes from somebody else."""
    monkeypatch.setenv("SIAMESE_NEWS_CACHE", str(tmp_path / "cache"))
    shutil.copytree(built / "index", tmp_path / "index")
    return tmp_path / "index"


def rank(built, index, exit=0):
    done = run("rank", "--articles", built / "flood.txt", "--index", index, exit=exit)
    assert done.exception is None or isinstance(done.exception, SystemExit), (
        done.exception
    )
    return done.output


def seal(index):
    """Write sizes and checksums that fit, as a sender can."""
    path = index / "manifest.json"
    document = json.loads(path.read_text())
    for name in document["files"]:
        content = (index / name).read_bytes()
        document["files"][name] = [len(content), hashlib.sha256(content).hexdigest()]
    path.write_text(json.dumps(document))


@pytest.mark.parametrize("name", SEGMENT_FILES)
def test_a_changed_byte_of_any_file_is_refused(built, received, name):
    path = received / "segment-0" / name
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    output = rank(built, received, exit=2)
    assert f"{name}: differs from its checksum" in output or "is damaged" in output


def array(name, change):
    """A change of an array."""

    def write_changed(index):
        path = index / "segment-0" / f"{name}.npy"
        content = np.load(path)
        np.save(path, change(content))

    return write_changed


def at(place, value):
    def change(content):
        content[place] = value
        return content

    return change


def raw(name, content):
    return lambda index: (index / "segment-0" / f"{name}.npy").write_bytes(content)


HEADER = b"\x93NUMPY\x01\x00\x76\x00" + (
    b"{'descr': '<u4', 'fortran_order': False, 'shape': (4611686018427387904, 0), }".ljust(
        117
    )
    + b"\n"
)
HOSTILE = {
    "starts beyond the codes": array("starts", at(7, 4_000_000_000)),
    "the last start": array("starts", at(-1, 5)),
    "starts that fall": array("starts", at(5, 10**6)),
    "unknown starts": array("unknown_starts", at(3, 2**32 - 1)),
    "one unknown word more": array(
        "unknown_starts", lambda a: np.append(0, np.maximum(a[1:], 1))
    ),
    "letters": array("letter_starts", at(1, 2**31)),
    "n-grams": array("grams", at(0, 2**32 - 1)),
    "where n-grams begin": array("gram_starts", at(-1, 2**32 - 1)),
    "codes": array("codes", at(0, 2**16 - 1)),
    "numbers of words": array("unknown", at(0, 10**9)),
    "ids of words": array("words", at(0, -5)),
    "the sample": array("sample", at((0, 1), 10**15)),
    "NaN": array("errors", at(3, np.nan)),
    "a step below zero": array("steps", at(3, -1)),
    "fewer vectors": array("vectors", lambda a: a[:-1]),
    "longer vectors": array("vectors", lambda a: np.concatenate([a, a], axis=1)),
    "vectors of another type": array("vectors", lambda a: a.astype(np.int16)),
    "places of texts": array("texts_places", at((1, 1), 10**15)),
    "places before the first": array("texts_places", at((0, 1), -(10**9))),
    "rows of a piece": array("fields_places", at((1, 0), 10**12)),
    "a shape of no size": raw("starts", HEADER),
    "no array": raw("codes", b"PK\x03\x04" + bytes(100)),
    "an empty file": raw("dates", b""),
    "objects": raw("words", HEADER.replace(b"'<u4'", b"'|O' ")),
    "packed fields": array("fields", lambda a: np.zeros_like(a)),
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE)
def test_a_sealed_index_that_names_what_does_not_exist_is_refused(
    built, received, change
):
    change(received)
    seal(received)
    output = rank(built, received, exit=2)
    assert "is damaged" in output and "build the index again" in output


@pytest.mark.parametrize("indexes", [8, pytest.param(60, marks=pytest.mark.slow)])
def test_random_changes_end_in_a_message_or_in_an_answer(built, received, indexes):
    """In a process of its own: the answer to a bad place can be a crash of Python."""
    code = (
        "import sys\n"
        "from siamese_news import open_model\n"
        "from siamese_news.errors import InputError\n"
        "from siamese_news.search.searcher import Searcher\n"
        "from siamese_news.search.index.post_index import open_index\n"
        "searcher = Searcher()\n"
        "text = open(sys.argv[1]).read()\n"
        "for index in sys.argv[2:]:\n"
        "    try:\n"
        "        searcher.rank([text], searcher.open_index(index))\n"
        "    except InputError as error:\n"
        "        print(error)\n"
    )
    dice = random.Random(48)
    folders = []
    for number in range(indexes):
        folder = received.with_name(f"changed-{number}")
        shutil.copytree(received, folder)
        path = folder / "segment-0" / dice.choice(SEGMENT_FILES)
        content = bytearray(path.read_bytes())
        for _ in range(dice.choice([1, 4])):
            place = dice.randrange(len(content))
            content[place : place + 4] = dice.choice(
                [b"\xff" * 4, bytes(4), dice.randbytes(4)]
            )
        path.write_bytes(content)
        seal(folder)
        folders.append(str(folder))
    done = subprocess.run(
        [sys.executable, "-c", code, str(built / "flood.txt"), *folders],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("is damaged") > indexes / 6


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d.update(format=8), "is an index of format 8"),
        (
            lambda d: d["segments"].update({"../index/segment-0": 500}),
            "expected str matching regex",
        ),
        (lambda d: d["files"].pop("segment-0/dates.npy"), "dates.npy is not listed"),
        (
            lambda d: d["files"].update({"/dev/zero": [0, "0" * 64]}),
            "/dev/zero is not listed",
        ),
        (lambda d: d["segments"].update({"segment-0": 499}), "has 500 rows, not 499"),
        (lambda d: d["segments"].update({"segment-0": "500"}), "expected int, got str"),
        (lambda d: d.update(words=17), "another number of words than the model"),
        (lambda d: d.update(segments=[]), "is damaged"),
        (lambda d: d["model"].pop("fingerprint"), "required field fingerprint"),
    ],
)
def test_a_manifest_that_cannot_be_is_refused(built, received, change, words):
    path = received / "manifest.json"
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    assert words in rank(built, received, exit=2).replace("Expected", "expected")


def test_the_content_is_checked_once_and_after_each_change(
    built, received, monkeypatch
):
    checked = []
    check = Segment.check
    monkeypatch.setattr(Segment, "check", lambda self: checked.append(1) or check(self))
    first = rank(built, received)
    assert rank(built, received) == first and len(checked) == 1
    os.utime(received / "segment-0" / "codes.npy")
    assert rank(built, received) == first and len(checked) == 2
    # What this user built and added to is known to be right.
    run("index", "--posts", built / "posts.jsonl", "--out", received, "--force")
    rank(built, received)
    assert len(checked) == 2


def test_a_pipe_among_the_files_is_not_read(built, received):
    os.mkfifo(received / "segment-0" / "more.npy")
    rank(built, received)
    (received / "segment-0" / "codes.npy").unlink()
    os.mkfifo(received / "segment-0" / "codes.npy")
    assert "codes.npy: is missing" in rank(built, received, exit=2)
