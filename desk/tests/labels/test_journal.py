"""Labels: on the disk before anything else, and never lost, doubled or overwritten."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from siamese_news.errors import InputError
from siamese_news_desk.labels.journal import (
    Conflict,
    Judgment,
    LabelJournal,
    write_judgments,
)
from siamese_news_desk.labels.sheets import read_rows


@pytest.fixture
def log(tmp_path):
    return LabelJournal(tmp_path / "labels.jsonl")


def _again(log):
    return LabelJournal(log.path)


def test_a_label_is_there_after_opening_again(log):
    first = log.add("p1", "yes", "ana", note="sure")
    log.add("p2", "no", "ana", copies=("p3",))
    log.add("p1", "no", "ben")
    again = _again(log)
    assert again.of("p1", "ana") == first
    assert again.of("p3", "ana").label == "no"
    assert again.verdict("p1") == "conflict"
    assert again.annotators() == ["ana", "ben"]


def test_taking_back_goes_back_label_by_label(log):
    log.add("p1", "yes", "ana")
    log.add("p1", "no", "ana", seen=1)
    log.add("p2", "yes", "ben")
    assert log.undo("ana").label == "no"
    assert log.of("p1", "ana").label == "yes"
    assert log.undo("ana").label == "yes"
    assert log.of("p1", "ana") is None
    assert log.undo("ana") is None
    assert log.posts() == ["p2"]
    assert _again(log).posts() == ["p2"]


def test_a_label_said_of_the_post_counts_before_one_of_its_copies(log):
    log.add("p1", "yes", "ana")
    log.add("p2", "no", "ana", copies=("p1", "p3"))
    assert log.of("p1", "ana").label == "yes"
    assert log.of("p3", "ana").label == "no"
    log.undo("ana")
    assert log.of("p3", "ana") is None


def test_unsure_of_one_does_not_contradict_the_other(log):
    log.add("p1", "skip", "ana")
    assert log.verdict("p1") == "skip"
    log.add("p1", "yes", "ben")
    assert log.verdict("p1") == "yes"


def test_a_label_that_was_not_seen_is_not_overwritten(log):
    log.add("p1", "yes", "ana", seen=0)
    with pytest.raises(Conflict) as caught:
        log.add("p1", "no", "ana", seen=0)
    assert caught.value.current.label == "yes"
    log.add("p1", "no", "ben", seen=0)
    log.add("p1", "no", "ana", seen=1)
    assert log.verdict("p1") == "no"


@pytest.mark.parametrize(
    ("label", "name"), [("maybe", "ana"), ("yes", "  "), ("", "ana")]
)
def test_what_is_no_label_is_refused(log, label, name):
    with pytest.raises(InputError, match="expected"):
        log.add("p1", label, name)
    assert log.posts() == [] and log.path.read_bytes() == b""


def test_an_unfinished_line_is_cut_off_and_a_damaged_one_is_named(log):
    log.add("p1", "yes", "ana")
    log.add("p2", "yes", "ana")
    whole = log.path.read_bytes()
    log.path.write_bytes(whole + b'{"n": 3, "post": "p3", "lab')
    again = LabelJournal(log.path)
    assert again.posts() == ["p1", "p2"]
    assert again.add("p3", "no", "ana").number == 3
    lines = log.path.read_bytes().splitlines(keepends=True)
    log.path.write_bytes(lines[0] + b"\n" + lines[1])
    with pytest.raises(InputError, match=r"labels.jsonl:2: is damaged"):
        LabelJournal(log.path)
    log.path.write_bytes(lines[0] + lines[2])
    with pytest.raises(InputError, match="number 3"):
        LabelJournal(log.path)


def test_a_file_of_something_else_stays(log):
    log.path.write_bytes(b"my notes")
    with pytest.raises(InputError, match="not a file of labels"):
        _again(log)
    assert log.path.read_bytes() == b"my notes"


def test_many_threads_lose_nothing(log):
    def work(name):
        for number in range(100):
            log.add(f"p{number}", "yes", name)

    threads = [threading.Thread(target=work, args=(f"a{n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    again = _again(log)
    assert again.version == 800
    assert all(len(again.by_annotator(f"p{number}")) == 8 for number in range(100))


def test_a_full_disk_loses_the_label_and_says_so(log, monkeypatch):
    log.add("p1", "yes", "ana")

    def full(handle):
        raise OSError(28, "No space left on device")

    whole = log.path.read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            log.add("p2", "yes", "ana")
    assert log.posts() == ["p1"] and log.path.read_bytes() == whole
    assert log.add("p3", "yes", "ana").number == 2
    assert _again(log).posts() == ["p1", "p3"]


def test_each_of_several_threads_learns_that_its_label_is_lost(log, monkeypatch):
    log.add("p0", "yes", "ana")
    failed = []

    def full(handle):
        raise OSError(28, "No space left on device")

    def give(post):
        try:
            log.add(post, "yes", "ana")
        except OSError:
            failed.append(post)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        threads = [
            threading.Thread(target=give, args=(f"p{number}",))
            for number in range(1, 5)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(failed) == ["p1", "p2", "p3", "p4"]
    assert log.posts() == _again(log).posts() == ["p0"]
    assert log.add("p5", "no", "ana").number == 2


_WRITER = """
import sys
from pathlib import Path
from siamese_news_desk.labels.journal import LabelJournal
log = LabelJournal(Path(sys.argv[1]))
for number in range(log.version, 100_000):
    log.add(f"p{number}", "yes", "ana")
    print(number, flush=True)
