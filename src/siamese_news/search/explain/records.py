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
    """A sentence of the article.

    Attributes:
        tokens: number of its tokens, including those beyond the model's limits.
        contribution: its part of the score.
        expected: its part if all of the article fitted the post equally well.
        attention: by name of the attention, the weight that each head gives the sentence.
        without: the score of the article without the sentence.
    """

    text: str
    tokens: int
    contribution: float
    expected: float
    attention: dict[str, list[float]]
    without: float


@dataclass(frozen=True, slots=True)
class Term:
    """A word of the post, or two in a row, and its parts of the score.

    Attributes:
        lexical: by words.
        dense: by vectors.
        surface: by n-grams inside words.
        fields: that contain it, of a post whose text is joined from several.
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
    """A similar post of the pool, which lends the explained one a part of its score.

    Attributes:
        post: its id; None if it was not looked up in the pool.
        text: its text; without an id its content words, those that the model knows.
        weight: the part of its score that is added.
        added: that part times its score.
        key: its word ids, by which two posts are the same to the model.
    """

    post: str | None
    text: str
    weight: float
    added: float
    key: bytes


@dataclass(frozen=True, slots=True)
class Check:
    """The test of the explanation: the sentence it names against those of about equal length.

    Attributes:
        sentence: index of the sentence with the greatest surplus.
        drop: by how much the score falls without it.
        others: number of sentences of about equal length (`EQUAL`).
        greatest: the greatest drop without one of these; None if there are none.
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

    Attributes:
        kind: of the score (`Scorer.kind`).
        lexical: part of the score from the products of words.
        dense: part of the score from vectors.
        surface: part of the score from n-grams inside words.
        neighbors: similar posts of the pool whose scores are parts of this one (`Smoothing`), the
            greatest part first.
        feedback: part of the score that the article's best posts account for
            (`lexical_head.RocchioFeedback`).
        rest: part of the score that neither these nor a sentence accounts for.
        sentences: in the order of the article.
        terms: strongest first.
        alphas: of each head, by the name of the sparsity.
        check: None if no sentence contributes anything.
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
