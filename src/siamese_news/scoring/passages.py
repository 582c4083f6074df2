"""Passages: the bonus of a post that is closer to one passage of an article than other posts are.

A long article, such as a fact check or a background story, is about more than any one post. Here it
is cut into passages that overlap by half. A post's closeness is its highest cosine with one of them
over n-grams of characters and whole words, weighted by the pool's IDF (`SurfaceScores`). What
exceeds the article's twentieth best closeness is squared: a post that quotes the article rises, and
where thousands of posts are relevant nothing changes. Only an article's best posts by words and
vectors are looked at, each different text once.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from siamese_news.lexical_head import Passages, distinct, unit_rows
from siamese_news.scoring.candidates import Candidates, TextTable
from siamese_news.scoring.features import Posts
from siamese_news.scoring.surface import SurfaceScores, by_id
from siamese_news.text.token_ids import TokenIds

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]

# A whole word counts this many times its IDF; an n-gram counts once.
_WORD = 2.0


class PassageScores:
    """What the passages of A articles add to the scores of their best posts.

    Args:
        surface: of the same articles, after `SurfaceScores.use`.
        articles: their word ids, with their unknown words.
        candidates: their best posts.
        options: the numbers.
    """

    def __init__(
        self, surface: SurfaceScores, articles: TokenIds, candidates: Candidates, options: Passages
    ) -> None:
        self._surface, self._articles, self._options = surface, articles, options
        keys, values = [], []
        for article in range(len(articles)):
            own = candidates.best(article)[0][: options.posts]
            texts = [candidates.text(key) for key in own.tolist()]
            close = self._closeness(TokenIds.of(texts, candidates.unknown), article).max(axis=1)
            floor = 0.0
            if len(close) >= options.rank:
                floor = np.partition(close, -options.rank)[-options.rank]
            keys.append(own)
            over = np.maximum(close - floor, 0.0)
            values.append((options.weight * over**2).astype(np.float32))
        self._table = TextTable(keys, values)

    def add(self, scores: NDArray[np.float32], posts: Posts) -> None:
        """Add what passages give to the scores (A, P) of P posts."""
        articles, places, found = self._table.find(posts.ids, posts.said)
        scores[articles, places] += found

    def parts(self, posts: Posts, article: int) -> tuple[dict[int, float], dict[int, float]]:
        """The additions of each word of a post to its score, and of each word of the article.

        Args:
            posts: it alone.
            article: the article's number.

        Returns:
            Twice by word id; both have the same sum.
        """
        articles, _, added = self._table.find(posts.ids, posts.said)
        mine = added[articles == article]
        if not len(mine) or not mine[0]:
            return {}, {}
        words, of_post, of_article, _ = self._features(posts.ids, article)
        inside = np.isin(words, posts.ids.flat)
        best = int(np.asarray((inside @ of_post) @ of_article.T).argmax())
        passage = of_article[[best]]
        by_post = inside * np.asarray((of_post @ passage.T).todense()).ravel()
        # The addition of a feature is shared by the words of the passage that have it.
        counts = self._passages(words, article)[[best]].toarray()[0]
        shares = sparse.diags_array(counts) @ (of_post > 0)
        times = np.maximum(np.asarray(shares.sum(axis=0)).ravel(), 1.0)
        given = (inside @ of_post) * passage.toarray()[0] / times
        by_article = shares @ given
        scale = float(mine[0]) / by_post.sum()
        return by_id(words, by_post * scale), by_id(words, by_article * scale)

    def _closeness(self, posts: TokenIds, article: int) -> Floats:
        """The cosines of P posts with an article's Q passages: (P, Q)."""
        words, of_post, of_article, squares = self._features(posts, article)
        # A post's vector is the sum of those of its different words.
        rows, ids, count = distinct(posts)
        places = (np.ones(len(ids)), (rows, np.searchsorted(words, ids)))
        of_word = sparse.csr_matrix(places, shape=(count, len(words)))
        lengths = np.sqrt(of_word @ squares)
        lengths[lengths == 0] = 1.0
        products = of_word @ (of_post @ of_article.T)
        found: Floats = np.asarray(products.todense()) / lengths[:, None]
        return found

    def _features(
        self, posts: TokenIds, article: int
    ) -> tuple[Ids, sparse.csr_matrix, sparse.csr_matrix, Floats]:
        """W words of posts and article, (W, F) their features, (Q, F) passages, (W,) squares."""
        own = self._articles[article : article + 1]
        words = np.unique(np.concatenate([posts.flat, own.flat]))
        unknown = {**self._articles.unknown, **posts.unknown}
        grams = self._surface.rows(words, unknown)
        ones = sparse.identity(len(words), format="csr")
        present = sparse.csr_matrix(sparse.hstack([grams, ones], format="csr"))
        by_word = _WORD * self._surface.word_weights(words, grams)
        weights = np.concatenate([self._surface.pool, by_word])
        features = present.copy()
        features.data = weights[features.indices]
        squares = np.asarray(features.multiply(features).sum(axis=1)).ravel()
        passages = sparse.csr_matrix(self._passages(words, article) @ present)
        passages.data = (1 + np.log(passages.data)) * weights[passages.indices]
        passages = unit_rows(passages)
        # Few features of the posts are in the article.
        some = np.unique(passages.indices)
        return words, sparse.csr_matrix(features[:, some]), passages[:, some], squares

    def _passages(self, words: Ids, article: int) -> sparse.csr_matrix:
        """How often each word is in each of an article's Q passages: (Q, W)."""
        ids, size = self._articles[article], self._options.words
        step = max(size // 2, 1)
        starts = range(0, max(len(ids) - size, 0) + step, step)
        parts = TokenIds.of([ids[start : start + size] for start in starts])
        places = (np.ones(len(parts.flat)), (parts.rows, np.searchsorted(words, parts.flat)))
        return sparse.csr_matrix(places, shape=(len(parts), len(words)))
