"""Passages: the bonus of a post that is closer to one passage of an article than other posts are.

A long article, such as a fact check or a background story, is about more than any one post. Here it
is cut into passages that overlap by half. A post's closeness is its highest cosine with one of them
over n-grams of characters and whole words, weighted by the pool's IDF (`SurfaceScores`). What
exceeds the article's twentieth best closeness is squared: a post that quotes the article rises, and
where thousands of posts are relevant nothing changes. Only an article's best posts by words and
vectors are looked at, each different text once.

Where the best posts do not resemble each other, one or a few posts answer an article, and many of
its words count together: there the cosine of a post's words with those of the whole article, under
the pool's IDF, is added.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from siamese_news.lexical_head.features import distinct, unit_rows
from siamese_news.lexical_head.options import Passages
from siamese_news.scoring.candidates import Candidates, TextTable
from siamese_news.scoring.features import Posts
from siamese_news.scoring.surface import BUCKETS, SurfaceScores, by_id, total
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

    It needs their surface after `SurfaceScores.use`. `few` (A,) tells how far few posts answer
    each article, from 0 to 1.
    """

    def __init__(
        self,
        surface: SurfaceScores,
        articles: TokenIds,
        candidates: Candidates,
        options: Passages,
        few: Floats,
    ) -> None:
        self._surface, self._articles, self._options = surface, articles, options
        self._whole: Floats = options.whole * few * (1 - surface.foreign)
        keys = [np.zeros(0, np.uint64)] * len(articles)
        close, whole = ([np.zeros(0, np.float32)] * len(articles) for _ in range(2))
        for some, union, lists in candidates.together(range(len(articles)), options.posts):
            texts = [candidates.text(key) for key in union.tolist()]
            words = self._words(TokenIds.of(texts, candidates.unknown), some)
            squares = np.asarray(words.features.multiply(words.features).sum(axis=1)).ravel()
            # A post's vector is the sum of those of its different words.
            lengths = np.sqrt(words.of_post @ squares)
            lengths[lengths == 0] = 1.0
            whole_lengths = np.sqrt(words.of_post @ self._idf(words) ** 2)
            whole_lengths[whole_lengths == 0] = 1.0
            turned = sparse.csr_matrix(words.features.T)
            for article, own in zip(some, lists, strict=True):
                places = np.searchsorted(union, own)
                products = (self._passages(words, article)[0] @ turned).toarray().T
                cosines = (words.of_post[places] @ products).max(axis=1) / lengths[places]
                bonus = surface.scales[article] * options.weight * self._over(cosines) ** 2
                keys[article], close[article] = own, bonus.astype(np.float32)
                whole[article] = np.zeros(len(own), np.float32)
                if self._whole[article]:
                    by_words = words.of_post[places] @ self._by_whole(words, article)
                    bonus = self._over(by_words / whole_lengths[places])
                    whole[article] = bonus.astype(np.float32)
        self._close, self._by_words = TextTable(keys, close), TextTable(keys, whole)

    def add(self, scores: NDArray[np.float32], posts: Posts) -> None:
        """Add what passages and the whole article give to the scores (A, P) of P posts."""
        for table in (self._close, self._by_words):
            articles, places, found = table.find(posts.ids, posts.said)
            scores[articles, places] += found

    def _over(self, values: Floats) -> Floats:
        """What exceeds the value of the post of a rank; everything where there are fewer."""
        rank = self._options.rank
        floor = np.partition(values, -rank)[-rank] if len(values) >= rank else 0.0
        return np.maximum(values - floor, 0.0)

    def parts(self, posts: Posts, article: int) -> tuple[dict[int, float], dict[int, float]]:
        """The additions of each word of one post to its score, and of each word of the article.

        Both are by word id and have the same sum.
        """
        gained = []
        for table in (self._close, self._by_words):
            articles, _, added = table.find(posts.ids, posts.said)
            gained.append(float(added[articles == article].sum()))
        words = self._words(posts.ids, [article])
        of_post = words.of_post.toarray()[0]
        by_words = by_id(words.ids, _scaled(of_post * self._by_whole(words, article), gained[1]))
        if not gained[0]:
            return by_words, by_words
        passages, counts = self._passages(words, article)
        features = sparse.diags_array(of_post) @ words.features
        best = int(np.asarray((features @ passages.T).sum(axis=0)).argmax())
        given = features @ sparse.diags_array(passages[[best]].toarray()[0])
        by_post = np.asarray(given.sum(axis=1)).ravel()
        # The addition of a feature is shared by the words of the passage that have it.
        shares = sparse.diags_array(counts[[best]].toarray()[0]) @ words.present
        times = np.maximum(np.asarray(shares.sum(axis=0)).ravel(), 1.0)
        by_article = shares @ (np.asarray(given.sum(axis=0)).ravel() / times)
        of_words = by_id(words.ids, _scaled(by_post, gained[0]))
        of_article = by_id(words.ids, _scaled(by_article, gained[0]))
        return total([of_words, by_words]), total([of_article, by_words])

    def _idf(self, words: Words) -> Floats:
        """(W,) the weights of words where the whole article is compared."""
        power = self._options.whole_power / self._surface.power
        found: Floats = (words.weights[BUCKETS:] / _WORD) ** power
        return found

    def _by_whole(self, words: Words, article: int) -> Floats:
        """(W,) what words add, times the length of the post that has them, by the whole article."""
        idf, vector = self._idf(words), np.zeros(len(words.ids))
        ids, counts = np.unique(self._articles[article], return_counts=True)
        places = np.searchsorted(words.ids, ids)
        vector[places] = (1 + np.log(counts)) * idf[places]
        share = self._surface.scales[article] * self._whole[article]
        found: Floats = share * idf * vector / (np.linalg.norm(vector) or 1.0)
        return found

    def _words(self, posts: TokenIds, articles: Sequence[int]) -> Words:
        """The words of posts and of some articles."""
        own = [self._articles[article] for article in articles]
        ids = np.unique(np.concatenate([posts.flat, *own]))
        grams = self._surface.rows(ids, {**self._articles.unknown, **posts.unknown})
        ones = sparse.identity(len(ids), format="csr")
        present = sparse.csr_matrix(sparse.hstack([grams, ones], format="csr"))
        by_word = _WORD * self._surface.word_weights(ids, grams)
        weights = np.concatenate([self._surface.pool, by_word])
        features = present.copy()
        features.data = weights[features.indices]
        rows, found, count = distinct(posts)
        places = (np.ones(len(found)), (rows, np.searchsorted(ids, found)))
        of_post = sparse.csr_matrix(places, shape=(count, len(ids)))
        return Words(ids, present, weights, features, of_post)

    def _passages(self, words: Words, article: int) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
        """An article's Q passages: unit vectors (Q, F), and how often each word is there (Q, W)."""
        ids, size = self._articles[article], self._options.words
        step = max(size // 2, 1)
        starts = range(0, max(len(ids) - size, 0) + step, step)
        parts = TokenIds.of([ids[start : start + size] for start in starts])
        places = (np.ones(len(parts.flat)), (parts.rows, np.searchsorted(words.ids, parts.flat)))
        counts = sparse.csr_matrix(places, shape=(len(parts), len(words.ids)))
        passages = sparse.csr_matrix(counts @ words.present)
        passages.data = (1 + np.log(passages.data)) * words.weights[passages.indices]
        return unit_rows(passages), counts


def _scaled(values: Floats, wanted: float) -> Floats:
    """The values times the number that gives them this sum; zeros stay zeros."""
    return values * (wanted / (float(values.sum()) or 1.0))
