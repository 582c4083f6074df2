"""Dev figures by the weight of the dense head: python -m benchmarks.dense_weight.

Scores every dev pool with the lexical and the dense head of one model, once for each weight of the
dense head, with the pool rule and feedback as the model's folder sets them. No test is read. Needs
the folders in $SIAMESE_NEWS_DATA.
"""

import argparse
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from benchmarks.leaderboard.choose import OBJECTIVE
from benchmarks.measure import machine
from siamese_news.evaluation.dev_pools import SHARES, shared_dev_pools
from siamese_news.evaluation.pools import evaluate_pools
from siamese_news.model import Model
from siamese_news.scoring.mixture import MixtureScorer

WEIGHTS = (0.0, 0.03, 0.05, 0.07, 0.1, 0.15)
OWN_ARTICLE = tuple(f"own@{share:g}" for share in SHARES)


def figures_at(model: Model, weight: float, pools: Iterable) -> dict[str, float]:
    """The figures of all pools when the dense head has this weight."""

    def score(articles: list[str], posts: list[str]) -> np.ndarray:
        scorer = MixtureScorer(model, articles, dense=weight)
        scores = scorer.scores(posts)
        while scorer.adapt():
            scores = scorer.scores(posts)
        return scores

    return evaluate_pools(list(pools), score)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--model", type=Path, help="a model folder with two heads; default: the shipped model"
    )
    parser.add_argument("--weights", type=float, nargs="+", default=WEIGHTS)
    arguments = parser.parse_args()
    model = Model.load(arguments.model) if arguments.model else Model.pretrained()
    pools = shared_dev_pools()
    print(f"{sum(len(pool.posts) for pool in pools):,} posts in {len(pools)} pools; {machine()}\n")
    print(f"| weight | {' | '.join(OBJECTIVE)} | mean | own article, mean of five shares |")
    print("|---|" + "---:|" * (len(OBJECTIVE) + 2))
    for weight in arguments.weights:
        figures = figures_at(model, weight, pools)
        own_article = np.mean([figures[name] for name in OWN_ARTICLE])
        columns = [*(figures[name] for name in OBJECTIVE)]
        columns += [np.mean(columns), own_article]
        print(
            f"| {weight:g} | " + " | ".join(f"{value:.4f}" for value in columns) + " |", flush=True
        )


if __name__ == "__main__":
    main()
