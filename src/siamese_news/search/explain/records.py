"""The parts of an explanation."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from siamese_news.data.records import Article, Post

EQUAL = 0.2
"""Sentences are of about equal length where their numbers of tokens differ by up to this share."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the article.

    Attributes:
        text: as in the article.
        tokens: how many the model reads of it, beyond its limits too.
        contribution: what it adds to the score.
        expected: what it would add if all of the article fitted the post alike; surplus is the
            difference.
        attention: by name of the attention, the weight that each head gives the sentence.
        without: the score of the article without the sentence.
    """

    text: str
    tokens: int
    contribution: float
    expected: float
    attention: dict[str, list[float]]
    without: float

    @property
    def surplus(self) -> float:
        """How much more than expected it contributes."""
        return self.contribution - self.expected


@dataclass(frozen=True, slots=True)
class Term:
    """A word of the post, or two in a row: what it adds to the score, by each view.

    Attributes:
        term: the word.
        lexical: by words.
        dense: by vectors.
        surface: by n-grams inside words.
        fields: that have it, of a post whose text is joined from several.
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
    """A post of the pool that is like the one explained, and lends it a part of its score.

    Attributes:
        post: its id; None where the pool was not looked through for it.
        text: its text; without an id its content words, those that the model knows.
        weight: what a unit of its score adds.
        added: what its score adds.
        key: its word ids, which say that two posts read the same.
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
        others: how many sentences are of about equal length (`EQUAL`).
        greatest: the greatest drop without one of these; None where there are none.
    """

    sentence: int
    drop: float
    others: int
    greatest: float | None

    @property
    def holds(self) -> bool | None:
        """Whether the named one counts most; None where there is nothing to compare with."""
        return None if self.greatest is None else self.drop > self.greatest


@dataclass(frozen=True, slots=True)
class Explained:
    """Why a post has its score for an article.

    Attributes:
        article: the article.
        post: the post.
        score: of the post.
        kind: what the score is (`Scorer.kind`).
        lexical: part of the score that the words' products make.
        dense: part of the score that the vectors make.
        surface: part of the score that n-grams inside words make.
        neighbors: the posts of the pool whose scores are parts of the score (`Smoothing`), the
            greatest part first; none where no other post is like this one.
        feedback: part of the score that the article's best posts account for
            (`lexical_head.RocchioFeedback`).
        rest: part of the score that neither these nor a sentence accounts for.
        sentences: of the article, in order.
        terms: strongest first.
        alphas: of each head, by the name of the sparsity.
        check: None where no sentence contributes anything.
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
    """The test of an explanation; None where no sentence has a surplus."""
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
