"""Searches and labels that are killed, and a disk that fills up, at random points."""

import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest
from killing import ENV, LIMIT, finish, kill_often, start, wait_for
from tests.installed import needs_desk

pytestmark = pytest.mark.slow

CLI = ("-m", "siamese_news")
BEST = 120  # of the posts, the first are relevant


def search(*more, out="out.jsonl", threshold="0.03"):
    return (
        *CLI,
        "filter",
        "--articles",
        "seed.txt",
        "--posts",
        "posts.jsonl",
        "--min-score",
        threshold,
        "--out",
        out,
        *more,
    )


def left(folder):
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("out"))


def test_filtering(pool):
    log, state = pool / "log.txt", pool / "out.jsonl.part"
    process = start(search(out="whole.jsonl"), pool, log)
    wait_for((pool / "whole.jsonl.part/work.json").exists, process)
    began = time.monotonic()
    finish(process, log)
    seconds = time.monotonic() - began
    attempts = []

    def attempt():
        attempts.append(time.time_ns())
        return search(*(["--resume"] if state.exists() else []))

    def begun():
        with suppress(FileNotFoundError):  # the run may end meanwhile
            return any(
                path.stat().st_mtime_ns > attempts[-1] for path in state.glob("0*.json")
            )
        return False

    def check():
        assert (pool / "out.jsonl").read_bytes() == (pool / "whole.jsonl").read_bytes()
        assert left(pool) == ["out.jsonl", "out.jsonl.meta.json"]

    def fresh():
        shutil.rmtree(state, ignore_errors=True)
        for name in left(pool):
            (pool / name).unlink()

    kill_often(
        attempt,
        check,
        fresh,
        folder=pool,
        begun=begun,
        seconds=seconds,
        kills=30,
        seed=1,
    )
    assert (pool / "whole.jsonl").read_bytes()


def scored(folder):
    rows = [
        {
            "article": "all",
            "rank": n + 1,
            "score": round(0.9 - n / 500, 6),
            "post": f"p{n}",
            "text": f"text {n}",
        }
        for n in range(300)
    ]
    folder.mkdir()
    (folder / "scored.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows)
    )
    return folder


def is_relevant(post):
    number = int(post[1:])
    return number < BEST and number % 17 > 0


def fill(sheet):
    """Label a sheet as somebody does with another program."""
    import csv

    with sheet.open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    with sheet.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(
            {**row, "label": str(int(is_relevant(row["post"])))} for row in rows
        )


