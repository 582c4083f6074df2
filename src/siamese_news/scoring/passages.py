"""Passages: the bonus of a post that is closer to one passage of an article than other posts are.

A long article, such as a fact check or a background story, is about more than any one post. Here it
is cut into passages that overlap by half. A post's closeness is its highest cosine with one of them
over n-grams of characters and whole words, weighted by the pool's IDF (`SurfaceScores`). What
exceeds the article's twentieth best closeness is squared: a post that quotes the article rises, and
where thousands of posts are relevant nothing changes. Only an article's best posts by words and
vectors are looked at, each different text once.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from siamese_news.lexical_head.options import Passages
from siamese_news.lexical_head.term_ids import distinct, unit_rows
from siamese_news.scoring.candidates import Candidates, TextTable
from siamese_news.scoring.post_features import Posts
from siamese_news.scoring.surface import SurfaceScores, by_id, compact
from siamese_news.text.token_ids import TokenIds

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]

# A whole word counts this many times its IDF; an n-gram counts once.
_WORD = 2.0


@dataclass(frozen=True, slots=True)
class Words:
    """The words of some posts and articles, and their features."""

    ids: Ids  # (W,) sorted
    present: sparse.csr_matrix  # (W, F) of ones: n-grams, and each word itself
    weights: Floats  # (F,) of the features
    features: sparse.csr_matrix  # (W, F) weighted
    of_post: sparse.csr_matrix  # (P, W) of ones, the different words of the posts


class PassageScores:
    """What the passages of A articles, by word ids, add to the scores of their best posts.

    It needs their surface over the pool (`SurfaceScores.over`).
    """

    def __init__(
        self,
        surface: SurfaceScores,
        articles: TokenIds,
        candidates: Candidates,
        options: Passages,
    ) -> None:
        self._surface = surface
        self._articles = articles
        self._options = options
        keys = [np.zeros(0, np.uint64)] * len(articles)
        values = [np.zeros(0, np.float32)] * len(articles)
        for members, union, lists in candidates.together(
            range(len(articles)), options.posts
        ):
            texts = [candidates.text(key) for key in union.tolist()]
            words = self._words(TokenIds.of(texts, candidates.unknown), members)
            squares = _sums(words.features.multiply(words.features), axis=1)
            # A post's squared length is the sum of those of its different words.
            lengths = np.sqrt(words.of_post @ squares)
            lengths[lengths == 0] = 1.0
            turned = sparse.csr_matrix(words.features.T)
            for article, article_posts in zip(members, lists, strict=True):
                passages, _ = self._passages(words, article)
                by_word = (passages @ turned).toarray().T  # (W, Q)
                rows_in_union = np.searchsorted(union, article_posts)
                cosines = (words.of_post[rows_in_union] @ by_word) / lengths[
                    rows_in_union, None
                ]
                excess = _excess(cosines.max(axis=1), options.rank)
                bonus = surface.scales[article] * options.weight * excess**2
                keys[article] = article_posts
                values[article] = bonus.astype(np.float32)
        self._table = TextTable(keys, values)

    def add(self, scores: NDArray[np.float32], posts: Posts) -> None:
        """Add what passages give to the scores (A, P) of P posts."""
        articles, posts_in_table, best_passages = self._table.find(
            posts.ids, posts.whole_text_vectors
        )
        scores[articles, posts_in_table] += best_passages

    def parts(
        self, posts: Posts, article: int
    ) -> tuple[dict[int, float], dict[int, float]]:
        """The additions of each word of one post to its score, and of each word of the article.

        Both are by word id and have the same sum.
        """
        articles, _, added = self._table.find(posts.ids, posts.whole_text_vectors)
        bonuses = added[articles == article]
        if not len(bonuses) or not bonuses[0]:
            return {}, {}
        words = self._words(posts.ids, [article])
        passages, counts = self._passages(words, article)
        in_post = sparse.diags_array(_row(words.of_post, 0))  # (W, W)
        features = in_post @ words.features
        best = int(_sums(features @ passages.T, axis=0).argmax())
        weighted = features @ sparse.diags_array(_row(passages, best))
        by_post = _sums(weighted, axis=1)
        # The addition of a feature is shared by the words of the passage that have it.
        shares = sparse.diags_array(_row(counts, best)) @ words.present
        times = np.maximum(_sums(shares, axis=0), 1.0)
        by_article = shares @ (_sums(weighted, axis=0) / times)
        scale = float(bonuses[0]) / by_post.sum()
        return by_id(words.ids, by_post * scale), by_id(words.ids, by_article * scale)

    def _words(self, posts: TokenIds, articles: Sequence[int]) -> Words:
        """The words of posts and of some articles."""
        article_texts = [self._articles[article] for article in articles]
        ids = np.unique(np.concatenate([posts.flat, *article_texts]))
        grams = self._surface.rows(ids, {**self._articles.unknown, **posts.unknown})
        by_word = _WORD * self._surface.word_weights(ids, grams)
        columns, grams = compact(grams)
        ones = sparse.identity(len(ids), format="csr")
        present = sparse.csr_matrix(sparse.hstack([grams, ones], format="csr"))
        weights = np.concatenate([self._surface.pool[columns], by_word])
        features = present.copy()
        features.data = weights[features.indices]
        rows, post_ids, count = distinct(posts)
        columns_of_posts = np.searchsorted(ids, post_ids)
        entries = (np.ones(len(columns_of_posts)), (rows, columns_of_posts))
        of_post = sparse.csr_matrix(entries, shape=(count, len(ids)))
        return Words(ids, present, weights, features, of_post)

    def _passages(
        self, words: Words, article: int
    ) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
        """An article's Q passages: unit vectors (Q, F), and how often each word is there (Q, W)."""
        ids = self._articles[article]
        size = self._options.words
        step = max(size // 2, 1)
        beyond_first = max(len(ids) - size, 0)
        starts = range(0, beyond_first + step, step)
        parts = TokenIds.of([ids[start : start + size] for start in starts])
        columns = np.searchsorted(words.ids, parts.flat)
        entries = (np.ones(len(columns)), (parts.rows, columns))
        counts = sparse.csr_matrix(entries, shape=(len(parts), len(words.ids)))
        passages = sparse.csr_matrix(counts @ words.present)
        passages.data = (1 + np.log(passages.data)) * words.weights[passages.indices]
        return unit_rows(passages), counts


def _excess(closeness: Floats, rank: int) -> Floats:
    """(P,) how much closer each post is than the one at this rank, or than 0 in a shorter list."""
    is_full = len(closeness) >= rank
    floor = np.partition(closeness, -rank)[-rank] if is_full else 0.0
    return np.maximum(closeness - floor, 0.0)


def _row(matrix: sparse.csr_matrix, row: int) -> Floats:
    return matrix[[row]].toarray()[0]


def _sums(matrix: sparse.csr_matrix, axis: int) -> Floats:
    return np.asarray(matrix.sum(axis=axis)).ravel()
