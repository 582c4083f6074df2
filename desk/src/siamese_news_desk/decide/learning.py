"""A new order learned from labels and a machine's verdicts, and whether it is better.

A logistic regression (L2) on the words of posts predicts which posts are like the relevant ones.
Labels mostly come from the top, where a word may count against a post although further down it
counts for it; so random posts from far down, which are almost all not relevant, are also used to
learn and to judge. A second, small regression determines how much the words and the machine add to
the score of the search, on posts that the words were not learned from; without evidence they add
nothing.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_news.errors import InputError
from siamese_news.text.tokens import Tokenizer
from siamese_news.utils.extras import needs

LEAST = 3
"""The fewest relevant labeled posts, with different texts, to learn from."""

MACHINE = 1.0
"""The weight of a machine's verdicts relative to the search, both standardized, without labels."""


@dataclass(frozen=True, slots=True)
class Constants:
    """The numbers of the learner.

    Where no other source is named, they were chosen on the development lists of ``python -m
    benchmarks.learning``.

    Attributes:
        folds: of the cross-validation.
        strength: C of the regression on words.
        far_posts: random posts that are taken as not relevant ...
        far_rank: ... from below a third of the pool, or from below this rank.
        far_weight: their total weight: that of the labeled posts not relevant, or at least this.
        far_relevant: they are not used if a larger share of the labeled posts there is relevant.
        finest: ranks of the first band in which labels represent each other; then 200, 400 ...
        search: mean and strength of the normal prior of the weight of the search.
        machine: those of a machine: it counts nothing until labels bear it out.
        words: those of the words; the strength is divided by the labels of the rarer kind.
        most: the largest weight of words or a machine relative to the search.
        nats: by which an order must explain labels better (Akaike's criterion for one weight).
        chance: below this probability of agreeing by chance, a machine may count.
        loss: of average precision that counts as noise, if both orders are nearly perfect.
        resamples: of the bootstrap behind the interval.
        wider: factor by which the interval is wider than that of the bootstrap, which neither
            learns anew nor knows how unlike the labeled posts the others are ...
        margin: ... and what is added on both sides. Both were chosen on generated pools, on which
            ``python -m benchmarks.feedback_interval`` measures how often the interval holds.
    """

    folds: int = 5
    strength: float = 3.0
    far_posts: int = 1500
    far_rank: int = 8000
    far_weight: float = 10.0
    far_relevant: float = 0.05
    finest: int = 100
    search: tuple[float, float] = (1.0, 1.0)
    machine: tuple[float, float] = (0.0, 1.0)
    words: tuple[float, float] = (0.0, 30.0)
    most: float = 4.0
    nats: float = 1.0
    chance: float = 0.01
    loss: float = 0.005
    resamples: int = 400
    wider: float = 2.5
    margin: float = 0.03


CHOSEN = Constants()

_SHOWN = 8  # words for and against a post

MIX = "1:1:2"
"""Parts of the posts: from the top of the order, uncertain ones, and random ones."""

# Random posts: the best 2,000, or a sixth of the pool.
_REGION = 2000
_SHARE = 6
_LEAST = 200
# Times the region, with this many labels or more that all say relevant.
_WIDE = 4
_FEW = 10


class TooFewLabels(InputError):
    """Labels that are too few to learn from."""


