"""What the tests of training share."""

import multiprocessing

import pytest


@pytest.fixture(autouse=True)
def no_worker_outlives_its_test():
    """The workers of loaders end with a fit, however it ends.

    One that stays is a copy of this process and holds the pipes of whatever it had opened, such as
    those of a browser, which then never ends.
    """
    others = multiprocessing.active_children()  # commands that another test has begun
    yield
    workers = [
        worker for worker in multiprocessing.active_children() if worker not in others
    ]
    for worker in workers:
        worker.terminate()
    assert not workers
