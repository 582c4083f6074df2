"""Whether an order learned from labels is better, on posts that it was not learned from."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from siamese_news_desk.decide.learning_examples import CHOSEN, Examples
from siamese_news_desk.decide.learning_views import columns_of, cross_validated


def judgment_of(
    examples: Examples,
    folds: NDArray[np.int64],
    views: Sequence[NDArray[np.float64]],
    unseen: NDArray[np.float64],
    scores: NDArray[np.float64],
    joint: NDArray[np.float64],
    generator: np.random.Generator,
) -> tuple[float, float, float, float, float]:
    """The fields before, after, low, high and information of `Feedback`."""
    relevant = examples.relevant
    rows = examples.rows
    labels = examples.labels
    judged = columns_of(views, rows, unseen)
    search, _ = cross_validated(examples, folds, judged[:, :1])
    odds, learned = cross_validated(examples, folds, judged)
    represented = represented_by(joint, rows[:labels], examples.below, examples.far)
    weights = examples.weights.copy()
    weights[:labels] = represented[:labels] / represented[:labels].mean()
    surprise = [
        np.logaddexp(0, np.where(relevant, -o, o)) @ weights for o in (search, odds)
    ]
    before, after = (
        float(_weighted(relevant, order, represented[None])[0])
        for order in (scores[rows], learned)
    )
    low, high = _interval(
        relevant, scores[rows], learned, examples.groups, represented, generator
    )
    return before, after, low, high, float(surprise[0] - surprise[1])


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


def _interval(
    is_relevant: NDArray[np.bool_],
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    groups: NDArray[np.int64],
    represented: NDArray[np.float64],
    generator: np.random.Generator,
) -> tuple[float, float]:
    """The 95% interval of the difference; the texts are resampled with replacement."""
    count = int(groups.max()) + 1
    drawn = generator.multinomial(count, np.full(count, 1 / count), CHOSEN.resamples)[
        :, groups
    ]
    times = np.concatenate([represented[None], drawn * represented])
    gain, *resampled = _weighted(is_relevant, after, times) - _weighted(
        is_relevant, before, times
    )
    ends = np.nanquantile(resampled, [0.025, 0.975])
    wide = gain + CHOSEN.wider * (ends - gain) + CHOSEN.margin * np.array([-1, 1])
    low, high = np.clip(wide, -1, 1)
    return float(low), float(high)


def _weighted(
    is_relevant: NDArray[np.bool_],
    scores: NDArray[np.float64],
    times: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Average precision (R,) when each post counts `times` (R, n)."""
    order = np.argsort(-scores, kind="stable")
    times = times[:, order]
    hits = times * is_relevant[order]
    precision = np.cumsum(hits, axis=1) / np.maximum(np.cumsum(times, axis=1), 1e-9)
    total = hits.sum(axis=1)
    return np.where(
        total > 0, (hits * precision).sum(axis=1) / np.maximum(total, 1), np.nan
    )


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
