"""What an order is learned from: labeled posts, and far ones that are taken as not relevant."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_news.errors import InputError

# The fewest relevant labeled posts, with different texts, to learn from.
LEAST = 3


@dataclass(frozen=True, slots=True)
class Constants:
    """The numbers of the learner.

    Where no other source is named, they were chosen on the development lists of ``python -m
    benchmarks.learning``.

    Attributes:
        folds: of the cross-validation.
        strength: C of the regression on words.
        smoothing: what naive Bayes adds to the weight of each word in both kinds of posts.
        far_posts: random posts that are taken as not relevant ...
        far_rank: ... from below a third of the pool, or from below this rank.
        far_weight: their total weight: that of the labeled posts not relevant, or at least this.
        far_relevant: they are not used if a larger share of the labeled posts there is relevant.
        search: mean and strength of the normal prior of the weight of the search.
        machine: those of a machine: it counts nothing until labels bear it out.
        words: those of the words; the strength is divided by the labels of the rarer kind.
        limit: the largest weight of words or a machine relative to the search.
        slopes: weights of the search that the words which correct it are learned with ...
        corrections: ... and values of C; cross-validation chooses both.
        nats: by which a machine must explain labels better (Akaike's criterion for one weight).
        gained: nats by which an order must explain labels better, on posts not learned from.
        coincidence: up to this probability that labels go with words by chance, words may count;
            with `chance`, labels dealt at random change less than a twentieth of orders.
        shuffles: of the labels, behind that probability.
        chance: below this probability of agreeing by chance, a machine may count.
    """

    folds: int = 5
    strength: float = 3.0
    smoothing: float = 0.3
    far_posts: int = 500
    far_rank: int = 8000
    far_weight: float = 10.0
    far_relevant: float = 0.05
    search: tuple[float, float] = (1.0, 1.0)
    machine: tuple[float, float] = (0.0, 1.0)
    words: tuple[float, float] = (0.0, 30.0)
    limit: float = 4.0
    slopes: tuple[float, ...] = (0.5, 1.0, 2.0, 3.0)
    corrections: tuple[float, ...] = (3.0, 10.0)
    nats: float = 1.0
    gained: float = 0.5
    coincidence: float = 0.03
    shuffles: int = 999
    chance: float = 0.01


CHOSEN = Constants()


class TooFewLabels(InputError):
    """Labels that are too few to learn from."""


@dataclass(frozen=True, slots=True)
class Examples:
    """Labeled posts, then far ones that are taken as not relevant.

    Attributes:
        rows: (n,) places of the posts.
        relevant: (n,) bool.
        weights: (n,) in learning.
        groups: (n,) clusters of near-duplicates, numbered from 0.
        labels: number of labeled posts, which come first.
    """

    rows: NDArray[np.int64]
    relevant: NDArray[np.bool_]
    weights: NDArray[np.float64]
    groups: NDArray[np.int64]
    labels: int

    @property
    def far(self) -> int:
        """Number of far posts."""
        return len(self.rows) - self.labels


def examples_of(
    scores: NDArray[np.float64],
    verdicts: Mapping[int, bool],
    groups: NDArray[np.int64],
    generator: np.random.Generator,
) -> Examples:
    """The posts to learn from; a `TooFewLabels` if they cannot teach."""
    labeled = np.array(sorted(verdicts), np.int64)
    is_relevant = np.array([verdicts[row] for row in labeled.tolist()], bool)
    below = far_places(scores, labeled, is_relevant)
    far = generator.choice(below, min(CHOSEN.far_posts, len(below)), replace=False)
    n_negatives = int((~is_relevant).sum())
    if (different := len(np.unique(groups[labeled][is_relevant]))) < LEAST:
        raise TooFewLabels(
            f"different texts labeled relevant: {different}; expected at least {LEAST}: label more "
            "first"
        )
    if not len(far) and n_negatives < LEAST:
        raise TooFewLabels(
            f"posts labeled not relevant: {n_negatives}; expected at least {LEAST}: label more first"
        )
    rows = np.concatenate([labeled, far])
    weights = np.ones(len(rows))
    weights[len(labeled) :] = max(n_negatives, CHOSEN.far_weight) / max(len(far), 1)
    return Examples(
        rows,
        np.concatenate([is_relevant, np.zeros(len(far), bool)]),
        weights,
        np.unique(groups[rows], return_inverse=True)[1],
        len(labeled),
    )


def far_places(
    scores: NDArray[np.float64],
    labeled: NDArray[np.int64],
    is_relevant: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Posts from far down without labels; none if labels show that many are relevant there."""
    below = np.argsort(-scores, kind="stable")[min(len(scores) // 3, CHOSEN.far_rank) :]
    there = is_relevant[np.isin(labeled, below)]
    if len(there) >= 2 * LEAST and there.sum() > max(
        1, CHOSEN.far_relevant * len(there)
    ):
        return below[:0]
    return np.setdiff1d(below, labeled)


def folds_of(
    is_relevant: NDArray[np.bool_],
    groups: NDArray[np.int64],
    generator: np.random.Generator,
) -> NDArray[np.int64]:
    """The fold (n,) in which each post is judged; near-duplicates share a fold."""
    relevant = np.zeros(int(groups.max()) + 1, bool)
    relevant[groups[is_relevant]] = True
    fold_of = np.zeros(len(relevant), np.int64)
    for kind in (relevant, ~relevant):
        fold_of[generator.permutation(np.flatnonzero(kind))] = (
            np.arange(kind.sum()) % CHOSEN.folds
        )
    return fold_of[groups]


def standardized(values: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """The values (N,), standardized over the posts that have one; 0 for NaN."""
    there = ~np.isnan(values)
    centered = values - values[there].mean()
    return np.where(there, centered / (values[there].std() or 1.0), 0.0)
