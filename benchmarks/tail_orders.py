"""Whether another order finds sooner what the search misses, on the development lists.

``python -m benchmarks.tail_orders [--groups factcheck-dev ...] [--second-look MODEL]``: for each
list (`dev_lists`), the posts below the optimum of a recall of .8 (`promises.optimum`) are its
tail, and those above are labeled. The relevant posts of the tail are looked up in these orders:

- that of the search;
- by the star that ships: the mean cosine with the three nearest labeled hits, less that with the
  ten nearest posts of the list, because dense regions are near everything;
- by a search whose second look is MODEL, a model folder such as that of all-MiniLM-L6-v2.

Printed are the parts of the tail above a quarter, half and three quarters of its relevant posts (.25,
.50 and .75 by chance), and the labels that a recall of .8 costs from the best depth (`recall_price`)
if the tail comes in this order, as a multiple of the optimum.
"""

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.dev_lists import SPLITS, lists_of
from benchmarks.printed_table import print_table
from benchmarks.promises import optimum
from benchmarks.recall_price import best_depth
from siamese_news.model.loading import model_of
from siamese_news.model.text_model import STAR
from siamese_news.search.searcher import Searcher

_RECALL = 0.8
_HITS, _POSTS = 3, 10  # the nearest ones whose cosines count
_BLOCK = 1024

Floats = NDArray[np.float64]


def nearest(vectors: Floats, targets: Floats, count: int) -> Floats:
    """The mean cosine (n,) of unit vectors (n, D) with their `count` nearest targets (m, D)."""
    means = []
    for start in range(0, len(vectors), _BLOCK):
        cosines = vectors[start : start + _BLOCK] @ targets.T
        count = min(count, cosines.shape[1])
        means.append(np.partition(cosines, -count)[:, -count:].mean(axis=1))
    return np.concatenate(means)


def near_hits(vectors: Floats, is_hit: NDArray[np.bool_], depth: int) -> Floats:
    """How near posts (n,) below a depth are to the hits above it, less the density around them.

    `vectors` (N, D) and `is_hit` (N,) are of all posts, best first.
    """
    tail = vectors[depth:]
    hits = vectors[:depth][is_hit[:depth]]
    density = nearest(tail, vectors, _POSTS + 1)  # each is the nearest to itself
    return nearest(tail, hits, _HITS) - density


def costs(
    relevant: NDArray[np.bool_], depth: int, scores_of: dict[str, Floats]
) -> list[tuple[str, Floats, float]]:
    """For each order of the tail by scores (n,): quartiles of its relevant posts, and labels."""
    rows = []
    for name, scores in scores_of.items():
        tail = relevant[depth:][np.argsort(-scores, kind="stable")]
        shares = (np.flatnonzero(tail) + 1) / len(tail)
        quartiles = np.quantile(shares, [0.25, 0.5, 0.75])
        reordered = np.concatenate([relevant[:depth], tail])
        labels = best_depth(reordered, _RECALL, depth)
        rows.append((name, quartiles, labels / depth))
    return rows


def scores_by(
    searcher: Searcher, articles: list[str], texts: dict[str, str], **look: Path
) -> dict[str, float]:
    """The scores of a list by post; `look` is the option of another second look."""
    posts = [{"id": post, "text": text} for post, text in texts.items()]
    rows = searcher.filter(articles, posts, threshold=None, min_score=-4, **look)
    return {row["post_id"]: row["score"] for row in rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    groups = ("factcheck-dev",)
    parser.add_argument("--groups", nargs="+", choices=tuple(SPLITS), default=groups)
    parser.add_argument("--second-look", type=Path, metavar="MODEL")
    options = parser.parse_args()
    star = model_of(STAR)
    searcher = Searcher()
    table = []
    of_group: dict[tuple[str, str], list[float]] = defaultdict(list)
    for group in options.groups:
        for name, articles, texts, relevant_ids in lists_of(group):
            score_of = scores_by(searcher, articles, texts)
            ids = sorted(score_of, key=lambda post: -score_of[post])
            relevant = np.array([post in relevant_ids for post in ids])
            depth = optimum(relevant, _RECALL)
            vectors = star.encode_posts([texts[post] for post in ids])
            scores_of = {
                "search": -np.arange(len(ids) - depth, dtype=float),
                "star, near hits": near_hits(vectors.astype(float), relevant, depth),
            }
            if options.second_look is not None:
                look = {"second_look": options.second_look}
                reread = scores_by(searcher, articles, texts, **look)
                tail = [reread[post] for post in ids[depth:]]
                scores_of["other second look"] = np.array(tail)
            for order, quartiles, cost in costs(relevant, depth, scores_of):
                of_group[group, order].append(cost)
                parts = " ".join(f"{share:.2f}" for share in quartiles)
                missing = int(relevant[depth:].sum())
                row = (f"{group} {name}", f"{depth:,}", f"{missing}", order, parts)
                table.append((*row, f"{cost:.2f}"))
                print(*table[-1], flush=True)
    columns = ("list", "optimum", "missing", "order of the tail", "quartiles", "cost")
    print_table([dict(zip(columns, row, strict=True)) for row in table])
    for (group, order), values in of_group.items():
        print(f"{group}, {order}: {np.mean(values):.2f} (mean of {len(values)})")


if __name__ == "__main__":
    main()
