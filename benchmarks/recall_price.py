"""What a recall must cost on the development lists, whichever rule of stopping is used.

``python -m benchmarks.recall_price --lists FOLDER [--recall .8 .9]`` (the lists of `dev_lists`).
With ``--even claims-dev factcheck-dev`` the bound for even draws is computed for these (minutes).
Labels are multiples of the optimum of `promises`: what somebody labels who goes down the order of
the search and knows when the recall is reached.

*Any rule* is a bound. A rule that finds H of R relevant posts must have ruled out that K others are
relevant, K the fewest with which H would be too few. So with a probability of at most the error it
may label none of any K of the u posts that are not relevant. Of the sets of K posts the mean chance
to label none, if m of the u posts are labeled, is C(u - m, K) / C(u, K), which is convex in m; the
expected m is therefore at least the one with which it is the error. This holds for weighted draws
as for even ones, and for a rule that knows the list.

*Even draws* is a bound for rules that label down the order of the search to a depth and then draw
the rest evenly, whatever test ends the draws, for somebody who knows the best depth and the number
M of relevant posts in the rest. Such a rule must still be right if the rest had more: if it has N of
them, it may stop with at most x hits, which breaks the recall, with a probability of at most the
error. With a weight for each such condition, the least of the expected labels plus the weighted
probabilities beyond the error is a bound, whatever the weights are (Lagrange). It is computed
exactly, back from the last label, over all numbers of labels and hits; the weights are then raised
where a condition is broken.

*Best depth* is what that costs with the looks of `FewMissing`, which knows nothing of the list, for
somebody who knows the best depth.
"""

import argparse
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln
from scipy.stats import hypergeom

from benchmarks.dev_lists import dev_lists
from benchmarks.promises import optimum
from siamese_news.utils.markdown import markdown_table
from siamese_news_desk.decide.bounds.few_missing import FewMissing

_ERROR = 0.05
_DEPTHS = 0.5, 0.7, 0.85, 1, 1.15, 1.3, 1.6, 2, 2.5, 3, 4, 6  # of the optimum
_DRAWS = 100
# Hits, as parts of M, up to which stopping would break the recall; more conditions add nothing.
_CONDITIONS = 0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.75, 1
_ROUNDS = 25  # of the weights; more change a bound by less than a label


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


