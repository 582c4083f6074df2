"""`filter --ray` on a real Ray: the same rows, also where a process is killed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("ray")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("ray")
    words = ["flood", "river", "town", "bridge", "vote", "mayor", "the", "cellar"]
    with (root / "posts.jsonl").open("w") as stream:
        for n in range(6000):
            text = " ".join(words[n * k % 8] for k in range(1, 2 + n % 7))
            stream.write(
                json.dumps({"id": f"p{n % 5990}", "text": f"{text} {n % 31}"}) + "\n"
            )
    (root / "story.txt").write_text("Flood in the town\n\nThe river took the bridge.\n")
    done = subprocess.run(command(root, "one.jsonl"), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return root


def command(root, out, *more):
    return [
        sys.executable,
        "-m",
        "siamese_news",
        "filter",
        "--articles",
        str(root / "story.txt"),
        "--posts",
        str(root / "posts.jsonl"),
        "--min-score",
        "0.05",
        "--out",
        str(root / out),
        *more,
    ]


def actors():
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes().startswith(b"ray::Worker"):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def test_the_same_rows_and_an_actor_that_dies(root):
    ray = ["--ray", "local", "--workers", "2"]
    job = subprocess.Popen(
        command(root, "ray.jsonl", *ray), stderr=subprocess.PIPE, text=True
    )
    while not (found := actors()) and job.poll() is None:
        time.sleep(0.05)
    os.kill(found[0], signal.SIGKILL)
    error = job.communicate(timeout=600)[1]
    assert job.returncode == 0, error
    assert (root / "ray.jsonl").read_bytes() == (root / "one.jsonl").read_bytes()
