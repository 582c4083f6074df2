"""Cosine similarities."""

from collections.abc import Sequence

import numpy as np

from siamese_news.scoring.encoder import Encodes
from siamese_news.scoring.parts import ScoreParts
from siamese_news.scoring.protocol import Content
from siamese_news.text.checks import check_texts
from siamese_news.text.token_ids import TokenIds
from siamese_news.utils.stopwatch import timed


class CosineScorer:
    """Cosine similarities of a dense model.

    Args:
        model: the model.
        articles: unit vectors (A, D) float32.
    """

    kind = "cosine"

    def __init__(self, model: Encodes, articles: np.ndarray) -> None:
        self._model, self._articles = model, articles

    def token_ids(self, posts: Sequence[str]) -> None:
        """See `Scorer`: there is one pass, so nothing is to be kept."""

    @timed("scoring")
    def scores(self, posts: Content) -> np.ndarray:
        """See `Scorer`."""
        assert not isinstance(posts, TokenIds)
        vectors = self._model.encode_posts(posts).astype(np.float64)
        # In double precision a cosine does not depend on which posts are scored with it.
        return (self._articles.astype(np.float64) @ vectors.T).astype(np.float32)

    @property
    def observing(self) -> bool:
        """Never: a cosine does not depend on a pool."""
        return False

    def observe(self, posts: Content) -> None:
        """Nothing to learn."""

    def settle(self) -> str:
        """Nothing was learned."""
        return ""

    def decisions(self) -> list[str]:
        """None: a cosine asks for one thing."""
        return []

    def matched_terms(self, posts: Sequence[str], limit: int = 8) -> list[list[str]]:
        """None: a vector has no words."""
        check_texts(posts, "matched_terms: posts")
        return [[] for _ in posts]

    def parts_of(self, post: str, article: int) -> ScoreParts:
        """The whole score is the product of two vectors."""
        return ScoreParts(article_vector=self._model.encode_posts([post])[0])

    def article_term_shares(self, article: int) -> dict[int, float]:
        """None: a vector has no words."""
        return {}

    def article_weight(self, article: int) -> float:
        """All of it."""
        return 1.0

    def state(self) -> bytes:
        """Nothing."""
        return b""

    def restore(self, state: bytes, of: Sequence[int] | None = None) -> None:
        """Nothing to go on from."""

    def merge(self, state: bytes) -> None:
        """Nothing to add."""
