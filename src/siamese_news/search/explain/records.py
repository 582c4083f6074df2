"""The parts of an explanation."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from siamese_news.data.records import Article, Post

EQUAL = 0.2
"""Sentences are of about equal length if their numbers of tokens differ by up to this share."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the article, and the article's score `without` it.

    `tokens` includes those beyond the model's limits. `contribution` is its part of the score, and
    `expected` the part if all of the article fitted the post equally well. `attention` has, by the
    name of the attention, the weight that each head gives the sentence.
    """

    text: str
    tokens: int
    contribution: float
    expected: float
    attention: dict[str, list[float]]
    without: float


@dataclass(frozen=True, slots=True)
class Term:
    """A word of the post, or two in a row: its parts of the score by words, vectors and n-grams.

    `fields` contain it, if the post's text is joined from several.
    """

    term: str
    lexical: float
    dense: float
    surface: float = 0.0
    fields: tuple[str, ...] = ()

    @property
    def contribution(self) -> float:
        """The sum over all views."""
        return self.lexical + self.dense + self.surface


@dataclass(frozen=True, slots=True)
class NeighborPost:
    """A similar post of the pool: `weight` times its score is `added` to that of the explained one.

    `key` are its word ids, by which two posts are the same to the model. Before it is looked up in
    the pool, `post` is None and `text` the content words that the model knows.
    """

    post: str | None
    text: str
    weight: float
    added: float
    key: bytes


@dataclass(frozen=True, slots=True)
class Check:
    """The test of the explanation: the sentence it names against those of about equal length.

    Without the sentence, the one with the greatest surplus, the score falls by `drop`; without one
    of the `others` (`EQUAL`) it falls by `greatest` at most, which is None if there are none.
    """

    sentence: int
    drop: float
    others: int
    greatest: float | None

    @property
    def holds(self) -> bool | None:
        """Whether the named sentence matters most; None without another one to compare."""
        return None if self.greatest is None else self.drop > self.greatest


@dataclass(frozen=True, slots=True)
class Explained:
    """The score of a post for an article, by its parts.

    `lexical`, `dense` and `surface` come from words, vectors and n-grams inside words. `neighbors`
    are similar posts whose scores are parts of this one (`Smoothing`), the greatest part first.
    `feedback` is the part that the article's best posts account for
    (`lexical_head.RocchioFeedback`), and `rest` the part that neither these nor a sentence does.
    `sentences` are in the order of the article, `terms` strongest first, `alphas` those of each
    head by the name of the sparsity. `check` is None if no sentence contributes anything.
    """

    article: Article
    post: Post
    score: float
    kind: str
    lexical: float
    dense: float
    surface: float
    neighbors: list[NeighborPost]
    feedback: float
    rest: float
    sentences: list[Sentence]
    terms: list[Term]
    alphas: dict[str, list[float]]
    check: Check | None


def check(
    score: float, surplus: NDArray[np.float64], without: NDArray[np.float32], lengths: Sequence[int]
) -> Check | None:
    """The test of an explanation; None if no sentence has a surplus."""
    if not len(surplus) or surplus.max() <= 0:
        return None
    named = int(surplus.argmax())
    drops = score - without
    others = alike(named, lengths)
    greatest = float(drops[others].max()) if others else None
    return Check(named, float(drops[named]), len(others), greatest)


def alike(sentence: int, lengths: Sequence[int]) -> list[int]:
    """The other sentences of about its length."""
    own = lengths[sentence]
    return [
        other
        for other, length in enumerate(lengths)
        if other != sentence and abs(length - own) <= EQUAL * own
    ]
