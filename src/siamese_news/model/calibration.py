"""From scores to relevance: the small fitted table that a model folder has.

A score orders the posts of one list. How high the scores of relevant posts are depends on what is
asked: thousands of posts are about an event, and of thousands one or two answer a claim. Evidence
about the list that needs no label tells how likely it is that many posts answer (`Calibration`):
how far the best posts share the seed's words, whether they resemble each other all the same little
(posts on a topic), how much they do without these words, how far the tenth best falls behind the
first, and, where a seed is long enough to show it, whether it checks a claim. ``python -m
benchmarks.calibration`` fits the table on development pools and prints how well it holds on pools
that it was not fitted on.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_news.errors import InputError

# The weights of a `Calibration`: of four logits, each a weighted sum of features. The first two
# are of how likely it is that many posts answer: one for seeds too short to show whether they
# check a claim, one for all others. The last two are of the relevance of a score.
SIDES: Mapping[str, tuple[str, ...]] = {
    "headline": ("constant", "shared", "apart", "gap", "topical"),
    "article": ("constant", "shared", "apart", "gap", "topical", "checking"),
    "many": ("constant", "score", "alike", "score_alike", "above", "scarce"),
    "few": ("constant", "score", "above"),
}

# Added to scores before the logarithm: below this, scores are noise. The same for similarities and
# for the share of near posts.
_FLOOR, _SHARED_FLOOR, _NEAR_FLOOR = 0.005, 0.01, 1e-5
# From this share of near posts on, their share does not change what a score means.
_SCARCE = 0.018
# As much as this is shared by posts about an event that do not resemble each other.
_SHARED_APART = 0.05


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a list without any label.

    Attributes:
        alike: how far its seeds' best posts resemble each other, from 0 to 1.
        shared: how much of their words two of the best posts have in common with each other and
            with the seed, on average, from 0 to 1.
        apart: how far the best posts resemble each other without the seed's words, as a share of
            how far they do with them.
        best: the highest score.
        tenth: the tenth score; in a pool of n < 100 posts that at place n / 10.
        thirtieth: the thirtieth score; likewise.
        near: the share of the pool's posts that are near the seed by their words (`FocusedPool`).
        checking: how many words of a fact check the seed has; None where it does not show.
        cautious: whether nothing was measured for such seeds: they have too few words, or are in a
            language of which no development pool has a seed.
    """

    alike: float = 0.0
    shared: float = 0.0
    apart: float = 0.0
    best: float = 0.0
    tenth: float = 0.0
    thirtieth: float = 0.0
    near: float = 0.0
    checking: float | None = None
    cautious: bool = False

    @property
    def side(self) -> str:
        """Which of `SIDES` tells how likely many posts answer."""
        return "headline" if self.checking is None else "article"

    def asked(self) -> NDArray[np.float64]:
        """(5,) or (6,) the features of how likely many posts answer (``SIDES[side]``).

        The fifth is positive where posts share much of the seed's words and yet do not resemble
        each other: they are on its topic, and not about one event.
        """
        gap = _log(self.tenth) - _log(self.best)
        shared = np.log(self.shared + _SHARED_FLOOR)
        topical = max(self.shared * (1 - self.alike) - _SHARED_APART, 0.0)
        features = [1.0, shared, self.apart, gap, topical]
        if self.checking is not None:
            features.append(np.log1p(self.checking))
        return np.array(features, np.float64)

    def many(self, scores: NDArray[np.floating]) -> NDArray[np.float64]:
        """(N, 6) the features of N scores where many posts answer (``SIDES["many"]``).

        The last is below 0 where hardly any post of the pool is near the seed: then, most posts
        with a middling score are about something else.
        """
        logs = _log(scores)
        ones = np.ones(len(logs))
        scarce = min(np.log((self.near + _NEAR_FLOOR) / _SCARCE), 0.0)
        above = logs - _log(self.thirtieth)
        alike = [self.alike * ones, self.alike * logs]
        return np.stack([ones, logs, *alike, above, scarce * ones], axis=1)

    def few(self, scores: NDArray[np.floating]) -> NDArray[np.float64]:
        """(N, 3) the features of N scores where few posts answer (``SIDES["few"]``)."""
        logs = _log(scores)
        return np.stack([np.ones(len(logs)), logs, logs - _log(self.thirtieth)], axis=1)


