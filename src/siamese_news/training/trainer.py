"""The Lightning trainer of a configuration, its checkpoints and its early stopping."""

import logging
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import Callback, EarlyStopping, ModelCheckpoint, RichProgressBar
from pytorch_lightning.plugins.environments import SLURMEnvironment
from pytorch_lightning.plugins.io import TorchCheckpointIO
from pytorch_lightning.utilities.exceptions import MisconfigurationException

from siamese_news.errors import InputError
from siamese_news.training.build import call, make
from siamese_news.training.checkpoints import open_checkpoint
from siamese_news.training.launch import OWNED, launched_processes
from siamese_news.utils.extras import absent
from siamese_news.utils.files import atomic_write

log = logging.getLogger(__name__)
# Hide messages about devices, tips and life cycles; warnings are shown.
for _library in ("pytorch_lightning", "gensim"):
    logging.getLogger(_library).setLevel(logging.WARNING)


class Patience(EarlyStopping):
    """`EarlyStopping` that counts validations, and also works for a run that continues.

    Lightning restores how many validations brought no gain, but would train one more epoch where a
    run was cut off after its last one, while its figures were computed.
    """

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Stop before the first batch if the continued run was at its end."""
        if self.wait_count >= self.patience:
            trainer.should_stop = True


class MovableCheckpoint(ModelCheckpoint):
    """`ModelCheckpoint` whose best score and path survive if the run's folder is moved or copied.

    Lightning forgets the score in another folder, so that the next, worse epoch replaces the best.
    """

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the state; its files are those of the same names in this folder."""
        folder = Path(str(self.dirpath))

        def moved(path: str) -> str:
            return str(folder / Path(path).name) if path else path

        state = {**state_dict, "dirpath": self.dirpath}
        for key in ("best_model_path", "kth_best_model_path", "last_model_path"):
            state[key] = moved(state_dict.get(key, ""))
        models = state_dict.get("best_k_models", {})
        state["best_k_models"] = {moved(path): score for path, score in models.items()}
        super().load_state_dict(state)
        if self.best_model_path and not Path(self.best_model_path).is_file():
            raise InputError(
                f"{self.best_model_path}: is missing, though the run chose it; copy the whole "
                "folder of the run, or train again in another one"
            )


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


def trainer_of(
    config: Mapping[str, Any], out: Path, callbacks: Sequence[Callback], **settings: Any
) -> pl.Trainer:
    """The trainer of a run, with the callbacks of its task and of its configuration."""
    loggers = []
    for name, option in (config.get("logger") or {}).items():
        if name == "wandb" and absent(["wandb"]):
            raise InputError(
                "logger=wandb needs wandb, which is not installed; run pip install "
                "'siamese-news[wandb]'"
            )
        if option.get("save_dir", "") is None:
            option = {**option, "save_dir": str(out / "logs")}
        loggers.append(make(option, f"logger.{name}"))
    given = config.get("callbacks") or {}
    return make_trainer(
        config["trainer"],
        logger=loggers or False,
        callbacks=[
            *callbacks,
            *[RichProgressBar(leave=False)] * bool(config["trainer"]["enable_progress_bar"]),
            *(make(option, f"callbacks.{name}") for name, option in given.items()),
        ],
        use_distributed_sampler=False,  # the samplers of the data modules know their rank
        default_root_dir=str(out),
        **settings,
    )


def make_trainer(options: Mapping[str, Any], **settings: Any) -> pl.Trainer:
    """A trainer of an option of ``conf/trainer`` and further arguments of Lightning's."""
    for name in options:
        if f"trainer.{name}" in OWNED:
            raise InputError(f"trainer.{name} is set by the task; use {OWNED[f'trainer.{name}']}")
    config: dict[str, Any] = {"_target_": "pytorch_lightning.Trainer", **options, **settings}
    config.pop("threads", None)
    config["plugins"] = [WholeCheckpoints()]
    if SLURMEnvironment.detect():
        # Lightning's own requeueing saves in the middle of a step, where ranks wait for each other.
        config["plugins"].append(SLURMEnvironment(auto_requeue=False))
    try:
        trainer: pl.Trainer = call(config, "trainer")
    except (MisconfigurationException, TypeError, ValueError) as error:
        raise InputError(
            f"trainer: {str(error).rstrip('.')} (with trainer.accelerator={config['accelerator']} "
            f"trainer.devices={config['devices']}); trainer=cpu without other trainer options "
            "runs everywhere"
        ) from error
    started = launched_processes()
    if started not in (1, trainer.world_size):
        raise InputError(
            f"{started} processes were started, but trainer.devices={config['devices']} and "
            f"trainer.num_nodes={config['num_nodes']} expect {trainer.world_size}; with torchrun "
            "and srun use trainer=ddp_nodes, trainer.devices=<processes of a node> and "
            "trainer.num_nodes=<nodes>"
        )
    return trainer


