"""One training job: what its task reads, and whether its folder holds its result already."""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from siamese_news.errors import InputError
from siamese_news.training.launch import is_first_process
from siamese_news.utils.checked_json import brief_json, differences
from siamese_news.utils.files import atomic_write

ROW = "row.json"
CONFIG = "config.yaml"
# Options that change no result: names, display, logs and the device.
_SAME_RESULT = tuple(
    """
    labels resume logger trainer.accelerator trainer.threads trainer.enable_model_summary
    trainer.enable_progress_bar trainer.log_every_n_steps trainer.profiler
    trainer.detect_anomaly
    """.split()
)
# Options that may also differ where a run continues, with all that they contain.
_CONTINUED = "callbacks task.epochs trainer.max_epochs trainer.max_steps trainer.max_time".split()
#: Runs a task: configuration and folder in, the row of the comparison table out.
Run = Callable[[Mapping[str, Any], Path], dict[str, Any] | None]
_SHOWN = 6  # differing keys in a message


@dataclass(frozen=True, slots=True)
class Task:
    """What a task reads of the configuration.

    Attributes:
        options: the keys of ``conf/task`` with their types.
        groups: the groups of ``conf/`` that change its result.
        continues: whether an interrupted run continues without ``resume=``.
        of_new_models: options of ``conf/task`` that a model of ``init=`` makes idle.
    """

    options: Any
    groups: frozenset[str]
    continues: bool
    of_new_models: frozenset[str]


def task(
    options: Any, groups: str, *, continues: bool = False, of_new_models: str = ""
) -> Callable[[Run], Run]:
    """Mark a function as one that ``conf/task`` can name: it runs a configuration in a folder."""

    def marked(run: Run) -> Run:
        reads, idle = frozenset(groups.split()), frozenset(of_new_models.split())
        run.task = Task(options, reads, continues, idle)  # type: ignore[attr-defined]
        return run

    return marked


def claim(config: Mapping[str, Any], folder: Path, *, continues: bool) -> None:
    """Write the configuration of a job into its folder.

    Raises:
        InputError: the job would continue the training of another configuration.
    """
    unfinished = (folder / CONFIG).is_file() and (
        folder / "checkpoints" / "last.ckpt"
    ).is_file()
    if unfinished and (config["resume"] or continues):
        begun = OmegaConf.to_container(OmegaConf.load(folder / CONFIG))
        _check_same(begun, config, f"{folder}: holds unfinished training", _CONTINUED)
    if is_first_process():
        with atomic_write(folder / CONFIG) as stream:
            stream.write(OmegaConf.to_yaml(OmegaConf.create(dict(config))))


def result_of(config: Mapping[str, Any], folder: Path) -> dict[str, Any] | None:
    """The row of a job with this configuration that has finished in a folder, if there is one.

    It is None where ``resume`` asks for more training.
    """
    if not (folder / ROW).is_file():
        return None
    row = read_row(folder / ROW)
    longer = _CONTINUED if config["resume"] else ()
    _check_same(row.pop("config"), config, f"{folder}: holds the result", longer)
    del row["overrides"]
    row.pop("loops", None)  # rows of earlier versions have none
    return None if config["resume"] else row


def _check_same(
    begun: Any, config: Any, prefix: str, may_differ: Collection[str]
) -> None:
    inside = tuple(f"{name}." for name in (*_SAME_RESULT, *may_differ))
    differing = [
        f"{key} ({brief_json(saved)} there, {brief_json(current)} here)"
        for key, saved, current in differences(begun, config, inside_lists=False)
        if not f"{key}.".startswith(inside)
    ]
    if differing:
        count_of_more = (
            f" and {len(differing) - _SHOWN} more" if len(differing) > _SHOWN else ""
        )
        raise InputError(
            f"{prefix} of another configuration, which differs in {', '.join(differing[:_SHOWN])}"
            f"{count_of_more}; choose another folder with hydra.run.dir=, or hydra.sweep.dir= in a "
            "multirun, or delete this one"
        )


def read_row(path: Path) -> dict[str, Any]:
    """Read a job's row together with its ``overrides``, ``config`` and ``loops``."""
    try:
        row: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(
            f"{path}: not JSON ({error}); delete it and run the job again"
        ) from error
    if "config" not in row:
        raise InputError(
            f"{path}: lacks the configuration of its job; choose another folder, or delete this "
            "one and run the job again"
        )
    return row
