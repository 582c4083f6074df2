"""The surface: n-grams of characters inside words, which inflected, joined and foreign words share.

Words are compared by the n-grams inside them, their two ends marked. An article is a vector over
these, ``(1 + log tf) * idf ** power``, of length 1. A post is the sum of the vectors of its
different words, ``idf ** power`` each, divided by the root of the sum of their squared lengths. So
a post's product with an article is a sum over its words, and n-grams are only made of each
different word of a block, not of each post. For an article of which the vocabulary lacks
many words, and whose score is mainly this one, a post is a vector as an article is: its n-grams are
counted, too, which takes longer.

Each article has its own mixture of two IDFs. Where few posts are near (as for one claim among
thousands), or these do not resemble each other, it is the pool's, which knows what is common there.
Where many are near, the pool's IDF would take the event's own words for common; the background's
takes its place with a lower weight, for it costs long articles in large pools. In a language that
the background does not know, and where the question is the article itself, it is the pool's.
"""

import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from siamese_news.lexical_head.head import TermHead
from siamese_news.lexical_head.options import Surface
from siamese_news.lexical_head.term_ids import counted, distinct, unit_rows
from siamese_news.scoring.candidates import mix
from siamese_news.text.content_words import smoothed_idf
from siamese_news.text.languages import in_latin
from siamese_news.text.token_ids import TokenIds
from siamese_news.text.vocabulary import Vocabulary

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

BUCKETS = 1 << 20
"""N-grams are told apart by a hash below this."""

# The surface raises the scores of relevant posts by about this much of its weight.
_SHIFT = 1.2

# Products of words with articles that are held at once.
_CELLS = 1 << 23

# From this share of words that the vocabulary lacks, the n-grams of posts are counted.
_LACKING = 0.3


def word_grams(words: Sequence[str], size: int) -> sparse.csr_matrix:
    """Which n-grams of `size` characters each of W words without blanks has: (W, BUCKETS) of ones.

    A word has a blank at both ends, and one that is shorter than an n-gram then is one. Cyrillic,
    Greek and some other letters are read as Latin ones (`in_latin`).
    """
    minimum_length = size - 2
    latin = map(in_latin, words)
    words = [
        word if len(word) >= minimum_length else word.ljust(minimum_length)
        for word in latin
    ]
    lengths = np.fromiter(map(len, words), np.int64, len(words)) + 2
    joined = f" {'  '.join(words)} ".encode("utf-32-le", "surrogatepass")
    codes = np.frombuffer(joined, np.uint32).astype(np.uint64)
    counts = lengths - size + 1
    owners = np.repeat(np.arange(len(words)), counts)
    # No n-gram begins at the last size - 1 characters of a word.
    starts = np.arange(len(owners)) + owners * (size - 1)
    hashes = np.zeros(len(starts), np.uint64)
    for position in range(size):
        hashes = mix(hashes ^ codes[starts + position])
    buckets = (hashes % np.uint64(BUCKETS)).astype(np.int64)
    keys = np.sort(owners * BUCKETS + buckets)
    keys = keys[np.diff(keys, prepend=-1) > 0]  # each n-gram of a word once
    ends = np.searchsorted(keys, np.arange(len(words) + 1) * BUCKETS)
    entries = (np.ones(len(keys)), keys % BUCKETS, ends)
    return sparse.csr_matrix(entries, shape=(len(words), BUCKETS))


def compact(rows: sparse.csr_matrix) -> tuple[Ids, sparse.csr_matrix]:
    """The C columns that rows (R, BUCKETS) use, in order, and the rows with these alone (R, C).

    SciPy's products of sparse matrices allocate and clear an array of all columns each time.
    """
    columns, new_indices = np.unique(rows.indices, return_inverse=True)
    shape = (rows.shape[0], len(columns))
    return columns, sparse.csr_matrix(
        (rows.data, new_indices, rows.indptr), shape=shape
    )


@lru_cache(maxsize=4)
def _grams_of(vocabulary: Vocabulary, size: int) -> sparse.csr_matrix:
    return word_grams(vocabulary.words, size)


