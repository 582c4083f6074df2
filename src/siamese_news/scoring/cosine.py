"""Cosine similarities."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from siamese_news.model.base import TextModel
from siamese_news.scoring.encoder import Encodes
from siamese_news.scoring.form import ScoreForm
from siamese_news.scoring.parts import ScoreParts
from siamese_news.scoring.protocol import Content
from siamese_news.text.token_ids import TokenIds
from siamese_news.text.tokens import check_texts
from siamese_news.utils.stopwatch import timed


class CosineScorer:
    """Cosine similarities of a dense model.

    Args:
        model: the model.
        articles: unit vectors (A, D) float32.
    """

    kind = "cosine"
    known_texts = 0

    def __init__(self, model: Encodes, articles: np.ndarray) -> None:
        self._model = model
        # In double precision a cosine does not depend on which posts are asked for with it.
        self._articles = articles.astype(np.float64)

    def token_ids(self, posts: Sequence[str]) -> None:
        """See `Scorer`: there is one pass, so nothing is to be kept."""

    @timed("scoring")
    def scores(self, posts: Content) -> np.ndarray:
        """See `Scorer`."""
        if isinstance(posts, TokenIds):
            assert isinstance(self._model, TextModel)
            vectors = self._model.encode_ids(posts, "post", 4096)
        else:
            check_texts(posts, "scores: posts")
            vectors = self._model.encode_posts(posts)
        return (self._articles @ vectors.T.astype(np.float64)).astype(np.float32)

    def form(self) -> ScoreForm:
        """A cosine and nothing else."""
        count = len(self._articles)
        nothing = np.zeros(count)
        return ScoreForm(
            columns=np.zeros(0, np.int64),
            terms=sparse.csr_matrix((count, 0)),
            pairs=np.zeros((3, 0), np.int64),
            vectors=self._articles,
            lexical=nothing,
            cosine=np.ones(count),
            excess=nothing,
            quantiles=nothing,
            about=1.0,
            quantile=None,
            exact=True,
        )

    def surface(self, posts: TokenIds) -> tuple[float, NDArray[np.float32]]:
        """See `Scorer`: a cosine has no n-grams."""
        return 1.0, np.zeros((1, 1), np.float32)

    def surface_squares(self, words: sparse.csr_matrix) -> None:
        """None: see `surface`."""
        return None

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

    def choices(self, least: float) -> dict[str, list[set[int]]]:
        """None: a cosine asks for one thing."""
        return {}

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
