"""Callbacks of a training: which weights are kept, lost processes, and jobs that are queued again.

Lightning names no lost process, nor does it see one whose parent was lost. It saves a requeued job
in the signal handler, where one rank may be in the middle of an exchange that others wait for.
"""

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Literal, NoReturn

import pytorch_lightning as pl
import torch
import torch.distributed as dist
from pytorch_lightning.callbacks import (
    Callback,
    EarlyStopping,
    ModelCheckpoint,
    StochasticWeightAveraging,
)
from pytorch_lightning.plugins.environments import LightningEnvironment

from siamese_news.errors import InputError
from siamese_news.utils.processes import program_path, run_program

log = logging.getLogger(__name__)

# A rank that fails because another was lost waits this long, so that the lost one is named.
_WAIT_FOR_CAUSE = 2.0
_POLL = 0.3


def selection(
    folder: Path,
    *,
    monitor: str | None,
    patience: int | None,
    keep_interrupted: bool,
    mode: Literal["max", "min"] = "max",
    validated: bool = True,
) -> list[Callback]:
    """The checkpoints of a run and its early stopping; `load_selected` reads the best one.

    Args:
        folder: keeps ``best.ckpt``, selected by the figure `monitor`, and ``last.ckpt``.
        monitor: a logged figure, compared after each validation, also
            within an epoch; None takes the newest weights.
        patience: validations without a gain before training stops; None or 0: never.
        mode: whether the figure is the better the higher it is, or the lower.
        validated: whether there are validations; otherwise epochs take their place.
        keep_interrupted: save the newest weights when an exception interrupts an epoch, too.
    """
    checkpoint = partial(
        MovableCheckpoint, dirpath=folder, enable_version_counter=False
    )
    best = checkpoint(
        filename="best",
        monitor=monitor,
        # Lightning tells checkpoints apart by monitor and mode: `newest` has none and "min".
        mode=mode if monitor else "max",
        save_on_train_epoch_end=monitor is None or not validated,
    )
    # A separate callback, because `save_last` of the other one would only follow the best.
    newest = checkpoint(
        filename="last",
        save_on_train_epoch_end=True,
        save_on_exception=keep_interrupted,
    )
    if not (monitor and patience):
        return [best, newest]
    # Not strict: training that ends before the first validation has no figure yet. A figure that
    # never comes is an error of `best`.
    stop = Patience(
        monitor,
        mode=mode,
        patience=patience,
        strict=False,
        check_on_train_epoch_end=not validated,
    )
    return [best, newest, stop]


def load_selected(module: pl.LightningModule, trainer: pl.Trainer) -> None:
    """Put the weights that `selection` chose into the module, in float32 on the CPU.

    The average of `StochasticWeightAveraging` comes before them: it is made after the last
    validation. (That of `WeightAveraging` is what a checkpoint has, and what is validated.)
    """
    module.to("cpu", torch.float32)  # trainer.precision may have been another one
    for callback in trainer.callbacks:  # type: ignore[attr-defined]
        if isinstance(callback, StochasticWeightAveraging):
            average: Any = callback.__dict__.get("_average_model")
            # Lightning transfers no average where training stops early; and in processes that it
            # spawned the callback here has none, but the module has the weights that came back.
            if average is not None and callback.n_averaged:
                callback.transfer_weights(average, module)
            if average is None or callback.n_averaged:
                log.info("kept the weights that stochastic weight averaging made")
                return
            log.warning("training ended before stochastic weight averaging began")
    best = getattr(trainer.checkpoint_callback, "best_model_path", "")
    if best:  # it is empty after trainer.fast_dev_run, and before the first validation
        saved = torch.load(best, weights_only=True, map_location="cpu")
        module.load_state_dict(saved["state_dict"])


class Patience(EarlyStopping):
    """`EarlyStopping` that counts validations, and also works for a run that continues.

    Lightning restores how many validations brought no gain, but would train one more epoch where a
    run was cut off after its last one, while its figures were computed.
    """

    def on_train_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule
    ) -> None:
        """Stop before the first batch if the continued run was at its end."""
        if self.wait_count >= self.patience:
            trainer.should_stop = True


class MovableCheckpoint(ModelCheckpoint):
    """`ModelCheckpoint` whose best score and path survive if the run's folder is moved or copied.

    Lightning forgets the score in another folder, so that the next, worse epoch replaces the best.
    """

    def on_validation_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule
    ) -> None:
        """Refuse, before the first batch, a monitor that the trial validation does not log."""
        figures = trainer.callback_metrics
        in_validation = self.monitor and not self.monitor.startswith("train/")
        if trainer.sanity_checking and in_validation and self.monitor not in figures:
            raise InputError(
                f"task.monitor={self.monitor}: no validation logs this figure; expected one of "
                f"{', '.join(sorted(figures))}, or train/…, a figure of a training step"
            )
        super().on_validation_end(trainer, pl_module)

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