@dataclass(frozen=True, slots=True)
class Feedback:
    """The learned order, and its comparison with that of the search.

    Attributes:
        relevant: labeled posts that are relevant; `other` are not.
        scores: (N,) of the posts: that of the search, standardized, plus the learned part.
        odds: (N,) logits that the posts are relevant.
        far: random posts from far down that were taken as not relevant.
        before: average precision of the search's order on the labeled and the far posts; NaN, like
            the next four, if there are too few labels to judge.
        after: the same of the learned order, where no post is judged by what was learned from it.
        low: to `high`, the 95% interval of the difference on posts without a label (paired
            bootstrap over texts, widened; see `Constants`).
        information: log-likelihood gained over the odds of the search, in nats, on posts that were
            not learned from.
        chance: probability that an uninformed machine ranks the relevant labeled posts this far
            above the others (Mann and Whitney, one-sided, each text once); 1 without a machine.
        added: log-likelihood that the machine adds to search and words, in nats; 0 without one.
        uses_machine: whether the order has the machine's verdicts. Labels of people must bear it
            out in two ways: it agrees with them better than by chance, and it tells something that
            search and words do not.
        words: that count most for a post, and most against it.
    """

    relevant: int
    other: int
    scores: NDArray[np.float64]
    odds: NDArray[np.float64]
    far: int = 0
    before: float = math.nan
    after: float = math.nan
    low: float = math.nan
    high: float = math.nan
    information: float = math.nan
    chance: float = 1.0
    added: float = 0.0
    uses_machine: bool = False
    words: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    machine: str = ""

    @property
    def judged(self) -> bool:
        """Whether there were enough labels of people to judge the order."""
        return not np.isnan(self.after)

    @property
    def helps(self) -> bool:
        """Whether the learned order is better on posts that it was not learned from."""
        if not self.judged:
            return True
        gain = self.after - self.before
        return self.other > 0 and self.information > CHOSEN.nats and gain > -CHOSEN.loss

    def sentence(self) -> str:
        """The result of cross-validation in words."""
        labels = f"{self.relevant + self.other:,}"
        if not self.judged:
            return (
                f"{labels} labels of people ({self.relevant:,} relevant) cannot judge the new "
                f"order yet: {self.machine} counts {MACHINE:g} times as much as the search, both "
                "standardized."
            )
        far = f" and {self.far:,} random posts from far down, taken as not relevant"
        return (
            f"Average precision on {labels} labeled posts ({self.relevant:,} relevant)"
            f"{far if self.far else ''}: {self.before:.3f} in the order of the search, "
            f"{self.after:.3f} learned{f' with {self.machine}' if self.uses_machine else ''} "
            f"(cross-validated; difference {self.after - self.before:+z.3f}, 95% interval "
            f"{self.low:+z.3f} to {self.high:+z.3f}).{self._machine_sentence()}"
            + (
                ""
                if self.helps
                else " This is not a sure gain: the order stays the same."
            )
        )

    def _machine_sentence(self) -> str:
        if not self.machine:
            return ""
        by_chance = (
            f"an uninformed machine would agree with people as well with a probability of "
            f"{self.chance:.1g}, and it tells {self.added:.1f} nats more than search and words"
        )
        if self.uses_machine:
            return f" {self.machine} counts: {by_chance}."
        return (
            f" {self.machine} is not used: {by_chance}; expected less than {CHOSEN.chance:g} and "
            f"more than {CHOSEN.nats:g}."
        )

    def word_lines(self) -> list[str]:
        """The words that count for and against a post, a line each."""
        return [
            f"words that count {what} a post: {', '.join(words) or 'none'}"
            for what, words in zip(("for", "against"), self.words, strict=True)
        ]

    def plain(self) -> dict[str, Any]:
        """The result as JSON, without the scores."""
        return {
            "relevant": self.relevant,
            "other": self.other,
            "far": self.far,
            **{
                name: getattr(self, name) if self.judged else None
                for name in (
                    "before",
                    "after",
                    "low",
                    "high",
                    "information",
                    "chance",
                    "added",
                )
            },
            "helps": self.helps,
            "machine": self.machine,
            "words": [list(words) for words in self.words],
            "sentence": self.sentence(),
        }


@dataclass(frozen=True, slots=True)
class PostWords:
    """The words of posts: sparse TF-IDF `features` (N, V), and the V `names`."""

    features: Any
    names: NDArray[np.str_]

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
        return cls(features, words.get_feature_names_out())