@dataclass(frozen=True)
class View:
    """Articles under one IDF."""

    shares: Floats  # (A,) what it counts in each article's surface
    weights: NDArray[np.float32]  # (BUCKETS,) of the n-grams of a post
    # (BUCKETS,) an n-gram's place among the C of the articles, or -1.
    columns: NDArray[np.int32]
    # (C, A) of unit length, as an array where that is small.
    vectors: sparse.csr_matrix | Floats
    # (V, BUCKETS) of ones, the n-grams of the vocabulary's words.
    words: sparse.csr_matrix

    @cached_property
    def of_vocabulary(self) -> tuple[Floats, Floats]:
        """The products (V, A) of the vocabulary's words with the articles, and squares (V,)."""
        products, squares = self.products(self.words)
        return np.asarray(products @ self.vectors), squares

    def products(self, rows: sparse.csr_matrix) -> tuple[sparse.csr_matrix, Floats]:
        """N-grams (W, BUCKETS) of words or posts weighted: (W, C), and the squared lengths (W,)."""
        weights = rows.data * self.weights[rows.indices].astype(np.float64)
        owners = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        squares = np.bincount(owners, weights**2, rows.shape[0]).astype(np.float64)
        return self.among(rows, weights), squares

    def among(self, rows: sparse.csr_matrix, values: Floats) -> sparse.csr_matrix:
        """The values of the n-grams (W, BUCKETS) that the articles have: (W, C)."""
        columns = self.columns[rows.indices]
        inside = columns >= 0
        inside_before = np.concatenate([[0], np.cumsum(inside)])
        entries = (values[inside], columns[inside], inside_before[rows.indptr])
        shape = (rows.shape[0], self.vectors.shape[0])
        return sparse.csr_matrix(entries, shape=shape)

    def counted(self, grams: sparse.csr_matrix) -> tuple[sparse.csr_matrix, Floats]:
        """Posts as articles are, from counts (P, BUCKETS): (P, C), and the lengths (P,)."""
        logs = 1 + np.log(grams.data)
        grams = sparse.csr_matrix((logs, grams.indices, grams.indptr), grams.shape)
        vectors, squares = self.products(grams)
        return vectors, np.sqrt(np.where(squares > 0, squares, 1.0))


