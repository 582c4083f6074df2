"""Rows whose models are runs behind the tables of the AST paper.

``settings: paper`` are those of the fair sweep (Tables 1 and 2), ``settings: code`` those with the
settings of the released code (``table=authors``).
"""

from collections.abc import Mapping
from pathlib import Path

from papers.ast import authors
from papers.ast.sweep import ENCODERS, SPLITS, Encoder, row_jobs, seed_model
from papers.jobs import Job, Setting, Store

SETTING = Setting("shared")


def known(sweep: Mapping[str, str]) -> bool:
    """Whether there are such runs."""
    options = {
        "paper": [encoder.option for encoder in ENCODERS],
        "code": [*authors.ENCODERS],
    }
    return (
        set(sweep) == {"settings", "encoder", "split"}
        and sweep["encoder"] in options.get(sweep["settings"], [])
        and sweep["split"] in SPLITS
    )


def sweep_models(sweep: Mapping[str, str], made: Path) -> list[Path]:
    """The existing model folders, one a seed.

    Args:
        sweep: ``settings``, ``paper`` or ``code``; ``encoder``, an option of ``encoder=``; and
            ``split``, ``pair`` or ``event``.
        made: the folder that ``python -m papers paper=ast`` calls ``made``.
    """
    runs = _store(made).runs(SETTING)
    if sweep["settings"] == "code":
        folders = [runs / job.name / "model" for job in _jobs(sweep)]
        return [folder for folder in folders if (folder / "SHA256SUMS").is_file()]
    encoder = _encoder(sweep)
    split = sweep["split"]
    found = [seed_model(SETTING, encoder, split, seed, runs) for seed in SETTING.seeds]
    return [folder for folder in found if folder is not None]


def train_sweep(sweep: Mapping[str, str], made: Path) -> None:
    """Make the missing runs of a row; see `sweep_models`."""
    for job in _store(made).make(SETTING, _jobs(sweep)):
        print(f"{job.name}: trained", flush=True)


def _jobs(sweep: Mapping[str, str]) -> list[Job]:
    if sweep["settings"] == "code":
        return authors.row_jobs(SETTING, sweep["encoder"], sweep["split"])
    return row_jobs(SETTING, _encoder(sweep), sweep["split"])


def _encoder(sweep: Mapping[str, str]) -> Encoder:
    return next(encoder for encoder in ENCODERS if encoder.option == sweep["encoder"])


def _store(made: Path) -> Store:
    # The results that ship with the project have no models behind them here.
    return Store(saved=None, made=made, paper="ast")
