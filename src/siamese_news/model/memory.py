"""Weights are compared with the options of a model before these take memory.

A folder of somebody else may ask for a million layers, or for one of a trillion numbers. So its
module is built on torch's device ``meta`` first, where tensors have shapes and no numbers, and no
further than the folder has weights for it.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.modules import module as hooks

_ROOM = 1000  # modules without weights, such as activations, of a small model
_WIDEST = 1024  # a window, which no shape of a weight tells


def check_module(
    options: Mapping[str, Any],
    build: Callable[[], nn.Module],
    arrays: Mapping[str, np.ndarray],
) -> None:
    """Refuse a module that does not have exactly these weights, before it takes memory.

    Args:
        options: plain values from which the module is built.
        build: builds it, on whatever device is the default.
        arrays: the weights, as in its `state_dict`.

    Raises:
        ValueError: a weight is missing, unknown or of another shape, or a number in the options is
            one that no model has.
    """
    _check_window(options)
    with torch.device("meta"), _at_most(len(arrays)):
        module = build()
    # A folder has a single number, such as the count of a batch norm, as a row of one.
    expected = {
        name: tuple(tensor.shape) or (1,)
        for name, tensor in module.state_dict().items()
    }
    shapes = {name: array.shape or (1,) for name, array in arrays.items()}
    for name in sorted(expected.keys() | shapes.keys()):
        if expected.get(name) != shapes.get(name):
            raise ValueError(
                f"{name[:200]} has the shape {shapes.get(name)}, expected {expected.get(name)}"
            )


@contextmanager
def _at_most(weights: int) -> Iterator[None]:
    """Stop the building of a module that registers far more than so many weights."""
    registered = 0

    def count(*_: Any) -> None:
        nonlocal registered
        registered += 1
        if registered > _ROOM + 20 * weights:
            raise ValueError(
                f"the options ask for far more layers than the {weights} weights have"
            )

    handles = [
        hooks.register_module_parameter_registration_hook(count),
        hooks.register_module_module_registration_hook(count),
        hooks.register_module_buffer_registration_hook(count),
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _check_window(options: Mapping[str, Any]) -> None:
    for name, value in options.items():
        if isinstance(value, Mapping):
            _check_window(value)
        elif (
            name in ("window", "radius") and isinstance(value, int) and value > _WIDEST
        ):
            raise ValueError(f"{name} is {value}; expected at most {_WIDEST} neighbors")
