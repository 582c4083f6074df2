"""Relevance by a user's own labels: a map from the estimate of a search to what the labels say.

``siamese-news relevance`` of the desk fits it from some twenty labels; a search that is given its
file uses it. It is an estimate as the one before is, for one search and one meaning of "relevant".
It rises with what it maps, so the order of a list stays the same.
"""

from collections.abc import Collection
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy import special

from siamese_news.utils.checked_json import Count, read_state, write_state

Mapped = Literal["relevance", "score"]

_LEAST = 1e-6  # relevance has six digits
# Added to scores (below this, they are noise), and what makes their logarithm about a logit.
_FLOOR, _STEEP, _MIDDLE = 0.005, 2.5, 0.1


def logits_of(values: NDArray[np.floating], mapped: Mapped) -> NDArray[np.float64]:
    """(N,) what a map shifts and stretches: logits of relevance, or logarithms of scores."""
    if mapped == "score":
        return _STEEP * np.log((np.maximum(values, 0) + _FLOOR) / _MIDDLE)
    return special.logit(np.clip(values, _LEAST, 1 - _LEAST))


@dataclass(frozen=True, slots=True)
class LabelMap:
    """Relevance p by labels: logit(p) = shift + slope x, with x of `logits_of`.

    Attributes:
        mapped: what x is of: the relevance that the search estimates or, where that is unknown, the
            score.
        shift: added.
        slope: above 0.
        labels: the number of labels.
        relevant: how many of them say relevant.
        wrong: how many were on the wrong side of .5 when each label in turn was left out.
        titles: of the articles that the labeled posts were searched for, where they are known.
    """

    mapped: Mapped
    shift: Annotated[float, msgspec.Meta(ge=-1e3, le=1e3)]
    slope: Annotated[float, msgspec.Meta(gt=0, le=1e3)]
    labels: Count
    relevant: Count
    wrong: Count
    titles: tuple[str, ...] = ()

    def remarks(self, titles: Collection[str]) -> list[str]:
        """A remark if the labels were given for none of the articles with these titles."""
        if not self.titles or not set(self.titles).isdisjoint(titles):
            return []
        and_more = f" and {len(self.titles) - 1} more" * (len(self.titles) > 1)
        return [
            "The labels behind this relevance were given for other articles "
            f"({self.titles[0]!r}{and_more}): label posts of this search (sample --for relevance)"
        ]

    def relevance(self, values: NDArray[np.floating]) -> NDArray[np.float64]:
        """(N,) relevance of N values, rounded down."""
        likely = special.expit(self.shift + self.slope * logits_of(values, self.mapped))
        return np.floor(likely * 1e6) / 1e6

    def write(self, path: Path) -> None:
        """Write the map to a file."""
        write_state(path, asdict(self))

    @classmethod
    def read(cls, path: Path) -> "LabelMap":
        """The map of a file.

        Raises:
            InputError: it is missing or no such file.
        """
        return read_state(
            path, cls, "expected a file that siamese-news relevance wrote"
        )
