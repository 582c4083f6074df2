"""From scores to relevance: the small fitted table that a model folder has.

A score orders the posts of one list. How high the scores of relevant posts are depends on the seed
and the pool: of thousands of posts one or two answer a claim, while an event has thousands, which
are alike. `Calibration` turns a score into a probability by evidence about the list that needs no
label. ``python -m benchmarks.calibration`` fits it on development pools and prints how well it
holds on pools that it was not fitted on.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_news.errors import InputError

NAMES = ("constant", "score", "alike", "score_alike")
"""The features of `Evidence.features`."""

# Added to scores before the logarithm: below this, scores are noise.
_FLOOR = 0.005


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a list without any label.

    Attributes:
        alike: how far its seeds' best posts resemble each other, from 0 to 1 (`Scorer.alike`).
        cautious: whether nothing was measured for such seeds: they have too few words, or are in a
            language of which no development pool has a seed.
    """

    alike: float
    cautious: bool = False

    def features(self, scores: NDArray[np.floating]) -> NDArray[np.float64]:
        """(N, F) what the logit of N scores is a weighted sum of (`NAMES`)."""
        logs = np.log(np.maximum(scores, 0.0).astype(np.float64) + _FLOOR)
        ones = np.ones(len(logs))
        return np.stack([ones, logs, self.alike * ones, self.alike * logs], axis=1)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Turns scores of a list into relevance, the probability that a post is relevant.

    Attributes:
        weights: of the features (`NAMES`).
        caution: subtracted from the logit where the evidence is cautious.
        words: a seed of fewer words is one for caution.
        languages: of the seeds that it was fitted on, as ISO 639 codes; others are for caution.
        error: by how much the expected precision was off on a pool left out, on average.
    """

    weights: Mapping[str, float]
    caution: float
    words: int
    languages: tuple[str, ...]
    error: float

    def relevance(self, scores: NDArray[np.floating], evidence: Evidence) -> NDArray[np.float64]:
        """(N,) probabilities of N scores, rounded down to four digits; 0 for a score of 0 or less.

        They never fall as scores rise.
        """
        weights = np.array([self.weights[name] for name in NAMES])
        features = evidence.features(scores)
        logits = features @ weights - self.caution * evidence.cautious
        found = 1 / (1 + np.exp(-np.clip(logits, -30, 30)))
        rounded: NDArray[np.float64] = np.floor(found * 1e4) / 1e4
        return np.where(np.asarray(scores) > 0, rounded, 0.0)

    def plain(self) -> dict[str, Any]:
        """As plain values, for a model folder."""
        return asdict(self) | {"weights": dict(self.weights), "languages": list(self.languages)}

    @classmethod
    def of(cls, values: Any) -> "Calibration | None":
        """From the plain values of a model folder; None where it has none.

        Raises:
            InputError: the values are of another form.
        """
        if values is None:
            return None
        expected = {one.name for one in fields(cls)}
        if not isinstance(values, Mapping) or set(values) != expected:
            raise InputError(f"calibration: expected the fields {', '.join(sorted(expected))}")
        weights = values["weights"]
        numbers = [values["caution"], values["error"], values["words"]]
        if isinstance(weights, Mapping):
            numbers += [weights.get(name) for name in NAMES]
        if not all(type(number) in (int, float) and abs(number) < 1e6 for number in numbers):
            raise InputError(
                f"calibration: expected numbers, and a weight for each of {', '.join(NAMES)}"
            )
        languages = values["languages"]
        if not isinstance(languages, list) or not all(isinstance(one, str) for one in languages):
            raise InputError(f"calibration: languages={languages!r}; expected a list of codes")
        if min(weights["score"], weights["score"] + weights["score_alike"]) < 0:
            raise InputError("calibration: relevance would fall as scores rise")
        return cls(**{**values, "languages": tuple(languages), "weights": dict(weights)})
