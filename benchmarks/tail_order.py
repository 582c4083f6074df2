"""Where the relevant posts lie that the top of a list lacks, by different orders of the rest.

``python -m benchmarks.tail_order --lists FOLDER [--groups factcheck-dev claims-dev]``, with the lists
of `benchmarks.learning`. Somebody has labeled the list down to the rank at which .8 of the relevant
posts are found (the optimum). The rest is ordered by the score of the search; by the largest cosine
of a post with a labeled relevant one, in vectors of the star that ships, less the mean cosine of the
post with its ten nearest ones (its density); and by what `feedback` learns from all of these labels.
For each order the rank, as a share of the rest, above which a quarter, half and three quarters of
the missing posts lie: in a random order .25, .5 and .75. Only an order far below that can make the
random labels of a recall cheaper.
"""

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np

from benchmarks.learning import GROUPS, ranked_pools
from benchmarks.promises import optimum
from siamese_news.utils.markdown import markdown_table
from siamese_news_desk.decide.learning import learn

_RECALL = 0.8
_NEAREST = 10
_QUARTERS = (0.25, 0.5, 0.75)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lists", type=Path, required=True)
    parser.add_argument(
        "--groups", nargs="+", choices=GROUPS, default=["factcheck-dev"]
    )
    parser.add_argument("--most", type=int, help="lists of a group")
    options = parser.parse_args()
    ranks: dict[tuple[str, str], list[list[float]]] = defaultdict(list)
    for pool in ranked_pools(options.lists, options.groups, options.most):
        order = np.argsort(-pool.scores, kind="stable")
        labeled = order[: optimum(pool.relevant[order], _RECALL)]
        unlabeled = order[len(labeled) :]
        vectors = pool.words.vectors(np.arange(len(order))).toarray()
        cosines = vectors @ vectors.T
        density = np.sort(cosines, axis=1)[:, -_NEAREST - 1 : -1].mean(axis=1)
        hits = labeled[pool.relevant[labeled]]
        verdicts = {row: bool(pool.relevant[row]) for row in labeled.tolist()}
        learned = learn(pool.words, pool.scores, verdicts, pool.clusters)
        for name, scores in (
            ("score of the search", pool.scores),
            ("cosine with labeled posts", cosines[:, hits].max(axis=1) - density),
            ("learned from the labels", learned.scores),
        ):
            below = np.argsort(-scores[unlabeled], kind="stable")
            missing = np.flatnonzero(pool.relevant[unlabeled][below]) / len(below)
            ranks[pool.group, name].append(np.quantile(missing, _QUARTERS).tolist())
    rows = []
    for (group, name), shares in ranks.items():
        quarters = " ".join(f"{share:.2f}" for share in np.mean(shares, axis=0))
        rows.append(
            {"lists": f"{group} ({len(shares)})", "order": name, "ranks": quarters}
        )
    print(markdown_table(rows))


if __name__ == "__main__":
    main()
