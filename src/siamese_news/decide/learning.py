"""A new order learned from labels and a machine's verdicts, and whether it is the better one.

A logistic regression (L2) on the words of posts says which posts are like the relevant ones. Labels
mostly come from the top, where a word may speak against a post that far below speaks for it; so
random posts from far down, which are nearly all not relevant, are learned from and judged as well.
A second, small regression says how much the words and the machine add to the score of the search,
judged on posts that the words were not learned from: nothing, until labels say otherwise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_news.errors import InputError
from siamese_news.text.tokens import Tokenizer
from siamese_news.utils.extras import needs

LEAST = 3
"""Labels of relevant posts, in different texts, without which nothing is learned."""

MACHINE = 1.0
"""What a machine's verdicts weigh next to the search, both standardised, before labels say."""

_FOLDS, _RESAMPLES = 5, 400
_SHOWN = 8
# A new order explains labels better by so many nats (what Akaike's criterion asks of a weight).
_NATS = 1.0
# So rarely would a machine that knows nothing agree with people as it does.
_CHANCE = 0.01
_LOSS = 0.005  # of average precision, at most: noise, where both orders are nearly perfect
# Assumed not to be relevant: so many random posts from below a third of the pool, or this rank.
_FAR_POSTS, _FAR_RANK = 1500, 8000
_FINEST = 100  # ranks of the learned order that labels stand for each other in: 100, 200, 400 ...
_FAR_WEIGHT = 10  # together they weigh as much as the labelled ones that are not relevant, or this
_FAR_RELEVANT = 0.05  # not where a larger share of the labelled posts there is relevant
_STRENGTH = 3.0  # C of the regression on words
# The priors of the weights of search and words: mean, and how much it counts. That of the words is
# shared by the labels of the rarer kind. Words weigh at most so many times as much as the search.
_SEARCH, _WORDS, _MOST = (1.0, 1.0), (0.0, 30.0), 4.0


class TooFewLabels(InputError):
    """Labels that nothing can be learned from yet."""


@dataclass(frozen=True, slots=True)
class Feedback:
    """What labels taught.

    Attributes:
        relevant: number of labelled posts that are relevant.
        other: number of those that are not.
        far: number of random posts from far down that were taken as not relevant.
        before: average precision of the search's order on the labelled and the far posts; NaN, as
            the next four, where there are too few labels to judge.
        after: that of the learned order, each post judged by what was learned without it.
        low: lower end of the 95% interval of the difference (paired bootstrap over texts).
        high: upper end.
        information: by how much the labels surprise the learned odds less than those of the search
            (log-likelihood of posts that were not learned from, in nats).
        chance: how likely a machine that knows nothing would put the relevant labelled posts so far
            before the others (Mann and Whitney, one-sided, a text once); 1 without a machine.
        words: that speak most for a post, and most against it.
        scores: (N,) of the posts: that of the search, standardised, and what was learned on top.
        odds: (N,) logits that the posts are relevant.
        machine: name of what else the order was learned from; empty without it.
    """

    relevant: int
    other: int
    far: int
    before: float
    after: float
    low: float
    high: float
    information: float
    chance: float
    words: tuple[tuple[str, ...], tuple[str, ...]]
    scores: NDArray[np.float64]
    odds: NDArray[np.float64]
    machine: str = ""

    @property
    def judged(self) -> bool:
        """Whether labels of people have judged the order."""
        return not np.isnan(self.after)

    @property
    def helps(self) -> bool:
        """Whether the learned order is the better one on posts that it was not learned from.

        So it is where a machine agrees with people: what it knows of posts without a label shows
        in no order of the labelled ones, as long as the search has these right by itself.
        """
        if not self.judged or self.chance < _CHANCE:
            return True
        gain = self.after - self.before
        return self.other > 0 and self.information > _NATS and gain > -_LOSS

    def sentence(self) -> str:
        """What cross-validation says."""
        if not self.judged:
            return (
                f"{self.relevant + self.other:,} labels of people ({self.relevant:,} relevant) "
                f"cannot judge the new order yet: {self.machine} counts {MACHINE:g} times as much "
                "as the search, both standardised."
            )
        far = (
            f" and {self.far:,} random ones from far down, taken as not relevant"
            if self.far
            else ""
        )
        said = (
            f"Average precision on {self.relevant + self.other:,} labelled posts "
            f"({self.relevant:,} relevant){far}: {self.before:.3f} in the order of the search, "
            f"{self.after:.3f} learned{self._with()} (cross-validated; difference "
            f"{self.after - self.before:+z.3f}, 95% interval {self.low:+z.3f} to "
            f"{self.high:+z.3f})."
        )
        if self.chance < _CHANCE:
            return (
                f"{said} {self.machine} agrees with people; one that knows nothing would in "
                f"{self.chance:.1g} of all cases."
            )
        return said + ("" if self.helps else " That is no sure gain: the order stays as it was.")

    def _with(self) -> str:
        return f" with {self.machine}" if self.machine else ""

    def word_lines(self) -> list[str]:
        """The words that speak for and against a post, a line each."""
        return [
            f"words that speak {what} a post: {', '.join(words) or 'none'}"
            for what, words in zip(("for", "against"), self.words, strict=True)
        ]

    def plain(self) -> dict[str, Any]:
        """What was learned, as JSON has it, without the scores."""
        return {
            "relevant": self.relevant,
            "other": self.other,
            "far": self.far,
            **{
                name: getattr(self, name) if self.judged else None
                for name in ("before", "after", "low", "high", "information", "chance")
            },
            "helps": self.helps,
            "machine": self.machine,
            "words": [list(words) for words in self.words],
            "sentence": self.sentence(),
        }


