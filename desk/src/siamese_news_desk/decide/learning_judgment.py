"""Whether an order learned from labels is better, on posts that it was not learned from."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_news_desk.decide.learning_examples import CHOSEN, Examples
from siamese_news_desk.decide.learning_views import (
    Prediction,
    cross_validated,
    surprise_of,
)


@dataclass(frozen=True, slots=True)
class Judgment:
    """What labels say of a learned order, where no post is judged by what was learned from it.

    Attributes:
        search_precision: average precision of the search's order on the labeled and the far posts, with
            their weights in learning.
        learned_precision: the same of the learned order.
        information: log-likelihood gained over the odds of the search, in nats.
        coincidence: probability that labels dealt at random to the same posts would go with their
            words this well.
    """

    search_precision: float
    learned_precision: float
    information: float
    coincidence: float


def judgment_of(
    features: Any,
    examples: Examples,
    folds: NDArray[np.int64],
    search: NDArray[np.float64],
    learned: Prediction,
    generator: np.random.Generator,
) -> Judgment:
    """Compare the learned order with the search, whose standardized scores are `search` (N,)."""
    from sklearn.metrics import average_precision_score

    rows = examples.rows
    labels = examples.labels
    alone = cross_validated(examples, folds, search[rows][:, None])
    searched, judged = (
        float(
            average_precision_score(
                examples.relevant, order, sample_weight=examples.weights
            )
        )
        for order in (search[rows], learned.held_out)
    )
    return Judgment(
        searched,
        judged,
        surprise_of(examples, alone) - surprise_of(examples, learned.held_out),
        coincidence_of(
            features[rows[:labels]],
            examples.relevant[:labels],
            examples.groups[:labels],
            generator,
        ),
    )


def coincidence_of(
    features: Any,
    is_relevant: NDArray[np.bool_],
    groups: NDArray[np.int64],
    generator: np.random.Generator,
) -> float:
    """The probability that labels dealt at random go with the words of the posts this well.

    That similar posts have the same label is measured by the sum over pairs of the product of their
    labels, centered, and their similarity; the same labels in random orders show what is usual. So
    the probability is exact for any words, and whatever share of the labels says relevant.

    Args:
        features: (n, V) words of the labeled posts, each row with length 1 or 0.
        is_relevant: (n,)
        groups: (n,) clusters of near-duplicates, of which the first counts.
        generator: of the orders.
    """
    distinct = np.unique(groups, return_index=True)[1]
    labels = is_relevant[distinct].astype(np.float64)
    words = features[distinct].astype(np.float64)
    centered = labels - labels.mean()
    if not centered.any():
        return 1.0
    squares = np.asarray(words.multiply(words).sum(axis=1)).ravel()

    def together(dealt: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.square(words.T @ dealt.T).sum(axis=0) - np.square(dealt) @ squares

    (real,) = together(centered[None])
    reached = 0
    for begin in range(0, CHOSEN.shuffles, 100):
        count = min(100, CHOSEN.shuffles - begin)
        dealt = generator.permuted(np.tile(centered, (count, 1)), axis=1)
        reached += int((together(dealt) >= real - 1e-9).sum())
    return (1 + reached) / (1 + CHOSEN.shuffles)


def agreement_by_chance(
    machine: NDArray[np.float64],
    is_relevant: NDArray[np.bool_],
    groups: NDArray[np.int64],
) -> float:
    """The probability that an uninformed machine agrees with the labels this well, or better.

    `machine` (n,) has NaN where there is no verdict; near-duplicates (`groups`, (n,)) count once.
    """
    from scipy.stats import mannwhitneyu

    there = np.flatnonzero(~np.isnan(machine))
    there = there[np.unique(groups[there], return_index=True)[1]]
    sides = [machine[there][is_relevant[there] == kind] for kind in (True, False)]
    if not min(map(len, sides)):
        return 1.0
    chance = float(
        mannwhitneyu(*sides, alternative="greater", method="asymptotic").pvalue
    )
    return 1.0 if np.isnan(chance) else chance  # all verdicts are equal