class SurfaceScores:
    """The surface of A articles, given by their word ids with their unknown words.

    Attributes:
        scales: (A,) the factor of each article's whole score, ``1 / (1 + 1.2 s)`` where s is the
            weight of its surface. With it, a threshold keeps about as many posts at about the
            same precision whatever share of the article's words the vocabulary lacks.
        weights: (A,) of the surface in each article's score, scaled.
        pool: (BUCKETS,) the pool's ``idf ** power`` of n-grams; the background's before a pool.
        counting: (A,) whether a post's n-grams are counted.
        vocabulary_size: the number of its words.
    """

    def __init__(
        self,
        terms: TermHead,
        vocabulary: Vocabulary,
        articles: TokenIds,
        options: Surface,
    ) -> None:
        self._options = options
        self._power = terms.options.power
        self.vocabulary_size = len(vocabulary)
        self._known = _grams_of(vocabulary, options.characters)
        frequencies = terms.frequencies.astype(np.float64)
        self._of_grams = self._known.T @ frequencies
        self._background = self._idf(self._of_grams, terms.texts)
        self._ids, word_columns = np.unique(articles.flat, return_inverse=True)
        self._columns, self._grams = compact(self.rows(self._ids, articles.unknown))
        shape = (len(articles), len(self._ids))
        ones = np.ones(len(word_columns))
        self._counts = sparse.csr_matrix(
            (ones, (articles.rows, word_columns)), shape=shape
        )
        unknown = np.bincount(
            articles.rows,
            weights=articles.flat >= self.vocabulary_size,
            minlength=len(articles),
        )
        self._foreign: Floats = unknown / np.maximum(articles.lengths, 1)
        weights = options.weight * (1 + (options.unknown - 1) * self._foreign)
        self.scales: Floats = 1 / (1 + _SHIFT * weights)
        self.weights: Floats = self.scales * weights
        self.counting: Bools = self._foreign >= _LACKING
        shares = self._foreign + self._background_shares(self._foreign)
        self._shares = [(self._background, shares)]
        self.pool = self._background
        self._posts = terms.texts
        self._of_words = frequencies

    @cached_property
    def views(self) -> list["View"]:
        """The articles under each IDF that counts for some of them."""
        return [self._view(idf, shares) for idf, shares in self._shares]

    def _background_shares(self, pool: Floats) -> Floats:
        """(A,) what the background's IDF counts where the pool's counts `pool`."""
        return self._options.background * (1 - pool)

    def _idf(self, counts: Floats, texts: int) -> Floats:
        """``idf ** power`` (BUCKETS,), where a text has an n-gram as often as it is there."""
        idf_of_none = smoothed_idf(np.zeros(1), texts, add=1.0)
        rarities = np.full(BUCKETS, idf_of_none**self._power)
        occurring = np.flatnonzero(counts)
        idf = smoothed_idf(np.minimum(counts[occurring], texts), texts, add=1.0)
        rarities[occurring] = idf**self._power
        return rarities

    def _view(self, weights: Floats, shares: Floats) -> View:
        """The articles under an IDF, the `weights` (BUCKETS,), that counts these shares (A,)."""
        grams = sparse.csr_matrix(self._counts @ self._grams)
        idf = weights[self._columns[grams.indices]]
        grams.data = (1 + np.log(grams.data)) * idf
        vectors = unit_rows(grams)
        columns = np.full(BUCKETS, -1, np.int32)
        columns[self._columns] = np.arange(len(self._columns))
        turned = sparse.csr_matrix(vectors.T)
        small = turned.shape[0] * turned.shape[1] <= _CELLS
        return View(
            shares,
            weights.astype(np.float32),
            columns,
            turned.toarray() if small else turned,
            self._known,
        )

    def count(self, posts: TokenIds, counts: Ids) -> None:
        """Add to (V + BUCKETS,) counts of the vocabulary's words and of other words' n-grams."""
        size = self.vocabulary_size
        is_word = posts.flat < size
        counts[:size] += np.bincount(posts.flat[is_word], minlength=size)
        ids, word_counts = np.unique(posts.flat[~is_word], return_counts=True)
        rows = self.rows(ids, posts.unknown)
        gram_counts = np.repeat(word_counts, np.diff(rows.indptr))
        np.add.at(counts[size:], rows.indices, gram_counts)

    def over(
        self, counts: Ids, posts: int, near: Floats, degrees: Floats
    ) -> "SurfaceScores":
        """The surface of the same articles by a pool of so many `posts` with these counts (`count`).

        As many as `near` (A,) are near each article, as far as these are alike; the degrees (A,)
        tell how much an article's question is about itself.
        """
        scarcity = 1 / (1 + near / self._options.near)
        shares = np.maximum(1 - (1 - scarcity) * (1 - self._foreign), degrees)
        of_words, unknown = np.split(counts.astype(np.float64), [self.vocabulary_size])
        surface = copy(self)
        surface.__dict__.pop("views", None)
        surface._of_words = of_words
        surface._posts = posts
        surface._of_grams = self._known.T @ of_words + unknown
        surface.pool = surface._idf(surface._of_grams, posts)
        background_shares = self._background_shares(shares)
        idf_with_shares = (
            (surface.pool, shares),
            (self._background, background_shares),
        )
        surface._shares = [
            (idf, idf_shares) for idf, idf_shares in idf_with_shares if idf_shares.any()
        ]
        return surface

    def add(self, scores: NDArray[np.float32], posts: TokenIds) -> None:
        """Add the surface's share to the scores (A, P) of P posts."""
        if not self.counting.all():
            self._add_words(scores, posts)
        if self.counting.any():
            self._add_grams(scores, posts)

    def _different(self, ids: Ids) -> tuple[Ids, Ids, Ids]:
        """The different words of the vocabulary, the unknown ones, and the place of each id.

        A place is that among both together, those of the vocabulary first.
        """
        # Most words are in the vocabulary, where a word is its place.
        is_word = ids < self.vocabulary_size
        present = np.zeros(self.vocabulary_size, bool)
        present[ids[is_word]] = True
        in_vocabulary = np.flatnonzero(present)
        unknown, places_of_unknown = np.unique(ids[~is_word], return_inverse=True)
        place_of_word = np.cumsum(present) - 1
        word_rows = np.empty(len(ids), np.int64)
        word_rows[is_word] = place_of_word[ids[is_word]]
        word_rows[~is_word] = len(in_vocabulary) + places_of_unknown
        return in_vocabulary, unknown, word_rows

    def _add_words(self, scores: NDArray[np.float32], posts: TokenIds) -> None:
        """`add` for the articles whose surface is a sum over a post's words."""
        owners, ids, count = distinct(posts)
        in_vocabulary, unknown, word_rows = self._different(ids)
        words = np.concatenate([in_vocabulary, unknown])
        ends = np.searchsorted(owners, np.arange(count + 1))
        entries = (np.ones(len(ids)), word_rows, ends)
        of_word = sparse.csr_matrix(entries, (count, len(words)))
        articles = len(self.weights)
        # Then the words of the vocabulary are multiplied once for all blocks.
        fits_in_memory = articles * self.vocabulary_size <= _CELLS
        rows = self.rows(unknown if fits_in_memory else words, posts.unknown)
        step = (
            articles if fits_in_memory else max(1, _CELLS // max(len(words), count, 1))
        )
        for view in self.views:
            products, squares = view.products(rows)
            if fits_in_memory:
                vocabulary_products, vocabulary_squares = view.of_vocabulary
                present = vocabulary_products[in_vocabulary]
                products = np.concatenate([present, products @ view.vectors])
                squares = np.concatenate([vocabulary_squares[in_vocabulary], squares])
            lengths = np.sqrt(of_word @ squares)
            lengths[lengths == 0] = 1.0
            shares = self.weights * view.shares * ~self.counting
            for start in range(0, articles, step):
                batch = slice(start, start + step)
                by_word = (
                    products if fits_in_memory else products @ view.vectors[:, batch]
                )
                by_post = of_word @ _dense(by_word)
                scores[batch] += (by_post / lengths[:, None] * shares[batch]).T

    def _add_grams(self, scores: NDArray[np.float32], posts: TokenIds) -> None:
        """`add` for the articles for which a post's n-grams are counted."""
        owners, ids, times, count = counted(posts)
        words, word_rows = np.unique(ids, return_inverse=True)
        ends = np.searchsorted(owners, np.arange(count + 1))
        of_word = sparse.csr_matrix((times, word_rows, ends), (count, len(words)))
        grams = sparse.csr_matrix(of_word @ self.rows(words, posts.unknown))
        for view in self.views:
            vectors, lengths = view.counted(grams)
            shares = self.weights * view.shares * self.counting
            by_post = _dense(vectors @ view.vectors)
            scores += (by_post / lengths[:, None] * shares).T

    def parts(
        self, post: TokenIds, article: int
    ) -> tuple[dict[int, float], dict[int, float]]:
        """The additions of each word of one post to its score, and of each word of the article.

        Both are by word id and have the same sum; the addition of an n-gram is shared among the
        article's words that have it.
        """
        _, ids, times, _ = counted(post)
        rows = self.rows(ids, post.unknown)
        vectors = rows  # whose squared lengths add up to that of the post
        if self.counting[article]:
            # Each occurrence of an n-gram has the same share in its count's logarithm.
            counts = np.maximum(rows.T @ times, 1)
            shares = sparse.diags_array((1 + np.log(counts)) / counts)
            rows = sparse.csr_matrix(sparse.diags_array(times * 1.0) @ rows @ shares)
            vectors = sparse.csr_matrix(rows.sum(axis=0).reshape(1, -1))
        of_post = np.zeros(len(ids))
        of_article = np.zeros(len(self._ids))
        article_counts = np.asarray(self._counts[[article]].todense())[0]
        gram_counts = np.maximum(self._grams.T @ article_counts, 1.0)
        for view in self.views:
            products, _ = view.products(rows)
            _, squares = view.products(vectors)
            length = math.sqrt(squares.sum()) or 1.0
            scale = self.weights[article] * view.shares[article] / length
            vector = _dense(view.vectors[:, [article]]).ravel() * scale
            of_post += products @ vector
            of_grams = products.T @ np.ones(len(ids)) * vector
            of_article += self._grams @ (of_grams / gram_counts)
        return by_id(ids, of_post), by_id(self._ids, article_counts * of_article)

    def rows(self, words: Ids, unknown: Mapping[int, str]) -> sparse.csr_matrix:
        """The n-grams of W sorted word ids: (W, BUCKETS) of ones; `unknown` has unknown words."""
        words_there = int(np.searchsorted(words, self.vocabulary_size))
        texts = [unknown[id] for id in words[words_there:].tolist()]
        parts = [
            self._known[words[:words_there]],
            word_grams(texts, self._options.characters),
        ]
        return sparse.csr_matrix(sparse.vstack(parts, format="csr"))

    def word_weights(self, words: Ids, grams: sparse.csr_matrix) -> Floats:
        """The pool's ``idf ** power`` of sorted word ids (W,) with their `rows`: (W,).

        A word outside the vocabulary is not counted by itself; it occurs at most as often as the
        rarest of its n-grams.
        """
        words_there = int(np.searchsorted(words, self.vocabulary_size))
        rare = np.minimum.reduceat(self._of_grams[grams.indices], grams.indptr[:-1])
        counts = np.concatenate(
            [self._of_words[words[:words_there]], rare[words_there:]]
        )
        idf = smoothed_idf(np.minimum(counts, self._posts), self._posts, add=1.0)
        weights: Floats = idf**self._power
        return weights


def _dense(values: Any) -> Floats:
    """A product as an array; it is sparse where the articles' vectors are."""
    return values.toarray() if sparse.issparse(values) else values


def by_id(ids: Ids, values: Floats) -> dict[int, float]:
    """The values that are not 0, by word id."""
    nonzero = np.flatnonzero(values)
    word_ids = ids[nonzero].tolist()
    return dict(zip(word_ids, values[nonzero].tolist(), strict=True))
