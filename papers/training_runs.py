"""A training run behind a table: the options of ``siamese_news.train``, and its small result."""

import csv
import json
import logging
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_module
from hydra.core.global_hydra import GlobalHydra
from omegaconf import OmegaConf

from papers.jobs import FORMAT
from siamese_news.errors import InputError
from siamese_news.utils.files import atomic_write

log = logging.getLogger(__name__)

# What makes a run on the bundled stories: 50-d vectors that come with a package, few epochs.
SMALL = ("data=stories", "vectors=glove50", "vectors.trainable=true")


def compose_training(overrides: Sequence[str]) -> dict[str, Any]:
    """The resolved options of a training, as plain values."""
    # The command's own configuration has no option of a training.
    command = GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    try:
        with initialize_config_module("siamese_news.conf", version_base="1.3"):
            composed = compose("train", overrides=list(overrides))
    finally:
        GlobalHydra.instance().hydra = command
    plain: Any = OmegaConf.to_container(composed, resolve=True)
    # What the options are called, which the row of the run says.
    groups = (override.partition("=") for override in overrides)
    plain["labels"] = {name: value for name, _, value in groups if "." not in name}
    return dict(plain)


def train_link(overrides: Sequence[str], folder: Path) -> dict[str, Any]:
    """Train on (article, post) pairs, or go on where an interrupted run stopped.

    Args:
        overrides: what follows ``python -m siamese_news.train``.
        folder: of the run; its model stays there.

    Returns:
        ``command``; ``row``, the figures on dev and test; ``pooled``, ``ceilings`` and ``counts``
        of the test (none of these three where there is no test); ``epochs``, what was logged at the
        end of each epoch.

    Raises:
        InputError: the folder holds a run with other options, or of another version.
    """
    from siamese_news.training.linking import run as link

    _claim(folder, overrides)
    config = compose_training(overrides)
    last = folder / "checkpoints" / "last.ckpt"
    if last.is_file():
        config["resume"] = str(last)
        log.info("going on from %s", last)
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
    """Write down whose folder this is; a run only goes on in its own.

    A trial goes on as the whole run, so that epochs and test may differ.
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
                "cannot go on; delete the folder, or name another one for made="
            )
        return
    with atomic_write(path) as stream:
        json.dump(mine, stream, indent=1)


def initial_alphas(overrides: Sequence[str]) -> dict[str, float]:
    """The alpha of each head before training, as `train_link` with the same options starts.

    Returns:
        The alphas by the names under which they are logged.
    """
    import pytorch_lightning as pl

    from siamese_news.training.build import build_model, build_text

    config = compose_training(overrides)
    pl.seed_everything(config["seed"], workers=True, verbose=False)
    model = build_model(config, build_text(config["vectors"], config["task"]["tokenizer"]), ())
    return {
        f"alpha/{name}/{head}": round(float(alpha), 6)
        for name, alphas in model.encoder.alphas().items()
        for head, alpha in enumerate(alphas)
    }


def forget_checkpoints(folder: Path) -> None:
    """Delete what a finished run would go on from; its model stays."""
    shutil.rmtree(folder / "checkpoints", ignore_errors=True)


def epoch_log(folder: Path) -> list[dict[str, float]]:
    """What was logged at the end of each epoch, over all parts of an interrupted run.

    Args:
        folder: the ``logs`` of a run.
    """
    merged: dict[int, dict[str, float]] = {}
    versions = sorted(folder.glob("csv/version_*/metrics.csv"), key=lambda path: _number(path))
    for path in versions:
        with path.open(newline="", encoding="utf-8") as stream:
            for line in csv.DictReader(stream):
                kept = _epoch_values(line)
                if kept:
                    merged.setdefault(int(line["epoch"]), {}).update(kept)
    return [{"epoch": epoch, **merged[epoch]} for epoch in sorted(merged)]


def _epoch_values(line: Mapping[str, str]) -> dict[str, float]:
    return {
        name: round(float(value), 6)
        for name, value in line.items()
        if value and name.startswith(("alpha/", "dev/"))
    }


def _number(path: Path) -> int:
    return int(path.parent.name.rpartition("_")[2])
