"""The Lightning trainer of a configuration, and what surrounds its `fit`."""

import errno
import logging
import math
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import Callback, RichProgressBar
from pytorch_lightning.loggers import Logger
from pytorch_lightning.plugins.environments import SLURMEnvironment
from pytorch_lightning.plugins.io import TorchCheckpointIO
from pytorch_lightning.utilities.exceptions import MisconfigurationException

from siamese_news.errors import InputError
from siamese_news.training.build import instantiate
from siamese_news.training.checkpoints import open_checkpoint
from siamese_news.training.launch import OWNED, launched_processes
from siamese_news.utils.extras import absent
from siamese_news.utils.files import atomic_write

log = logging.getLogger(__name__)
# Hide messages about devices, tips and life cycles; warnings are shown.
logging.getLogger("pytorch_lightning").setLevel(logging.WARNING)


def seed_everything(config: Mapping[str, Any]) -> None:
    """Seed all generators, and set the number of threads."""
    pl.seed_everything(config["seed"], workers=True, verbose=False)
    if threads := config["trainer"]["threads"]:
        torch.set_num_threads(threads)


def callbacks_of(config: Mapping[str, Any]) -> list[Callback]:
    """The callbacks of ``conf/callbacks``, and the progress bar."""
    options = config.get("callbacks") or {}
    progress = [RichProgressBar(leave=False)] * bool(
        config["trainer"]["enable_progress_bar"]
    )
    return [
        *progress,
        *(instantiate(option, f"callbacks.{name}") for name, option in options.items()),
    ]


def loggers_of(config: Mapping[str, Any], folder: Path) -> list[Logger]:
    """The loggers of ``conf/logger``; one without a place of its own writes to the folder."""
    loggers = []
    for name, option in (config.get("logger") or {}).items():
        if name == "wandb" and absent(["wandb"]):
            raise InputError(
                "logger=wandb needs wandb, which is not installed; run pip install "
                "'siamese-news[wandb]'"
            )
        if option.get("save_dir", "") is None:
            option = {**option, "save_dir": str(folder)}
        loggers.append(instantiate(option, f"logger.{name}"))
    return loggers


def make_trainer(options: Mapping[str, Any], **arguments: Any) -> pl.Trainer:
    """The trainer of an option of ``conf/trainer``, with further arguments of Lightning's.

    Raises:
        InputError: an option does not fit, or is one that the task sets; other devices are there,
            or other processes were started, than the options name.
    """
    for name in options:
        if f"trainer.{name}" in OWNED:
            raise InputError(
                f"trainer.{name} is set by the task; use {OWNED[f'trainer.{name}']}"
            )
    epochs = options.get("max_epochs")
    if epochs is not None and epochs < 1 and epochs != -1:  # -1: without an end
        raise InputError(f"task.epochs={epochs}: expected 1 or more")
    clip = options.get("gradient_clip_val")
    if clip is not None and not 0 <= clip < math.inf:  # Lightning clips nothing
        raise InputError(
            f"trainer.gradient_clip_val={clip}: expected the largest norm of the gradient, a "
            "number from 0 (which clips nothing) on, or null"
        )
    plugins: list[Any] = [WholeCheckpoints()]
    if SLURMEnvironment.detect():
        # `RequeueOnSignal` does it.
        plugins.append(SLURMEnvironment(auto_requeue=False))
    lightning = {name: value for name, value in options.items() if name != "threads"}
    try:
        trainer: pl.Trainer = instantiate(
            {"_target_": "pytorch_lightning.Trainer", **lightning},
            "trainer",
            plugins=plugins,
            use_distributed_sampler=False,  # the samplers of the data modules know their rank
            **arguments,
        )
    except InputError as error:
        raise InputError(
            f"{str(error).rstrip('.')} (with trainer.accelerator={options['accelerator']} "
            f"trainer.devices={options['devices']}); trainer=cpu without other trainer options "
            "runs everywhere"
        ) from error
    started = launched_processes()
    if started not in (1, trainer.world_size):
        raise InputError(
            f"{started} processes were started, but trainer.devices={options['devices']} and "
            f"trainer.num_nodes={options['num_nodes']} expect {trainer.world_size}; with torchrun "
            "and srun use trainer=ddp_nodes, trainer.devices=<processes of a node> and "
            "trainer.num_nodes=<nodes>"
        )
    return trainer


def check_one_device(options: Mapping[str, Any]) -> None:
    """Refuse an option of ``conf/trainer`` that makes several processes.

    Raises:
        InputError: it does.
    """
    quiet = {
        "logger": False,
        "enable_checkpointing": False,
        "enable_model_summary": False,
    }
    processes = make_trainer(options, **quiet).world_size
    if processes > 1:
        raise InputError(
            f"this task trains on one device, but trainer.devices={options['devices']} and "
            f"trainer.num_nodes={options['num_nodes']} make {processes} processes; use "
            "trainer=cpu or trainer=gpu, and start one command for each device"
        )


@contextmanager
def stopped_by_signals(trainer: pl.Trainer, *, go_on: str) -> Iterator[None]:
    """Around `Trainer.fit`: end the process with 130 after Ctrl-C and with 143 after SIGTERM.

    Lightning would end with 1 and with 0, so that a job that was stopped looked finished. `go_on`
    tells the user how to continue, also after a full disk, which leaves the last whole checkpoint.
    """
    try:
        yield
    except SystemExit as end:
        log.error("training stopped; %s", go_on)
        raise SystemExit(143 if trainer.received_sigterm else 130) from end
    except MisconfigurationException as error:
        raise InputError(
            f"trainer, callbacks or logger: {' '.join(str(error).split())}"
        ) from error
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise InputError(
            f"{error.filename}: {error.strerror}, so training stopped; free some space, and {go_on}"
        ) from error
    finally:
        if "wandb" in sys.modules:  # the next job of a sweep is a run of its own
            sys.modules["wandb"].finish()


def checkpoint_to_resume(
    resume: str | None, folder: Path, *, automatic: bool
) -> str | None:
    """The checkpoint to continue from, which must be in this folder, as is the best one so far.

    It is that of ``resume=``; without one and if `automatic`, the newest of an interrupted run.
    """
    newest = folder / "last.ckpt"
    if not resume:
        if not (automatic and newest.is_file()):
            return None
        log.info("continuing from %s", newest)
        return str(newest)
    open_checkpoint(resume, map_location="cpu", mmap=True)
    if Path(resume).resolve().parent != folder.resolve():
        raise InputError(
            f"resume={resume} belongs to another run folder; continue in that one: add "
            f"hydra.run.dir={Path(resume).parent.parent}"
        )
    return resume


class WholeCheckpoints(TorchCheckpointIO):
    """Writes a checkpoint next to its place, and renames it when all of it is on the disk.

    Lightning moves it there from the folder of temporary files. Where that is another disk, a
    process that is killed meanwhile leaves half a checkpoint in the place of the last whole one.
    """

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: Any, storage_options: Any | None = None
    ) -> None:
        """Save a checkpoint; Lightning passes no options."""
        with atomic_write(Path(path), "wb") as stream:
            try:
                torch.save(checkpoint, stream)
            except RuntimeError as error:
                # Ctrl-C in the middle of a file makes torch's writer fail when it closes it.
                if isinstance(error.__context__, KeyboardInterrupt):
                    raise error.__context__ from None
                raise
