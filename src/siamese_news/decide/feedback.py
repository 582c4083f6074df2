"""A new order learned from labels, and whether it is the better one on labels it has not seen.

A logistic regression (L2) on the words of a post and on its score. It is compared with the order of
the search by cross-validation on the labels alone, and is worth using only where the difference is
surely above 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_news.decide.label_files import read_rows
from siamese_news.decide.labels import NO, SKIP, YES
from siamese_news.errors import InputError
from siamese_news.text.tokens import Tokenizer
from siamese_news.utils.extras import needs

LEAST = 10
"""Labels of each kind without which nothing is learned."""

_FOLDS, _REPEATS, _RESAMPLES = 5, 4, 1000
_SCORE = 3.0  # how many times a word's weight the standardised score has before the penalty
_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Feedback:
    """What labels taught.

    Attributes:
        relevant: number of labelled posts that are relevant.
        other: number of those that are not.
        before: average precision of the search's order on the labelled posts.
        after: that of the learned order, each post judged by what was learned without it.
        low: lower end of the 95% interval of the difference (paired bootstrap over texts).
        high: upper end.
        words: that speak most for a post, and most against it.
        scores: (N,) of the posts in the learned order's own measure, 0 to 1.
    """

    relevant: int
    other: int
    before: float
    after: float
    low: float
    high: float
    words: tuple[tuple[str, ...], tuple[str, ...]]
    scores: NDArray[np.float64]

    @property
    def helps(self) -> bool:
        """Whether the learned order is surely the better one."""
        return self.low > 0

    def sentence(self) -> str:
        """What cross-validation says."""
        said = (
            f"Average precision on {self.relevant + self.other:,} labelled posts "
            f"({self.relevant:,} relevant): {self.before:.3f} in the order of the search, "
            f"{self.after:.3f} learned "
            f"(cross-validated; difference {self.after - self.before:+z.3f}, 95% interval "
            f"{self.low:+z.3f} to {self.high:+z.3f})."
        )
        return said + ("" if self.helps else " That is no sure gain: the order stays as it was.")


def read_verdicts(paths: Sequence[Path]) -> dict[str, bool]:
    """Posts with the one thing that all their labels say; skipped and disputed posts are left out.

    Args:
        paths: sheets, or any files with the columns post and label.

    Raises:
        InputError: with ``path:line``, for a label that is none.
    """
    said: dict[str, set[bool]] = {}
    for path in paths:
        for row in read_rows(path):
            value = " ".join(row.label.split()).lower()
            if value in YES or value in NO:
                said.setdefault(row.post, set()).add(value in YES)
            elif value and value not in SKIP:
                raise InputError(f"{row.where}: label is {row.label!r}; expected yes, no or skip")
    return {post: value for post, (value, *others) in said.items() if not others}


def learn(
    texts: Sequence[str],
    scores: NDArray[np.float64],
    verdicts: dict[int, bool],
    *,
    clusters: NDArray[np.int64] | None = None,
    seed: int = 0,
) -> Feedback:
    """Learn from labels.

    Args:
        texts: of N posts.
        scores: (N,) of the search.
        verdicts: place of a labelled post -> whether it is relevant.
        clusters: (N,) of near-duplicates, which never judge each other; else posts with the same
            words are one.
        seed: of the folds.

    Raises:
        InputError: for fewer than `LEAST` labels of a kind.
    """
    rows = np.array(sorted(verdicts), np.int64)
    said = np.array([verdicts[row] for row in rows.tolist()], bool)
    relevant, other = int(said.sum()), int((~said).sum())
    if min(relevant, other) < LEAST:
        raise InputError(
            f"{relevant} labelled posts are relevant and {other} are not; expected at least "
            f"{LEAST} of each: label more first"
        )
    labelled = [texts[row] for row in rows.tolist()]
    copies = (
        [" ".join(_tokens()(text)) for text in labelled] if clusters is None else clusters[rows]
    )
    groups = np.unique(copies, return_inverse=True)[1].ravel()
    own = np.zeros(len(rows))
    for train, test in _folds(said, groups, seed):
        model = _Model([labelled[n] for n in train], scores[rows[train]], said[train])
        own[test] += model([labelled[n] for n in test], scores[rows[test]]) / _REPEATS
    before, after = _precision(said, scores[rows]), _precision(said, own)
    low, high = _interval(said, scores[rows], own, groups, seed)
    whole = _Model(labelled, scores[rows], said)
    return Feedback(
        relevant, other, before, after, low, high, whole.telling(), whole(texts, scores)
    )


class _Model:
    """Words and score to a probability that is not calibrated; learned when it is made."""

    def __init__(
        self, texts: Sequence[str], scores: NDArray[np.float64], said: NDArray[np.bool_]
    ) -> None:
        with needs("search", "learning from labels"):
            from sklearn.feature_extraction.text import TfidfVectorizer
            from sklearn.linear_model import LogisticRegression

        self._words = TfidfVectorizer(analyzer=_tokens(), sublinear_tf=True)
        self._mean, self._spread = float(scores.mean()), float(scores.std()) or 1.0
        self._words.fit(texts)
        self._model = LogisticRegression(class_weight="balanced", max_iter=1000)
        self._model.fit(self._features(texts, scores), said)

    def __call__(self, texts: Sequence[str], scores: NDArray[np.float64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = self._model.predict_proba(self._features(texts, scores))[:, 1]
        return found

    def telling(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The words with the greatest weights, and those with the least."""
        names = self._words.get_feature_names_out()
        weights = self._model.coef_[0][1:]
        order = np.argsort(weights, kind="stable")
        for_it = [str(names[n]) for n in order[::-1][:_SHOWN] if weights[n] > 0]
        against = [str(names[n]) for n in order[:_SHOWN] if weights[n] < 0]
        return tuple(for_it), tuple(against)

    def _features(self, texts: Sequence[str], scores: NDArray[np.float64]) -> Any:
        from scipy.sparse import csr_matrix, hstack

        score = _SCORE * (scores - self._mean) / self._spread
        return hstack([csr_matrix(score[:, None]), self._words.transform(texts)], format="csr")


