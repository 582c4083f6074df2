"""The views of a post that an order is learned from, and how much each counts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from siamese_news.errors import InputError
from siamese_news.model.loading import shipped_star
from siamese_news.text.tokens import Tokenizer
from siamese_news.utils.extras import needs
from siamese_news_desk.decide.learning_examples import (
    CHOSEN,
    Examples,
    TooFewLabels,
    standardized,
)

_SHOWN = 8  # words for and against a post
_LENGTH = 0.5  # of vectors; that of the words of a post is 1


@dataclass(frozen=True, slots=True)
class PostWords:
    """The words of posts: sparse TF-IDF `features` (N, V), and the V `names`; and their `texts`."""

    features: Any
    names: NDArray[np.str_]
    texts: Sequence[str]
    # The vectors of posts that were read, by place.
    _vector_of: dict[int, NDArray[np.float32]] = field(default_factory=dict)

    @classmethod
    def of(cls, texts: Sequence[str]) -> "PostWords":
        """Read texts.

        Raises:
            InputError: no text has a word.
        """
        with needs("learn", "learning from labels"):
            from sklearn.feature_extraction.text import TfidfVectorizer

        words = TfidfVectorizer(
            analyzer=Tokenizer(), sublinear_tf=True, dtype=np.float32
        )
        try:
            features = words.fit_transform(texts)
        except ValueError as error:
            raise InputError(
                "the posts have no words; expected results with texts"
            ) from error
        return cls(features, words.get_feature_names_out(), texts)

    def vectors(self, rows: NDArray[np.int64]) -> Any:
        """The vectors (N, D) of the posts in these rows by the star that ships; 0 for the others.

        They are centered over the rows, and their length is .5.
        """
        unread = [row for row in rows.tolist() if row not in self._vector_of]
        if unread:
            vectors = shipped_star().encode_posts([self.texts[row] for row in unread])
            self._vector_of.update(zip(unread, vectors, strict=True))
        stacked = np.stack([self._vector_of[row] for row in rows.tolist()])
        centered = stacked - stacked.mean(axis=0)
        lengths = np.linalg.norm(centered, axis=1, keepdims=True)
        scaled = sparse.csr_array(_LENGTH * centered / np.maximum(lengths, 1e-9))
        count = len(rows)
        cells = np.ones(count, np.float32), (rows, np.arange(count))
        return sparse.csr_array(cells, shape=(len(self.texts), count)) @ scaled


def learn_words(
    words: PostWords, examples: Examples
) -> tuple[
    NDArray[np.int64], NDArray[np.float64], tuple[tuple[str, ...], tuple[str, ...]]
]:
    """The columns of the words that examples have, and the words' prediction (N,) for the pool.

    Also returns the words that count most for and against a post.
    """
    # Other words have no weight.
    columns = np.unique(words.features[examples.rows].indices)
    prediction, coefficients = _fit_words(
        words.features[:, columns], examples.rows, examples.relevant, examples.weights
    )
    names = words.names[columns]
    order = np.argsort(coefficients, kind="stable")
    typical = (
        tuple(str(names[n]) for n in order[::-1][:_SHOWN] if coefficients[n] > 0),
        tuple(str(names[n]) for n in order[:_SHOWN] if coefficients[n] < 0),
    )
    return columns, prediction, typical


def unseen_words(
    features: Any, examples: Examples, folds: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The words' prediction (n,) for each example, learned from the other folds."""
    unseen = np.zeros(len(examples.rows))
    for fold in range(int(folds.max()) + 1):
        train = folds != fold
        relevant = examples.relevant[train]
        if relevant.all() or not relevant.any():
            raise TooFewLabels(
                "the labeled posts are copies of a few texts; expected different texts among the "
                "relevant and the other ones: label more first"
            )
        prediction, _ = _fit_words(
            features, examples.rows[train], relevant, examples.weights[train]
        )
        unseen[~train] = prediction[examples.rows[~train]]
    return unseen


