"""Certified thresholds next to bargain and mapie: posts returned with the same number of labels.

With the extra `bench`: ``python -m benchmarks.certify_peers --results boston.parquet --qrels
qrels/test.tsv [--budget 300] [--runs 60]``. Both peers are told the region by the truth (the best
posts, half as many again as the oracle returns), for over the whole pool they certify next
to nothing; ours is told nothing.
"""

import argparse
import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np

from benchmarks.replay import (
    generator_of,
    random_order,
    replay,
    tables_of,
)
from benchmarks.replays import LabeledPool, read_pool
from siamese_news_desk.decide.bounds.hypergeometric import interval
from siamese_news_desk.decide.plan.design import first_set, nested_sets

_REGION = 1.5
_ERROR = 0.05

Peer = Callable[[LabeledPool, Fraction, int, int, np.random.Generator], np.ndarray]


def ours(pool, target, region, budget, generator):
    first = first_set(budget, target, pool.relevance)
    sizes = nested_sets(pool.scores, first_size=first)
    tables = tables_of(sizes, target, budget, _ERROR)
    order = random_order(sizes, generator, budget)
    found = replay(tables, order, pool.relevant, target=target, budget=budget)
    wrong = found.labeled[~pool.relevant[found.labeled]]
    return np.union1d(np.setdiff1d(np.arange(found.size), wrong), _below(pool, found))


def _below(pool, found):
    """Labeled relevant posts from further down."""
    right = found.labeled[pool.relevant[found.labeled]]
    return right[right >= found.size]


def bargain(pool, target, region, budget, generator):
    """As shipped (20 thresholds); labeled relevant posts outside its set count for it as well."""
    from BARGAIN import BARGAIN_P, Oracle, Proxy

    class Scores(Proxy):
        def get_preds_and_scores(self, indxs, data_records):
            scores = 1 - np.asarray(data_records) / (region + 1)
            return np.ones(len(indxs)), scores

    class Truth(Oracle):
        def get_pred(self, data_records, indxs=None):
            return pool.relevant[np.asarray(data_records, np.int64)].astype(int)

    seed = int(generator.integers(2**31))
    peer = BARGAIN_P(
        Scores(verbose=False),
        Truth(verbose=False),
        delta=_ERROR,
        target=float(target),
        budget=budget,
        seed=seed,
    )
    return np.array(peer.process(np.arange(region)), np.int64)


def mapie(pool, target, region, budget, generator):
    """Fixed sequence over 100 thresholds, from a third of the region downwards."""
    from mapie.risk_control import BinaryClassificationController

    def chance(ranks):
        score = 1 - np.asarray(ranks).ravel() / region
        return np.stack([1 - score, score], axis=1)

    drawn = generator.choice(region, min(budget, region), replace=False)
    thresholds = np.linspace(2 / 3, 0.001, 100)
    peer = BinaryClassificationController(
        chance,
        "precision",
        float(target),
        confidence_level=1 - _ERROR,
        list_predict_params=thresholds,
        fwer_method="fixed_sequence",
    )
    peer.calibrate(drawn[:, None], pool.relevant[drawn].astype(int))
    valid = np.asarray(peer.valid_predict_params, float).ravel()
    if not len(valid):
        return np.arange(0)
    return np.flatnonzero(chance(np.arange(region))[:, 1] >= valid.min())


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, action="append", required=True)
    parser.add_argument("--qrels", type=Path, action="append", required=True)
    parser.add_argument("--precision", action="append", default=[])
    parser.add_argument("--budget", type=int, default=300)
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=3)
    options = parser.parse_args()
    peers: dict[str, Peer] = {"ours": ours, "bargain": bargain, "mapie": mapie}
    shares: dict[str, list[float]] = {name: [] for name in peers}
    print("| pool | target | | mean share | nothing | below target | 99% interval |")
    print("|---|---|---|---:|---:|---:|---|")
    for results, qrels in zip(options.results, options.qrels, strict=True):
        pool = read_pool(results, qrels)
        for precision in options.precision or [".9", ".95"]:
            target = Fraction(precision)
            oracle = pool.oracle(target)
            region = min(len(pool.scores), int(_REGION * oracle))
            for name, peer in peers.items():
                found = [
                    peer(
                        pool,
                        target,
                        region,
                        options.budget,
                        generator_of(options.seed, name, pool.name, precision, number),
                    )
                    for number in range(options.runs)
                ]
                share = float(np.mean([len(posts) / oracle for posts in found]))
                shares[name].append(share)
                wrong = sum(
                    len(posts) > 0 and pool.relevant[posts].sum() < target * len(posts)
                    for posts in found
                )
                low, high = interval(wrong, options.runs)
                print(
                    f"| {pool.name} | {precision} | {name} | {share:.3f} | "
                    f"{sum(not len(posts) for posts in found)} | {wrong} of {options.runs} | "
                    f"{100 * low:.1f} to {100 * high:.1f}% |",
                    flush=True,
                )
    means = ", ".join(
        f"{name} {np.mean(values):.3f}" for name, values in shares.items()
    )
    print(f"\nmean share: {means}")


if __name__ == "__main__":
    main()
