"""Train a model: ``python -m siamese_news.train [group=option] [key=value] [-m]``.

The options are the files of ``conf/``; ``--help`` lists them. Results go to ``outputs/<stamp>``,
those of a multirun to ``multirun/<stamp>/<job>`` with one comparison table over the jobs.
"""

import logging
import shlex
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from siamese_news.errors import InputError
from siamese_news.utils.extras import needs
from siamese_news.utils.processes import use_safe_paths
from siamese_news.utils.terminal import one_line_errors, quiet_libraries

COMMAND = "python -m siamese_news.train"

with (
    one_line_errors() if __name__ == "__main__" else nullcontext(),
    needs("train", COMMAND),
):
    import hydra
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode
    from omegaconf import DictConfig, OmegaConf

    from siamese_news.training.build import class_of
    from siamese_news.training.job import ROW, claim, result_of
    from siamese_news.training.launch import (
        composition_errors,
        is_first_process,
        launched_processes,
        prepare_command,
    )
    from siamese_news.training.plain_options import add_installed, plain_options
    from siamese_news.training.sweep import one_of_many
    from siamese_news.utils.compiled_loops import loops_used
    from siamese_news.utils.files import write_json

log = logging.getLogger(__name__)
#: Groups and values that one task reads and another does not.
READ_BY_SOME = frozenset(
    "module encoder sparsity objective data vectors terms ranker fold teacher".split()
)


def main() -> None:
    """Entry point."""
    with one_line_errors():
        use_safe_paths()
        prepare_command()
        add_installed()
        with composition_errors():
            _compose_and_train()


@hydra.main(
    version_base="1.3", config_path="pkg://siamese_news.conf", config_name="train"
)
def _compose_and_train(config: DictConfig) -> float | None:
    quiet_libraries()
    settings = HydraConfig.get()
    out = Path(settings.runtime.output_dir)
    sweep = settings.mode == RunMode.MULTIRUN
    if sweep:
        with one_line_errors(log):
            _refuse_ddp(config)
    row = None
    with one_of_many(out) if sweep else one_line_errors(log), needs("train", COMMAND):
        options = plain_options(config)
        check_name(options.get("data", {}), settings.overrides.task)
        check_groups(options, settings.overrides.task)
        row = train(config, out)
    if row is not None:
        for line in last_lines(out, row):
            log.info("%s", line)
    # The objective of a sweeper.
    return (row or {}).get(config.task.get("monitor"))


def train(config: DictConfig | dict[str, Any], out: Path) -> dict[str, Any] | None:
    """Run the function that ``task._target_`` names, and return its row of the comparison table.

    A job whose result is already in the folder does not run again. If several processes run, only
    the first one writes and returns a row.

    Raises:
        InputError: the folder holds the result or the training of another configuration.
    """
    plain: Any = OmegaConf.to_container(OmegaConf.create(config), resolve=True)
    overrides: list[str] = []
    if HydraConfig.initialized():  # the names of the options on the command line
        settings = HydraConfig.get()
        plain["labels"] = OmegaConf.to_container(settings.runtime.choices)
        overrides = [
            word for word in settings.overrides.task if not word.startswith("resume=")
        ]
    row: dict[str, Any] | None = result_of(plain, out)
    if row is not None:
        log.info(
            "%s holds the result of this configuration: job skipped; to train again, delete the "
            "folder or choose another one",
            out,
        )
        return row if is_first_process() else None
    run = class_of(plain["task"], "task")
    claim(plain, out, continues=run.task.continues)
    row = run(plain, out)
    if row is not None:
        write_json(
            out / ROW,
            {
                **row,
                "overrides": overrides,
                "config": {**plain, "resume": None},
                "loops": loops_used(),
            },
        )
    return row


def check_groups(options: Mapping[str, Any], overrides: Sequence[str]) -> None:
    """Refuse options of the command line that the task does not read, and name idle ones."""
    keys = {override.lstrip("+~").partition("=")[0] for override in overrides}
    names = {key.partition(".")[0] for key in keys}
    groups = {name.partition("@")[0].partition("/")[0] for name in names}
    task = class_of(options["task"], "task").task
    reads = task.groups
    target = options["task"]["_target_"].split(".")[-2]
    if unread := sorted(groups & READ_BY_SOME - reads):
        raise InputError(
            f"{', '.join(unread)}=… changes nothing in task={target}, which reads "
            f"{', '.join(sorted(reads))}; leave it out"
        )
    idle = sorted(
        key
        for key in keys
        if key.startswith("task.") and key.split(".")[1] in task.of_new_models
    )
    if options["init"] and idle:
        raise InputError(
            f"{', '.join(idle)}=… changes nothing in task={target} with init={options['init']}, "
            "whose model has its own; leave it out"
        )
    if options["init"] and (
        unused := groups & {"encoder", "sparsity", "vectors", "terms"}
    ):
        log.warning(
            "%s=… changes nothing: the model of init=%s has its own",
            ", ".join(sorted(unused)),
            options["init"],
        )
    elif "sparsity" in groups and "sparsity" not in options.get("encoder", {}):
        log.warning("sparsity=… changes nothing: this encoder has no attention")


def check_name(data: Mapping[str, Any], overrides: Sequence[str]) -> None:
    """Refuse a ``data.name`` on the command line that would only name the results."""
    if not any(override.startswith("data.name=") for override in overrides):
        return
    entries = [data.get("dev"), data.get("test"), *(data.get("train") or ())]
    folders = [entry["folder"] for entry in entries if isinstance(entry, Mapping)]
    if data["name"] not in folders:
        raise InputError(
            f"data.name={data['name']}: is not one of the data's folders "
            f"({', '.join(dict.fromkeys(folders)) or 'none'}), so it would select nothing; "
            "expected data=NAME for a prepared set, or data=my_pairs data.name=/path/to/folder"
        )


def last_lines(out: Path, row: Mapping[str, Any]) -> list[str]:
    """The last lines of a run: the figures of its test, the model folder and the next command."""
    lines = []
    figures = [
        f"{name} {value:.4f}"
        for name, value in row.items()
        if isinstance(value, float) and name != "minutes" and not name.startswith("dev")
    ]
    if figures:
        lines.append(f"figures: {', '.join(figures)}")
    if (out / "model").is_dir():
        command = (
            "rerank --query WORDS" if "ranker" in row else "rank --articles ARTICLES"
        )
        folder = shlex.quote(str(out / "model"))
        lines.append(f"model: {out / 'model'}")
        lines.append(f"next: siamese-news {command} --model {folder} --posts POSTS")
    return lines


def _refuse_ddp(config: DictConfig) -> None:
    """Each process that strategy ddp, torchrun or srun starts would run the whole sweep again."""
    if launched_processes() > 1:
        raise InputError(
            f"a multirun was started {launched_processes()} times (torchrun or srun), and each "
            "process would run the whole sweep; start one command for each job of the sweep"
        )
    strategy = str(config.trainer.strategy)
    devices = config.trainer.devices
    several = (
        devices != 1
        if strategy.startswith("ddp")
        else devices not in (1, "1", -1, "auto")
    )
    if (
        several
        and (strategy == "auto" or strategy.startswith("ddp"))
        and "spawn" not in strategy
    ):
        raise InputError(
            f"trainer.strategy={strategy} trainer.devices={devices} cannot run in a multirun: "
            "every process it starts would run the whole sweep again; use trainer=ddp_spawn (CPU) "
            "or trainer=ddp4_spawn (GPUs), or start one command for each job"
        )


if __name__ == "__main__":
    main()
