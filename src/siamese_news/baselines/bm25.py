"""BM25 over our own tokens, computed by bm25s, and the tables of counts under it."""

from collections.abc import Iterable, Sequence

import bm25s
import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from siamese_news.baselines.tfidf import check_tokens
from siamese_news.errors import InputError


class BM25:
    """BM25 in Lucene's form (Robertson et al. 1994; Kamphuis et al., ECIR 2020).

    With `repeats` a query token counts as often as the query has it (better MAP for whole
    articles in our trials); without, once (better micro AP).
    """

    kind = "BM25"

    def __init__(
        self,
        *,
        k1: float = 0.9,
        b: float = 0.4,
        repeats: bool = True,
        stop_words: bool = False,
    ) -> None:
        """Set the parameters; `stop_words` keeps the English stop words of a query.

        Raises:
            InputError: for k1 below 0 or b outside [0, 1].
        """
        if k1 < 0 or not 0 <= b <= 1:
            raise InputError(f"k1={k1}, b={b}; expected k1 >= 0 and 0 <= b <= 1")
        self.k1 = k1
        self.b = b
        self.repeats = repeats
        self.stop_words = stop_words

    def fit(
        self, posts: Sequence[list[str]], background: Iterable[list[str]] | None = None
    ) -> "BM25":
        """Index posts; with a background, its document frequencies give the IDF.

        A token that it lacks has document frequency 0.

        Raises:
            InputError: where no post has a token.
        """
        self._vocabulary: dict[str, int] = {}
        counts = count_matrix(posts, self._vocabulary, grow=True)
        if not self._vocabulary:
            raise InputError(
                f"none of {len(posts)} posts has a token; expected at least one"
            )
        index = bm25s.BM25(k1=self.k1, b=self.b, method="lucene")
        rows = [[self._vocabulary[token] for token in tokens] for tokens in posts]
        parts = index.build_index_from_ids(
            unique_token_ids=list(range(len(self._vocabulary))),
            corpus_token_ids=rows,
            show_progress=False,
        )
        shape = (len(posts), len(self._vocabulary))
        matrix = sparse.csc_matrix(
            (parts["data"], parts["indices"], parts["indptr"]), shape=shape
        )
        if background is not None:
            pool = _idf(np.asarray((counts > 0).sum(axis=0)).ravel(), len(posts))
            background_counts = count_matrix(background, self._vocabulary)
            idf = _idf(
                np.asarray((background_counts > 0).sum(axis=0)).ravel(),
                background_counts.shape[0],
            )
            matrix = matrix @ sparse.diags(idf / pool)
        self._matrix = matrix.tocsr().astype(np.float32)
        return self

    def scores(
        self, articles: Sequence[list[str]], start: int, stop: int
    ) -> np.ndarray:
        """Scores of the posts [start, stop) for A articles: (A, stop - start) float32."""
        if not self.stop_words:
            articles = [[t for t in a if t not in ENGLISH_STOP_WORDS] for a in articles]
        queries = count_matrix(articles, self._vocabulary).astype(np.float32)
        if not self.repeats:
            queries.data[:] = 1.0
        return np.asarray(
            (queries @ self._matrix[start:stop].T).toarray(), dtype=np.float32
        )


def _idf(frequencies: np.ndarray, texts: int) -> np.ndarray:
    return np.log1p((texts - frequencies + 0.5) / (frequencies + 0.5))


def count_matrix(
    texts: Iterable[Sequence[str]], vocabulary: dict[str, int], *, grow: bool = False
) -> sparse.csr_matrix:
    """Count tokens: (B, V) CSR float64. New tokens are left out, or added to the vocabulary.

    Raises:
        InputError: a text is a string, whose characters would be counted.
    """
    columns: list[int] = []
    ends = [0]
    for tokens in texts:
        check_tokens(tokens)
        if grow:
            columns.extend(
                vocabulary.setdefault(token, len(vocabulary)) for token in tokens
            )
        else:
            columns.extend(vocabulary[token] for token in tokens if token in vocabulary)
        ends.append(len(columns))
    matrix = sparse.csr_matrix(
        (np.ones(len(columns)), np.array(columns, dtype=np.int64), np.array(ends)),
        shape=(len(ends) - 1, len(vocabulary)),
    )
    matrix.sum_duplicates()
    return matrix
