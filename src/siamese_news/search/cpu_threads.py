"""Limits on the number of threads.

The products of numpy in a search are small. OpenBLAS spreads them over all cores nevertheless, and
its idle threads spin between them: a search took half as much processor time again, and two workers
on two cores slowed each other down.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from threading import Lock
from typing import Any


def use_threads(threads: int | None = None) -> None:
    """Let this process compute on this many threads, and each product of numpy on one.

    None is the number in OMP_NUM_THREADS, or one for each core.
    """
    # Scipy has one of its own, loaded on use.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if threads:
        # torch reads it when it is first imported.
        os.environ["OMP_NUM_THREADS"] = str(threads)
        if "torch" in sys.modules:
            sys.modules["torch"].set_num_threads(threads)
    _libraries().limit(limits=1, user_api="blas")


def thread_count() -> int:
    """The number of threads on which this process computes."""
    if "torch" in sys.modules:
        return int(sys.modules["torch"].get_num_threads())
    setting = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    if setting.isdecimal() and int(setting):
        return int(setting)
    if hasattr(os, "sched_getaffinity"):  # Linux: the cores that this process may use
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def _libraries() -> Any:
    """The controller of threads; looking for the libraries each time would leave cycles behind."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


# OpenBLAS has one number for the whole process: the first caller inside lowers it, and the last one
# out puts it back.
_lock = Lock()
_limit = ExitStack()
_inside = 0


@contextmanager
def one_thread_of_products() -> Iterator[None]:
    """Products of numpy on one thread until the end of the block or of the decorated function."""
    global _inside
    with _lock:
        _inside += 1
        if _inside == 1:
            _limit.enter_context(_libraries().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                _limit.close()
