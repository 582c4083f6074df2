"""What the processor of this machine can do."""

import logging
from functools import cache
from pathlib import Path

_log = logging.getLogger(__name__)
_BFLOAT16 = frozenset("avx512_bf16 amx_bf16 bf16".split())


@cache
def processor_entry(*names: str) -> str:
    """What Linux says about the first processor under one of the names; empty elsewhere."""
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        return ""
    return (
        next((line for line in lines if line.startswith(names)), "")
        .partition(":")[2]
        .strip()
    )


def processor_flags() -> frozenset[str]:
    """The instructions that the processor has, by Linux's names; empty on another system."""
    return frozenset(processor_entry("flags", "Features").split())


@cache
def warn_of_slow_bfloat16(device: str) -> None:
    """Say, once, that a CPU without the instruction computes in bfloat16 some six times as long."""
    flags = processor_flags()
    if device == "cpu" and flags and not flags & _BFLOAT16:
        _log.warning(
            "this processor has no instruction for bfloat16, which takes several times as long "
            "here; use float32"
        )
