"""How many threads compute: processes of their own, for the limits hold for a whole process."""

import json
import subprocess
import sys

import pytest

SAYS = """
import json, sys
import torch
from threadpoolctl import threadpool_info
from siamese_news.search.cpu_threads import use_threads
torch.set_num_threads(3)
use_threads(json.loads(sys.argv[1]))
blas = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
print(json.dumps([torch.get_num_threads(), blas]))
"""


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("asked", "of_torch"),
    [(None, 3), pytest.param(1, 1, marks=pytest.mark.slow), (2, 2)],
)
def test_products_of_numpy_take_one_thread_and_torch_what_is_asked_for(asked, of_torch):
    done = subprocess.run(
        [sys.executable, "-c", SAYS, json.dumps(asked)],
        capture_output=True,
        text=True,
        check=True,
    )
    torch_has, blas = json.loads(done.stdout)
    assert torch_has == of_torch
    assert blas and set(blas) == {1}


SEARCHES = """
import json
from threading import Event, Thread
import numpy
from threadpoolctl import threadpool_info, threadpool_limits
from siamese_news import Searcher

def blas():
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    return {pool["filepath"]: pool["num_threads"] for pool in pools}

def posts():
    seen.append(list(blas().values()))
    yield "a flood"

seen = []
threadpool_limits(2, user_api="blas")
before = blas()
searcher = Searcher()
searcher.rank(["A flood"], posts())
searcher.filter(["A flood"], posts(), min_score=0.0)

first_reads, second_reads = Event(), Event()

def of_first():
    first_reads.set()
    second_reads.wait()
    yield "a flood"

def of_second():
    second_reads.set()
    first.join()
    yield from posts()

first = Thread(target=lambda: searcher.rank(["A flood"], of_first()))
first.start()
first_reads.wait()
searcher.rank(["A flood"], of_second())
print(json.dumps([seen, before, {path: blas()[path] for path in before}]))
"""


def test_a_searcher_takes_one_thread_and_gives_back_what_was_set_when_the_last_query_ends():
    done = subprocess.run(
        [sys.executable, "-c", SEARCHES], capture_output=True, text=True, check=True
    )
    during, before, after = json.loads(done.stdout)
    assert len(during) == 3 and {count for counts in during for count in counts} == {1}
    assert set(before.values()) == {2} and after == before
