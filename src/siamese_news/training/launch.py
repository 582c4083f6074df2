"""The processes of one command: which of them writes, and the folder that they share.

Several processes run one command when Lightning starts them (``trainer=ddp4``), when ``torchrun``
does, or when SLURM does (``srun``). All this is read from the environment, before anything heavy is
imported.
"""

import os
import re
import shlex
import sys
import time
from argparse import ArgumentError
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

from hydra._internal.utils import get_args_parser
from hydra.errors import (
    ConfigCompositionException,
    MissingConfigException,
    OverrideParseException,
)
from hydra.experimental.callback import Callback
from omegaconf import DictConfig

from siamese_news.errors import InputError
from siamese_news.utils.terminal import one_line_errors

STAMP = "SIAMESE_NEWS_STAMP"
# Arguments of Lightning's Trainer that a run sets itself, and what to use instead.
OWNED = {
    "trainer.callbacks": "callbacks=lr_monitor or +callbacks.NAME._target_=module.Class",
    "trainer.default_root_dir": "hydra.run.dir=FOLDER",
    "trainer.enable_checkpointing": "task.monitor; the checkpoint that it selects is saved",
    "trainer.logger": "logger=csv, tensorboard, wandb or none (several: logger=[csv,wandb])",
    "trainer.plugins": "trainer.strategy and trainer.precision",
    "trainer.use_distributed_sampler": "data.batching; its sampler knows all devices",
}
_WITH_CLASS = re.compile(r"((?!hydra\.)[a-z]\w*(?:\.\w+)*)=\{.*\b_target_\s*:")
_store: Any = None


def prepare_command() -> None:
    """Check the arguments, set the stamp and keep other processes from writing, before Hydra."""
    for argument in sys.argv[1:]:
        name = argument.lstrip("+~").partition("=")[0]
        if name in OWNED:
            raise InputError(f"{name} is set by the task; use {OWNED[name]}")
    sys.argv[1:] = chain.from_iterable(map(_replacing, sys.argv[1:]))
    share_stamp()
    if not is_first_process():
        for override in ("hydra.output_subdir=null", "hydra/job_logging=stdout"):
            if override not in sys.argv:
                sys.argv.append(override)


def _replacing(argument: str) -> list[str]:
    """The arguments of Hydra by which a mapping with a class takes the place of an option.

    Hydra itself merges it into the option, so the new class would get the old one's values.
    """
    with_class = _WITH_CLASS.match(argument)
    return [f"~{with_class[1]}", f"+{argument}"] if with_class else [argument]


@contextmanager
def composition_errors() -> Iterator[None]:
    """Around Hydra's command: an `InputError` says what is wrong with its arguments, in one line.

    With HYDRA_FULL_ERROR=1, which the user may set, Hydra's own error is raised with its traceback.
    """
    _check_options()
    if os.environ.get("HYDRA_FULL_ERROR"):
        yield
        return
    # So that Hydra does not print the error itself.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    try:
        yield
    except (ConfigCompositionException, OverrideParseException) as error:
        raise InputError(argument_error(error)) from error


def _check_options() -> None:
    """Refuse an option that Hydra does not have, where it would print how it is used."""
    parser = get_args_parser()
    parser.exit_on_error = False
    try:
        _, unknown = parser.parse_known_args()
    except ArgumentError as error:
        raise InputError(f"{error}; --help lists the options") from error
    for argument in unknown:
        if argument.startswith("-"):
            name = argument.lstrip("-").partition("=")[0]
            raise InputError(
                f"{argument}: is not an option; options are written without dashes, "
                f"{name}=VALUE, and --help lists them"
            )
    if unknown:
        raise InputError(
            f"{unknown[0]}: is separated from the other options by -m or another flag; write all "
            "NAME=VALUE next to each other, such as -m a=1,2 b=3"
        )


