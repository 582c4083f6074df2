"""Differences between groups of posts: shares with intervals, and words."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from siamese_news.search.keyword_list import terms_of

FEW = 20
"""The fewest texts of a group for which distinctive words are looked for."""

PRIOR = 1000
"""Words of the prior: that many are added to each group, in the proportions of all groups."""

_COMMON = 5  # the fewest texts with a word that is tested
_SURE = 0.05  # chance that any word is listed if no group differs
_LISTED = 100  # words to keep for each group
_Z = 1.959963984540054  # of an interval of 95 %

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Word:
    """A word, or two in a row, and the numbers of texts with it in a group and elsewhere.

    `log_odds`, natural, says how much likelier it is in the group; `error` is its standard error. A
    word that is `sure` sets the group apart, corrected for all words and groups tried.
    """

    term: str
    n_texts: int
    n_other_texts: int
    log_odds: float
    error: float
    sure: bool

    @property
    def z(self) -> float:
        """The log-odds in standard errors."""
        return self.log_odds / self.error

    @property
    def times(self) -> float:
        """The odds in the group as a multiple of the odds in the others."""
        return math.exp(self.log_odds)

    @property
    def interval(self) -> tuple[float, float]:
        """Of the log-odds, 95 %, for this word alone."""
        return self.log_odds - _Z * self.error, self.log_odds + _Z * self.error


def wilson(hits: int, posts: int) -> tuple[float, float]:
    """The 95 % interval of Wilson (1927) for a share; from 0 to 1 if there are no posts."""
    from scipy.stats import binomtest  # slow to import

    if not posts:
        return 0.0, 1.0
    interval = binomtest(hits, posts).proportion_ci(method="wilson")
    return float(interval.low), float(interval.high)


def log_odds(counts: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Weighted log-odds ratios of words, each group against all others, and their standard errors.

    The prior is Dirichlet with the frequencies of all groups together, worth `PRIOR` words, and
    the variance the sum of the inverse counts (Monroe, Colaresi and Quinn 2008). `counts` and both
    results are (G, W): groups and words.
    """
    total = counts.sum(axis=0, keepdims=True)
    prior = PRIOR * total / max(int(total.sum()), 1)
    group = counts + prior
    complement = total - counts + prior

    def odds(of: Floats) -> Floats:
        return np.log(of) - np.log(of.sum(axis=1, keepdims=True) - of)

    with np.errstate(divide="ignore", invalid="ignore"):
        return odds(group) - odds(complement), np.sqrt(1 / group + 1 / complement)


def words_of(groups: Sequence[Iterable[str]]) -> list[list[Word]]:
    """The words of each group of different texts, those that set it apart first.

    A text counts once for a word. Groups of fewer than `FEW` texts have none, but count among the
    others. `Word.sure` corrects for every word of every group that was tried (Bonferroni).
    """
    texts = [list(group) for group in groups]
    counted = [
        Counter(term for text in group for term in terms_of(text)) for group in texts
    ]
    total: Counter[str] = sum(counted, Counter())
    terms = sorted(term for term, count in total.items() if count >= _COMMON)
    if not terms or len(texts) < 2:
        return [[] for _ in texts]
    counts = np.array(
        [[counts[term] for term in terms] for counts in counted], np.int64
    )
    complement = counts.sum(axis=0) - counts
    tried = sum(len(group) >= FEW for group in texts)
    odds, errors = log_odds(counts)
    tests = max(tried * len(terms), 1)
    critical_z = float(-special.ndtri(_SURE / 2 / tests))
    distinctive: list[list[Word]] = []
    for number, group in enumerate(texts):
        z = odds[number] / errors[number]
        listed = _LISTED if len(group) >= FEW else 0
        order = np.lexsort((np.arange(len(terms)), -z))[:listed]
        columns = [
            counts[number],
            complement[number],
            odds[number],
            errors[number],
            z >= critical_z,
        ]
        frequent = order[z[order] > 0]
        values = zip(*(column[frequent].tolist() for column in columns), strict=True)
        distinctive.append(
            [
                Word(terms[n], *figures)
                for n, figures in zip(frequent.tolist(), values, strict=True)
            ]
        )
    return distinctive
