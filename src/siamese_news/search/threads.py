"""Limits on the number of threads.

The products of numpy in a search are small. OpenBLAS spreads them over all cores all the same, and
its threads turn over idle between them: a search took half as much time of the processor again, and
two workers on two cores were in each other's way.
"""

import os
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, wraps
from threading import Lock
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def use_threads(threads: int | None) -> None:
    """Let this process compute on so many threads, and each product of numpy on one.

    None is the number in OMP_NUM_THREADS, or one for each core.
    """
    if threads:
        os.environ["OMP_NUM_THREADS"] = str(threads)  # torch reads it when it is first imported
        if "torch" in sys.modules:
            sys.modules["torch"].set_num_threads(threads)
    _limit_products()


def thread_count() -> int:
    """On how many threads this process computes."""
    if "torch" in sys.modules:
        return int(sys.modules["torch"].get_num_threads())
    said = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    return int(said) if said.isdecimal() and int(said) else len(_cores())


def _cores() -> Collection[int]:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # Linux
        return os.sched_getaffinity(0)
    return range(os.cpu_count() or 1)


@cache
def _libraries() -> Any:
    """What controls the threads; looking for the libraries each time would leave cycles behind."""
    import scipy.linalg  # noqa: F401  it has a BLAS of its own
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _limit_products() -> Any:
    """One thread for a product of numpy from now on; as a context, until its end."""
    return _libraries().limit(limits=1, user_api="blas")


# OpenBLAS has one number for the whole process: the first caller inside lowers it, and the last one
# out puts it back.
_lock, _limit = Lock(), ExitStack()
_inside = 0


@contextmanager
def one_thread_of_products() -> Iterator[None]:
    """Products of numpy on one thread until the end of the context."""
    global _inside
    with _lock:
        _inside += 1
        if _inside == 1:
            _limit.enter_context(_limit_products())
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                _limit.close()


def one_thread_of_numpy(function: Callable[P, R]) -> Callable[P, R]:
    """The function with products of numpy on one thread; afterwards they take as many as before."""

    @wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> R:
        with one_thread_of_products():
            return function(*args, **kwargs)

    return limited