class RankMonitor(pl.Callback):
    """Ends every process that Lightning started when one is lost or fails, and names its rank.

    Lightning looks every five seconds, and the backend fails earlier without naming the rank.
    Processes of torchrun and SLURM are left to these, which name a lost one themselves. Place it
    first, before callbacks whose `on_exception` waits for the other ranks.
    """

    def __init__(self) -> None:
        self._watching = False
        self._children: list[subprocess.Popen[bytes]] = []

    def setup(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str
    ) -> None:
        """Watch the other processes: the first one its children, these their parent."""
        launcher: Any = trainer.strategy.launcher
        environment = getattr(launcher, "cluster_environment", None)
        if trainer.world_size == 1 or not isinstance(environment, LightningEnvironment):
            return
        self._watching = True
        self._children = launcher.procs
        if trainer.local_rank:
            self._watch(self._wait_for_parent, os.getppid())
        for number, child in enumerate(self._children, trainer.global_rank + 1):
            self._watch(self._wait_for_child, number, child)

    def teardown(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str
    ) -> None:
        """A process that ends from here on has done its work."""
        self._watching = False

    def on_exception(
        self,
        trainer: pl.Trainer,
        pl_module: pl.LightningModule,
        exception: BaseException,
    ) -> None:
        """Log which rank failed and why, and end all processes."""
        if not self._watching:
            return
        # If another rank is the cause, the watching thread learns of it and ends this process.
        time.sleep(_WAIT_FOR_CAUSE)
        expected = isinstance(exception, InputError | KeyboardInterrupt)
        log.error(
            "the traceback of rank %d:",
            trainer.global_rank,
            exc_info=None if expected else exception,
        )
        cause = f"{type(exception).__name__}: {exception}".splitlines()[0]
        self._end(f"rank {trainer.global_rank} failed: {cause}")

    def _watch(self, wait: Callable[..., None], *arguments: Any) -> None:
        threading.Thread(
            target=wait, args=arguments, daemon=True, name="rank-monitor"
        ).start()

    def _wait_for_parent(self, parent: int) -> None:
        while os.getppid() == parent:
            time.sleep(_POLL)
        if self._watching:
            self._end("rank 0 was lost: its process ended (killed, or out of memory)")

    def _wait_for_child(self, rank: int, child: "subprocess.Popen[bytes]") -> None:
        code = child.wait()
        if code and self._watching:
            ending = (
                f"signal {-code}: killed, or out of memory"
                if code < 0
                else f"exit code {code}"
            )
            self._end(f"rank {rank} was lost: its process ended ({ending})")

    def _end(self, reason: str) -> NoReturn:
        """End at once: a process may hang in a collective, which no exception interrupts."""
        log.error(
            "%s; all processes stop. Continue with resume=<run folder>/checkpoints/last.ckpt "
            "hydra.run.dir=<run folder>",
            reason,
        )
        for child in self._children:
            child.kill()
        for handler in logging.getLogger().handlers:
            handler.flush()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)


class Requeued(Exception):
    """Training stopped at the same batch on every rank and continues when the job runs again."""


class RequeueOnSignal(pl.Callback):
    """Stops training at the end of a batch once any rank received SIGUSR1 from SLURM.

    ``sbatch --signal=SIGUSR1@90`` sends it 90 seconds before the limit. The ranks agree on the
    batch, so the checkpoint that `ModelCheckpoint` saves on the exception holds for all of them.
    """

    def __init__(self) -> None:
        self._signalled = False
        self._before: Any = None

    def on_train_start(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule
    ) -> None:
        """Install the signal handler."""
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGUSR1, self._notice)

    def _notice(self, signum: int, frame: Any) -> None:
        self._signalled = True

    def on_train_batch_end(
        self, trainer: pl.Trainer, *arguments: Any, **options: Any
    ) -> None:
        """Raise `Requeued` if any rank received the signal."""
        signalled = self._signalled
        if dist.is_initialized():
            flag = torch.tensor([int(signalled)], device=trainer.strategy.root_device)
            dist.all_reduce(flag, op=dist.ReduceOp.MAX)
            signalled = bool(flag.item())
        if signalled:
            raise Requeued

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Restore the previous signal handler."""
        if self._before is not None:
            signal.signal(signal.SIGUSR1, self._before)


def requeue() -> None:
    """Queue this SLURM job again; it keeps its number, and so its folder."""
    job = os.environ["SLURM_JOB_ID"]
    if "SLURM_ARRAY_JOB_ID" in os.environ:
        job = f"{os.environ['SLURM_ARRAY_JOB_ID']}_{os.environ['SLURM_ARRAY_TASK_ID']}"
    scontrol = program_path("scontrol")
    if scontrol is None:
        log.error(
            "job %s is not queued again: scontrol is not in a folder of PATH", job
        )
        return
    result = run_program(scontrol, "requeue", job)
    if result.returncode:
        log.error("scontrol requeue %s failed: %s", job, result.stderr.strip())
    else:
        log.info("job %s is queued again and will continue from this batch", job)