class Killer:
    """Runs a command until it ends by itself; most attempts are killed at a random point."""

    def __init__(self, seed, share):
        self.dice, self.share, self.kills = random.Random(seed), share, 0
        self.seconds = 2.0

    def __call__(self, folder, *command, made=None):
        """Its last words. A killed one that has `made` its file is done as well."""
        while True:
            began = time.monotonic()
            process = subprocess.Popen(
                [sys.executable, *CLI, *command],
                cwd=folder,
                env=ENV,
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            try:
                if self.dice.random() < self.share:
                    # Most of the time goes into starting.
                    said = process.communicate(
                        timeout=self.seconds * self.dice.uniform(0.4, 1.1)
                    )
                else:
                    said = process.communicate(timeout=LIMIT)
            except subprocess.TimeoutExpired:
                process.send_signal(self.dice.choice([signal.SIGKILL, signal.SIGTERM]))
                said = process.communicate(timeout=LIMIT)
                self.kills += 1
                assert process.returncode in (0, -9, 143, -signal.SIGTERM), said[1]
            else:
                assert process.returncode == 0, said[1]
                self.seconds = time.monotonic() - began
            if process.returncode == 0 or (made is not None and made.exists()):
                return said[1]


def certified(folder, killer):
    """The whole way to a certificate; returns its findings and the sheets."""
    sheets = ["sheet.csv"]
    killer(
        folder,
        "sample",
        "--results",
        "scored.jsonl",
        "--precision",
        ".7",
        "--out",
        "sheet.csv",
        made=folder / "sheet.csv",
    )
    for _ in range(40):
        fill(folder / sheets[-1])
        said = killer(folder, "certify", "--labels", *sheets)
        found = re.search(r"([^/\s]+): \d+ more posts to label", said)
        if not found:
            break
        sheets.append(found[1])
    content = json.loads((folder / "sheet.certificate.json").read_text())
    names = ("settings", "population", "confidence", "claims", "earlier_plans")
    labels = {k: v for k, v in content["labels"].items() if k != "files"}
    content["population"].pop("study")  # a random name for posts without texts
    return {name: content[name] for name in names} | labels, [
        (folder / sheet).read_bytes() for sheet in sheets
    ]


@needs_desk
def test_a_certificate_and_its_sheets(tmp_path):
    whole = certified(scored(tmp_path / "whole"), Killer(0, 0.0))
    kills = 0
    for seed in range(1, 40):
        killer = Killer(seed, 0.7)
        findings, sheets = certified(scored(tmp_path / str(seed)), killer)
        # The random order is that of the seed: the same posts are drawn, whatever happened.
        assert findings == whole[0]
        assert len(sheets) == len(whole[1])
        kills += killer.kills
        print(f"seed {seed}: {killer.kills} kills")
        if kills >= 20:
            return
    raise AssertionError(f"{kills} kills alone")


def limited(size):
    """Files may not grow beyond a size, as on a disk that is full."""

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


def test_a_full_disk_leaves_the_old_output_whole(pool):
    with (pool / "posts.jsonl").open() as stream:
        few = [next(stream) for _ in range(1000)]
    (pool / "posts.jsonl").write_text("".join(few))
    commands = {
        "filter": lambda out, more: search(*more, out=out, threshold="-0.5"),
        "rank": lambda out, more: (
            *CLI,
            "rank",
            "--articles",
            "seed.txt",
            "--posts",
            "posts.jsonl",
            "--top",
            "2000",
            "--out",
            out,
            *more,
        ),
        "report": lambda out, more: (
            *CLI,
            "report",
            "--results",
            "old.jsonl",
            "--out",
            out,
        ),
    }
    dice = random.Random(0)
    done = subprocess.run(
        [sys.executable, *search(out="old.jsonl", threshold="-0.5")],
        cwd=pool,
        env=ENV,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    for name, command in commands.items():
        old = pool / f"out-{name}.{'html' if name == 'report' else 'jsonl'}"
        whole = old.with_name(f"whole-{old.name}")
        for out in (old, whole):
            done = subprocess.run(
                [sys.executable, *command(out.name, [])],
                cwd=pool,
                env=ENV,
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, done.stderr
        before = {path.name: path.read_bytes() for path in pool.glob(f"{old.name}*")}
        size = len(before[old.name])
        for number in range(5):
            most = 0 if number == 0 else dice.randrange(size)
            done = subprocess.run(
                [sys.executable, *command(old.name, [])],
                cwd=pool,
                env=ENV,
                capture_output=True,
                text=True,
                preexec_fn=limited(most),
            )
            # 2 where the copy of what was read has no room, which is not the output.
            assert done.returncode in (1, 2), (name, most, done.stderr)
            assert "Traceback" not in done.stderr, done.stderr
            assert "cannot be written" in done.stderr or "cannot be kept" in done.stderr
            named = done.stderr[done.stderr.rindex("siamese-news: ") :]
            assert old.name in named or "/tmp" in named, named
            for file, content in before.items():
                assert (pool / file).read_bytes() == content, (name, most, file)
            assert not list(pool.glob(f".{old.name}*"))
            if name == "filter":  # goes on when there is room again
                rest = subprocess.run(
                    [sys.executable, *command(old.name, ["--resume"])],
                    cwd=pool,
                    env=ENV,
                    capture_output=True,
                    text=True,
                )
                assert rest.returncode == 0, rest.stderr
            assert old.read_bytes() == whole.read_bytes() or name == "report"
            before = {
                path.name: path.read_bytes() for path in pool.glob(f"{old.name}*")
            }


@pytest.mark.parametrize("command", ["rank", "filter", "keywords"])
def test_what_was_spooled_is_removed_at_any_point(pool, command):
    """Standard input is copied to a file, which SIGTERM and Ctrl-C remove wherever they come."""
    spool, dice, log = pool / "spool", random.Random(command), pool / "log.txt"
    arguments = {
        "rank": ["--articles", "seed.txt", "--out", "out.jsonl"],
        "filter": [
            "--articles",
            "seed.txt",
            "--min-score",
            "0.1",
            "--out",
            "out.jsonl",
        ],
        "keywords": ["--results", "found.csv", "--out", "out.csv", "--format", "csv"],
    }[command]
    first = json.loads((pool / "posts.jsonl").open().readline())
    (pool / "found.csv").write_text(f"post\n{first.get('id', first.get('_id'))}\n")
    seconds = 8.0
    for number in range(20):
        shutil.rmtree(spool, ignore_errors=True)
        spool.mkdir()
        with (pool / "posts.jsonl").open("rb") as posts, log.open("wb") as stream:
            began = time.monotonic()
            process = subprocess.Popen(
                [sys.executable, *CLI, command, "--posts", "-", *arguments],
                cwd=pool,
                env={**ENV, "TMPDIR": str(spool)},
                stdin=posts,
                stdout=stream,
                stderr=subprocess.STDOUT,
            )
            try:
                process.wait(timeout=dice.uniform(0, seconds) if number else LIMIT)
                seconds = time.monotonic() - began
            except subprocess.TimeoutExpired:
                sent = dice.choice([signal.SIGTERM, signal.SIGINT])
                process.send_signal(sent)
                code = process.wait(timeout=LIMIT)
                # Before the command has begun, Python itself ends.
                assert code in (130, 143, -sent, 1), log.read_text()[-2000:]
        assert not list(spool.iterdir()), log.read_text()[-2000:]
        for path in pool.glob("*out*"):
            os.unlink(path)
