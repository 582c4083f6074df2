"""A watch over a growing folder that is killed at random points."""

import json
import time

import pytest
from killing import finish, kill_often, start, wait_for

pytestmark = pytest.mark.slow


def test_watching(pool):
    lines = (pool / "posts.jsonl").read_bytes().splitlines(keepends=True)
    (pool / "dumps").mkdir()
    for number in range(3):
        part = lines[number * 10_000 : (number + 1) * 10_000]
        (pool / "dumps" / f"{number}.jsonl").write_bytes(b"".join(part))
    (pool / "posts.jsonl").unlink()

    def watch(out):
        return (
            "-m", "siamese_news", "watch", "--articles", "seed.txt", "--source", "dumps",
            "--threshold", ".03", "--window", "50000", "--rotate", "20KB", "--idle", "1",
            "--out", out,
        )  # fmt: skip

    def rows(name):
        return {path.name[4:]: path.read_bytes() for path in sorted(pool.glob(f"{name}-*"))}

    log = pool / "log.txt"
    process = start(watch("aaa.jsonl"), pool, log)
    wait_for((pool / "aaa.jsonl.watch" / "checkpoint.json").exists, process)
    began = time.monotonic()
    finish(process, log)
    seconds = time.monotonic() - began
    whole = rows("aaa")
    assert len(whole) > 2
    assert json.loads((pool / "aaa.jsonl.metrics.json").read_text())["counts"]["read"] == 30_000
    attempts = []

    def attempt():
        attempts.append(time.time_ns())
        return watch("bbb.jsonl")

    state = pool / "bbb.jsonl.watch" / "checkpoint.json"

    def begun():
        return state.exists() and state.stat().st_mtime_ns > attempts[-1]

    def check():
        assert rows("bbb") == whole

    def fresh():
        for path in (
            *pool.glob("bbb*.jsonl"),
            *pool.glob("bbb*.json"),
            *pool.glob("bbb*.watch/*.json*"),
        ):
            path.unlink()

    kill_often(
        attempt, check, fresh, folder=pool, begun=begun, seconds=seconds, kills=12, seed=1,
        codes=(130, 143, -15),
    )  # fmt: skip
