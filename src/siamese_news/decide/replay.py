"""A descent over a corpus whose labels are known, one label after the other, within a budget."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from siamese_news.decide.design import Order
from siamese_news.decide.tables import Tables


@dataclass(frozen=True, slots=True)
class Replay:
    """What a descent came to.

    Attributes:
        size: posts of the last certified set; 0 where none is.
        labels: how many were spent.
        curve: (labels, size) each time a set was certified.
        labelled: ranks of the labelled posts.
    """

    size: int
    labels: int
    curve: tuple[tuple[int, int], ...]
    labelled: NDArray[np.int64]


def replay(
    tables: Tables,
    order: Order,
    relevant: NDArray[np.bool_],
    *,
    budget: int,
    sets: int | None = None,
) -> Replay:
    """Label in the random order until the budget is spent, as `annotate` does.

    Args:
        tables: of the sets.
        order: of their posts.
        relevant: (N,) the truth (or an annotator's answer) by rank.
        budget: labels to spend.
        sets: how many of the tables' sets the corpus has; None for all.
    """
    sizes = tables.sizes[:sets]
    labelled = np.zeros(int(sizes[-1]), bool)
    spent = certified = 0
    curve: list[tuple[int, int]] = []
    for number, size in enumerate(sizes.tolist()):
        ranks = order.first(number, min(budget, size))
        known = labelled[ranks]
        new = ranks[~known]
        hits = np.concatenate([[0], np.cumsum(relevant[new])])
        # After j new labels the count at t is errors + gaps; see descent._needed.
        gaps = np.cumsum(~known)
        short = np.cumsum(~known | ~relevant[ranks]) - tables.bounds(number, len(ranks))[1:]
        count = np.searchsorted(hits, np.maximum(short, 0))
        good = count <= np.minimum(gaps, budget - spent)
        if not good.any():
            labelled[new[: budget - spent]] = True
            break
        least = int(count[good].min())
        labelled[new[:least]] = True
        spent += least
        certified = size
        curve.append((spent, size))
    found = np.flatnonzero(labelled)
    return Replay(certified, len(found), tuple(curve), found)
