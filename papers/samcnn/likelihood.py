"""Query likelihood with Dirichlet smoothing, and RM3 on top of it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Self

import numpy as np
from scipy import sparse

from siamese_news.baselines.bm25 import count_matrix
from siamese_news.errors import InputError


class QueryLikelihood:
    """log p(query | post), Dirichlet-smoothed (Zhai and Lafferty, SIGIR 2001).

    A token that the collection does not contain is left out of the query.
    """

    kind = "query log likelihood"

    def __init__(self, *, mu: float = 2500.0) -> None:
        """Set the Dirichlet mass.

        Raises:
            InputError: for mu <= 0.
        """
        if not mu > 0:
            raise InputError(f"mu={mu}; expected a number above 0")
        self.mu = mu

    def fit(
        self, posts: Sequence[list[str]], background: Iterable[list[str]] | None = None
    ) -> Self:
        """Index posts; the background has the texts of the collection, by default the posts.

        Raises:
            InputError: where the collection has no token.
        """
        collection = Counter(
            t for text in (posts if background is None else background) for t in text
        )
        self._vocabulary = {token: i for i, token in enumerate(collection)}
        self._counts = count_matrix(posts, self._vocabulary, grow=True)
        self._lengths = np.array([len(post) for post in posts], dtype=np.float64)
        frequencies = np.array(
            [collection[t] for t in self._vocabulary], dtype=np.float64
        )
        if not frequencies.sum() > 0:
            raise InputError("the collection has no token; expected at least one")
        self._background = frequencies / frequencies.sum()
        return self

    def scores(
        self, articles: Sequence[list[str]], start: int, stop: int
    ) -> np.ndarray:
        """Scores of the posts [start, stop) for A queries: (A, stop - start) float32."""
        queries = count_matrix(articles, self._vocabulary)
        return self._weighted(queries, np.arange(start, stop)).astype(np.float32)

    def _weighted(self, queries: sparse.csr_matrix, columns: np.ndarray) -> np.ndarray:
        """Sum of q(w) log p(w | post) over (A, V) query weights: (A, n) float64."""
        # log((c + mu p) / (l + mu)) = log(1 + c / (mu p)) + log(mu p) - log(l + mu)
        mass = self.mu * self._background
        known = mass > 0
        inverse = np.divide(1.0, mass, out=np.zeros_like(mass), where=known)
        gains = self._counts[columns] @ sparse.diags(inverse)
        gains.data = np.log1p(gains.data)
        floor = np.log(mass, out=np.zeros_like(mass), where=known)
        totals = np.asarray(queries @ known.astype(np.float64)).ravel()
        base = np.asarray(queries @ floor).ravel()
        lengths = np.log(self._lengths[columns] + self.mu)
        return (queries @ gains.T).toarray() + base[:, None] - totals[:, None] * lengths


class RM3(QueryLikelihood):
    """Relevance model 3: the query mixed with the words of its best posts.

    RM1 of Lavrenko and Croft (SIGIR 2001), cut to `fb_terms` and interpolated with the query
    (Abdul-Jaleel et al., TREC 2004). Feedback posts are the best by query likelihood, or by it
    among the candidates in `rerank`.
    """

    kind = "RM3 log likelihood"

    def __init__(
        self,
        *,
        mu: float = 2500.0,
        fb_docs: int = 50,
        fb_terms: int = 20,
        original_weight: float = 0.5,
    ) -> None:
        """Set the options.

        Raises:
            InputError: for an option out of range.
        """
        super().__init__(mu=mu)
        if fb_docs < 1 or fb_terms < 1 or not 0 <= original_weight <= 1:
            raise InputError(
                f"fb_docs={fb_docs}, fb_terms={fb_terms}, original_weight={original_weight}; "
                "expected at least 1, at least 1, and within [0, 1]"
            )
        self.fb_docs, self.fb_terms = fb_docs, fb_terms
        self.original_weight = original_weight

    def scores(
        self, articles: Sequence[list[str]], start: int, stop: int
    ) -> np.ndarray:
        """Scores of the posts [start, stop) for A queries: (A, stop - start) float32."""
        everything = np.arange(len(self._lengths))
        columns = np.arange(start, stop)
        rows = [
            self._weighted(self._expand(a, everything), columns)[0] for a in articles
        ]
        return np.array(rows, dtype=np.float32).reshape(len(articles), stop - start)

    def rerank(
        self, query: list[str], columns: Sequence[int] | np.ndarray
    ) -> np.ndarray:
        """Scores of the posts in `columns` for one query, feedback from these: (n,) float32."""
        chosen = np.asarray(columns, dtype=np.int64)
        return self._weighted(self._expand(query, chosen), chosen)[0].astype(np.float32)

    def _expand(self, query: list[str], pool: np.ndarray) -> sparse.csr_matrix:
        original = count_matrix([query], self._vocabulary)
        if not original.sum() or not len(pool):
            return original
        likelihood = self._weighted(original, pool)[0]
        best = np.argsort(-likelihood, kind="stable")[: self.fb_docs]
        weights = np.exp(likelihood[best] - likelihood[best].max())
        weights /= weights.sum() * np.maximum(self._lengths[pool[best]], 1.0)
        model = np.asarray(self._counts[pool[best]].T @ weights).ravel()
        terms = np.argsort(-model, kind="stable")[: self.fb_terms]
        cut = np.zeros_like(model)
        cut[terms] = model[terms]
        total = cut.sum()
        if not total:
            return original
        mixed = self.original_weight * original / original.sum()
        return sparse.csr_matrix(
            mixed + (1 - self.original_weight) * sparse.csr_matrix(cut / total)
        )
