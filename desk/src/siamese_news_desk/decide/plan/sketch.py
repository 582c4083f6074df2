"""Sketches of populations: whether two plans are about the same posts, whatever their ids are.

A sketch has the smallest hashes of a set (bottom-k, Broder 1997). Below the larger end of neither,
it has all hashes of its set, so what two sketches share there estimates what the sets share.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any, ClassVar

import numpy as np

from siamese_news.utils.strings import Strings
from siamese_news_desk.decide.plan.design import keys_of
from siamese_news_desk.decide.plan.population import SKETCH, Population
from siamese_news_desk.decide.plan.texts import Texts

_EARLIER = 64  # hashes of a sketch in lists of earlier versions
_SAME = 0.5  # of all posts of both are in both: they are the same population
_PART = 0.25  # of the posts of the smaller one are in both: it is a part of the other


class Relation(Enum):
    """How the posts of two plans are related."""

    SAME = "same"
    PART = "part"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Sketch:
    """What a list of plans keeps of a population: hashes, ascending.

    Attributes:
        posts: the smallest hashes of the ids.
        best: those of the ids of the best posts.
        texts: the smallest hashes of the texts, which do not change with a file's name and with
            another column of ids.
        best_texts: those of the texts of the best posts.
    """

    posts: Sequence[int] = ()
    best: Sequence[int] = ()
    texts: Sequence[int] = ()
    best_texts: Sequence[int] = ()

    NAMES: ClassVar = ("posts", "best", "texts", "best_texts")

    @classmethod
    def of(cls, population: Population, texts: Texts) -> "Sketch":
        """The sketch of a population; this reads all texts, if there are any."""
        smallest = np.empty(0, np.uint64)
        best = [np.empty(0, np.uint64)]
        for piece, is_best in texts.pieces():
            plain = [" ".join(text.casefold().split()) for text in piece]
            keys = keys_of(0, Strings.of(plain), purpose="texts")
            worded = np.array([bool(text) for text in plain], bool)
            smallest = np.unique(np.concatenate([smallest, keys[worded]]))[:SKETCH]
            best.append(keys[worded & is_best])
        return cls(
            population.sketch,
            population.best,
            smallest.tolist(),
            np.unique(np.concatenate(best)).tolist(),
        )

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> "Sketch":
        """The sketch in a row of a list; earlier versions had no texts.

        Raises:
            TypeError: a hash is not a number.
        """
        return cls(*(sorted(map(int, row.get(name, ()))) for name in cls.NAMES))

    def plain(self) -> dict[str, Any]:
        """The sketch as JSON."""
        return asdict(self)

    def relation(self, other: "Sketch") -> Relation:
        """Whether two populations are the same, or one is a part of the other.

        They are the same if they share half of all their posts or texts, or of their best ones: the
        head of a list is not another population. Without best ones, a question is about all posts,
        such as recall, and the precision of a part is another question.
        """
        shares = [
            _shares(_common_range(self.posts, other.posts)),
            _shares(_common_range(self.texts, other.texts)),
        ]
        heads = [
            _shares((set(self.best), set(other.best))),
            _shares((set(self.best_texts), set(other.best_texts))),
        ]
        if any(of_all >= _SAME for of_all, _ in [*shares, *heads]):
            return Relation.SAME
        alike = bool(self.best) == bool(other.best)
        if alike and any(of_smaller >= _PART for _, of_smaller in shares):
            return Relation.PART
        return Relation.OTHER


def _shares(sets: tuple[set[int], set[int]]) -> tuple[float, float]:
    """The share of two sets that is in both: of all their members, and of the smaller set."""
    first, second = sets
    both = len(first & second)
    if not both:
        return 0.0, 0.0
    return both / len(first | second), both / min(len(first), len(second))


def _common_range(
    first: Sequence[int], second: Sequence[int]
) -> tuple[set[int], set[int]]:
    """The hashes of two sketches down to the end of the shorter range."""
    end = min(_end(first), _end(second))
    return {key for key in first if key <= end}, {key for key in second if key <= end}


def _end(keys: Sequence[int]) -> float:
    """The hash down to which a sketch has all of its set; infinite if it has the whole set."""
    return keys[-1] if len(keys) in (_EARLIER, SKETCH) else float("inf")
