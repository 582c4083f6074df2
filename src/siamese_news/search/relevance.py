"""The relevance of posts in the lists of a search: probabilities that mean the same on every pool.

A list's `Evidence` comes from what the scorer observed of the pool, so it is the same whatever the
order and the number of parts in which the posts came, and for a stream and an index.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from siamese_news.data.records import Article
from siamese_news.model.calibration import Calibration, Evidence
from siamese_news.scoring import Scorer
from siamese_news.search.seeds import MILLION, Seeds
from siamese_news.text.fact_checks import checking_words
from siamese_news.text.languages import BACKGROUND, language_of_seed
from siamese_news.text.spaceless import length_of
from siamese_news.utils.terminal import verb

# No score in millionths is as high.
_NEVER = 4 * MILLION + 1


class ListRelevance:
    """The relevance of posts in each list of a search, by their scores in millionths."""

    def __init__(self, calibration: Calibration, evidence: Sequence[Evidence]) -> None:
        self.calibration = calibration
        self.evidence = list(evidence)

    def of(self, number: int, scores: NDArray[np.int64]) -> NDArray[np.float64]:
        """(N,) the relevance of N scores in list `number`."""
        return self.calibration.relevance(scores / MILLION, self.evidence[number])

    def least(self, number: int, relevance: float) -> int:
        """The least score in millionths of a post with this relevance, above every one if none."""
        if relevance <= 0:
            return -_NEVER
        # The relevance of `low` is below, `high` is taken to have it.
        low = 0
        high = _NEVER
        while high - low > 1:
            middle = (low + high) // 2
            reached = self.of(number, np.array([middle]))[0] >= relevance
            low, high = (low, middle) if reached else (middle, high)
        return high

    def remarks(self) -> list[str]:
        """Remarks on lists whose relevance is only a cautious guess."""
        unsure = sum(about.cautious for about in self.evidence)
        if not unsure:
            return []
        which = (
            "The seed is"
            if len(self.evidence) == 1
            else f"{unsure} of the seeds {verb(unsure, 'are')}"
        )
        return [
            f"{which} shorter than {self.calibration.words} words or in a language in which "
            "relevance was not measured: there it is a cautious guess."
        ]


def list_relevance(
    scorer: Scorer, seeds: Seeds, calibration: Calibration | None
) -> ListRelevance | None:
    """The relevance in the lists of a search, once its scorer has observed the pool.

    None where the model has no calibration, or a score has no words in it.
    """
    of_pool = (
        None if calibration is None else scorer.evidence(range(len(seeds.articles)))
    )
    if calibration is None or of_pool is None:
        return None
    evidence = [
        replace(
            about,
            checking=checking_words(seed.full_text),
            cautious=is_unsure(seed, calibration),
        )
        for about, seed in zip(of_pool, seeds.articles, strict=True)
    ]
    if seeds.one_story:
        evidence = [mean_evidence(evidence)]
    return ListRelevance(calibration, evidence)


def mean_evidence(several: Sequence[Evidence]) -> Evidence:
    """The evidence of one list over several seeds: means, cautious if it is for every seed."""
    of_seeds = ("checking", "cautious")
    names = [field.name for field in fields(Evidence) if field.name not in of_seeds]
    means = {
        name: sum(getattr(about, name) for about in several) / len(several)
        for name in names
    }
    # A seed that is too short to show whether it checks a claim leaves that to the others.
    shown = [about.checking for about in several if about.checking is not None]
    checking = sum(shown) / len(shown) if shown else None
    cautious = all(about.cautious for about in several)
    return Evidence(**means, checking=checking, cautious=cautious)


def is_unsure(article: Article, calibration: Calibration) -> bool:
    """Whether an article is unlike those that the calibration was fitted on."""
    text = article.full_text
    length, unit = length_of(text)
    words = length if unit == "word" else length / 2
    language = language_of_seed(text) or BACKGROUND
    return words < calibration.words or language not in calibration.languages


@dataclass(frozen=True, slots=True)
class Cut:
    """Which posts a filter keeps: those with at least the score `least`, in millionths."""

    least: int
    relevance: ListRelevance | None

    def of(self, scores: NDArray[np.int64]) -> list[float | None]:
        """The relevance of N scores in millionths, None where they are not calibrated."""
        if self.relevance is None:
            return [None] * len(scores)
        relevance: list[float | None] = self.relevance.of(0, scores).tolist()
        return relevance

    def relevance_of(self, score: float) -> float | None:
        """The relevance of a score, None where scores are not calibrated."""
        (relevance,) = self.of(np.array([round(score * MILLION)]))
        return relevance

    @property
    def score(self) -> float | None:
        """The least score; None where every post is kept, or none can be."""
        return self.least / MILLION if abs(self.least) < _NEVER else None

    def remarks(self, kept_relevance: Sequence[float]) -> list[str]:
        """Remarks for the reader of a list of posts with this relevance."""
        if self.relevance is None or not len(kept_relevance):
            return []
        mean = sum(kept_relevance) / len(kept_relevance)
        error = self.relevance.calibration.error
        low = max(mean - error, 0.0)
        high = min(mean + error, 1.0)
        sentence = (
            f"About {mean:.0%} of the posts kept are expected to be relevant. That was off by "
            f"{100 * error:.0f} points on average on development pools ({low:.0%} to {high:.0%}), and "
            "by more in some lists. certify gives a guarantee."
        )
        return [sentence, *self.relevance.remarks()]


def cut_of(
    threshold: float | None, min_score: float | None, relevance: ListRelevance | None
) -> Cut:
    """The cut at a relevance, at a score, or at the higher of both."""
    least = -_NEVER if min_score is None else round(min_score * MILLION)
    if threshold is not None:
        assert relevance is not None
        least = max(least, relevance.least(0, threshold))
    return Cut(least, relevance)
