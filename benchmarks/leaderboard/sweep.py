"""Rows whose models are those of the fair sweep behind Tables 1 and 2 of the AST paper."""

from collections.abc import Mapping
from pathlib import Path

from papers.ast.sweep import ENCODERS, SPLITS, Encoder, row_jobs, seed_model
from papers.jobs import Setting, Store

SETTING = Setting("shared")


def known(sweep: Mapping[str, str]) -> bool:
    """Whether the sweep has such a row."""
    options = [encoder.option for encoder in ENCODERS]
    return set(sweep) == {"encoder", "split"} and (
        sweep["encoder"] in options and sweep["split"] in SPLITS
    )


def sweep_models(sweep: Mapping[str, str], made: Path) -> list[Path]:
    """The model folders that are there, one a seed.

    Args:
        sweep: ``encoder``, an option of ``encoder=``, and ``split``, ``pair`` or ``event``.
        made: the folder that ``python -m papers paper=ast`` calls ``made``.
    """
    runs = _store(made).runs(SETTING)
    encoder, split = _encoder(sweep), sweep["split"]
    found = [seed_model(SETTING, encoder, split, seed, runs) for seed in SETTING.seeds]
    return [folder for folder in found if folder is not None]


def train_sweep(sweep: Mapping[str, str], made: Path) -> None:
    """Make the runs of a row that are not there; see `sweep_models`."""
    for job in _store(made).make(SETTING, row_jobs(SETTING, _encoder(sweep), sweep["split"])):
        print(f"{job.name}: trained", flush=True)


def _encoder(sweep: Mapping[str, str]) -> Encoder:
    return next(encoder for encoder in ENCODERS if encoder.option == sweep["encoder"])


def _store(made: Path) -> Store:
    # The results that ship with the project have no models behind them here.
    return Store(saved=None, made=made, paper="ast")
