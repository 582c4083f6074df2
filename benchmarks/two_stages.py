"""An engine first, then our score: python -m benchmarks.two_stages [--posts 60000] [--best 20000].

Seeds of development pools are searched one by one among the pool's posts and so many tweets of
``trec-microblog``: all of them by `rank`, and only the best by the BM25 of SQLite FTS5, which is
asked for any of the seed's words (`benchmarks.index_peers`). For each pool: the mean average precision
of both, the largest fall of a seed, and how many of the first 100 posts of `rank` are the same.
"""

import argparse
import tempfile
from itertools import islice
from pathlib import Path

from benchmarks import index_peers
from benchmarks.measure import machine
from siamese_news import Searcher
from siamese_news.data.sources import open_posts_of, open_source
from siamese_news.metrics import evaluate_run
from siamese_news.utils.markdown import markdown_table
from siamese_news.utils.provenance import provenance

POOLS = "events-dev fox-comments".split()


def compared(pool: str, tweets: int, best: int) -> dict[str, object]:
    """The figures of one pool."""
    collection = open_source(pool)
    (judgments,) = collection.qrels.values()
    texts = {post.id: post.text for post in collection.posts.values()}
    noise = islice(open_posts_of("trec-microblog").values(), tweets)
    texts |= {f"tweet-{post.id}": post.text for post in noise}
    articles = list(collection.articles.values())
    seeds = [index_peers.words_of_seed(article.full_text) for article in articles]
    index_peers.TOP = best
    with tempfile.TemporaryDirectory() as folder:
        engine = index_peers.Fts5()
        engine.build(Path(folder), iter(texts.items()))
        firsts = list(engine.search(Path(folder), seeds))
    searcher = Searcher()
    runs: list[dict[str, dict[str, float]]] = [{}, {}]
    same = []
    for article, first in zip(articles, firsts, strict=True):
        lists = []
        for run, ids in zip(runs, (list(texts), first), strict=True):
            posts = [{"id": id, "text": texts[id]} for id in ids]
            rows = searcher.rank([article], posts, top=1000)
            run[article.id] = {row["post_id"]: row["score"] for row in rows}
            lists.append({row["post_id"] for row in rows[:100]})
        same.append(len(lists[0] & lists[1]))
    whole, staged = (evaluate_run(run, judgments)["AP"] for run in runs)
    falls = [whole[id] - staged[id] for id in whole]
    return {
        "pool": f"{pool}, {len(texts):,} posts",
        "`rank` of all": f"{sum(whole.values()) / len(whole):.3f}",
        f"of the engine's best {best:,}": f"{sum(staged.values()) / len(staged):.3f}",
        "largest fall": f"{max(falls):.3f}",
        "same of the first 100": f"{sum(same) / len(same):.0f}",
    }


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--posts", type=int, default=60_000)
    parser.add_argument("--best", type=int, default=20_000)
    options = parser.parse_args()
    rows = [compared(pool, options.posts, options.best) for pool in POOLS]
    print(f"{machine()}; revision {provenance()['revision']}\n")
    print(markdown_table(rows))


if __name__ == "__main__":
    main()
