"""How many threads compute.

The products of numpy in a search are small. OpenBLAS spreads them over all cores all the same, and
its threads turn over idle between them: a search took half as much time of the processor again, and
two workers on two cores were in each other's way.
"""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def use_threads(threads: int | None) -> None:
    """Limit torch to so many threads, and the products of numpy to one, in this process.

    Args:
        threads: how many; None leaves torch as it is.
    """
    import torch
    from threadpoolctl import threadpool_limits

    if threads:
        torch.set_num_threads(threads)
    threadpool_limits(1, user_api="blas")


def one_thread_of_numpy(function: Callable[P, R]) -> Callable[P, R]:
    """The function with products of numpy on one thread; afterwards they take as many as before."""

    @wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> R:
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1, user_api="blas"):
            return function(*args, **kwargs)

    return limited