def _log(scores: NDArray[np.floating] | float) -> NDArray[np.float64]:
    logs: NDArray[np.float64] = np.log(
        np.maximum(np.asarray(scores, np.float64), 0.0) + _FLOOR
    )
    return logs


def probability(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """The logistic function."""
    share: NDArray[np.float64] = 1 / (1 + np.exp(-np.clip(logits, -30, 30)))
    return share


@dataclass(frozen=True, slots=True)
class Calibration:
    """Turns scores of a list into relevance, the probability that a post is relevant.

    With g the probability that many posts answer, it is ``g many + (1 - g) few``: the probability
    of a score where many do, and where one or a few do.

    Attributes:
        weights: of the features of the four logits (`SIDES`).
        caution: subtracted from the logit where the evidence is cautious.
        words: a seed of fewer words is one for caution.
        languages: of the seeds that it was fitted on, as ISO 639 codes; others are for caution.
        error: by how much the expected precision of one list was off on pools left out, on average.
    """

    weights: Mapping[str, Mapping[str, float]]
    caution: float
    words: int
    languages: tuple[str, ...]
    error: float

    def relevance(
        self, scores: NDArray[np.floating], evidence: Evidence
    ) -> NDArray[np.float64]:
        """(N,) probabilities of N scores, rounded down to four digits; 0 for a score of 0 or less.

        They never fall as scores rise.
        """
        asked, many, few = (
            np.array([self.weights[side][name] for name in SIDES[side]])
            for side in (evidence.side, "many", "few")
        )
        share = probability(evidence.asked() @ asked)
        chances = share * probability(evidence.many(scores) @ many)
        chances += (1 - share) * probability(evidence.few(scores) @ few)
        if evidence.cautious:
            chances = probability(np.log(chances / (1 - chances)) - self.caution)
        rounded: NDArray[np.float64] = np.floor(chances * 1e4) / 1e4
        return np.where(np.asarray(scores) > 0, rounded, 0.0)

    def plain(self) -> dict[str, Any]:
        """As plain values, for a model folder."""
        weights = {side: dict(values) for side, values in self.weights.items()}
        return asdict(self) | {"weights": weights, "languages": list(self.languages)}

    @classmethod
    def of(cls, values: Any) -> "Calibration | None":
        """From the plain values of a model folder; None where it has none.

        Raises:
            InputError: the values are of another form.
        """
        if values is None:
            return None
        expected = {spec.name for spec in fields(cls)}
        if not isinstance(values, Mapping) or set(values) != expected:
            raise InputError(
                f"calibration: expected the fields {', '.join(sorted(expected))}"
            )
        weights = _weights(values["weights"])
        for name, most in {"caution": 1e6, "words": 1e6, "error": 1.0}.items():
            number = values[name]
            if type(number) not in (int, float) or not 0 <= number <= most:
                raise InputError(
                    f"calibration.{name}={number!r}; expected a number from 0 to {most:g}"
                )
        languages = values["languages"]
        if not isinstance(languages, list) or not all(
            isinstance(language, str) for language in languages
        ):
            raise InputError(
                f"calibration: languages={languages!r}; expected a list of codes"
            )
        many = weights["many"]
        few = weights["few"]
        slopes = [
            many["score"] + many["above"],
            many["score"] + many["above"] + many["score_alike"],
            few["score"] + few["above"],
        ]
        if min(slopes) < 0:
            raise InputError("calibration: relevance would fall as scores rise")
        return cls(**{**values, "languages": tuple(languages), "weights": weights})


def _weights(tables: Any) -> dict[str, dict[str, float]]:
    """The weights of every side, copied.

    Raises:
        InputError: a side or a weight is missing, unknown or no number.
    """
    weights: dict[str, dict[str, float]] = {}
    remedy = "fit the table again (benchmarks.calibration), or set calibration to null"
    if not isinstance(tables, Mapping) or set(tables) != set(SIDES):
        raise InputError(
            f"calibration.weights: expected the parts {', '.join(SIDES)}; {remedy}"
        )
    for side, names in SIDES.items():
        table = tables[side]
        if not isinstance(table, Mapping) or set(table) != set(names):
            raise InputError(
                f"calibration.weights.{side}: expected the weights {', '.join(names)}; {remedy}"
            )
        for name, weight in table.items():
            if type(weight) not in (int, float) or not abs(weight) < 1e6:
                raise InputError(
                    f"calibration.weights.{side}.{name}={weight!r}; expected a number; {remedy}"
                )
        weights[side] = dict(table)
    return weights
