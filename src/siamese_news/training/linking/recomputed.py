"""Gradient caching: a part of a batch is encoded again in the backward pass.

`torch.utils.checkpoint` does the same, but builds a graph in the first pass as well, whose content
it drops. Without one the first pass takes a third less time.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import get_device_states, set_device_states

Encode = Callable[[Tensor], tuple[Tensor, ...]]


def recomputed(encode: Encode, parameters: Sequence[nn.Parameter], ids: Tensor) -> Any:
    """The results of `encode`, of which nothing else is kept for the backward pass.

    Args:
        encode: from token ids to tensors, by these parameters.
        parameters: all that get a gradient.
        ids: (B, S).
    """
    return _Recomputed.apply(encode, ids, *parameters)


class _Recomputed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, encode: Encode, ids: Tensor, *parameters: Tensor) -> tuple[Tensor, ...]:
        kind = ids.device.type
        ctx.encode, ctx.ids, ctx.parameters = encode, ids, parameters
        ctx.random = torch.get_rng_state(), *get_device_states(ids)  # dropout drops the same
        ctx.autocast = kind, torch.get_autocast_dtype(kind), torch.is_autocast_enabled(kind)
        return encode(ids)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        state, devices, states = ctx.random
        kind = ctx.ids.device.type
        with (
            torch.random.fork_rng(devices, device_type=kind),
            torch.autocast(*ctx.autocast),
            torch.enable_grad(),
        ):
            torch.set_rng_state(state)
            set_device_states(devices, states, device_type=kind)
            outputs = ctx.encode(ctx.ids)
        learned = [place for place, output in enumerate(outputs) if output.requires_grad]
        found = torch.autograd.grad(
            [outputs[place] for place in learned],
            ctx.parameters,
            [gradients[place] for place in learned],
            allow_unused=True,
        )
        return None, None, *found
