"""The relevance of posts in the lists of a search: probabilities that mean the same on every pool.

A list's `Evidence` comes from what the scorer observed of the pool, so it is the same whatever the
order and the number of parts in which the posts came, and for a stream and an index.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from siamese_news.data.columns import RELEVANCE_UNKNOWN
from siamese_news.data.label_map import LabelMap
from siamese_news.data.records import Article
from siamese_news.model.calibration import Calibration, Evidence
from siamese_news.scoring import Scorer
from siamese_news.search.seeds import MILLION, Seeds
from siamese_news.text.languages import BACKGROUND, language_of_seed
from siamese_news.text.spaceless import length_of
from siamese_news.utils.terminal import counted

# No score in millionths is as high.
_NEVER = 4 * MILLION + 1
_SHORT = 25  # an article of fewer words is as short as a post

# What to do where relevance is unknown.
UNKNOWN = (
    "keep a number of posts (rank --top, or --min-score with a score), or label 20 posts, and "
    "relevance is your own (siamese-news sample --for relevance)"
)

# What the relevance of a list is to, by the decision of its scorer.
ABOUT = {
    "event": "about the event",
    "article": "about the very article",
    "between": "about the event or the very article",
}


@dataclass(slots=True)
class ListRelevance:
    """The relevance of posts in each list of a search, by their scores in millionths.

    Attributes:
        calibration: what the model knows of relevance; None: nothing.
        evidence: of each list; None where nothing was measured for seeds like its own.
        labels: the map by the user's labels, if there is one.
        about: what it is the relevance to, in words.
        unmeasured: the rows of the seeds that are unlike those that were measured, where all seeds
            have one list: the relevance of the posts nearest to them is unknown.
    """

    calibration: Calibration | None
    evidence: Sequence[Evidence | None]
    labels: LabelMap | None = None
    about: str = "relevant"
    unmeasured: tuple[int, ...] = ()

    def of(self, number: int, scores: NDArray[np.int64]) -> NDArray[np.float64]:
        """(N,) the relevance of N scores in list `number`; NaN where it is unknown.

        Where seeds have one list, it is that of posts nearest to a measured one.
        """
        values = relevance = scores / MILLION
        about = self.evidence[number]
        if self.labels is None or self.labels.mapped == "relevance":
            table = self.calibration
            if table is None or about is None or not table.knows(about):
                return np.full(len(values), np.nan)
            relevance = table.relevance(values, about)
        if self.labels is not None:
            relevance = self.labels.relevance(relevance)
        return np.where(values > 0, relevance, 0.0)

    def column(
        self, number: int, scores: NDArray[np.int64], nearest: NDArray[np.intp]
    ) -> list[float | None]:
        """The same as values of a column, by the (N,) seeds of the posts; None where it is unknown."""
        relevance = self.of(number, scores)
        relevance[np.isin(nearest, self.unmeasured)] = np.nan
        return [None if np.isnan(value) else value for value in relevance.tolist()]

    def least(self, number: int, relevance: float) -> int:
        """The least score in millionths of a post with this relevance, above every one if none."""
        if relevance <= 0:
            return -_NEVER

        return 1 + bisect_left(
            range(1, _NEVER),
            True,
            key=lambda score: self.of(number, np.array([score]))[0] >= relevance,
        )

    def remarks(self, left_out: int = 0) -> list[str]:
        """The remark on lists or seeds whose relevance is unknown; none without a calibration.

        For that reason so many posts were `left_out`.
        """
        count = len(self.evidence)
        score = np.array([MILLION])
        unknown = sum(np.isnan(self.of(number, score)[0]) for number in range(count))
        unlike = len(self.unmeasured)
        if self.calibration is None or not (unknown or unlike):
            return []
        whose = "" if count == 1 else f" in {unknown} of the {count} lists"
        if not unknown:
            whose = (
                f" for the posts nearest to {counted(unlike, 'seed')}"
                + f", {left_out:,} of which reach the score of the cut" * (left_out > 0)
            )
        return [
            f"{RELEVANCE_UNKNOWN}{whose} (it was measured for seeds of "
            f"{self.calibration.measured}): {UNKNOWN}."
        ]


def list_relevance(
    scorer: Scorer,
    seeds: Seeds,
    calibration: Calibration | None,
    labels: LabelMap | None = None,
) -> ListRelevance:
    """The relevance in the lists of a search, once its scorer has observed the pool.

    Unknown where the model has no calibration, and where a score has no words in it.
    """
    seed_rows = [
        row
        for row, article in enumerate(seeds.articles)
        if calibration is not None and measured(article, calibration)
    ]
    of_pool = scorer.evidence(seed_rows) if seed_rows else None
    evidence: list[Evidence | None] = [None] * len(seeds.articles)
    for row, of_seed in zip(seed_rows, of_pool or (), strict=False):
        evidence[row] = replace(of_seed, short=short(seeds.articles[row]))
    unmeasured: tuple[int, ...] = ()
    if seeds.one_story:
        if labels is None or labels.mapped == "relevance":
            unmeasured = tuple({*range(len(evidence))} - {*seed_rows})
        of_measured = [about for about in evidence if about is not None]
        evidence = [mean_evidence(of_measured) if of_measured else None]
    return ListRelevance(
        calibration, evidence, labels, about_words(scorer.decisions()), unmeasured
    )


def about_words(decisions: Iterable[str]) -> str:
    """What the relevance of lists is to, by the decisions of their scorer (`ABOUT`)."""
    kinds = dict.fromkeys(ABOUT[decision] for decision in decisions)
    return " or ".join(kinds) or "relevant"


def mean_evidence(several: Sequence[Evidence]) -> Evidence:
    """The evidence of one list over several seeds: means, of its scores by place."""
    values = {
        field.name: [getattr(about, field.name) for about in several]
        for field in fields(Evidence)
    }
    scores = [sum(at) / len(several) for at in zip(*values.pop("scores"), strict=False)]
    means = {name: sum(of_seeds) / len(several) for name, of_seeds in values.items()}
    return Evidence(**means, scores=tuple(scores))


def short(article: Article) -> float:
    """1 for an article that is as short as a post, else 0."""
    return float(_words(article) < _SHORT)


def measured(article: Article, calibration: Calibration) -> bool:
    """Whether an article is like those that the calibration was fitted on."""
    language = language_of_seed(article.full_text) or BACKGROUND
    return _words(article) >= calibration.words and language in calibration.languages


def _words(article: Article) -> float:
    length, unit = length_of(article.full_text)
    return length if unit == "word" else length / 2


@dataclass(frozen=True, slots=True)
class Cut:
    """Which posts a filter keeps: those with at least the score `floor`, in millionths.

    A cut at a relevance leaves out those nearest to `unmeasured` seeds.
    """

    floor: int
    relevance: ListRelevance
    unmeasured: tuple[int, ...] = ()

    @property
    def score(self) -> float | None:
        """The least score; None where every post is kept, or none can be."""
        return self.floor / MILLION if abs(self.floor) < _NEVER else None

    def reached(
        self, scores: NDArray[np.int64], nearest: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], int]:
        """The places of the posts to keep, and how many others have the score but no relevance.

        Of N posts, `scores` are in millionths and `nearest` are seeds.
        """
        over = np.flatnonzero(scores >= self.floor)
        is_unknown = np.isin(nearest[over], self.unmeasured)
        return over[~is_unknown], int(is_unknown.sum())

    def relevance_of(self, score: float) -> float:
        """The relevance of a score, NaN where it is unknown."""
        return float(self.relevance.of(0, np.array([round(score * MILLION)]))[0])

    def remarks(
        self, kept_relevance: Sequence[float], listed: int, left_out: int
    ) -> list[str]:
        """Remarks for the reader of a list of so many posts, some of which have this relevance.

        For want of a relevance so many were `left_out`.
        """
        unknown = self.relevance.remarks(left_out)
        if not len(kept_relevance):
            return unknown
        mean = sum(kept_relevance) / len(kept_relevance)
        posts = "the posts kept"
        if len(kept_relevance) < listed:
            posts = f"the {len(kept_relevance):,} posts kept whose relevance is known"
        labels = self.relevance.labels
        calibration = self.relevance.calibration
        if labels is not None:
            return [
                *unknown,
                f"By your {labels.labels} labels about {mean:.0%} of {posts} are relevant. "
                f"Each label left out in turn, {labels.labels - labels.wrong} of {labels.labels} were "
                "on the right side of .5. It is an estimate; certify gives a guarantee.",
            ]
        assert calibration is not None
        lower, upper = (min(max(mean + off, 0.0), 1.0) for off in calibration.off)
        return [
            *unknown,
            f"About {mean:.0%} of {posts} are expected to be {self.relevance.about}: "
            f"{lower:.0%} to {upper:.0%} in nine of ten pools of other kinds or collections. Label 20 "
            "posts, and the number becomes yours (sample --for relevance); certify gives a guarantee.",
        ]


def cut_of(
    threshold: float | None, min_score: float | None, relevance: ListRelevance
) -> Cut:
    """The cut at a relevance, at a score, or at the higher of both."""
    floor = -_NEVER if min_score is None else round(min_score * MILLION)
    if threshold is not None:
        floor = max(floor, relevance.least(0, threshold))
    return Cut(floor, relevance, relevance.unmeasured if threshold else ())
