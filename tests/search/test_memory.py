"""A `Searcher` in a service: the memory of a query is free when it ends, without the collector."""

import gc
import json
import subprocess
import sys
from threading import Thread

import pytest
import torch
from typer.testing import CliRunner

from siamese_news import Searcher
from siamese_news.cli import app

STORY = "A river floods a town\nCellars are full of water. The bridge is closed."
OTHER = "The council votes on the budget for schools"
POSTS = [
    f"river flood {n} bridge street{n % 7} town{n % 11} budget{n % 13}"
    for n in range(100)
]


@pytest.fixture(scope="module")
def searcher():
    return Searcher()


@pytest.fixture(scope="module")
def index(searcher, tmp_path_factory):
    folder = tmp_path_factory.mktemp("memory")
    rows = ({"id": str(n), "text": text} for n, text in enumerate(POSTS))
    (folder / "posts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    files = [
        "--posts",
        str(folder / "posts.jsonl"),
        "--out",
        str(folder / "posts.index"),
    ]
    done = CliRunner().invoke(app, ["index", *files])
    assert done.exit_code == 0, done.output
    return searcher.open_index(folder / "posts.index")


QUERIES = {
    "rank": lambda s, posts: s.rank([STORY, OTHER], posts),
    "rank, all options": lambda s, posts: s.rank(
        [STORY], posts, negatives=[OTHER], one_story=True, dedupe=True
    ),
    "filter": lambda s, posts: s.filter([STORY], posts, min_score=0.01, dedupe=True),
    "keywords": lambda s, posts: s.keywords(
        [{"post_id": "1"}, {"post_id": "2"}], posts
    ),
}


@pytest.fixture(scope="module")
def few_objects(searcher, index):
    """Let the collector look at nothing that is here already: it takes longer than a query."""
    gc.collect()
    gc.freeze()


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("pool", "workers"),
    [
        ("posts", 1),
        pytest.param("index", 1, marks=pytest.mark.slow),
        ("index", 3),
    ],
)
@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.usefixtures("few_objects")
def test_a_query_leaves_no_cycle(searcher, index, query, pool, workers, monkeypatch):
    posts = {"posts": POSTS, "index": index}[pool]
    found = []

    def ask():
        found.append(len(QUERIES[query](searcher, posts)))

    threads = torch.get_num_threads()
    torch.set_num_threads(workers)  # of which an index makes use
    gc.disable()
    try:
        ask()  # what is opened once, such as the table of stop words
        gc.collect()
        asking = [Thread(target=ask) for _ in range(workers)]
        for thread in asking:
            thread.start()
        for thread in asking:
            thread.join()
        assert gc.collect() == 0
    finally:
        gc.enable()
        torch.set_num_threads(threads)
    assert len(found) == workers + 1 and all(found)


SERVICE = """
import gc, sys
from concurrent.futures import ThreadPoolExecutor
from siamese_news import Searcher

gc.disable()
searcher = Searcher()
posts = [f"river flood {n} bridge street{n % 7} town{n % 11}" for n in range(400)]

def megabytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 1e6

with ThreadPoolExecutor(int(sys.argv[1])) as workers:
    def ask(count):
        list(workers.map(lambda _: searcher.rank(["A river floods a town."], posts), range(count)))
    ask(100)  # by then the threads have been at their peaks together
    before = megabytes()
    ask(500)
    print(megabytes() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("workers", [1, 4])
def test_500_queries_more_take_no_more_memory_than_100(workers):
    done = subprocess.run(
        [sys.executable, "-c", SERVICE, str(workers)],
        capture_output=True,
        text=True,
        check=True,
    )
    # One scorer has 5 MB, so with cycles it would be 2,500.
    assert float(done.stdout) < 50
