"""Cosine similarities."""

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from siamese_news.model.loading import AnyModel
from siamese_news.model.text_model import TextModel
from siamese_news.scoring.scorer import Content, ScoreParts, Scorer
from siamese_news.text.token_ids import TokenIds
from siamese_news.text.tokens import check_texts


class CosineScorer(Scorer):
    """Cosine similarities of a dense model with `articles`, unit vectors (A, D)."""

    kind = "cosine"

    def __init__(self, model: AnyModel, articles: np.ndarray) -> None:
        self._model = model
        # In double precision a cosine does not depend on which posts are asked for with it.
        self.articles = articles.astype(np.float64)

    @override
    def scales(self) -> NDArray[np.float32]:
        return np.ones(len(self.articles), np.float32)

    @override
    def scores(self, posts: Content) -> np.ndarray:
        if isinstance(posts, TokenIds):
            assert isinstance(self._model, TextModel)
            vectors = self._model.encode_ids(posts, "post", 4096)
        else:
            check_texts(posts, "posts")  # the model would take one text for a list
            vectors = self._model.encode_posts(posts)
        return (self.articles @ vectors.T.astype(np.float64)).astype(np.float32)

    def parts_of(self, post: str, article: int) -> ScoreParts:
        """The whole score is the product of two vectors."""
        return ScoreParts(article_vector=self._model.encode_posts([post])[0])
