"""Training in several processes: exchange of tensors, lost processes, requeued jobs.

Without a process group each of the helpers does nothing.
"""

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, NoReturn

import pytorch_lightning as pl
import torch
import torch.distributed as dist
from pytorch_lightning.plugins.environments import LightningEnvironment
from torch import Tensor
from torchmetrics.utilities.distributed import gather_all_tensors

from siamese_news.errors import InputError
from siamese_news.utils.processes import program_path, run_program

log = logging.getLogger(__name__)

# A rank that fails because another was lost waits this long, so that the lost one is named.
_WAIT_FOR_CAUSE = 2.0
_POLL = 0.3


def world_size() -> int:
    """The number of training processes; 1 without a process group."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def on_first_process(compute: Callable[[], Any]) -> Any:
    """Call `compute` on global rank 0 alone and return its result on every rank."""
    if world_size() == 1:
        return compute()
    result = [compute() if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(result, src=0)
    return result[0]


def leave_group() -> None:
    """End the process group; afterwards the processes no longer communicate."""
    if dist.is_available() and dist.is_initialized():
        dist.destroy_process_group()


def gather_rows(rows: Tensor) -> Tensor:
    """Concatenate every rank's rows in rank order; the gradient flows into this rank's rows.

    Ranks may hold different numbers of rows. Every rank gets the same tensor, so every rank
    computes the same loss; the sum of the ranks' gradients is the gradient of that loss.
    """
    return rows if world_size() == 1 else torch.cat(gather_all_tensors(rows))


class RankMonitor(pl.Callback):
    """Ends every process that Lightning started when one is lost or fails, and names its rank.

    Lightning looks every five seconds, and the backend fails earlier without naming the rank.
    Processes of torchrun and SLURM are left to these, which name a lost one themselves. Place it
    first, before callbacks whose `on_exception` waits for the other ranks.
    """

    def __init__(self) -> None:
        self._watching = False
        self._children: list[subprocess.Popen[bytes]] = []

    def setup(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
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

    def teardown(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        """A process that ends from here on has done its work."""
        self._watching = False

    def on_exception(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, exception: BaseException
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
        threading.Thread(target=wait, args=arguments, daemon=True, name="rank-monitor").start()

    def _wait_for_parent(self, parent: int) -> None:
        while os.getppid() == parent:
            time.sleep(_POLL)
        if self._watching:
            self._end("rank 0 was lost: its process ended (killed, or out of memory)")

    def _wait_for_child(self, rank: int, child: "subprocess.Popen[bytes]") -> None:
        code = child.wait()
        if code and self._watching:
            how = f"signal {-code}: killed, or out of memory" if code < 0 else f"exit code {code}"
            self._end(f"rank {rank} was lost: its process ended ({how})")

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

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Install the signal handler."""
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGUSR1, self._notice)

    def _notice(self, signum: int, frame: Any) -> None:
        self._signalled = True

    def on_train_batch_end(self, trainer: pl.Trainer, *arguments: Any, **options: Any) -> None:
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
        log.error("job %s is not queued again: scontrol is not in a folder of PATH", job)
        return
    done = run_program(scontrol, "requeue", job)
    if done.returncode:
        log.error("scontrol requeue %s failed: %s", job, done.stderr.strip())
    else:
        log.info("job %s is queued again and will continue from this batch", job)
