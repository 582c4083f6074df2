"""Helpers for distributed training; without a process group each of them does nothing."""

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor


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

    Ranks may hold different numbers of rows: they are padded for the exchange and cut again, so an
    uneven last batch neither hangs nor aborts. Every rank gets the same tensor, so every rank
    computes the same loss; the sum of the ranks' gradients is the gradient of that loss.

    Args:
        rows: (N, ...), where N may differ between ranks.

    Returns:
        (sum of N, ...).
    """
    size = world_size()
    if size == 1:
        return rows
    count = torch.tensor([rows.shape[0]], device=rows.device)
    counts = [torch.zeros_like(count) for _ in range(size)]
    dist.all_gather(counts, count)
    lengths = [int(c) for c in counts]
    padded = rows.new_zeros((max(lengths), *rows.shape[1:]))
    padded[: rows.shape[0]] = rows.detach()
    parts = [torch.zeros_like(padded) for _ in range(size)]
    dist.all_gather(parts, padded)
    gathered = [part[:length] for part, length in zip(parts, lengths, strict=True)]
    gathered[dist.get_rank()] = rows  # the others carry no gradient
    return torch.cat(gathered)