@dataclass(frozen=True, slots=True)
class PostWords:
    """The words of posts, which labels do not change.

    Attributes:
        features: (N, V) sparse TF-IDF.
        names: V words.
    """

    features: Any
    names: NDArray[np.str_]

    @classmethod
    def of(cls, texts: Sequence[str]) -> "PostWords":
        """Read texts.

        Raises:
            InputError: where no text has a word.
        """
        with needs("learn", "learning from labels"):
            from sklearn.feature_extraction.text import TfidfVectorizer

        words = TfidfVectorizer(analyzer=Tokenizer(), sublinear_tf=True, dtype=np.float32)
        try:
            features = words.fit_transform(texts)
        except ValueError as error:
            raise InputError("the posts have no words; expected results with texts") from error
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
        verdicts: place of a labelled post -> whether it is relevant.
        groups: (N,) of near-duplicates, which never judge each other.
        machine: (N,) what something else says of the posts; NaN where it says nothing.
        seed: of the folds.

    Raises:
        TooFewLabels: for labels with fewer than `LEAST` different texts that are relevant.
    """
    labelled = np.array(sorted(verdicts), np.int64)
    said = np.array([verdicts[row] for row in labelled.tolist()], bool)
    generator = np.random.default_rng(seed)
    below = _far(scores, labelled, said)
    far = generator.choice(below, min(_FAR_POSTS, len(below)), replace=False)
    rows = np.concatenate([labelled, far])
    groups = np.unique(groups[rows], return_inverse=True)[1]
    relevant, other = int(said.sum()), int((~said).sum())
    if (different := len(np.unique(groups[: len(said)][said]))) < LEAST:
        raise TooFewLabels(
            f"{relevant} labelled posts are relevant, with {different} different texts; expected "
            f"at least {LEAST}: label more first"
        )
    if not len(far) and other < LEAST:
        raise TooFewLabels(
            f"{other} labelled posts are not relevant; expected at least {LEAST}: label more first"
        )
    said = np.concatenate([said, np.zeros(len(far), bool)])
    weights = np.ones(len(rows))
    weights[len(labelled) :] = max(other, _FAR_WEIGHT) / max(len(far), 1)

    known = np.unique(words.features[rows].indices)  # words of no other post have no weight
    features = words.features[:, known]
    found, coefficients = _words(features, rows, said, weights)
    views, chance = [_standardised(scores)], 1.0
    if machine is not None:
        views.append(_standard_machine(machine))
        chance = _by_chance(machine[labelled], said[: len(labelled)], groups[: len(labelled)])
    unseen, own, odds = np.zeros(len(rows)), np.zeros(len(rows)), np.zeros((2, len(rows)))
    folds = _folds(said, groups, generator)
    for fold in range(int(folds.max()) + 1):
        train = folds != fold
        if said[train].all() or not said[train].any():
            raise TooFewLabels(
                "the labelled posts are copies of a few texts; expected different texts among the "
                "relevant and the other ones: label more first"
            )
        unseen[~train] = _words(features, rows[train], said[train], weights[train])[0][rows[~train]]
    judged = np.stack([*(view[rows] for view in views), unseen], axis=1)
    for fold in range(int(folds.max()) + 1):
        train = folds != fold
        for place, part in enumerate((judged[:, :1], judged)):
            first, *shares = _shares(
                part[train], said[train], weights[train], train[len(labelled) :].sum()
            )
            odds[place, ~train] = first + part[~train] @ shares
        own[~train] = judged[~train] @ (shares / shares[0])
    intercept, *shares = _shares(judged, said, weights, len(far))
    joined = np.stack([*views, found], axis=1) @ shares
    stands_for = _stands_for(joined, labelled, below, len(far))
    weights[: len(labelled)] = stands_for[: len(labelled)] / stands_for[: len(labelled)].mean()
    surprise = np.logaddexp(0, np.where(said, -odds, odds)) @ weights
    low, high = _interval(said, scores[rows], own, groups, stands_for, generator)
    before = _weighted(said, scores[rows], stands_for[None])
    after = _weighted(said, own, stands_for[None])
    names = words.names[known]
    order = np.argsort(coefficients, kind="stable")
    telling = (
        tuple(str(names[n]) for n in order[::-1][:_SHOWN] if coefficients[n] > 0),
        tuple(str(names[n]) for n in order[:_SHOWN] if coefficients[n] < 0),
    )
    return Feedback(
        relevant,
        other,
        len(far),
        float(before[0]),
        float(after[0]),
        low,
        high,
        float(surprise[0] - surprise[1]),
        chance,
        telling,
        joined / shares[0],
        joined + intercept,
    )


def _stands_for(
    scores: NDArray[np.float64], labelled: NDArray[np.int64], below: NDArray[np.int64], far: int
) -> NDArray[np.float64]:
    """(n,) how many posts of the pool each labelled and far post stands for in judging.

    Labels come from where the learned order is high or unsure, so they are weighted by how many
    posts there are around their ranks in it. A far post stands for all that could have been drawn.

    Args:
        scores: (N,) in the learned order.
        labelled: places of the labelled posts.
        below: places that far posts were drawn from.
        far: how many.
    """
    rank = np.empty(len(scores))
    rank[np.argsort(-scores, kind="stable")] = np.arange(len(scores))
    part = np.log2(rank / _FINEST + 1).astype(int)
    counted = np.ones(len(scores), bool)
    counted[below] = False
    posts = np.bincount(part[counted], minlength=part.max() + 1)
    labels = np.bincount(part[labelled], minlength=part.max() + 1)
    own = np.maximum(posts / np.maximum(labels, 1), 1)[part[labelled]]
    return np.concatenate([own, np.full(far, len(below) / max(far, 1))])


def _far(
    scores: NDArray[np.float64], labelled: NDArray[np.int64], said: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Posts from far down without a label; none where labels say that much is relevant there."""
    below = np.argsort(-scores, kind="stable")[min(len(scores) // 3, _FAR_RANK) :]
    there = said[np.isin(labelled, below)]
    if len(there) >= 2 * LEAST and there.sum() > max(1, _FAR_RELEVANT * len(there)):
        return below[:0]
    return np.setdiff1d(below, labelled)


def _words(
    features: Any, rows: NDArray[np.int64], said: NDArray[np.bool_], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(N,) what the words say of the whole pool, standardised, and their coefficients."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=_STRENGTH, max_iter=300, tol=1e-3)
    model.fit(features[rows], said, sample_weight=weights)
    return _standardised(model.decision_function(features)), model.coef_[0]


def _shares(
    judged: NDArray[np.float64], said: NDArray[np.bool_], weights: NDArray[np.float64], far: int
) -> NDArray[np.float64]:
    """Intercept and weights of the views: the search first, the words last (a machine between).

    Args:
        judged: (n, v) what each view says, the words of posts that they were not learned from.
        said: (n,)
        weights: (n,)
        far: how many of the n are far posts, which do not tell what words are worth near the top.
    """
    from scipy.optimize import minimize
    from scipy.special import expit

    machine = [(MACHINE, 1.0)] * (judged.shape[1] - 2)
    fewer = min(said.sum(), len(said) - said.sum() - far)
    words = _WORDS[0], _WORDS[1] / max(fewer, 1)
    mean, strength = np.array([_SEARCH, *machine, words][: judged.shape[1]]).T

    def loss(values: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        found = values[0] + judged @ values[1:]
        away = values[1:] - mean
        total = weights @ (np.logaddexp(0, found) - said * found) + strength @ away**2 / 2
        rest = weights * (expit(found) - said)
        return float(total), np.concatenate([[rest.sum()], judged.T @ rest + strength * away])

    bounds = [(None, None), (0.05, None)] + [(0.0, None)] * (judged.shape[1] - 1)
    values = minimize(loss, np.concatenate([[-2.0], mean]), jac=True, bounds=bounds).x
    values[2:] = np.minimum(values[2:], _MOST * values[1])
    return np.asarray(values)


def unjudged(
    scores: NDArray[np.float64], verdicts: Mapping[int, bool], machine: NDArray[np.float64]
) -> Feedback:
    """The order of search and machine before there are labels of people to judge it.

    Args:
        scores: (N,) of the search.
        verdicts: see `learn`; too few.
        machine: see `learn`.
    """
    joined = _standardised(scores) + MACHINE * _standard_machine(machine)
    relevant, none = sum(verdicts.values()), float("nan")
    return Feedback(
        relevant,
        len(verdicts) - relevant,
        0,
        none,
        none,
        none,
        none,
        none,
        none,
        ((), ()),
        joined,
        joined - np.quantile(joined, 0.95),
    )


def _standard_machine(machine: NDArray[np.float64]) -> NDArray[np.float64]:
    """(N,) a machine's verdicts, standardised over the posts that have one; 0 for the others."""
    there = ~np.isnan(machine)
    found = np.zeros(len(machine))
    found[there] = _standardised(machine[there])
    return found


def _by_chance(
    machine: NDArray[np.float64], said: NDArray[np.bool_], groups: NDArray[np.int64]
) -> float:
    """How likely a machine that knows nothing agrees with labels so well, or better.

    Args:
        machine: (n,) its verdicts, NaN for none.
        said: (n,) the labels.
        groups: (n,) of near-duplicates, which count once.
    """
    from scipy.stats import mannwhitneyu

    there = np.flatnonzero(~np.isnan(machine))
    there = there[np.unique(groups[there], return_index=True)[1]]
    sides = [machine[there][said[there] == kind] for kind in (True, False)]
    if not min(map(len, sides)):
        return 1.0
    found = float(mannwhitneyu(*sides, alternative="greater", method="asymptotic").pvalue)
    return 1.0 if np.isnan(found) else found  # all verdicts are equal


def _standardised(values: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    return np.asarray((values - values.mean()) / (values.std() or 1.0), np.float64)


def _folds(
    said: NDArray[np.bool_], groups: NDArray[np.int64], generator: np.random.Generator
) -> NDArray[np.int64]:
    """(n,) the part in which a post is judged; posts with the same words are in one part."""
    relevant = np.zeros(int(groups.max()) + 1, bool)
    relevant[groups[said]] = True
    part = np.zeros(len(relevant), np.int64)
    for kind in (relevant, ~relevant):
        part[generator.permutation(np.flatnonzero(kind))] = np.arange(kind.sum()) % _FOLDS
    return part[groups]


def _interval(
    said: NDArray[np.bool_],
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    groups: NDArray[np.int64],
    stands_for: NDArray[np.float64],
    generator: np.random.Generator,
) -> tuple[float, float]:
    """95% of the differences when the texts are drawn anew, with replacement."""
    count = int(groups.max()) + 1
    drawn = generator.multinomial(count, np.full(count, 1 / count), _RESAMPLES)[:, groups]
    times = drawn * stands_for
    found = _weighted(said, after, times) - _weighted(said, before, times)
    low, high = np.nanquantile(found, [0.025, 0.975])
    return float(low), float(high)


def _weighted(
    said: NDArray[np.bool_], scores: NDArray[np.float64], times: NDArray[np.float64]
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
    precision = np.cumsum(hits, axis=1) / np.maximum(np.cumsum(times, axis=1), 1e-9)
    total = hits.sum(axis=1)
    return np.where(total > 0, (hits * precision).sum(axis=1) / np.maximum(total, 1), np.nan)
