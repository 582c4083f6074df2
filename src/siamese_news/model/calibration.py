"""From scores to relevance: the small fitted table that a model folder has.

A score orders the posts of one list. How high the scores of relevant posts are depends on what is
asked: thousands of posts are about an event, and of thousands one or two answer a claim. Evidence
about the list that needs no label tells how likely it is that many posts answer: how far the tenth
best score falls behind the first, whether the best posts share the seed's words and yet resemble
each other little (posts on a topic), whether the very article is asked for, and whether the seed is
as short as a post. Then it counts how many
posts would be relevant: where that is one, it mostly is; where it is a handful of thousands, they
mostly are not; where it is many, they mostly are if the best posts share the seed's words. Where
these signs contradict each other, relevance is unknown (`Calibration.knows`).
``python -m benchmarks.calibration`` fits the table on development pools and prints how well it holds
on kinds of pools that it was not fitted on.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import msgspec.json
import numpy as np
from numpy.typing import NDArray
from scipy import special

from siamese_news.errors import InputError

# The weights of a `Calibration`: of four logits, each a weighted sum of features. The first is of
# how likely it is that many posts answer. The next two are of the relevance of a score where many
# and where few do. The last corrects their mixture by how many posts it counts.
SIDES: Mapping[str, tuple[str, ...]] = {
    "asked": ("constant", "gap", "topical", "article", "short"),
    "many": ("constant", "score", "alike", "score_alike", "above", "scarce", "article"),
    "few": ("constant", "score", "above"),
    "counted": ("constant", "logit", "count", "squared", "share", "shared"),
}

# Added to scores before the logarithm: below this, scores are noise. The same for the
# share of near posts.
_FLOOR, _NEAR_FLOOR = 0.005, 1e-5
# From this share of near posts on, their share does not change what a score means.
_SCARCE = 0.018
# As much as this is shared by posts about an event that do not resemble each other.
_SHARED_APART = 0.05
_TENTH, _THIRTIETH = 10, 30
# In a pool of fewer posts, the places of these two are as deep in proportion, and it is not asked
# whether the signs agree.
_DEEP = 100
# The signs agree where many posts answer with at least this probability, more than so many are
# counted, and this share of the pool is near the seed.
_MANY, MANY_COUNTED, LEAST_NEAR = 0.9, 30, 0.01
# They agree, too, where many answer with less than this probability and at most so many are counted.
_FEW, _COUNTED_FEW = 0.8, 20

_Number = Annotated[float, msgspec.Meta(ge=-1e6, le=1e6)]
_Off = Annotated[float, msgspec.Meta(ge=-1, le=1)]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a list without any label.

    Attributes:
        alike: how far its seeds' best posts resemble each other, from 0 to 1.
        shared: how much of their words two of the best posts have in common with each other and
            with the seed, on average, from 0 to 1.
        scores: the highest scores, descending; at most 100.
        near: the share of the pool's posts that are near the seed by their words (`FocusedPool`).
        posts: of the pool.
        article: how far the very article is asked for, and not its event, from 0 to 1.
        short: whether the seed is as short as a post.
    """

    alike: float = 0.0
    shared: float = 0.0
    scores: tuple[float, ...] = (0.0,)
    near: float = 0.0
    posts: int = 1
    article: float = 0.0
    short: float = 0.0

    def at(self, rank: int) -> float:
        """The score at a place of a pool of 100 posts or more."""
        deep = min(self.posts / _DEEP, 1.0)
        return self.scores[min(math.ceil(rank * deep), len(self.scores)) - 1]

    def asked(self) -> NDArray[np.float64]:
        """(5,) the features of how likely many posts answer (``SIDES["asked"]``).

        The third is positive where posts share much of the seed's words and yet do not resemble
        each other: they are on its topic, and not about one event.
        """
        gap = _log(self.at(_TENTH)) - _log(self.scores[0])
        topical = max(self.shared * (1 - self.alike) - _SHARED_APART, 0.0)
        features = [1.0, float(gap), topical, self.article, self.short]
        return np.array(features, np.float64)

    def many(self, scores: NDArray[np.floating]) -> NDArray[np.float64]:
        """(N, 7) the features of N scores where many posts answer (``SIDES["many"]``).

        The last but one is below 0 where hardly any post of the pool is near the seed: then, most posts
        with a middling score are about something else.
        """
        logs = _log(scores)
        scarce = min(np.log((self.near + _NEAR_FLOOR) / _SCARCE), 0.0)
        above = logs - _log(self.at(_THIRTIETH))
        return _columns(
            1.0, logs, self.alike, self.alike * logs, above, scarce, self.article
        )

    def few(self, scores: NDArray[np.floating]) -> NDArray[np.float64]:
        """(N, 3) the features of N scores where few posts answer (``SIDES["few"]``)."""
        logs = _log(scores)
        above = logs - _log(self.at(_THIRTIETH))
        return _columns(1.0, logs, above)

    def counted(
        self, mixed: NDArray[np.float64], best: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """(N, 6) the features of N probabilities, by those of the best scores (``counted``).

        The last counts only where many posts are counted.
        """
        logits = special.logit(np.clip(mixed, 1e-6, 1 - 1e-6))
        number = (best >= 0.5).sum()
        count = np.log1p(number)
        share = np.log((best.sum() + 0.1) / self.posts)
        return _columns(
            1.0, logits, count, count**2, share, (number > MANY_COUNTED) * self.shared
        )


def _columns(*features: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """(N, F) features, each (N,) or one number for all."""
    return np.stack(np.broadcast_arrays(*features), axis=1)


def _log(scores: NDArray[np.floating] | float) -> NDArray[np.float64]:
    positive = np.maximum(np.asarray(scores, np.float64), 0.0)
    return np.log(positive + _FLOOR)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Turns scores of a list into relevance, the probability that a post is relevant.

    With g the probability that many posts answer, ``m = g many + (1 - g) few`` mixes what a score
    means where many do, and where one or a few do. Relevance is a logistic function of the logit
    of m, of how many of the best posts have an m of .5 or more and, where these are many, of how
    much they share.

    Attributes:
        weights: of the features of the four logits (`SIDES`).
        words: of a seed of fewer words, relevance is unknown.
        languages: of the seeds that it was fitted on, as ISO 639 codes; of others it is unknown.
        off: between which two differences of precision and expected precision nine of ten pools
            were that are of other kinds or collections than those of the fit, where relevance was
            known.
    """

    weights: dict[str, dict[str, _Number]]
    words: Annotated[int, msgspec.Meta(ge=0)]
    languages: tuple[str, ...]
    off: tuple[_Off, _Off]

    @property
    def measured(self) -> str:
        """The seeds for which it was measured."""
        return (
            f"{self.words} words or more in {', '.join(self.languages)}, in pools whose signs of how "
            "many posts are relevant agree"
        )

    def weights_of(self, side: str) -> NDArray[np.float64]:
        """The weights of a side, in the order of its features."""
        return np.array([self.weights[side][name] for name in SIDES[side]])

    def knows(self, evidence: Evidence) -> bool:
        """Whether relevance is known in a list: whether the signs of how many posts answer agree.

        The one sign is what the list looks like, another how many of its best posts would be
        relevant; between few and many, either may be wrong. Where many are, some of the pool must be
        near the seed. Which of many are about the very article was never measured well.
        """
        if evidence.posts < _DEEP:
            return True
        share = special.expit(evidence.asked() @ self.weights_of("asked"))
        count = (self.mixed(np.array(evidence.scores), evidence) >= 0.5).sum()
        if count <= _COUNTED_FEW:
            return bool(share < _FEW)
        return bool(
            share >= _MANY
            and count > MANY_COUNTED
            and evidence.near >= LEAST_NEAR
            and evidence.article <= 0.5
        )

    def mixed(
        self, scores: NDArray[np.floating], evidence: Evidence
    ) -> NDArray[np.float64]:
        """(N,) the mixture of many and few, before the posts are counted."""
        kind_weights, many_weights, few_weights = map(
            self.weights_of, ("asked", "many", "few")
        )
        share = special.expit(evidence.asked() @ kind_weights)
        chances = share * special.expit(evidence.many(scores) @ many_weights)
        chances += (1 - share) * special.expit(evidence.few(scores) @ few_weights)
        return chances

    def relevance(
        self, scores: NDArray[np.floating], evidence: Evidence
    ) -> NDArray[np.float64]:
        """(N,) probabilities of N scores, rounded down to six digits; 0 for a score of 0 or less.

        They never fall as scores rise.
        """
        best = self.mixed(np.array(evidence.scores), evidence)
        features = evidence.counted(self.mixed(scores, evidence), best)
        chances = special.expit(features @ self.weights_of("counted"))
        return np.where(np.asarray(scores) > 0, np.floor(chances * 1e6) / 1e6, 0.0)

    def plain(self) -> dict[str, Any]:
        """As plain values, for a model folder."""
        return msgspec.json.decode(msgspec.json.encode(self))

    @classmethod
    def of(cls, values: Any) -> "Calibration | None":
        """From the plain values of a model folder; None where it has none.

        Raises:
            InputError: the values are of another form.
        """
        if values is None:
            return None
        remedy = (
            "fit the table again (benchmarks.calibration), or set calibration to null"
        )
        try:
            table = msgspec.convert(values, cls)
        except msgspec.ValidationError as error:
            raise InputError(f"calibration: {error}; {remedy}") from None
        names = {side: tuple(weights) for side, weights in table.weights.items()}
        if names != SIDES:
            raise InputError(
                f"calibration: has the weights {names}; expected {SIDES}; {remedy}"
            )
        slopes = [
            sum(table.weights[side][name] for name in ("score", "above"))
            for side in ("many", "few")
        ]
        if (
            min(
                *slopes,
                table.weights["counted"]["logit"],
                slopes[0] + table.weights["many"]["score_alike"],
            )
            < 0
        ):
            raise InputError("calibration: relevance would fall as scores rise")
        return table
