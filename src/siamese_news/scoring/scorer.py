"""What every scorer can do."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from siamese_news.model.calibration import Evidence
from siamese_news.text.token_ids import TokenIds
from siamese_news.text.tokens import check_texts

Content = Sequence[str] | TokenIds
"""Posts as their texts, or as what `Scorer.token_ids` returned for them."""


@dataclass(frozen=True, slots=True)
class Neighbor:
    """A post that another post's score leans on."""

    ids: NDArray[np.int64]  # of its words
    weight: float  # the addition of a unit of its score
    score: float  # its own, before smoothing
    # (1, D) its vector, if an encoder of whole texts gave it.
    whole_text_vectors: NDArray[np.float16] | None

    @property
    def added(self) -> float:
        """The addition of its score."""
        return self.weight * self.score


@dataclass(frozen=True, slots=True)
class ScoreParts:
    """The parts of a post's score for an article.

    Attributes:
        terms: what each word of the post, or two in a row, adds by the lexical head, strongest
            first.
        surface: what each word of the post adds by the n-grams inside it and by a close passage,
            strongest first.
        article_terms: what each word id of the article's own text adds by the lexical head, through
            the post and through its neighbors, and by its n-grams.
        article_vector: (D,), whose product with the article's own vector is what that adds through
            the post and its neighbors; empty where the dense head does not count.
        post_vector: the factor of the cosine of the article's own vector and the post's in the
            score.
        own_weight: the weight of the post's own score before smoothing.
        neighbors: the posts that the score leans on, the greatest addition first.
    """

    terms: dict[str, float] = field(default_factory=dict)
    surface: dict[str, float] = field(default_factory=dict)
    article_terms: dict[int, float] = field(default_factory=dict)
    article_vector: NDArray[np.float32] = field(
        default_factory=lambda: np.zeros(0, np.float32)
    )
    post_vector: float = 1.0
    own_weight: float = 1.0
    neighbors: list[Neighbor] = field(default_factory=list)


class Scorer:
    """Scores posts, a block at a time, for the articles it was made with; it never changes.

    A scorer that learns from a pool has an `observer`. The whole pool is given to it, in any order
    and any number of parts, and `Observer.settle` returns the scorer of this pool. Before that
    `scores` are those without a pool.

    A scorer that learns nothing from a pool and knows nothing of words defines `scores`, `scales`
    and `parts_of` alone.

    Attributes:
        kind: what the scores are: ``cosine``, ``mixture``, …
    """

    kind: ClassVar[str]

    @property
    def learned(self) -> str:
        """What it learned from a pool, in words; or nothing."""
        return ""

    def observer(self) -> "Observer | None":
        """A new pass over a pool; None for a scorer that learns nothing from one."""
        return None

    def token_ids(self, posts: Sequence[str]) -> TokenIds | None:
        """The word ids of P posts, to be kept between the two passes; None where texts are read."""
        return None

    def scores(self, posts: Content) -> np.ndarray:
        """(A, P) float32 for P posts; they depend on the articles, the post and the pool alone."""
        raise NotImplementedError

    def scales(self) -> NDArray[np.float32]:
        """(A,) the factor of each article's scores that words and vectors have in it."""
        raise NotImplementedError

    def evidence(self, articles: Sequence[int]) -> list[Evidence] | None:
        """The evidence of each of some articles' lists, once a pool was observed.

        None where scores are not of words.
        """
        return None

    def agreement(self) -> NDArray[np.float64]:
        """(A,) how far vectors decide for each article, from 0 to 1, as the pool suggests.

        It is 0 for a scorer that does not weigh words against vectors.
        """
        return np.zeros(len(self.scales()))

    def shared_stories(self) -> NDArray[np.float32]:
        """(A, A) how far each two articles tell one story, from 0 to 1, by the posts they find.

        It is 0 before a pool, and for a scorer that does not compare what articles find.
        """
        count = len(self.scales())
        return np.zeros((count, count), np.float32)

    def decisions(self) -> list[str]:
        """The question of each article, ``event``, ``article`` or ``between``; or nothing."""
        return []

    def matched_terms(self, posts: Content, limit: int = 8) -> list[list[str]]:
        """The words that carried each post's best score, strongest first; none if not by words."""
        if not isinstance(posts, TokenIds):
            check_texts(posts, "posts")
        return [[] for _ in posts]

    def parts_of(self, post: str, article: int) -> ScoreParts:
        """The parts of a post's score for an article, from 0."""
        raise NotImplementedError

    def article_term_shares(self, article: int) -> dict[int, float]:
        """Each word's share of an article's own lexical vector, by id; the shares sum to 1."""
        return {}

    def article_weight(self, article: int) -> float:
        """The weight of an article's own vectors; its best posts have the rest of 1."""
        return 1.0

    def state(self) -> bytes:
        """What the scorer learned from a pool, for `restored`; empty if nothing."""
        return b""

    def restored(self, state: bytes, of: Sequence[int] | None = None) -> "Scorer":
        """The scorer of these articles with the `state` of another one of the same model.

        `of` has for each article of this scorer the number of the same article in that one; None
        means that the articles are the same.
        """
        return self


class Observer(ABC):
    """A pass over a pool, from which a scorer learns.

    Every post is observed once, in any order; after `settle` nothing more is.

    Example:
        >>> from siamese_news import open_model, open_scorer
        >>> observer = open_scorer(open_model(), ["A river floods a town."]).observer()
        >>> observer.observe(["the river is in my cellar", "new phone today"])
        >>> observer.settle().learned
        'scores are smoothed over similar posts'
    """

    @abstractmethod
    def observe(self, posts: Content) -> None:
        """Gather what P posts teach."""

    @abstractmethod
    def settle(self) -> Scorer:
        """End the pass: the scorer of the pool."""

    @abstractmethod
    def state(self) -> bytes:
        """What was observed so far, for `merge`."""

    @abstractmethod
    def merge(self, state: bytes) -> None:
        """Add the `state` of another pass for the same articles, over other posts."""