@lru_cache
def _tokens() -> Tokenizer:
    return Tokenizer()


def _folds(said: NDArray[np.bool_], groups: NDArray[np.int64], seed: int) -> Any:
    """Parts to learn from and to judge; posts with the same words are never in both."""
    with needs("search", "learning from labels"):
        from sklearn.model_selection import StratifiedGroupKFold

    for repeat in range(_REPEATS):
        folds = StratifiedGroupKFold(_FOLDS, shuffle=True, random_state=seed + repeat)
        for train, test in folds.split(said, said, groups):
            if len(np.unique(said[train])) < 2:
                raise InputError(
                    "the labelled posts are copies of a few texts; expected different texts among "
                    "the relevant and the other ones: label more first"
                )
            yield train, test


def _precision(said: NDArray[np.bool_], scores: NDArray[np.float64]) -> float:
    from sklearn.metrics import average_precision_score

    return float(average_precision_score(said, scores))


def _interval(
    said: NDArray[np.bool_],
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    groups: NDArray[np.int64],
    seed: int,
) -> tuple[float, float]:
    """95% of the differences when the texts are drawn anew, with replacement."""
    generator = np.random.default_rng(seed)
    count = int(groups.max()) + 1
    times = generator.multinomial(count, np.full(count, 1 / count), _RESAMPLES)[:, groups]
    found = _weighted(said, after, times) - _weighted(said, before, times)
    low, high = np.nanquantile(found, [0.025, 0.975])
    return float(low), float(high)


def _weighted(
    said: NDArray[np.bool_], scores: NDArray[np.float64], times: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Average precision where each post counts so many times.

    Args:
        said: (n,) whether a post is relevant.
        scores: (n,)
        times: (R, n)

    Returns:
        (R,)
    """
    order = np.argsort(-scores, kind="stable")
    times = times[:, order]
    hits = times * said[order]
    precision = np.cumsum(hits, axis=1) / np.maximum(np.cumsum(times, axis=1), 1)
    total = hits.sum(axis=1)
    return np.where(total > 0, (hits * precision).sum(axis=1) / np.maximum(total, 1), np.nan)