def _fit_words(
    features: Any,
    rows: NDArray[np.int64],
    is_relevant: NDArray[np.bool_],
    weights: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The standardized prediction (N,) for the whole pool from the words, and its coefficients.

    It is the sum of a logistic regression, whose coefficients are returned, and naive Bayes: with
    few labels the latter believes a word that is seen for the first time, and the former does not.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import MultinomialNB

    there = features[rows]
    regression = LogisticRegression(C=CHOSEN.strength, max_iter=300, tol=1e-3)
    regression.fit(there, is_relevant, sample_weight=weights)
    bayes = MultinomialNB(alpha=CHOSEN.smoothing)
    bayes.fit(there, is_relevant, sample_weight=weights)
    evidence = features @ (bayes.feature_log_prob_[1] - bayes.feature_log_prob_[0])
    prediction = standardized(regression.decision_function(features))
    return standardized(prediction + standardized(evidence)), regression.coef_[0]


def columns_of(
    views: Sequence[NDArray[np.float64]],
    rows: NDArray[np.int64],
    unseen: NDArray[np.float64],
) -> NDArray[np.float64]:
    """The views (n, v) of the examples, the words last."""
    return np.stack([*(view[rows] for view in views), unseen], axis=1)


def shares_of(
    judged: NDArray[np.float64],
    is_relevant: NDArray[np.bool_],
    weights: NDArray[np.float64],
    far: int,
) -> NDArray[np.float64]:
    """Intercept and weights of the views: the search first, the words last, a machine between.

    `judged` (n, v) holds the views; the words' is of posts that they were not learned from. The
    last `far` of the n posts do not show what words are worth near the top.
    """
    from scipy.optimize import minimize

    machine = [CHOSEN.machine] * (judged.shape[1] - 2)
    fewer = min(is_relevant.sum(), len(is_relevant) - is_relevant.sum() - far)
    words = CHOSEN.words[0], CHOSEN.words[1] / max(fewer, 1)
    mean, strength = np.array([CHOSEN.search, *machine, words][: judged.shape[1]]).T

    def loss(values: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        logits = values[0] + judged @ values[1:]
        away = values[1:] - mean
        total = (
            weights @ (np.logaddexp(0, logits) - is_relevant * logits)
            + strength @ away**2 / 2
        )
        residuals = weights * (expit(logits) - is_relevant)
        return float(total), np.concatenate(
            [[residuals.sum()], judged.T @ residuals + strength * away]
        )

    bounds = [(None, None), (0.05, None)] + [(0.0, None)] * (judged.shape[1] - 1)
    values = minimize(loss, np.concatenate([[-2.0], mean]), jac=True, bounds=bounds).x
    values[2:] = np.minimum(values[2:], CHOSEN.limit * values[1])
    return np.asarray(values)


def cross_validated(
    examples: Examples, folds: NDArray[np.int64], judged: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Logits (n,) of each example by views (n, v), weighted by the other folds."""
    odds = np.zeros(len(judged))
    for fold in range(int(folds.max()) + 1):
        train = folds != fold
        intercept, *shares = shares_of(
            judged[train],
            examples.relevant[train],
            examples.weights[train],
            int(train[examples.labels :].sum()),
        )
        odds[~train] = intercept + judged[~train] @ shares
    return odds


def surprise_of(examples: Examples, odds: NDArray[np.float64]) -> float:
    """The surprise of the examples by logits (n,), in nats."""
    return float(
        np.logaddexp(0, np.where(examples.relevant, -odds, odds)) @ examples.weights
    )


@dataclass(frozen=True, slots=True)
class Prediction:
    """How likely posts are relevant.

    Attributes:
        odds: (N,) logits of all posts.
        held_out: (n,) logits of the examples, learned from the other folds.
        intercept: of the odds.
        slope: weight of the search, standardized, in the odds.
    """

    odds: NDArray[np.float64]
    held_out: NDArray[np.float64]
    intercept: float
    slope: float

    def mixed_with(self, rival: "Prediction", examples: Examples) -> "Prediction":
        """The mean of two predictions, each weighted by the likelihood of the held-out examples."""
        less_surprised = surprise_of(examples, rival.held_out) - surprise_of(
            examples, self.held_out
        )
        share = float(expit(less_surprised))
        remainder = 1 - share
        return Prediction(
            share * self.odds + remainder * rival.odds,
            share * self.held_out + remainder * rival.held_out,
            share * self.intercept + remainder * rival.intercept,
            share * self.slope + remainder * rival.slope,
        )


def added_up(
    views: Sequence[NDArray[np.float64]],
    words: NDArray[np.float64],
    unseen: NDArray[np.float64],
    examples: Examples,
    folds: NDArray[np.int64],
) -> tuple[Prediction, NDArray[np.float64]]:
    """The sum of the views (N,) and the words' prediction (N,), with learned weights.

    `unseen` (n,) is the words' prediction for the examples, by the other folds. Also returns the
    weights of the views.
    """
    judged = columns_of(views, examples.rows, unseen)
    intercept, *shares = shares_of(
        judged, examples.relevant, examples.weights, examples.far
    )
    odds = intercept + np.stack([*views, words], axis=1) @ shares
    held_out = cross_validated(examples, folds, judged)
    prediction = Prediction(odds, held_out, float(intercept), float(shares[0]))
    return prediction, np.array(shares[:-1])


def corrected(
    features: Any,
    base: NDArray[np.float64],
    examples: Examples,
    folds: NDArray[np.int64],
) -> Prediction:
    """Words and vectors that correct the search: a regression whose fixed offset is its score.

    They then need not explain what a multiple of the score explains. Multiple and strength are those
    that make held-out examples most likely.

    Args:
        features: (N, F) words and vectors of posts.
        base: (N,) the score of the search, standardized, with a machine's verdicts if they count.
        examples: n posts to learn from.
        folds: (n,)
    """
    there = features[examples.rows].astype(np.float64)
    best: tuple[float, float, float, NDArray[np.float64]] | None = None
    for slope in CHOSEN.slopes:
        offset = slope * base[examples.rows]
        for strength in CHOSEN.corrections:
            held_out = offset.copy()
            start = None
            for fold in range(int(folds.max()) + 1):
                train = folds != fold
                start = _fit_correction(
                    there[train],
                    examples.relevant[train],
                    examples.weights[train],
                    offset[train],
                    strength,
                    start,
                )
                held_out[~train] += start[0] + there[~train] @ start[1:]
            surprise = surprise_of(examples, held_out)
            if best is None or surprise < best[0]:
                best = surprise, slope, strength, held_out
    assert best is not None
    _, slope, strength, held_out = best
    offset = slope * base[examples.rows]
    values = _fit_correction(
        there, examples.relevant, examples.weights, offset, strength, None
    )
    odds = slope * base + values[0] + features @ values[1:]
    return Prediction(odds, held_out, float(values[0]), slope)


def _fit_correction(
    features: Any,
    is_relevant: NDArray[np.bool_],
    weights: NDArray[np.float64],
    offset: NDArray[np.float64],
    strength: float,
    start: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Intercept and coefficients of a logistic regression (L2) next to a fixed offset (n,)."""
    from scipy.optimize import minimize

    columns = features.T.tocsr()

    def loss(values: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        logits = features @ values[1:] + values[0] + offset
        total = weights @ (np.logaddexp(0, logits) - is_relevant * logits) + values[
            1:
        ] @ values[1:] / (2 * strength)
        residuals = weights * (expit(logits) - is_relevant)
        return float(total), np.concatenate(
            [[residuals.sum()], columns @ residuals + values[1:] / strength]
        )

    if start is None:
        start = np.zeros(features.shape[1] + 1)
    options = {"maxiter": 60, "ftol": 1e-6, "gtol": 1e-2}
    return np.asarray(
        minimize(loss, start, jac=True, method="L-BFGS-B", options=options).x
    )