def learn(
    words: PostWords,
    scores: NDArray[np.float64],
    verdicts: Mapping[int, bool],
    groups: NDArray[np.int64],
    *,
    machine: NDArray[np.float64] | None = None,
    seed: int = 0,
) -> Feedback:
    """Learn from labels.

    Args:
        words: of N posts.
        scores: (N,) of the search.
        verdicts: place of a labeled post -> whether it is relevant.
        groups: (N,) clusters of near-duplicates, which never judge each other.
        machine: (N,) its verdicts; NaN where it has none.
        seed: of the folds.

    Raises:
        TooFewLabels: for fewer than `LEAST` different relevant texts.
    """
    generator = np.random.default_rng(seed)
    examples = _examples(scores, verdicts, groups, generator)
    learned, typical = _learn_words(words, examples)
    views = [_standardized(scores)]
    chance = 1.0
    added = 0.0
    uses_machine = False
    folds = _folds(examples.relevant, examples.groups, generator)
    unseen = _unseen(words.features[:, learned.columns], examples, folds)
    if machine is not None:
        there = examples.rows[: examples.labels]
        is_relevant = examples.relevant[: examples.labels]
        texts = examples.groups[: examples.labels]
        chance = _by_chance(machine[there], is_relevant, texts)
        joined = [*views, _standardized(machine)]
        added = _surprise(examples, folds, views, unseen) - _surprise(
            examples, folds, joined, unseen
        )
        uses_machine = chance < CHOSEN.chance and added > CHOSEN.nats
        views = joined if uses_machine else views
    intercept, *shares = _shares(
        _columns(views, examples.rows, unseen),
        examples.relevant,
        examples.weights,
        examples.far,
    )
    joint = np.stack([*views, learned.prediction], axis=1) @ shares
    judgment = _judgment(examples, folds, views, unseen, scores, joint, generator)
    return Feedback(
        int(examples.relevant.sum()),
        examples.labels - int(examples.relevant.sum()),
        joint / shares[0],
        joint + intercept,
        examples.far,
        *judgment,
        chance,
        added,
        uses_machine,
        typical,
    )


@dataclass(frozen=True, slots=True)
class _Examples:
    """Labeled posts, then far ones that are taken as not relevant.

    Attributes:
        rows: (n,) places of the posts.
        relevant: (n,) bool.
        weights: (n,) in learning.
        groups: (n,) clusters of near-duplicates, numbered from 0.
        labels: number of labeled posts, which come first.
        below: places of all posts from which the far ones were drawn.
    """

    rows: NDArray[np.int64]
    relevant: NDArray[np.bool_]
    weights: NDArray[np.float64]
    groups: NDArray[np.int64]
    labels: int
    below: NDArray[np.int64]

    @property
    def far(self) -> int:
        """Number of far posts."""
        return len(self.rows) - self.labels


def _examples(
    scores: NDArray[np.float64],
    verdicts: Mapping[int, bool],
    groups: NDArray[np.int64],
    generator: np.random.Generator,
) -> _Examples:
    """The posts to learn from; a `TooFewLabels` if they cannot teach."""
    labeled = np.array(sorted(verdicts), np.int64)
    is_relevant = np.array([verdicts[row] for row in labeled.tolist()], bool)
    below = _far(scores, labeled, is_relevant)
    far = generator.choice(below, min(CHOSEN.far_posts, len(below)), replace=False)
    other = int((~is_relevant).sum())
    if (different := len(np.unique(groups[labeled][is_relevant]))) < LEAST:
        raise TooFewLabels(
            f"different texts labeled relevant: {different}; expected at least {LEAST}: label more "
            "first"
        )
    if not len(far) and other < LEAST:
        raise TooFewLabels(
            f"posts labeled not relevant: {other}; expected at least {LEAST}: label more first"
        )
    rows = np.concatenate([labeled, far])
    weights = np.ones(len(rows))
    weights[len(labeled) :] = max(other, CHOSEN.far_weight) / max(len(far), 1)
    return _Examples(
        rows,
        np.concatenate([is_relevant, np.zeros(len(far), bool)]),
        weights,
        np.unique(groups[rows], return_inverse=True)[1],
        len(labeled),
        below,
    )


