"""How many threads compute."""


def use_threads(threads: int | None) -> None:
    """Limit torch to so many threads, and the products of numpy to one.

    These products are small. OpenBLAS spreads them all the same, and its threads turn over idle
    between them: a search took half as much time of the processor again, and two workers on two
    cores were in each other's way.

    Args:
        threads: how many; None leaves torch as it is.
    """
    import torch
    from threadpoolctl import threadpool_limits

    if threads:
        torch.set_num_threads(threads)
    threadpool_limits(1, user_api="blas")
