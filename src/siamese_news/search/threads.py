"""Limits on the number of threads.

The products of numpy in a search are small. OpenBLAS spreads them over all cores all the same, and
its threads turn over idle between them: a search took half as much time of the processor again, and
two workers on two cores were in each other's way.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, wraps
from threading import Lock
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def use_threads(threads: int | None) -> None:
    """Limit torch to so many threads, and the products of numpy to one, in this process.

    Args:
        threads: how many; None leaves torch as it is.
    """
    import torch

    if threads:
        torch.set_num_threads(threads)
    limit_threads("blas")


@cache
def _libraries() -> Any:
    """What controls the threads; looking for the libraries each time would leave cycles behind."""
    import scipy.linalg  # noqa: F401  it has a BLAS of its own
    import torch  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def limit_threads(kind: str) -> Any:
    """One thread for ``blas`` or ``openmp`` from now on; as a context, until its end."""
    return _libraries().limit(limits=1, user_api=kind)


# OpenBLAS has one number for the whole process: the first caller inside lowers it, and the last one
# out puts it back.
_lock, _limit = Lock(), ExitStack()
_inside = 0


@contextmanager
def _one_thread() -> Iterator[None]:
    global _inside
    with _lock:
        _inside += 1
        if _inside == 1:
            _limit.enter_context(limit_threads("blas"))
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
        with _one_thread():
            return function(*args, **kwargs)

    return limited