"""


def test_what_was_confirmed_survives_kill(tmp_path):
    path = tmp_path / "labels.jsonl"
    for turn in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(path)],
            stdout=subprocess.PIPE,
            text=True,
        )
        confirmed = [process.stdout.readline() for _ in range(20 + 7 * turn)]
        time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        confirmed += process.stdout.read().splitlines()
        process.wait()
        process.stdout.close()
        last = int([line for line in confirmed if line.endswith("\n")][-1])
        log = LabelJournal(path)
        assert set(log.posts()) >= {f"p{number}" for number in range(last + 1)}
        assert log.version == len(log.posts())
    numbers = [json.loads(line)["n"] for line in path.read_text().splitlines()]
    assert numbers == list(range(1, len(numbers) + 1))


_COMPETITOR = """
import sys
from pathlib import Path
from siamese_news.errors import InputError
from siamese_news_desk.labels.journal import LabelJournal
path, name = Path(sys.argv[1]), sys.argv[2]
sys.stdin.readline()
for number in range(60):
    while True:
        try:
            LabelJournal(path).add(f"{name}{number}", "yes", name)
        except InputError as error:
            assert "in the meantime" in str(error), error
            continue
        print(f"{name}{number}", flush=True)
        break
"""


def test_what_was_confirmed_to_one_of_several_processes_is_not_overwritten(tmp_path):
    path = tmp_path / "labels.jsonl"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = [
        subprocess.Popen([sys.executable, "-c", _COMPETITOR, str(path), name], **pipes)
        for name in "abc"
    ]
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    confirmed = [
        post for process in processes for post in process.communicate()[0].split()
    ]
    assert len(confirmed) == 180
    assert sorted(LabelJournal(path).posts()) == sorted(confirmed)


def test_the_nuls_of_a_power_cut_hide_no_other_line(log):
    log.add("p1", "yes", "ana")
    whole = log.path.read_bytes()
    log.path.write_bytes(whole + 4096 * b"\0")
    again = _again(log)
    assert again.posts() == ["p1"] and again.add("p2", "no", "ana").number == 2
    lines = log.path.read_bytes().splitlines(keepends=True)
    log.path.write_bytes(lines[0] + 100 * b"\0" + lines[1])
    assert _again(log).posts() == ["p1", "p2"]
    log.path.write_bytes(lines[0] + 100 * b"\0" + b"\n" + lines[1])
    assert _again(log).posts() == ["p1", "p2"]
    # A line of NULs and a lost label is a gap in the numbers.
    log.path.write_bytes(len(lines[0]) * b"\0" + lines[1])
    with pytest.raises(InputError, match="has the number 2"):
        _again(log)


def test_half_a_character_is_shown_as_one_that_is_missing(log):
    given = log.add("p1", "yes", "a\ud83d", note="\ud83d half")
    assert (given.annotator, given.note) == ("a\ufffd", "\ufffd half")
    assert _again(log).of("p1", "a\ufffd") == given


@pytest.mark.parametrize(
    "changed",
    [
        {"post": ["p1"]},
        {"label": "maybe"},
        {"annotator": 7},
        {"note": None},
        {"copies": "p2"},
        {"copies": [2]},
        {"n": True},
        {"undo": [1]},
        {"plan": {}},
    ],
)
def test_a_value_of_another_type_is_named_with_its_line(log, changed):
    row = {
        "n": 1,
        "post": "p1",
        "label": "yes",
        "annotator": "ana",
        "note": "x",
        "copies": ["p2"],
    }
    log.path.write_text(json.dumps(row | changed) + "\n")
    with pytest.raises(InputError, match="labels.jsonl:1: is damaged"):
        _again(log)


def test_a_journal_is_a_sheet(log):
    """What is in force counts: not what was taken back or replaced, and copies by themselves."""
    log.add("p1", "yes", "ana", copies=("p2", "p3"))
    log.add("p3", "no", "ana")
    log.add("p4", "yes", "ana")
    log.undo("ana")
    log.add("p5", "no", "ana")
    log.add("p5", "yes", "ana")
    log.add("a\tp6", "skip", "ben")
    found = {(row.article, row.post): row.verdict() for row in read_rows(log.path)}
    assert found == {
        ("", "p1"): "yes",
        ("", "p2"): "yes",
        ("", "p3"): "no",
        ("", "p5"): "yes",
        ("a", "p6"): "skip",
    }


def test_a_journal_of_another_plan_is_refused_and_stays(tmp_path):
    path = tmp_path / "mine.jsonl"
    write_judgments(path, [Judgment(1, "p1", "yes", "ana")], "one")
    before = path.read_bytes()
    with pytest.raises(InputError, match="another plan"):
        LabelJournal(path, "two")
    assert path.read_bytes() == before
    again = LabelJournal(path, "one")
    assert again.verdict("p1") == "yes" and again.add("p2", "no", "ana").number == 3
