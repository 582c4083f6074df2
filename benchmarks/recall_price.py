"""What a recall must cost on the development lists, whichever rule of stopping is used.

``python -m benchmarks.recall_price --lists FOLDER [--recall .8 .9]`` (the lists of `dev_lists`).
Labels are multiples of the optimum of `promises`: what somebody labels who goes down the order of
the search and knows when the recall is reached.

*Any rule* is a bound. A rule that finds H of R relevant posts must have ruled out that K others are
relevant, K the fewest with which H would be too few. So with a probability of at most the error it
may label none of any K of the u posts that are not relevant. Of the sets of K posts the mean chance
to label none, if m of the u posts are labeled, is C(u - m, K) / C(u, K), which is convex in m; the
expected m is therefore at least the one with which it is the error. This holds for weighted draws
as for even ones, and for a rule that knows the list.

*Best depth* is what labeling down the order of the search costs on average, and drawing random
posts of the rest up to the looks of `FewMissing`, for somebody who knows the best depth to stop at.
"""

import argparse
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import hypergeom

from benchmarks.dev_lists import dev_lists
from benchmarks.promises import optimum
from siamese_news.utils.markdown import markdown_table
from siamese_news_desk.decide.bounds.missing import FewMissing

_ERROR = 0.05
_DEPTHS = 0.5, 0.7, 0.85, 1, 1.15, 1.3, 1.6, 2, 2.5, 3, 4, 6  # of the optimum
_DRAWS = 10


def least(enough: Callable[[int], bool], low: int, high: int) -> int:
    """The smallest number from `low` to `high` that is enough, if all larger ones are."""
    while low < high:
        middle = (low + high) // 2
        if enough(middle):
            high = middle
        else:
            low = middle + 1
    return low


def any_rule(size: int, relevant: int, recall: float, error: float = _ERROR) -> int:
    """The fewest labels that any rule expects to need; see the module."""
    others = size - relevant

    def labels(found: int) -> int:
        broken = math.floor(found / recall + 1e-9) + 1 - relevant
        if broken > others:
            return found
        return found + least(
            lambda m: hypergeom.pmf(0, others, broken, m) <= error, 0, others
        )

    first = math.ceil(recall * relevant - 1e-9)
    return min(labels(found) for found in range(first, relevant + 1))


def random_part(
    test: FewMissing, missing: int, rest: int, generator: np.random.Generator
) -> int:
    """Random posts of the rest until the recall is shown."""
    places = np.sort(generator.choice(rest, missing, replace=False)) + 1
    begin = 0
    for hits, end in enumerate([*places.tolist(), rest]):
        # The labels with which so many hits suffice, if the next hit comes later.
        drawn = least(lambda m, hits=hits: test.shown(hits, m), begin, end)
        if drawn < end:
            return drawn
        begin = end
    return rest


def best_depth(
    relevant: NDArray[np.bool_], recall: float, best: int, error: float = _ERROR
) -> float:
    """Mean labels from the best depth; see the module."""
    costs = [float(len(relevant))]
    for share in _DEPTHS:
        depth = int(share * best)
        rest = len(relevant) - depth
        if depth and rest > 0:
            found = int(relevant[:depth].sum())
            test = FewMissing(found, rest, recall, error)
            generator = np.random.default_rng(depth)
            missing = int(relevant.sum()) - found
            drawn = [random_part(test, missing, rest, generator) for _ in range(_DRAWS)]
            costs.append(depth + float(np.mean(drawn)))
    return min(costs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lists", type=Path, required=True)
    parser.add_argument("--recall", type=float, nargs="*", default=[0.8, 0.9])
    options = parser.parse_args()
    costs: dict[tuple[str, float], list[tuple[float, float, float]]] = {}
    for dev_list in dev_lists(options.lists):
        relevant = dev_list.pool.relevant
        for recall in options.recall:
            best = optimum(relevant, recall)
            bound = max(any_rule(len(relevant), int(relevant.sum()), recall), 1)
            depth = best_depth(relevant, recall, best)
            costs.setdefault((dev_list.group, recall), []).append(
                (100 * float(relevant.mean()), bound / best, depth / best)
            )
    rows = []
    for (group, recall), found in sorted(costs.items()):
        relevant_share, bound, depth = np.mean(found, axis=0)
        rows.append(
            {
                "lists": f"{group} ({len(found)})",
                "relevant": f"{relevant_share:.0f}%",
                "recall": f"{recall:g}",
                "any rule": f"{bound:.2f}",
                "best depth": f"{depth:.2f}",
                "largest": f"{max(cost for *_, cost in found):.2f}",
            }
        )
    print(markdown_table(rows))


if __name__ == "__main__":
    main()