@dataclass(frozen=True, slots=True)
class _Words:
    """What was learned from words: the `columns` that examples have, the `prediction` (N,)."""

    columns: NDArray[np.int64]
    prediction: NDArray[np.float64]


def _learn_words(
    words: PostWords, examples: _Examples
) -> tuple[_Words, tuple[tuple[str, ...], tuple[str, ...]]]:
    """The prediction for the whole pool, and the words that count most for and against a post."""
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
    return _Words(columns, prediction), typical


def _unseen(
    features: Any, examples: _Examples, folds: NDArray[np.int64]
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


def _columns(
    views: Sequence[NDArray[np.float64]],
    rows: NDArray[np.int64],
    unseen: NDArray[np.float64],
) -> NDArray[np.float64]:
    """The views (n, v) of the examples, the words last."""
    return np.stack([*(view[rows] for view in views), unseen], axis=1)


def _cross_validated(
    examples: _Examples, folds: NDArray[np.int64], judged: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Logits and scores (n,) of each example by views (n, v), weighted by the other folds."""
    odds = np.zeros(len(judged))
    scores = np.zeros(len(judged))
    for fold in range(int(folds.max()) + 1):
        train = folds != fold
        intercept, *shares = _shares(
            judged[train],
            examples.relevant[train],
            examples.weights[train],
            int(train[examples.labels :].sum()),
        )
        odds[~train] = intercept + judged[~train] @ shares
        scores[~train] = judged[~train] @ (np.array(shares) / shares[0])
    return odds, scores


def _surprise(
    examples: _Examples,
    folds: NDArray[np.int64],
    views: Sequence[NDArray[np.float64]],
    unseen: NDArray[np.float64],
) -> float:
    """The surprise of the examples by views and words, in nats."""
    odds, _ = _cross_validated(examples, folds, _columns(views, examples.rows, unseen))
    return float(
        np.logaddexp(0, np.where(examples.relevant, -odds, odds)) @ examples.weights
    )


def _judgment(
    examples: _Examples,
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
    judged = _columns(views, rows, unseen)
    search, _ = _cross_validated(examples, folds, judged[:, :1])
    odds, learned = _cross_validated(examples, folds, judged)
    represented = _represented(joint, rows[:labels], examples.below, examples.far)
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


def _represented(
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


def _far(
    scores: NDArray[np.float64],
    labeled: NDArray[np.int64],
    is_relevant: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Posts from far down without labels; none if labels show that many are relevant there."""
    below = np.argsort(-scores, kind="stable")[min(len(scores) // 3, CHOSEN.far_rank) :]
    there = is_relevant[np.isin(labeled, below)]
    if len(there) >= 2 * LEAST and there.sum() > max(
        1, CHOSEN.far_relevant * len(there)
    ):
        return below[:0]
    return np.setdiff1d(below, labeled)


def _fit_words(
    features: Any,
    rows: NDArray[np.int64],
    is_relevant: NDArray[np.bool_],
    weights: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The standardized prediction (N,) for the whole pool from the words, and its coefficients."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=CHOSEN.strength, max_iter=300, tol=1e-3)
    model.fit(features[rows], is_relevant, sample_weight=weights)
    return _standardized(model.decision_function(features)), model.coef_[0]


def _shares(
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
    from scipy.special import expit

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
        rest = weights * (expit(logits) - is_relevant)
        return float(total), np.concatenate(
            [[rest.sum()], judged.T @ rest + strength * away]
        )

    bounds = [(None, None), (0.05, None)] + [(0.0, None)] * (judged.shape[1] - 1)
    values = minimize(loss, np.concatenate([[-2.0], mean]), jac=True, bounds=bounds).x
    values[2:] = np.minimum(values[2:], CHOSEN.most * values[1])
    return np.asarray(values)


def unjudged(
    scores: NDArray[np.float64],
    verdicts: Mapping[int, bool],
    machine: NDArray[np.float64],
) -> Feedback:
    """The order of search and machine while people's labels are too few to judge it."""
    joined = _standardized(scores) + MACHINE * _standardized(machine)
    relevant = sum(verdicts.values())
    odds = joined - np.quantile(joined, 0.95)
    return Feedback(relevant, len(verdicts) - relevant, joined, odds, uses_machine=True)


def _by_chance(
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


def _standardized(values: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """The values (N,), standardized over the posts that have one; 0 for NaN."""
    there = ~np.isnan(values)
    given_values = values[there]
    standardized = np.zeros(len(values))
    standardized[there] = (given_values - given_values.mean()) / (
        given_values.std() or 1.0
    )
    return standardized


def _folds(
    is_relevant: NDArray[np.bool_],
    groups: NDArray[np.int64],
    generator: np.random.Generator,
) -> NDArray[np.int64]:
    """The fold (n,) in which each post is judged; near-duplicates share a fold."""
    relevant = np.zeros(int(groups.max()) + 1, bool)
    relevant[groups[is_relevant]] = True
    part = np.zeros(len(relevant), np.int64)
    for kind in (relevant, ~relevant):
        part[generator.permutation(np.flatnonzero(kind))] = (
            np.arange(kind.sum()) % CHOSEN.folds
        )
    return part[groups]


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


def next_posts(
    scores: NDArray[np.float64],
    odds: NDArray[np.float64] | None,
    groups: NDArray[np.int64],
    labeled: Mapping[int, bool | None],
    count: int,
    *,
    mix: str = MIX,
    seed: int = 0,
) -> list[int]:
    """Places of the posts to label next, in a random order, without copies or labeled texts.

    Posts from the top alone teach little: almost all are relevant, and those with other wording are
    further down. So some are drawn at random from the best of the pool, and from four times as many
    posts while every label so far says relevant.

    Args:
        scores: (N,) of the present order.
        odds: (N,) logits that the posts are relevant; None before anything was learned: random
            posts then replace the uncertain ones.
        groups: (N,) clusters of near-duplicates.
        labeled: places of posts with labels -> whether they are relevant; None for skipped posts.
        count: number of posts; fewer if the pool has no more texts.
        mix: see `MIX`.
        seed: of the random posts.

    Raises:
        InputError: for an invalid mix.
    """
    if not re.fullmatch(r"\d+:\d+:\d+", mix) or not sum(
        parts := list(map(int, mix.split(":")))
    ):
        raise InputError(
            f"--mix is {mix!r}; expected three whole numbers, such as {MIX}"
        )
    top, unsure, _ = (round(count * part / sum(parts)) for part in parts)
    if odds is None:
        unsure = 0
    order = np.argsort(-scores, kind="stable")
    verdicts = list(labeled.values())
    wide = _WIDE if verdicts.count(True) >= _FEW and False not in verdicts else 1
    region = order[: wide * min(_REGION, max(_LEAST, len(order) // _SHARE))]
    generator = np.random.default_rng([seed, len(labeled)])
    chosen: list[int] = []
    taken = set(groups[list(labeled)].tolist())
    nearest = order if odds is None else np.argsort(np.abs(odds), kind="stable")
    for places, end in (
        (order, top),
        (nearest, top + unsure),
        (generator.permutation(region), count),
        (order, count),
    ):
        for place in places.tolist():
            if len(chosen) >= end:
                break
            if groups[place] not in taken:
                taken.add(groups[place])
                chosen.append(place)
    return generator.permutation(chosen).tolist()
