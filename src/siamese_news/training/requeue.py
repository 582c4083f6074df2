"""A SLURM job that nears its time limit saves its state, and is queued again."""

import logging
import os
import signal
import subprocess
import threading
from typing import Any

import pytorch_lightning as pl
import torch
import torch.distributed as dist

log = logging.getLogger(__name__)


class Requeued(Exception):
    """Training stopped at the same batch on every rank and goes on when the job runs again."""


class RequeueOnSignal(pl.Callback):
    """Stops training at the end of a batch once any rank received SIGUSR1 from SLURM.

    ``sbatch --signal=SIGUSR1@90`` sends it 90 seconds before the limit. The ranks agree on the
    batch, so the checkpoint that `ModelCheckpoint` saves on the exception holds for all of them.
    """

    def __init__(self) -> None:
        self._signalled = False
        self._before: Any = None

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Install the signal handler."""
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGUSR1, self._notice)

    def _notice(self, signum: int, frame: Any) -> None:
        self._signalled = True

    def on_train_batch_end(self, trainer: pl.Trainer, *arguments: Any, **options: Any) -> None:
        """Stop if any rank received the signal.

        Raises:
            Requeued: a rank received the signal.
        """
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
    done = subprocess.run(["scontrol", "requeue", job], capture_output=True, text=True, check=False)
    if done.returncode:
        log.error("scontrol requeue %s failed: %s", job, done.stderr.strip())
    else:
        log.info("job %s is queued again and will go on from this batch", job)
