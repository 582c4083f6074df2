"""What a post and a seed of a search cost: python -m benchmarks.cost_of_seeds.

CPU seconds of whole searches in memory, ranked for the first articles of signal1m over posts of its
pool, and the line through them: microseconds a post, and seconds a seed. *Vectors alone* are the
star's cosines without words. Figures are of one run each, on one thread.
"""

import argparse
import logging
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import machine, seconds
from siamese_news.data.records import Article, Post
from siamese_news.data.sources import open_source
from siamese_news.model.text_model import STAR
from siamese_news.search.query import NO_LOOK
from siamese_news.search.searcher import Searcher
from siamese_news.utils.markdown import markdown_table

SEARCHES: dict[str, tuple[Path | None, dict[str, Any]]] = {
    "words and small vectors (--second-look none)": (None, {"second_look": NO_LOOK}),
    "the default, with the star as second look": (None, {}),
    "star, vectors alone": (STAR, {"fusion": "vectors"}),
    "star and words (--model models/star)": (STAR, {}),
}


def row(
    name: str, articles: Sequence[Article], posts: Sequence[Post], counts: Sequence[int]
) -> dict[str, str]:
    """A row of the table: seconds with each number of seeds, and the line through them."""
    model, options = SEARCHES[name]
    searcher = Searcher(model)
    searcher.rank(articles[:1], posts[:100], **options)  # opens what is opened once
    used = [
        seconds(partial(searcher.rank, articles[:n], posts, **options)) for n in counts
    ]
    a_seed, for_posts = np.polyfit(counts, used, 1)
    cells = {
        f"{n} seed{'s' * (n > 1)}": f"{time:.1f} s"
        for n, time in zip(counts, used, strict=True)
    }
    return {
        "search": name,
        **cells,
        "µs a post": f"{1e6 * for_posts / len(posts):,.0f}",
        "s a seed": f"{a_seed:.3f}",
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--posts", type=int, default=20_000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 10, 92])
    options = parser.parse_args()
    logging.disable()
    collection = open_source("signal1m")
    articles = [collection.articles[id] for id in collection.split("test")]
    posts = list(collection.posts.values())[: options.posts]
    rows = [row(name, articles, posts, options.seeds) for name in SEARCHES]
    print(markdown_table(rows))
    print(f"{len(posts):,} posts; {machine()}")


if __name__ == "__main__":
    main()
