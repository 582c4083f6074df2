"""The exchange between the processes of a training; without a process group it does nothing."""

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torchmetrics.utilities.distributed import gather_all_tensors


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
    computes the same loss. Its gradient reaches this rank's rows times the number of ranks: DDP
    averages over the ranks what should be summed there. Parameters of the loss itself have the
    whole gradient on every rank, which averaging leaves as it is.
    """
    world = world_size()
    if world == 1:
        return rows
    if rows.requires_grad:
        rows = rows.view_as(rows)  # so that the hook is not on the caller's tensor
        rows.register_hook(lambda gradient: gradient * world)
    return torch.cat(gather_all_tensors(rows))
