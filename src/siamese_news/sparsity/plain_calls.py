"""Whether a faster form may take the place of the calls of a module.

Attention reads the weights of its linear maps and passes them to fused products and loops in C.
That is right as long as calling a map would do nothing else. Adapters (LoRA), quantization,
pruning, weight normalization and hooks change what a call does, and exporters, tracers and
transforms record it. Under any of these the modules are called, in plain operations of torch.
"""

import torch
from torch import Tensor, nn
from torch.nn.modules.module import _has_any_global_hook
from torch.utils._python_dispatch import is_in_torch_dispatch_mode

_TENSORS = (Tensor, nn.Parameter)


def is_traced() -> bool:
    """Whether operations are recorded or transformed: no Python number may depend on a tensor.

    This is the case under `torch.compile`, `torch.export`, `torch.onnx.export`, `torch.jit.trace`,
    the transforms of `torch.func` and the dispatch modes (fake tensors, counters of operations).
    """
    return (
        torch.compiler.is_compiling()
        or torch.jit.is_tracing()
        or torch._C._are_functorch_transforms_active()
        or is_in_torch_dispatch_mode()
    )


def is_plain(module: nn.Module, *classes: type[nn.Module]) -> bool:
    """Whether a call runs `forward` of one of these classes with its parameters, and no more."""
    parameters = (each for each in module._parameters.values() if each is not None)
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
        or _has_any_global_hook()
        or "forward" in vars(module)
        or module._compiled_call_impl is not None
    )


def is_plain_tensor(states: Tensor) -> bool:
    """Whether it is no subclass of a tensor and no stand-in of a tracer."""
    return type(states) in _TENSORS
