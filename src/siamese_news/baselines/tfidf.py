"""TF-IDF cosine, with the IDF of the pool or of background text."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, TfidfVectorizer

from siamese_news.errors import InputError

LEAD = 100
"""The number of tokens in the lead of an article."""


class TfIdf:
    """Cosine of TF-IDF vectors (scikit-learn's smoothed IDF, sublinear tf, no stop words)."""

    kind = "cosine"

    def __init__(
        self, *, max_article_tokens: int | None = None, lead: float = 0.0
    ) -> None:
        """Set the most tokens read of an article, and the weight of its lead's score in the sum.

        Raises:
            InputError: an option is out of range.
        """
        if lead < 0 or (max_article_tokens is not None and max_article_tokens < 1):
            raise InputError(
                f"lead={lead}, max_article_tokens={max_article_tokens}; expected lead >= 0 and "
                "max_article_tokens >= 1 or None"
            )
        self.max_article_tokens = max_article_tokens
        self.lead = lead
        if lead:
            self.kind = "cosine + weighted lead cosine"

    def fit(
        self, posts: Sequence[list[str]], background: Iterable[list[str]] | None = None
    ) -> "TfIdf":
        """Index posts; with a background, its document frequencies are taken instead of theirs.

        A word that the background lacks gets the greatest IDF (document frequency 0, smoothed).
        Words that no post has still lengthen an article's vector if the background has them.

        Raises:
            InputError: no text has a word, or there is not one background text.
        """
        background_texts = [] if background is None else list(background)
        if background is not None and not background_texts:
            raise InputError(
                "the background has no text; expected some, or None for the posts"
            )
        for text in (*posts, *background_texts):
            check_tokens(text)
        self._vectorizer: Any = TfidfVectorizer(
            analyzer=_content, sublinear_tf=True, dtype=np.float32
        )
        try:
            self._vectorizer.fit([*posts, *background_texts])
        except ValueError as error:
            raise InputError(
                f"no post has a word that is not a stop word ({error})"
            ) from None
        if background_texts:
            reference = TfidfVectorizer(
                analyzer=_content,
                dtype=np.float32,
                vocabulary=self._vectorizer.vocabulary_,
            )
            self._vectorizer.idf_ = reference.fit(background_texts).idf_
        self._posts = self._vectorizer.transform(posts).tocsr()
        return self

    def scores(
        self, articles: Sequence[list[str]], start: int, stop: int
    ) -> np.ndarray:
        """Scores of the posts [start, stop) for A articles: (A, stop - start) float32."""
        posts = self._posts[start:stop].T
        vectors = self._vectorizer.transform(
            [a[: self.max_article_tokens] for a in articles]
        )
        if self.lead:
            vectors = vectors + self.lead * self._vectorizer.transform(
                [a[:LEAD] for a in articles]
            )
        return np.asarray((vectors @ posts).toarray(), dtype=np.float32)


def check_tokens(tokens: Sequence[str]) -> None:
    """Refuse a string in place of a list of tokens: its characters would be the tokens."""
    if isinstance(tokens, str):
        raise InputError(
            f"a text is the string {tokens[:40]!r}; expected a list of its tokens"
        )


def _content(tokens: Sequence[str]) -> list[str]:
    return [token for token in tokens if token not in ENGLISH_STOP_WORDS]