def fit(trainer: pl.Trainer, module: pl.LightningModule, *, go_on: str, **arguments: Any) -> None:
    """`Trainer.fit`, which ends the process with 130 after Ctrl-C and with 143 after SIGTERM.

    Lightning would end with 1 and with 0, so that a job that was stopped looked finished. `go_on`
    tells the user how to continue.
    """
    try:
        trainer.fit(module, weights_only=True, **arguments)
    except SystemExit as end:
        log.error("training stopped; %s", go_on)
        raise SystemExit(143 if trainer.received_sigterm else 130) from end
    except MisconfigurationException as error:
        raise InputError(f"trainer, callbacks or logger: {' '.join(str(error).split())}") from error
    finally:
        if "wandb" in sys.modules:  # the next job of a sweep is a run of its own
            sys.modules["wandb"].finish()


def begin(config: Mapping[str, Any], *, one_device: bool = False) -> None:
    """Prepare a task: check its devices, seed and threads."""
    options = config["trainer"]
    if one_device:
        quiet = {"logger": False, "enable_checkpointing": False, "enable_model_summary": False}
        processes = make_trainer(options, **quiet).world_size
        if processes > 1:
            raise InputError(
                f"this task trains on one device, but trainer.devices={options['devices']} and "
                f"trainer.num_nodes={options['num_nodes']} make {processes} processes; use "
                "trainer=cpu or trainer=gpu, and start one command for each device"
            )
    if not 0 <= config["seed"] < 2**32:
        raise InputError(f"seed={config['seed']}: expected a whole number from 0 to {2**32 - 1}")
    pl.seed_everything(config["seed"], workers=True, verbose=False)
    if options["threads"]:
        torch.set_num_threads(options["threads"])


class Selection:
    """The checkpoints of a run and its early stopping: callbacks, and the weights they select.

    Args:
        folder: keeps ``best.ckpt``, selected by the figure `monitor`, and ``last.ckpt``.
        monitor: a logged figure, the higher the better; None takes the newest weights.
        patience: validations without a gain before training stops; None or 0: never.
        every_epoch: make the choice once an epoch, and keep an epoch that an exception interrupts;
            otherwise it is made after each validation.

    Raises:
        InputError: the patience is below 0.
    """

    def __init__(
        self, folder: Path, *, monitor: str | None, patience: int | None, every_epoch: bool
    ) -> None:
        if patience is not None and patience < 0:
            raise InputError(f"task.patience={patience}: expected 1 or more, or null for never")
        by_epoch = True if every_epoch else None
        kept = partial(MovableCheckpoint, dirpath=folder, enable_version_counter=False)
        self.best = kept(
            filename="best", monitor=monitor, mode="max", save_on_train_epoch_end=by_epoch
        )
        # A separate callback, because `save_last` of the other one would only follow the best.
        newest = kept(filename="last", save_on_train_epoch_end=True, save_on_exception=every_epoch)
        self.callbacks: list[Callback] = [self.best, newest]
        if monitor and patience:
            # Not strict: training that ends before the first validation has no figure yet. A figure
            # that never comes is an error of `best`.
            stop = Patience(
                monitor, mode="max", patience=patience, strict=False, check_on_train_epoch_end=False
            )
            self.callbacks.append(stop)

    def restore(self, module: pl.LightningModule) -> None:
        """Put the selected weights into the module, in float32 on the CPU."""
        module.to("cpu", torch.float32)  # trainer.precision may have been another one
        if self.best.best_model_path:  # it is empty after trainer.fast_dev_run
            saved = torch.load(self.best.best_model_path, weights_only=True, map_location="cpu")
            module.load_state_dict(saved["state_dict"])


def checkpoint_to_resume(resume: str | None, folder: Path, *, automatic: bool) -> str | None:
    """The checkpoint to continue from, which must be in this folder, as is the best one so far.

    It is that of ``resume=``; without one and if `automatic`, the newest of an interrupted run.
    """
    last = folder / "last.ckpt"
    if not resume:
        if not (automatic and last.is_file()):
            return None
        log.info("continuing from %s", last)
        return str(last)
    open_checkpoint(resume, map_location="cpu", mmap=True)
    if Path(resume).resolve().parent != folder.resolve():
        raise InputError(
            f"resume={resume} belongs to another run folder; continue in that one: add "
            f"hydra.run.dir={Path(resume).parent.parent}"
        )
    return resume
