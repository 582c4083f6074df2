"""Whether a faster form may take the place of the calls of a module.

Attention reads the weights of its linear maps and passes them to fused products and loops in C.
That is right as long as calling a map would do nothing else. Adapters (LoRA), quantization,
pruning, weight normalization and hooks change what a call does, and exporters, tracers and
transforms record it. Under any of these the modules are called, in plain operations of torch.
"""

from collections.abc import Callable, Mapping
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.modules import module as calls
from torch.utils.hooks import RemovableHandle

_TENSORS = (Tensor, nn.Parameter)


def _always() -> bool:
    """Stands for a question that a version of torch cannot answer: plain operations are right."""
    return True


# No public name of torch answers these.
_is_transformed = getattr(torch._C, "_are_functorch_transforms_active", _always)
_is_dispatched = getattr(
    getattr(torch.utils, "_python_dispatch", None), "is_in_torch_dispatch_mode", _always
)


def _global_hooks(register: Callable[..., RemovableHandle]) -> Mapping[int, Any]:
    """The hooks that torch keeps for all modules; a handle refers to them."""
    handle = register(lambda *arguments: None)
    handle.remove()
    return cast(Mapping[int, Any], handle.hooks_dict_ref())


_GLOBAL_HOOKS = [
    _global_hooks(register)
    for register in (
        calls.register_module_forward_pre_hook,
        calls.register_module_forward_hook,
        calls.register_module_full_backward_pre_hook,
        calls.register_module_full_backward_hook,
    )
]


def is_traced() -> bool:
    """Whether operations are recorded or transformed: no Python number may depend on a tensor.

    This is the case under `torch.compile`, `torch.export`, `torch.onnx.export`, `torch.jit.trace`,
    the transforms of `torch.func` and the dispatch modes (fake tensors, counters of operations).
    """
    return (
        torch.compiler.is_compiling()
        or torch.jit.is_tracing()
        or _is_transformed()
        or _is_dispatched()
    )


def is_plain(module: nn.Module, *classes: type[nn.Module]) -> bool:
    """Whether a call runs `forward` of one of these classes with its parameters, and no more."""
    parameters = (
        parameter for parameter in module._parameters.values() if parameter is not None
    )
    return (
        # Parametrizations, adapters and quantization change the class.
        type(module) in classes
        and not is_hooked(module)
        and all(map(is_plain_tensor, parameters))
    )


def is_hooked(module: nn.Module) -> bool:
    """Whether a call runs something else besides, or in place of, the `forward` of its class."""
    return bool(
        module._forward_hooks
        or module._forward_pre_hooks
        or module._backward_hooks
        or module._backward_pre_hooks
        or any(_GLOBAL_HOOKS)
        or "forward" in vars(module)
        or module._compiled_call_impl is not None
    )


def is_plain_tensor(states: Tensor) -> bool:
    """Whether it is no subclass of a tensor and no stand-in of a tracer."""
    return type(states) in _TENSORS
