"""What labels are likely to buy, by the relevance that the search estimates, before the first one.

Truths are drawn from the relevance of the posts, and the plan is replayed on each. The relevance of
a whole list may be too high or too low, and too steep or too flat; so each draw shifts and
stretches its logits. By how much was chosen on the development lists (``python -m
benchmarks.promises --lists FOLDER --outlook``) such that about nine lists of ten end in the range.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from siamese_news.utils.terminal import counted
from siamese_news_desk.decide.plan.design import first_set, nested_sets
from siamese_news_desk.decide.replay import (
    generator_of,
    random_order,
    replay,
    tables_of,
)

LABELS = (100, 300, 1000)
"""The numbers of labels that an outlook is given for."""

RIGHT = "86% of the cases with 100 labels and in 96% with more"
"""How often lists ended in the range on the lists of the module's command (seed 0, two runs)."""

_CENTER = 0.4  # mean shift of the logits: relevance is cautious
# Standard deviations, of the logit and of the logarithm of its factor.
_SHIFT = 1.3
_STRETCH = 0.3
_DRAWS = 40
_LEAST = 1e-4  # relevance of a post, at least


@dataclass(frozen=True, slots=True)
class Outlook:
    """The posts that a number of labels is likely to hand over.

    Attributes:
        labels: that many.
        low: posts in all but a tenth of the draws, at least.
        middle: posts in half of them.
        high: posts in all but a tenth of the draws, at most.
        certified: the share of the draws in which a set is certified.
    """

    labels: int
    low: int
    middle: int
    high: int
    certified: float


def outlooks(
    scores: NDArray[np.float64],
    relevance: NDArray[np.float64],
    target: str,
    labels: Iterable[int] = LABELS,
    *,
    error: float = 0.05,
    draws: int = _DRAWS,
) -> list[Outlook]:
    """What numbers of labels are likely to hand over at a precision.

    Args:
        scores: (N,) descending.
        relevance: (M,) of the first M posts, M <= N.
        target: the precision, as typed.
        labels: those of at least as many as there are posts are left out.
        error: the error budget.
        draws: of the truth.
    """
    share = Fraction(target)
    scores = scores[: len(relevance)]
    likely = np.clip(relevance, _LEAST, 1 - _LEAST)
    logits = np.log(likely / (1 - likely))
    estimates = []
    for budget in labels:
        if budget >= len(scores):
            continue
        sizes = nested_sets(scores, first=first_set(budget, share, relevance))
        tables = tables_of(sizes, share, budget, error)
        posts, certified = [], 0
        for number in range(draws):
            generator = generator_of(0, "outlook", number)
            stretch = math.exp(_STRETCH * generator.normal())
            # Evenly over the distribution, because few draws of it would leave gaps.
            shift = NormalDist(_CENTER, _SHIFT).inv_cdf((number + 0.5) / draws)
            chances = 1 / (1 + np.exp(-(logits * stretch + shift)))
            truth = generator.random(len(scores)) < chances
            order = random_order(sizes, generator, budget)
            done = replay(tables, order, truth, target=share, budget=budget)
            posts.append(done.posts)
            certified += done.size > 0
        low, middle, high = np.quantile(
            posts, [0.1, 0.5, 0.9], method="nearest"
        ).astype(int)
        estimates.append(
            Outlook(budget, int(low), int(middle), int(high), certified / draws)
        )
    return estimates


def outlook_sentence(target: str, estimates: Sequence[Outlook]) -> str:
    """An outlook in words; empty without estimate."""
    if not estimates:
        return ""
    parts = [
        f"{estimate.labels:,} labels about {counted(estimate.middle, 'post')} "
        f"({estimate.low:,} to {estimate.high:,})"
        for estimate in estimates
    ]
    return (
        f"By the relevance that the search estimates, at a precision of {target} you are likely to "
        f"get with {', with '.join(parts)}. On 49 lists with known labels the number was in such "
        f"a range in {RIGHT}."
    )
