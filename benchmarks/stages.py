"""Where the time of `filter` goes: python -m benchmarks.stages --posts 100000 [--real].

CPU time of one thread for each stage of the two passes over the posts of `benchmarks.scan`, or with
--real of `benchmarks.real_posts`, which depends less on what else the machine does than seconds of
the wall clock do. The stages are run one after the other over the same blocks, by the same functions
that the command calls.
"""

import argparse
import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.measure import machine
from benchmarks.real_posts import row, texts
from benchmarks.scan import SHIPPED, invented
from siamese_news.data.readers import open_posts
from siamese_news.model import Model
from siamese_news.scoring import open_scorer
from siamese_news.search.pool import Window
from siamese_news.search.scan import Block, Spool, StreamPool, blocks

STORY = "A flood in the town\n\nThe river rose at night and took the bridge.\n"


def measured(posts: int, *, real: bool) -> dict[str, float]:
    """CPU microseconds a post of each stage."""
    spent: defaultdict[str, float] = defaultdict(float)

    def clocked(stage: str, work: Callable[[], Any]) -> Any:
        start = time.process_time()
        found = work()
        spent[stage] += time.process_time() - start
        return found

    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "posts.jsonl"
        if real:
            some = islice(texts(Path(os.environ["SIAMESE_NEWS_DATA"])), posts)
            lines = (row(number, text) for number, text in enumerate(some))
        else:
            words = (SHIPPED / "vocab.txt").read_text(encoding="utf-8").splitlines()
            lines = invented(posts, words)
        with corpus.open("wb") as stream:
            stream.writelines(lines)
        model = Model.pretrained()
        assert model.terms is not None
        scorer: Any = open_scorer(model, [STORY], one_story=True)
        observer = scorer.observer()
        spool = Spool(tempfile.TemporaryFile(dir=folder))
        rows = blocks(open_posts([corpus]))
        kept = []
        for number in range(-(-posts // 8192)):
            block = clocked("reading and duplicates", lambda: next(rows))
            contents = [post.text for post in block]
            ids = clocked("tokenizing and ids", lambda c=contents: scorer.token_ids(c))
            whole = Block(number, block, ids)
            clocked("keeping them for the second pass", lambda w=whole: spool.add(w))
            clocked("features (words and pairs)", lambda i=ids: model.terms.distinct(i))
            clocked("vectors", lambda i=ids: model.encode_ids(i, "post"))
            kept.append(block)
        for block in spool:
            clocked(
                "first pass, from the ids", lambda b=block: observer.observe(b.content)
            )
        learned = clocked("feedback and smoothing", observer.settle)
        second = StreamPool((), spool=spool).parts(learned, 1, Window(), None)
        clocked("second pass, from the spool", lambda: list(second))
        fresh: Any = open_scorer(model, [STORY], one_story=True)
        again = [post for block in kept for post in block]
        clocked(
            "for comparison: a pass that tokenizes anew",
            lambda: StreamPool(again).observe(fresh, Window()),
        )
    return {stage: seconds / posts * 1e6 for stage, seconds in spent.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--posts", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--real", action="store_true", help="posts of real words")
    arguments = parser.parse_args()
    runs = [
        measured(arguments.posts, real=arguments.real) for _ in range(arguments.repeat)
    ]
    kind = "real" if arguments.real else "invented"
    what = f"{arguments.posts:,} {kind} posts, best of {arguments.repeat}"
    print(f"{machine()}; {what}\n")
    print("| stage | µs of CPU a post |\n|---|---:|")
    for stage in runs[0]:
        print(f"| {stage} | {min(run[stage] for run in runs):.1f} |")


if __name__ == "__main__":
    main()