class EvenDraws:
    """The bound for even draws from a rest of `rest` posts, `missing` of them relevant.

    `test` knows with how many relevant posts in the rest a number of hits breaks the recall.
    """

    def __init__(self, test: FewMissing, missing: int, rest: int) -> None:
        self._rest = rest
        self._hits = np.arange(missing + 1)
        self._missing = missing
        limits = sorted({int(missing * part) for part in _CONDITIONS})
        pairs = [(limit, test.breaking(limit)) for limit in limits]
        self._conditions = [
            (limit, relevant)
            for limit, relevant in pairs
            if missing <= relevant <= rest
        ]
        self._factorials = gammaln(np.arange(rest + 2) + 1.0)
        # (labels, conditions, hits): how much likelier stopping here is if the recall is broken.
        self._ratios = np.array([self._ratios_at(n) for n in range(rest + 1)])

    def labels(self, error: float) -> float:
        """The fewest labels that any test expects to need."""
        weights = np.full(len(self._conditions), 100.0)
        bound = 0.0
        for number in range(_ROUNDS if len(weights) else 0):
            cost, stops = self._cheapest(weights)
            bound = max(bound, cost - error * float(weights.sum()))
            excess = self._broken(stops) / error - 1
            weights *= np.exp(np.clip(excess, -3, 3) / (1 + 0.3 * number))
            weights = np.maximum(weights, 1e-3)
        return bound

    def _cheapest(
        self, weights: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.bool_]]:
        """The least expected labels and weighted probabilities, and where to stop for them."""
        cost = np.zeros(len(self._hits))  # once all are labeled, nothing can be wrong
        stops = np.ones((self._rest + 1, len(self._hits)), bool)
        for drawn in range(self._rest - 1, -1, -1):
            chance = self._chance(drawn)
            after_hit = np.append(cost[1:], 0.0)
            draw = 1 + chance * after_hit + (1 - chance) * cost
            stop = weights @ self._ratios[drawn]
            stops[drawn] = stop <= draw
            cost = np.minimum(stop, draw)
        return float(cost[0]), stops

    def _broken(self, stops: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The probability of breaking each condition."""
        alive = np.zeros(len(self._hits))
        alive[0] = 1.0
        broken = np.zeros(len(self._conditions))
        for drawn in range(self._rest + 1):
            broken += self._ratios[drawn] @ np.where(stops[drawn], alive, 0.0)
            alive = np.where(stops[drawn], 0.0, alive)
            if drawn < self._rest:
                hit = alive * self._chance(drawn)
                alive = alive - hit
                alive[1:] += hit[:-1]
        return broken

    def _chance(self, drawn: int) -> NDArray[np.float64]:
        """Of a hit at the next draw, by hits so far."""
        chance = (self._missing - self._hits) / (self._rest - drawn)
        return np.asarray(np.clip(chance, 0, 1))

    def _ratios_at(self, drawn: int) -> NDArray[np.float64]:
        possible = (self._hits <= drawn) & (
            drawn - self._hits <= self._rest - self._missing
        )
        ratios = np.zeros((len(self._conditions), len(self._hits)))
        usual = self._log_chances(self._missing, drawn)
        for row, (limit, relevant) in enumerate(self._conditions):
            kept = possible & (self._hits <= limit)
            more = self._log_chances(relevant, drawn)
            ratios[row, kept] = np.exp(more[kept] - usual[kept])
        return ratios

    def _log_chances(self, relevant: int, drawn: int) -> NDArray[np.float64]:
        """Of each number of hits, up to a term that only the draws decide; -inf if impossible."""
        return self._log_choices(relevant, self._hits) + self._log_choices(
            self._rest - relevant, drawn - self._hits
        )

    def _log_choices(
        self, posts: int, chosen: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        logs = np.full(len(chosen), -np.inf)
        fits = (chosen >= 0) & (chosen <= posts)
        some = chosen[fits]
        table = self._factorials
        logs[fits] = table[posts] - table[some] - table[posts - some]
        return logs


def even_draws(
    relevant: NDArray[np.bool_], recall: float, best: int, error: float = _ERROR
) -> float:
    """The fewest labels of any rule of even draws, from its best depth; see the module."""
    costs = [float(len(relevant))]
    for depth, found, missing, rest in _depths(relevant, best):
        test = FewMissing(found, rest, recall, error)
        costs.append(depth + EvenDraws(test, missing, rest).labels(error))
    return min(costs)


def _depths(
    relevant: NDArray[np.bool_], best: int
) -> Iterator[tuple[int, int, int, int]]:
    """Depths, the relevant posts down to each and in the rest, and the posts of the rest."""
    for share in _DEPTHS:
        depth = int(share * best)
        rest = len(relevant) - depth
        if depth and rest > 0:
            found = int(relevant[:depth].sum())
            yield depth, found, int(relevant.sum()) - found, rest


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
    for depth, found, missing, rest in _depths(relevant, best):
        test = FewMissing(found, rest, recall, error)
        generator = np.random.default_rng(depth)
        drawn = [random_part(test, missing, rest, generator) for _ in range(_DRAWS)]
        costs.append(depth + float(np.mean(drawn)))
    return min(costs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lists", type=Path, required=True)
    parser.add_argument("--recall", type=float, nargs="*", default=[0.8, 0.9])
    parser.add_argument("--even", nargs="*", default=[], metavar="COLLECTION")
    options = parser.parse_args()
    costs: dict[tuple[str, float], list[tuple[float, float, float, float]]] = {}
    for dev_list in dev_lists(options.lists):
        relevant = dev_list.pool.relevant
        for recall in options.recall:
            best = optimum(relevant, recall)
            bound = max(any_rule(len(relevant), int(relevant.sum()), recall), 1)
            depth = best_depth(relevant, recall, best)
            even = math.nan
            if dev_list.group in options.even:
                even = even_draws(relevant, recall, best)
            costs.setdefault((dev_list.group, recall), []).append(
                (
                    100 * float(relevant.mean()),
                    bound / best,
                    even / best,
                    depth / best,
                )
            )
            print(dev_list.pool.name, recall, costs[dev_list.group, recall][-1])
    rows = []
    for (group, recall), found in sorted(costs.items()):
        relevant_share, bound, even, depth = np.mean(found, axis=0)
        rows.append(
            {
                "lists": f"{group} ({len(found)})",
                "relevant": f"{relevant_share:.0f}%",
                "recall": f"{recall:g}",
                "any rule": f"{bound:.2f}",
                "even draws": "–" if math.isnan(even) else f"{even:.2f}",
                "best depth": f"{depth:.2f}",
                "largest": f"{max(cost for *_, cost in found):.2f}",
            }
        )
    print(markdown_table(rows))


if __name__ == "__main__":
    main()
