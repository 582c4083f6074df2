"""Gradient caching: a batch of any size in the memory of one part of it (Gao et al. 2021)."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import get_device_states, set_device_states


class Recomputed(torch.autograd.Function):
    """``apply(encode, ids, *parameters)``: the tensors ``encode(ids)``, and nothing kept but ids.

    The backward pass encodes again, with a graph (gradient caching). `torch.utils.checkpoint`
    records a graph in the first pass as well and drops its content. Without one that pass takes a
    third less time.
    """

    @staticmethod
    def forward(
        ctx: Any, encode: Any, ids: Tensor, *parameters: Tensor
    ) -> tuple[Tensor, ...]:
        """Encode without a graph."""
        kind = ids.device.type
        ctx.encode = encode
        ctx.ids = ids
        ctx.parameters = parameters
        # Dropout drops the same.
        ctx.random = (
            torch.get_rng_state(),
            *get_device_states(ids),
        )
        ctx.autocast = (
            kind,
            torch.get_autocast_dtype(kind),
            torch.is_autocast_enabled(kind),
        )
        encoded: tuple[Tensor, ...] = encode(ids)
        return encoded

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        """Encode again, with a graph; the parameters' gradients."""
        (state, devices, states) = ctx.random
        kind = ctx.ids.device.type
        fork = torch.random.fork_rng(devices, device_type=kind)
        with fork, torch.autocast(*ctx.autocast), torch.enable_grad():
            torch.set_rng_state(state)
            set_device_states(devices, states, device_type=kind)
            outputs = ctx.encode(ctx.ids)
        pairs = zip(outputs, gradients, strict=True)
        outputs, gradients = zip(
            *(pair for pair in pairs if pair[0].requires_grad), strict=True
        )
        return (
            None,
            None,
            *torch.autograd.grad(outputs, ctx.parameters, gradients, allow_unused=True),
        )
