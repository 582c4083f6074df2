"""How many threads a command computes on, in a process of its own."""

import json
import subprocess
import sys

import pytest

SAYS = """
import json, sys
import torch
from threadpoolctl import threadpool_info
from siamese_news.search.threads import use_threads
torch.set_num_threads(3)
use_threads(json.loads(sys.argv[1]))
blas = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
print(json.dumps([torch.get_num_threads(), blas]))
"""


@pytest.mark.parametrize(("asked", "of_torch"), [(None, 3), (1, 1), (2, 2)])
def test_products_of_numpy_take_one_thread_and_torch_what_is_asked_for(asked, of_torch):
    done = subprocess.run(
        [sys.executable, "-c", SAYS, json.dumps(asked)], capture_output=True, text=True, check=True
    )
    torch_has, blas = json.loads(done.stdout)
    assert torch_has == of_torch
    assert blas and set(blas) == {1}
