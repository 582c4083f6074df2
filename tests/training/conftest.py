"""What the tests of training share."""

import gc
import multiprocessing

import pytest


@pytest.fixture(autouse=True)
def no_worker_outlives_its_test():
    """End the workers of loaders that an interrupted fit left behind.

    They are copies of this process, so they would hold the pipes of a browser that other tests
    opened, and the browser would never end.
    """
    yield
    gc.collect()
    for worker in multiprocessing.active_children():
        worker.terminate()
        worker.join()
