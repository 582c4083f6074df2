"""Posts as both heads read them, and encoders of other libraries, which read each text once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from siamese_news.lexical_head.term_ids import FIRST_BIGRAM, bigram_ids, mean_factors
from siamese_news.lexical_head.weights import TermWeights
from siamese_news.model.loading import ExternalModel
from siamese_news.model.text_model import TextModel
from siamese_news.scoring.candidates import Candidates, content_keys
from siamese_news.scoring.vector_store import VectorStore
from siamese_news.text.spaceless import phrase
from siamese_news.text.token_ids import TokenIds
from siamese_news.text.tokens import check_texts

Ids = NDArray[np.int64]


class EncodedOnce:
    """A model of another library that reads each text once; vectors of posts are float16."""

    def __init__(self, encoder: ExternalModel) -> None:
        self._encoder = encoder
        self._store = VectorStore(np.float16)
        self._size = 0

    def encode_articles(self, texts: Sequence[str]) -> np.ndarray:
        """Unit vectors (A, D) float32."""
        vectors = self._encoder.encode_articles(texts)
        self._size = vectors.shape[1]
        return vectors

    def encode_posts(self, texts: Sequence[str]) -> NDArray[np.float16]:
        """Unit vectors (P, D) to three digits."""
        if not texts:
            return np.zeros((0, self._size), np.float16)
        keys = list(map(_text_key, texts))
        return self._store.of(
            keys, lambda rows: self._encoder.encode_posts([texts[row] for row in rows])
        )


def _text_key(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class Posts:
    """P posts ready to be scored.

    Attributes:
        ids: their word ids.
        vectors: (P, D) unit vectors; None where the dense head does not count.
        rows: of the distinct (row, feature) pairs, see `TermHead.distinct`.
        terms: of the same.
        factors: of the same, from the encoder; None is 1 for all.
        whole_text_vectors: (P, D) the vectors as an encoder that reads whole texts gives them; None
            where a vector depends on the word ids alone.
    """

    ids: TokenIds
    vectors: NDArray[np.float32] | None
    rows: Ids
    terms: Ids
    factors: NDArray[Any] | None
    whole_text_vectors: NDArray[np.float16] | None = None

    def weighted(self, weights: TermWeights, columns: Ids) -> sparse.csr_matrix:
        """Their lexical vectors (P, C) over sorted columns."""
        return weights.posts(
            self.rows, self.terms, len(self.ids), columns, self.factors
        )


class PostReader:
    """Texts, or word ids, to `Posts`.

    Args:
        model: a model with a lexical head.
        dense: whether vectors are needed.
        encoder: whose vectors these are, of whole texts; None: the model's own, of word ids.
    """

    def __init__(
        self, model: TextModel, *, dense: bool, encoder: EncodedOnce | None = None
    ) -> None:
        assert model.terms is not None
        self._model = model
        self._terms = model.terms
        self.dense = dense
        self._encoder = encoder if dense else None
        self._heads = model.text_heads()
        self._store = VectorStore(np.float32)

    @property
    def whole_texts(self) -> bool:
        """Whether vectors are of whole texts, and not of word ids."""
        return self._encoder is not None

    def articles(
        self, texts: Sequence[str]
    ) -> tuple[list[Ids], NDArray[np.float32], Any]:
        """Word ids of A articles, their vectors (A, D), and the encoder's factors or None."""
        limit = self._terms.options.article_tokens
        ids = [self._model.ids(text)[:limit] for text in texts]
        vectors, factors = self._heads(ids, "article")
        if self._encoder is not None:
            vectors = self._encoder.encode_articles(texts)
        return ids, vectors, factors

    def __call__(self, posts: Sequence[str] | TokenIds) -> Posts:
        """Read texts, or what `token_ids` made of them."""
        if isinstance(posts, TokenIds):
            return self.of_ids(posts)
        check_texts(posts, "posts")
        ids = self._model.token_ids(posts)
        vectors = None if self._encoder is None else self._encoder.encode_posts(posts)
        return self.of_ids(ids, vectors)

    def token_ids(self, posts: Sequence[str]) -> TokenIds | None:
        """The word ids of texts; None where the vectors are of whole texts."""
        check_texts(posts, "posts")
        return None if self._encoder is not None else self._model.token_ids(posts)

    def of_ids(
        self, texts: Sequence[Ids], cached_vectors: NDArray[np.float16] | None = None
    ) -> Posts:
        """Read the word ids of P posts, with their vectors (P, D) if another encoder gave them."""
        ids = TokenIds.of(texts)
        vectors = None
        factors = None
        means = None
        if (self.dense and cached_vectors is None) or self._model.has_factors:
            vectors, factors = self._post_heads(ids)
        if cached_vectors is not None:
            vectors = cached_vectors.astype(np.float32)
        if factors is not None:
            features = [self._terms.features(text) for text in ids]
            feature_factors = [self._terms.feature_factors(words) for words in factors]
            means = mean_factors(features, feature_factors)
        rows, terms, _ = self._terms.distinct(ids)
        return Posts(
            ids, vectors if self.dense else None, rows, terms, means, cached_vectors
        )

    def of_candidates(self, candidates: Candidates, keys: Sequence[int]) -> Posts:
        """Read some of the best posts of a pool, by their keys."""
        texts = [candidates.text(key) for key in keys]
        ids = TokenIds.of(texts, candidates.unknown)
        return self.of_ids(ids, candidates.vectors(keys))

    def of_best(
        self, ids: Sequence[Ids], cached_vectors: NDArray[np.float16] | None
    ) -> tuple[NDArray[np.float32], Any]:
        """Vectors and factors of feedback posts."""
        vectors, factors = self._post_heads(TokenIds.of(ids))
        if cached_vectors is not None:
            vectors = cached_vectors.astype(np.float32)
        return vectors, factors

    def _post_heads(self, ids: TokenIds) -> tuple[NDArray[np.float32], Any]:
        """Vectors (P, D) of posts, and the encoder's factors or None."""
        if not self._model.is_costly:
            return self._heads(ids, "post")
        keys = content_keys(ids).tolist()
        return self._store.of(
            keys, lambda rows: self._heads(ids.take(np.array(rows, int)), "post")[0]
        ), None

    def names_of(self, texts: TokenIds, rows: Ids, ids: Ids) -> Iterator[str]:
        """The word, or the pair of words, that each of some ids is in the text of its row."""
        vocabulary_words = self._model.vocabulary.words
        flat = texts.flat.tolist()
        pairs = bigram_ids(texts.flat)
        text_of = texts.rows
        within_text = text_of[:-1] == text_of[1:]
        firsts = np.flatnonzero(within_text & np.isin(pairs, ids))
        keys = zip(text_of[firsts].tolist(), pairs[firsts].tolist(), strict=True)
        # The last place of a pair that a text has twice.
        first_of = dict(zip(keys, firsts.tolist(), strict=True))

        def word(id: int) -> str:
            if id < len(vocabulary_words):
                return vocabulary_words[id]
            return texts.unknown[id]

        for row, id in zip(rows.tolist(), ids.tolist(), strict=True):
            if id < FIRST_BIGRAM:
                yield word(id)
            else:
                position = first_of[row, id]
                yield phrase(word(flat[position]), word(flat[position + 1]))


def unit_terms(posts: Posts, weights: TermWeights) -> sparse.csr_matrix:
    """Vectors (P, C) over all features of the posts whose products are lexical similarities.

    A product is half the cosine of the words plus half that of the bigrams; without bigrams it is
    the cosine of the words.
    """
    columns, column_of_term = np.unique(posts.terms, return_inverse=True)
    values = weights.of(posts.terms)
    if posts.factors is not None:
        values = values * posts.factors
    count = len(posts.ids)
    paired = posts.terms >= FIRST_BIGRAM
    groups = [~paired, paired] if paired.any() else [~paired]
    # Each of two vectors has it, so that a group counts 1 / groups in their product.
    factor = np.sqrt(1 / len(groups))
    for group in groups:
        rows = posts.rows[group]
        squares = np.bincount(rows, weights=values[group] ** 2, minlength=count)
        lengths = np.sqrt(squares)
        lengths[lengths == 0] = 1.0
        values[group] *= factor / lengths[rows]
    entries = (values.astype(np.float32), (posts.rows, column_of_term))
    return sparse.csr_matrix(entries, shape=(count, len(columns)))
