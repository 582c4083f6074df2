"""The runs behind Tables 1 and 2: encoders that differ in ``encoder=`` alone.

Each encoder is trained under both splits. Its learning rate is the better of a small grid after the
first epochs of the first seed, by MAP on dev; that run continues, and the other seeds follow.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from papers.jobs import Job, Results, Setting
from papers.training_runs import SMALL, forget_checkpoints, train_link


@dataclass(frozen=True, slots=True)
class Encoder:
    """A row of the tables."""

    option: str  # of ``encoder=``
    title: str
    published: str | None  # its name in the paper
    minutes: float  # of one core, an epoch of the split by pair, about
    more: tuple[str, ...] = ()  # dense attention is softmax by definition


ENCODERS = (
    Encoder("star_projected", "AST, projected heads", "AST", 0.15),
    Encoder("cnn", "CNN", "CNN", 0.15),
    Encoder("bigru", "Bi-GRU", "Bi-GRU", 0.4),
    Encoder("gru", "GRU", "GRU", 0.45),
    Encoder("star", "AST, best", None, 0.12),
    Encoder("bag", "bag of vectors", None, 0.05),
    Encoder("transformer", "dense Transformer", None, 0.4, ("sparsity=softmax",)),
)
SPLITS = {"pair": "usatoday_cnn_pairs", "event": "usatoday_cnn"}
RATES = (0.001, 0.003)
# Epochs of a trial of a learning rate, and of a run at most; the stories have minutes for all runs.
TRIAL_EPOCHS = {"shared": 2, "stories": 1}
EPOCHS = {"shared": 8, "stories": 3}


def sweep_jobs(setting: Setting) -> list[Job]:
    """All runs, the first seed of every encoder before the next seed of any."""
    first = setting.seeds[0]
    jobs = []
    for seed in setting.seeds:
        for encoder in ENCODERS:
            for split in splits(setting):
                shared = overrides(setting, encoder, split)
                data = data_of(setting, split)
                trial = trial_name(encoder, split)
                epochs = TRIAL_EPOCHS[setting.data]
                epoch = encoder.minutes * share(setting, split)
                if seed == first:
                    run = partial(_run_trials, shared, seed)
                    jobs.append(
                        Job(trial, run, epoch * len(RATES) * epochs, data, (seed,))
                    )
                left = EPOCHS[setting.data] - epochs * (seed == first)
                job = partial(_run_seed, shared, trial, seed, first)
                jobs.append(
                    Job(
                        seed_name(encoder, split, seed),
                        job,
                        epoch * left,
                        data,
                        (seed,),
                    )
                )
    return jobs


def splits(setting: Setting) -> tuple[str, ...]:
    """The bundled stories have one split, by event."""
    return tuple(SPLITS) if setting.data == "shared" else ("event",)


def data_of(setting: Setting, split: str) -> str:
    """The data of a run, in words."""
    shared = setting.data == "shared"
    return f"{'usatoday-cnn' if shared else 'bundled stories'}, split by {split}"


def trial_name(encoder: Encoder, split: str) -> str:
    """The job that chooses a learning rate."""
    return f"tables_{split}_{encoder.option}_rate"


def seed_name(encoder: Encoder, split: str, seed: int) -> str:
    """The job that trains one seed."""
    return f"tables_{split}_{encoder.option}_seed{seed}"


def overrides(setting: Setting, encoder: Encoder, split: str) -> list[str]:
    """The options of ``siamese_news.train`` that all runs of a row share."""
    options = ["experiment=ast_tables", f"encoder={encoder.option}", *encoder.more]
    if setting.data == "stories":
        return [*options, *SMALL, f"task.epochs={EPOCHS['stories']}"]
    return [*options, f"data={SPLITS[split]}"]


def share(setting: Setting, split: str) -> float:
    """The time of an epoch relative to one of the split by pair."""
    if setting.data == "stories":
        return 0.2
    return 1.0 if split == "pair" else 0.6


def _run_trials(
    options: Sequence[str], seed: int, folder: Path, results: Results
) -> Mapping[str, Any]:
    """MAP on dev after a few epochs at each learning rate, without a test."""
    tried = []
    epochs = TRIAL_EPOCHS[results.setting.data]
    for rate in RATES:
        trial = [
            *options,
            f"seed={seed}",
            f"task.optimizer.lr={rate}",
            "data.test=null",
        ]
        values = train_link(
            [*trial, f"task.epochs={epochs}"], _rate_folder(folder, rate)
        )
        dev = max(epoch["dev/map"] for epoch in values["epochs"])
        tried.append({"rate": rate, "dev map": dev, "command": values["command"]})
    best = max(tried, key=lambda trial: trial["dev map"])
    return {"tried": tried, "rate": best["rate"], "epochs": epochs}


def _run_seed(
    options: Sequence[str],
    trial: str,
    seed: int,
    first: int,
    folder: Path,
    results: Results,
) -> Mapping[str, Any]:
    rate = results[trial]["rate"]
    if seed == first and _rate_folder(folder.parent / trial, rate).is_dir():
        folder = _rate_folder(folder.parent / trial, rate)  # continue the trial
    values = train_link([*options, f"seed={seed}", f"task.optimizer.lr={rate}"], folder)
    forget_checkpoints(folder)
    return {**values, "rate": rate}


def _rate_folder(trial: Path, rate: float) -> Path:
    return trial / f"rate{rate}"


def first_model(encoder: Encoder, split: str, runs: Path, results: Results) -> Path:
    """The model folder of the first seed of a row; trained again where it does not exist.

    The results must hold the two of the row that `first_jobs` names.
    """
    setting = results.setting
    seed = setting.seeds[0]
    if (there := seed_model(setting, encoder, split, seed, runs)) is not None:
        return there
    trial = trial_name(encoder, split)
    folder = runs / seed_name(encoder, split, seed)
    _run_seed(overrides(setting, encoder, split), trial, seed, seed, folder, results)
    return first_model(encoder, split, runs, results)


def seed_model(
    setting: Setting, encoder: Encoder, split: str, seed: int, runs: Path
) -> Path | None:
    """The model folder of a run, if it exists; `runs` holds the folders of all runs."""
    folders = [runs / seed_name(encoder, split, seed)]
    if seed == setting.seeds[0]:
        folders += [
            _rate_folder(runs / trial_name(encoder, split), rate) for rate in RATES
        ]
    for folder in folders:
        # A trial that was not continued has no evaluation of the test.
        if (folder / "evaluation").is_dir() and (
            folder / "model" / "SHA256SUMS"
        ).is_file():
            return folder / "model"
    return None


def row_jobs(
    setting: Setting, encoder: Encoder, split: str, seeds: Sequence[int] | None = None
) -> list[Job]:
    """The runs of a row, all seeds for None, and the choice of its learning rate."""
    own = setting.seeds if seeds is None else seeds
    names = {
        trial_name(encoder, split),
        *(seed_name(encoder, split, seed) for seed in own),
    }
    return [job for job in sweep_jobs(setting) if job.name in names]


def first_jobs(setting: Setting, split: str, options: Sequence[str]) -> list[Job]:
    """The runs of the first seed of some rows, and the choices of their learning rates."""
    chosen = [encoder for encoder in ENCODERS if encoder.option in options]
    return [
        job for e in chosen for job in row_jobs(setting, e, split, setting.seeds[:1])
    ]