def argument_error(error: Exception) -> str:
    """What is wrong with the arguments of a command, in one line."""
    message = " ".join(str(error).split())
    cause = error.__cause__
    if isinstance(error, OverrideParseException):
        message = " ".join(error.message.partition("See https:")[0].split())
        name, _, value = error.override.partition("=")
        # Hydra reads backslashes as they are, but for those before a quote.
        text = re.sub(r'(\\+)(?="|$)', r"\1\1", value).replace('"', r"\"")
        remedy = "expected NAME=VALUE"
        if value:
            quoted = shlex.quote(f'{name}="{text}"')
            remedy = (
                f"a text needs quotes for Hydra, and others for the shell: {quoted}"
            )
        return f"{error.override}: {message}; {remedy}"
    if isinstance(error, MissingConfigException) and error.options:
        name = str(error.missing_cfg_file)
        path = "//" in name  # data=/my/folder
        group, _, option = name.partition("//") if path else name.rpartition("/")
        own_data = "; for a folder of your own, data=my_pairs data.name=/path/to/folder"
        return (
            f"{group}={'/' * path}{option}: does not exist; expected one of "
            f"{', '.join(error.options)}{own_data if group == 'data' else ''}"
        )
    name = message.partition("Could not override '")[2].partition("'")[0]
    parent = getattr(cause, "parent_node", None)
    if name and isinstance(parent, DictConfig):
        group_hint = f" in {name.rpartition('.')[0]}" if "." in name else ""
        return f"{name}: does not exist; expected{group_hint} one of {', '.join(map(str, parent))}"
    return f"{message} {' '.join(str(cause or '').split())}".strip()


class ResultFolder(Callback):
    """Hydra callback: makes the folder of results, or ends the command with one line."""

    def on_run_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Make the folder of a single run."""
        _make("hydra.run.dir", config.hydra.run.dir)

    def on_multirun_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Make the folder of a multirun."""
        _make("hydra.sweep.dir", config.hydra.sweep.dir)


def _make(option: str, folder: str) -> None:
    with one_line_errors():
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"{option}={folder}: this folder cannot be made ({error.strerror}); name another"
            ) from error


def share_stamp() -> None:
    """Set the stamp that names the folder of results, the same in all processes of the command.

    It is the date and time, as the first process read it. A SLURM step (``srun``) takes the numbers
    of its job and step instead, which a requeued job keeps, so that it continues in its folder.
    """
    if STAMP in os.environ:  # a process that Lightning started inherits it
        return
    environment = os.environ
    now = time.strftime("%Y-%m-%d_%H-%M-%S")
    if _slurm_step(environment):
        now = f"slurm-{environment['SLURM_JOB_ID']}.{environment['SLURM_STEP_ID']}"
    elif "TORCHELASTIC_RUN_ID" in environment and int(environment["WORLD_SIZE"]) > 1:
        now = _from_first_process(now)
    elif int(environment.get("NODE_RANK", 0)) > 0:
        raise InputError(
            f"NODE_RANK is {environment['NODE_RANK']}, but neither torchrun nor srun started this "
            f"process, so the nodes share no folder; start it with torchrun, or export the same "
            f"{STAMP} on every node"
        )
    os.environ[STAMP] = now


def is_first_process(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether this is the process of global rank 0, the only one that writes."""
    if "RANK" in environment:
        return int(environment["RANK"]) == 0
    if _slurm_step(environment):
        return int(environment["SLURM_PROCID"]) == 0
    return (
        int(environment.get("NODE_RANK", 0)) == 0
        and int(environment.get("LOCAL_RANK", 0)) == 0
    )


def launched_processes(environment: Mapping[str, str] = os.environ) -> int:
    """How many processes torchrun or SLURM started for this command; 1 where neither did."""
    if "TORCHELASTIC_RUN_ID" in environment:
        return int(environment["WORLD_SIZE"])
    return int(environment["SLURM_NTASKS"]) if _slurm_step(environment) else 1


def was_restarted(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether SLURM requeued the job or torchrun started its processes again."""
    names = ("SLURM_RESTART_COUNT", "TORCHELASTIC_RESTART_COUNT")
    return any(int(environment.get(name, 0)) > 0 for name in names)


def _slurm_step(environment: Mapping[str, str]) -> bool:
    """Whether srun started this process, as Lightning decides it (no interactive prompt)."""
    needed = ("SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_NTASKS", "SLURM_PROCID")
    interactive = environment.get("SLURM_JOB_NAME") in ("bash", "interactive")
    return all(name in environment for name in needed) and not interactive


def _from_first_process(stamp: str) -> str:
    """The stamp of global rank 0, which all nodes read from the store of torchrun."""
    global _store
    import torch.distributed as dist

    # The variable keeps the store alive: without a torchrun agent the first process hosts it.
    _store, _, _ = next(dist.rendezvous("env://"))
    if is_first_process():
        _store.set("siamese_news/stamp", stamp)
    return str(_store.get("siamese_news/stamp").decode())
