"""Whether an order learned from labels is better, on posts that it was not learned from."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from siamese_news_desk.decide.learning_examples import CHOSEN, Examples
from siamese_news_desk.decide.learning_views import (
    Prediction,
    cross_validated,
    surprise_of,
)


@dataclass(frozen=True, slots=True)
class Judgment:
    """The fields of the same names of `Feedback`."""

    before: float
    after: float
    gain: float
    low: float
    high: float
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
    rows = examples.rows
    labels = examples.labels
    alone = cross_validated(examples, folds, search[rows][:, None])
    represented = represented_by(
        learned.odds, rows[:labels], examples.below, examples.far
    )
    before, after = (
        _weighted(examples.relevant, order, represented)
        for order in (search[rows], learned.held_out)
    )
    return Judgment(
        before,
        after,
        *_gain(examples, search, learned, generator),
        surprise_of(examples, alone) - surprise_of(examples, learned.held_out),
        coincidence_of(
            features[rows[:labels]],
            examples.relevant[:labels],
            examples.groups[:labels],
            generator,
        ),
    )


def represented_by(
    scores: NDArray[np.float64],
    labeled: NDArray[np.int64],
    below: NDArray[np.int64],
    far: int,
) -> NDArray[np.float64]:
    """The number (n,) of posts of the pool that each labeled and far post represents in judging.

    Labels come from where the learned order is high or uncertain, so each is weighted by the number
    of posts around its rank. A far post represents all that could have been drawn, those at
    `below`.
    """
    rank = np.empty(len(scores))
    rank[np.argsort(-scores, kind="stable")] = np.arange(len(scores))
    part = np.log2(rank / CHOSEN.finest + 1).astype(int)
    counted = np.ones(len(scores), bool)
    counted[below] = False
    posts = np.bincount(part[counted], minlength=part.max() + 1)
    labels = np.bincount(part[labeled], minlength=part.max() + 1)
    represented = np.maximum(posts / np.maximum(labels, 1), 1)[part[labeled]]
    return np.concatenate([represented, np.full(far, len(below) / max(far, 1))])


def _gain(
    examples: Examples,
    search: NDArray[np.float64],
    learned: Prediction,
    generator: np.random.Generator,
) -> tuple[float, float, float]:
    """The gain in average precision on the posts without a label, and its 95% interval.

    A regression of the examples on their held-out odds and on the search says how likely each
    other post is relevant. Its weights are drawn anew (Laplace's approximation), and with each draw
    the labels that are lacking, on which both orders are compared.
    """
    rest = np.delete(np.arange(len(search)), examples.rows[: examples.labels])
    others = np.stack([learned.odds[rest], search[rest]], axis=1)
    mean, covariance = _calibration(
        np.stack([learned.held_out, search[examples.rows]], axis=1), examples
    )
    orders = [np.argsort(-view, kind="stable") for view in others.T]
    gains = []
    for weights in generator.multivariate_normal(mean, covariance, CHOSEN.draws):
        relevant = generator.random(len(rest)) < expit(
            weights[0] + others @ weights[1:]
        )
        if relevant.any():
            after, before = (_average_precision(relevant[order]) for order in orders)
            gains.append(after - before)
    if not gains:
        return 0.0, -1.0, 1.0
    relevant_labels = int(examples.relevant.sum())
    rarer = max(1, min(relevant_labels, examples.labels - relevant_labels))
    margin = CHOSEN.margin + CHOSEN.scarcity / np.sqrt(rarer)
    low, middle, high = np.quantile(gains, [0.025, 0.5, 0.975])
    return float(middle), max(-1.0, low - margin), min(1.0, high + margin)


def _calibration(
    views: NDArray[np.float64], examples: Examples
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and covariance of intercept and weights of views (n, 2): odds to believe, the search.

    The prior is that the odds are right (mean 1) and the search tells nothing more (mean 0).
    """
    from scipy.optimize import minimize

    prior = np.array([0.0, 1.0, 0.0])
    strength = np.array([0.001, 1.0, 1.0])
    design = np.column_stack([np.ones(len(views)), views])

    def loss(values: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        logits = design @ values
        away = values - prior
        surprise = np.logaddexp(0, logits) - examples.relevant * logits
        rest = examples.weights * (expit(logits) - examples.relevant)
        return (
            float(examples.weights @ surprise + strength @ away**2 / 2),
            design.T @ rest + strength * away,
        )

    values = np.asarray(minimize(loss, prior, jac=True).x)
    chance = expit(design @ values)
    curvature = design.T @ (
        design * (examples.weights * chance * (1 - chance))[:, None]
    )
    return values, np.linalg.inv(curvature + np.diag(strength))


def _average_precision(relevant: NDArray[np.bool_]) -> float:
    hits = np.flatnonzero(relevant)
    return float(np.mean(np.arange(1, len(hits) + 1) / (hits + 1)))


def _weighted(
    is_relevant: NDArray[np.bool_],
    scores: NDArray[np.float64],
    times: NDArray[np.float64],
) -> float:
    """Average precision when each post counts `times` (n,)."""
    order = np.argsort(-scores, kind="stable")
    hits = times[order] * is_relevant[order]
    return float(hits @ (np.cumsum(hits) / np.cumsum(times[order])) / hits.sum())


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
    first = np.unique(groups, return_index=True)[1]
    labels = is_relevant[first].astype(np.float64)
    words = features[first].astype(np.float64)
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
