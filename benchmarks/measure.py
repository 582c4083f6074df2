"""How speed is measured: one thread, CPU time, the compared sides in turns."""

import ctypes
import gc
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch


def seconds(run: Callable[[], Any]) -> float:
    """CPU seconds of one call; on a GPU, wall seconds until it is done."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
        started = time.perf_counter()
        run()
        torch.cuda.synchronize()
        return time.perf_counter() - started
    started = time.process_time()
    run()
    return time.process_time() - started


def side_by_side(
    runs: dict[str, Callable[[], Any]], repeats: int
) -> dict[str, list[float]]:
    """Seconds of each run, `repeats` times in turns after one warm-up each.

    Another process slows the memory for all of them alike, so only ratios within a turn are used.
    """
    for run in runs.values():
        run()
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            times[name].append(seconds(run))
    return times


def ratio(times: dict[str, list[float]], above: str, below: str) -> float:
    """Median over the turns of one run's time divided by another's."""
    pairs = zip(times[above], times[below], strict=True)
    return statistics.median(one / other for one, other in pairs)


def peak_bytes(run: Callable[[], Any]) -> int:
    """The peak of resident memory during one call, above what there was before it (Linux)."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    run()
    return _status("VmHWM") - before


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {field}")


def machine() -> str:
    """Processor, threads and device in words."""
    name = platform.processor() or platform.machine()
    flags = ""
    info = Path("/proc/cpuinfo")
    if info.exists():
        text = info.read_text()
        names = [
            line.split(":")[1].strip()
            for line in text.splitlines()
            if "model name" in line
        ]
        name = f"{names[0]}, {len(names)} cores" if names else name
        flags = ", AVX-512" if "avx512f" in text else ""
    device = f", {torch.cuda.get_device_name()}" if torch.cuda.is_available() else ""
    return f"{name}{flags}, {torch.get_num_threads()} thread{device}"
