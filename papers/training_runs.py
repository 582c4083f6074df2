"""A training run behind a table: the options of ``siamese_news.train``, and its small result."""

import csv
import json
import logging
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from papers.jobs import FORMAT, Job, Results
from siamese_news.errors import InputError
from siamese_news.training.plain_options import composed
from siamese_news.utils.files import atomic_write

log = logging.getLogger(__name__)

# The options of a run on the bundled stories: 50-d vectors that come with a package.
SMALL = ("data=stories", "vectors=glove50", "vectors.trainable=true")


def compose_training(overrides: Sequence[str]) -> dict[str, Any]:
    """The resolved options of a training, as plain values."""
    plain = composed(*overrides)
    # The names of the chosen options, which the row of the run repeats.
    groups = (override.partition("=") for override in overrides)
    plain["labels"] = {name: value for name, _, value in groups if "." not in name}
    return plain


def train_link(overrides: Sequence[str], folder: Path) -> dict[str, Any]:
    """Train on (article, post) pairs, or continue an interrupted run.

    Returns:
        ``command``; ``row``, the figures on dev and test; ``pooled``, ``ceilings`` and ``counts``
        of the test (these three only if there is a test); ``epochs``, the log of each epoch.

    Raises:
        InputError: the folder holds a run with other options, or of another version.
    """
    from siamese_news.training import link

    _claim(folder, overrides)
    config = compose_training(overrides)
    last = folder / "checkpoints" / "last.ckpt"
    if last.is_file():
        config["resume"] = str(last)
        log.info("continuing from %s", last)
    row = link.run(config, folder)
    if row is None:
        raise RuntimeError("a run of one process returned no row")
    values: dict[str, Any] = {
        "command": f"python -m siamese_news.train {' '.join(overrides)}",
        "row": row,
        "epochs": epoch_log(folder / "logs"),
    }
    written = folder / "evaluation" / "evaluation.json"
    if written.is_file():
        (system,) = json.loads(written.read_text(encoding="utf-8"))["systems"].values()
        values |= {name: system[name] for name in ("pooled", "ceilings", "counts")}
    return values


def _claim(folder: Path, overrides: Sequence[str]) -> None:
    """Write down whose folder this is: a run only continues in its own.

    A trial of a learning rate continues as the whole run, so epochs and test may differ.
    """
    free = ("task.epochs=", "data.test=")
    options = sorted(option for option in overrides if not option.startswith(free))
    mine = {"format": FORMAT, "options": options}
    path = folder / "options.json"
    if path.is_file():
        try:
            there = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            there = None
        if there != mine:
            raise InputError(
                f"{path}: the run in this folder had other options, or is of another version, and "
                "cannot be continued; delete the folder, or name another one for made="
            )
        return
    with atomic_write(path) as stream:
        json.dump(mine, stream, indent=1)


def forget_checkpoints(folder: Path) -> None:
    """Delete what a finished run would continue from; its model stays."""
    shutil.rmtree(folder / "checkpoints", ignore_errors=True)


def link_job(
    name: str, overrides: Sequence[str], minutes: float, data: str, seeds: Sequence[int]
) -> Job:
    """A job that trains on (article, post) pairs and keeps the model without its checkpoints."""

    def run(folder: Path, results: Results) -> Mapping[str, Any]:
        values = train_link(overrides, folder)
        forget_checkpoints(folder)
        return values

    return Job(name, run, minutes, data, seeds)


def over_seeds(values: Sequence[float]) -> tuple[float, float | None]:
    """Mean and sample deviation; None for the deviation of one value."""
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return float(np.mean(values)), deviation


def map_row(
    title: Mapping[str, str], runs: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The row of a table that compares runs by the MAP over articles, as means over seeds."""
    values = {
        n: over_seeds([run["row"][n] for run in runs])
        for n in ("AP", "AUC", "MAP", "dev map")
    }
    return {
        **title,
        "seeds": len(runs),
        "mAP": values["AP"][0],
        "AUC": values["AUC"][0],
        "MAP by article": values["MAP"][0],
        "± over seeds": values["MAP"][1],
        "dev MAP": values["dev map"][0],
    }


def initial_alphas(overrides: Sequence[str]) -> dict[str, float]:
    """The logged alphas of each head before training, as `train_link` with these options starts."""
    import pytorch_lightning as pl

    from siamese_news.training.build import build_model, build_text

    config = compose_training(overrides)
    pl.seed_everything(config["seed"], workers=True, verbose=False)
    model = build_model(
        config, build_text(config["vectors"], config["task"]["tokenizer"]), ()
    )
    return {
        f"alpha/{name}/{head}": round(float(alpha), 6)
        for name, alphas in model.encoder.alphas().items()
        for head, alpha in enumerate(alphas)
    }


def last_alphas(epochs: Sequence[Mapping[str, Any]], part: str) -> list[float]:
    """The alpha of each head of a part (``rings`` or ``stars``) after the last logged epoch."""
    if not epochs:
        return []
    prefix = f"alpha/{part}."
    named = {
        name: value for name, value in epochs[-1].items() if name.startswith(prefix)
    }
    return [
        named[name]
        for name in sorted(named, key=lambda name: int(name.rpartition("/")[2]))
    ]


def epoch_log(folder: Path) -> list[dict[str, float]]:
    """The last value of each logged figure in each epoch, over all parts of an interrupted run."""
    merged: dict[int, dict[str, float]] = {}
    versions = folder.glob("csv/version_*/metrics.csv")
    for path in sorted(
        versions, key=lambda path: int(path.parent.name.rpartition("_")[2])
    ):
        with path.open(newline="", encoding="utf-8") as stream:
            for line in csv.DictReader(stream):
                kept = {
                    name: round(float(value), 6)
                    for name, value in line.items()
                    if value and name.startswith(("alpha/", "dev/"))
                }
                if kept:
                    merged.setdefault(int(line["epoch"]), {}).update(kept)
    return [{"epoch": epoch, **merged[epoch]} for epoch in sorted(merged)]
