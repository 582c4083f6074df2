"""Fisher's randomisation test between systems, as in samCNN's Table 3."""

from collections.abc import Mapping, Sequence

import numpy as np

from siamese_news.metrics import randomisation_test
from siamese_news.training.sweep import spread


def significant(
    values: Sequence[Mapping[str, Sequence[float]]], *, level: float, samples: int
) -> list[tuple[list[int], list[int]]]:
    """Which systems each one is significantly above, and below, by Fisher's randomisation test.

    The test is two-sided, paired by topic, and not corrected for the number of tests. Systems with
    different topics are not compared.

    Args:
        values: of each system: topic -> one figure per seed, which enter as their mean.
        level: of significance.
        samples: random exchanges per test.

    Returns:
        For each system, the places of those below it and of those above it.
    """
    marks: list[tuple[list[int], list[int]]] = [([], []) for _ in values]
    means = [
        {topic: float(np.mean(seeds)) for topic, seeds in figures.items()} for figures in values
    ]
    for i, figures in enumerate(means):
        for j in range(i):
            other = means[j]
            if not figures or figures.keys() != other.keys():
                continue
            first, second = list(figures.values()), [other[topic] for topic in figures]
            if randomisation_test(first, second, samples=samples) < level:
                high, low = (i, j) if sum(first) > sum(second) else (j, i)
                marks[high][0].append(low)
                marks[low][1].append(high)
    return [(sorted(below), sorted(above)) for below, above in marks]


def mean_over_topics(values: Mapping[str, Sequence[float]]) -> str | None:
    """The mean over topics; with several seeds their mean and deviation.

    Args:
        values: topic -> one figure per seed.
    """
    if not values:
        return None
    return spread(np.array(list(values.values())).mean(axis=0).tolist())
