"""Sketches of populations: whether two plans are about the same posts, whatever their ids are.

A sketch has the smallest hashes of a set (bottom-k, Broder 1997). Below the larger end of neither,
it has all hashes of its set, so what two sketches share there estimates what the sets share.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from siamese_news.utils.strings import Strings
from siamese_news_desk.decide.plan.design import keys_of
from siamese_news_desk.decide.plan.population import SKETCH, Population
from siamese_news_desk.decide.plan.texts import Texts

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
        words: the smallest hashes of the words of the texts, which do not change with links,
            punctuation and invisible characters either.
        best_words: those of the words of the best posts.
    """

    posts: Sequence[int] = ()
    best: Sequence[int] = ()
    texts: Sequence[int] = ()
    best_texts: Sequence[int] = ()
    words: Sequence[int] = ()
    best_words: Sequence[int] = ()

    NAMES: ClassVar = ("posts", "best", "texts", "best_texts", "words", "best_words")

    @classmethod
    def of(cls, population: Population, texts: Texts) -> "Sketch":
        """The sketch of a population; this reads all texts, if there are any."""
        whole = _Smallest("texts", lambda text: " ".join(text.casefold().split()))
        worded = _Smallest("words", words_of)
        for piece, is_best in texts.pieces():
            whole.take(piece, is_best)
            worded.take(piece, is_best)
        return cls(population.sketch, population.best, *whole.lists, *worded.lists)

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> "Sketch":
        """The sketch in a row of a list."""
        return cls(*(row[name] for name in cls.NAMES))

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
            _shares(_common_range(self.words, other.words)),
        ]
        heads = [
            _shares((set(self.best), set(other.best))),
            _shares((set(self.best_texts), set(other.best_texts))),
            _shares((set(self.best_words), set(other.best_words))),
        ]
        if any(of_all >= _SAME for of_all, _ in [*shares, *heads]):
            return Relation.SAME
        alike = bool(self.best) == bool(other.best)
        if alike and any(of_smaller >= _PART for _, of_smaller in shares):
            return Relation.PART
        return Relation.OTHER


def words_of(text: str) -> str:
    """The words of a text, without links, punctuation and invisible characters."""
    without_links = _LINK.sub(" ", text)
    if not without_links.isascii():
        without_links = unicodedata.normalize("NFKC", visible(without_links))
    return _SIGNS.sub(" ", without_links.casefold()).strip()


def visible(text: str) -> str:
    """A text without format characters, such as a zero-width space."""
    for sign in set(text):
        if unicodedata.category(sign) == "Cf":
            text = text.replace(sign, "")
    return text


_LINK = re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE)
_SIGNS = re.compile(r"[\W_]+")


class _Smallest:
    """The smallest hashes of the plain forms of texts, and those of the best posts."""

    def __init__(self, purpose: str, plain: Callable[[str], str]) -> None:
        self._purpose = purpose
        self._plain = plain
        self._smallest = np.empty(0, np.uint64)
        self._best = np.empty(0, np.uint64)

    @property
    def lists(self) -> tuple[list[int], list[int]]:
        """The hashes of all texts and of those of the best posts, ascending."""
        return self._smallest.tolist(), self._best.tolist()

    def take(self, texts: Sequence[str], is_best: NDArray[np.bool_]) -> None:
        """Add texts, with whether each is of one of the best posts."""
        plain = list(map(self._plain, texts))
        keys = keys_of(0, Strings.of(plain), purpose=self._purpose)
        says = np.array([bool(text) for text in plain], bool)
        self._smallest = np.union1d(self._smallest, keys[says])[:SKETCH]
        self._best = np.union1d(self._best, keys[says & is_best])


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
    return keys[-1] if len(keys) == SKETCH else float("inf")
