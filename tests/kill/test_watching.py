"""A watch over a stream that is killed at random points."""

import json
import resource
import signal
import subprocess
import sys
import time

import pytest
from killing import ENV, finish, kill_often, start, wait_for

pytestmark = pytest.mark.slow


def watch(out, *more):
    return (
        "-m",
        "siamese_news",
        "watch",
        "--articles",
        "seed.txt",
        "--source",
        "stdin",
        "--min-score",
        ".03",
        "--window",
        "50000",
        "--idle",
        "1",
        "--out",
        out,
        *more,
    )


def test_watching(pool):
    stream, log = pool / "posts.jsonl", pool / "log.txt"
    process = start(watch("aaa.jsonl"), pool, log, stdin=stream)
    wait_for((pool / "aaa.jsonl.watch" / "checkpoint.json").exists, process)
    began = time.monotonic()
    finish(process, log)
    seconds = time.monotonic() - began
    whole = (pool / "aaa.jsonl").read_bytes()
    assert len(whole) > 20_000
    saved = json.loads((pool / "aaa.jsonl.watch" / "checkpoint.json").read_text())
    assert saved["counts"]["read"] == 30_000
    attempts = []

    def attempt():
        attempts.append(time.time_ns())
        return watch("bbb.jsonl")

    state = pool / "bbb.jsonl.watch" / "checkpoint.json"

    def begun():
        return state.exists() and state.stat().st_mtime_ns > attempts[-1]

    def check():
        assert (pool / "bbb.jsonl").read_bytes() == whole

    def fresh():
        for path in (
            *pool.glob("bbb*.jsonl"),
            *pool.glob("bbb*.json"),
            *pool.glob("bbb*.watch/*.json*"),
        ):
            path.unlink()

    kill_often(
        attempt,
        check,
        fresh,
        folder=pool,
        begun=begun,
        seconds=seconds,
        kills=12,
        seed=1,
        codes=(130, 143, -15),
        stdin=stream,
    )


def test_a_full_disk_ends_it_and_nothing_is_lost(pool):
    """The limit on the size of a file is reached by the rows, the window or the checkpoint."""
    lines = (pool / "posts.jsonl").read_bytes().splitlines(keepends=True)[:6000]

    def run(out, size):
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        return subprocess.run(
            [sys.executable, *watch(out)],
            cwd=pool,
            env=ENV,
            capture_output=True,
            text=True,
            preexec_fn=limit,
            input=b"".join(lines).decode(),
        )

    assert run("whole.jsonl", 10**9).returncode == 0
    whole = (pool / "whole.jsonl").read_bytes()
    assert len(whole) > 20_000
    for size in (1_000, len(whole) // 2, 150_000):
        done = run("out.jsonl", size)
        assert done.returncode == 1, done.stderr
        assert "Traceback" not in done.stderr and "too large" in done.stderr.lower()
    assert run("out.jsonl", 10**9).returncode == 0
    assert (pool / "out.jsonl").read_bytes() == whole
