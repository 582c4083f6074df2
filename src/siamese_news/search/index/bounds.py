"""Upper bounds on the scores of the posts of a segment, from the little that is stored of each.

The lexical score of a post is a sum over its different words and pairs of words, divided by a
length that is stored. `Bounds.roughly` takes the highest weight that a word has for any article,
and finds pairs by a hash: one sparse product of a column each, and one bound for all articles. Few
posts are left after that, so `Bounds.lexical` can count each word and pair once for each article.

The error of a cosine with a rounded vector is at most the distance of the rounded vector from the
true one (Cauchy and Schwarz); that distance is stored.

Feedback moves the vector of an article from a (before) to b (now). With b = k a + r, where k a is the
projection of b on a, a post p has b.p = k (a.p) + r.p, which is at most k times its earlier cosine
plus the length of r, since p has length 1 (`Bounds.without_vectors`). So most posts are ruled out
without another look at their vectors.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from siamese_news.lexical_head.term_ids import FIRST_BIGRAM, places_among
from siamese_news.search.index.chunks import Chunk
from siamese_news.search.index.indexed_scorer import ScoreForm
from siamese_news.search.index.segment import Codes, Segment
from siamese_news.search.pool import Floats, Ints
from siamese_news.text.token_ids import ragged

# Sums in single precision come in another order than those of the scorer.
_SLACK = np.float32(1e-4)
_LEAST = np.float32(3e-6)
_IN_CACHE = 2048  # rows that are made floats at once, in the processor's cache
_BITS = 18  # of the hash of a pair: a table of so many weights stays in the processor's cache


@dataclass(frozen=True, slots=True)
class Learned:
    """What a scorer learned from the posts of an index.

    `rows` are those of the posts that were scored, over all segments and ascending; every post that
    is among an article's best is one of them. `vectors` are those of the articles at that time,
    (A, D), and `cosines` upper bounds on the highest one with these, (P,) for each segment.
    """

    rows: Ints
    vectors: NDArray[np.float64]
    cosines: list[Floats]


class Bounds:
    """Upper bounds for the scores of a scorer as it is now.

    `earlier` is what the scorer learned before, if anything.
    """

    def __init__(
        self, form: ScoreForm, codes: Codes, earlier: Learned | None = None
    ) -> None:
        self.form = form
        self.articles = form.terms.shape[0]
        width = codes.words + codes.buckets
        self._width = width
        terms = np.asarray(form.terms.T.toarray(), np.float32)  # (C, A)
        words = form.columns < FIRST_BIGRAM
        self._words = np.zeros((width, self.articles), np.float32)
        # Words that share a bucket, and pairs whose words do, count as the heaviest of them.
        np.maximum.at(self._words, codes(form.columns[words]), terms[words])
        ids, left_words, right_words = form.pairs
        in_articles, pair_columns = places_among(form.columns, ids)
        keys = codes(left_words[in_articles]) * width + codes(right_words[in_articles])
        self._keys, group = np.unique(keys, return_inverse=True)
        self._pairs = np.zeros((len(self._keys), self.articles), np.float32)
        np.maximum.at(self._pairs, group, terms[pair_columns])
        # What a word, and a pair by its hash, adds to the score of any article at most.
        self._heaviest = self._words.max(axis=1, initial=0.0)
        self._hashed = np.zeros(1 << _BITS, np.float32)
        left_words, right_words = np.divmod(self._keys, width)
        hashes = _hashes(left_words.astype(np.int32), right_words.astype(np.int32))
        np.maximum.at(self._hashed, hashes, self._pairs.max(axis=1, initial=0.0))
        # (D, A): the product with a few columns takes a quarter of the time of one with few rows.
        self._vectors = np.ascontiguousarray(form.vectors.T, np.float32)
        # Of a product of two vectors whose lengths are at most 1, a rounded article's among them.
        self._rounding = np.float32((len(self._vectors) + 8) * np.finfo(np.float32).eps)
        # A cosine is at most as high as the article's vector is long.
        lengths = np.linalg.norm(form.vectors, axis=1)[:, None]
        self._longest = lengths.astype(np.float32) + _LEAST

        self._earlier = None if earlier is None else earlier.cosines
        if earlier is not None:
            earlier_vectors = earlier.vectors
            vectors_now = form.vectors
            squares = np.maximum((earlier_vectors**2).sum(axis=1), 1e-12)
            shared = np.maximum(
                (earlier_vectors * vectors_now).sum(axis=1) / squares, 0
            )[:, None]
            remainders = np.linalg.norm(vectors_now - shared * earlier_vectors, axis=1)[
                :, None
            ]
            self._kept = shared.astype(np.float32)
            self._rest = remainders.astype(np.float32) + _LEAST

    def roughly(self, chunk: Chunk) -> Floats:
        """(n,) upper bounds on the lexical scores of the posts of a chunk for any article."""
        if not len(self.form.columns):
            return np.zeros(len(chunk.live), np.float32)
        words = chunk.words
        codes = words.indices
        shape = (words.shape[0], 1 << _BITS)
        # Of the last word of a post and the first of the next one, too: a bound may be too high.
        hashes = np.append(_hashes(codes[:-1], codes[1:]), np.int32(0))
        pairs = sparse.csr_matrix((words.data, hashes, words.indptr), shape)
        scales = chunk.segment.scales[chunk.start : chunk.end].astype(np.float32)
        upper_bounds = (words @ self._heaviest) * scales[:, 0]
        upper_bounds += (pairs @ self._hashed) * scales[:, 1]
        return chunk.of_live(upper_bounds * (1 + _SLACK))

    def lexical(self, segment: Segment, rows: Ints) -> Floats:
        """(A, n) upper bounds on the lexical scores of some rows."""
        token_positions, lengths = ragged(segment.starts, rows)
        codes = segment.codes[token_positions].astype(np.int32)
        ends = np.concatenate([[0], np.cumsum(lengths)])
        scales = segment.scales[rows].astype(np.float32)
        by_pairs = self._of_pairs(codes, ends) * scales[:, 1]
        ones = np.ones(len(codes), np.float32)
        words = sparse.csr_matrix((ones, codes, ends), (len(rows), self._width))
        words.sum_duplicates()  # changes the codes
        words.data[:] = 1
        upper_bounds = np.ascontiguousarray((words @ self._words).T) * scales[:, 0]
        upper_bounds += by_pairs
        return upper_bounds * (1 + _SLACK)

    def _of_pairs(self, codes: NDArray[np.int32], ends: Ints) -> Floats:
        """(A, n) the sums over the different pairs in each of n posts."""
        heaviest = self._hashed[_hashes(codes[:-1], codes[1:])]
        at = np.flatnonzero(heaviest)
        keys = codes[at].astype(np.int64) * self._width + codes[at + 1]
        key_index = np.searchsorted(self._keys, keys)
        # No key is -1, which follows the last one.
        is_article_pair = np.append(self._keys, -1)[key_index] == keys
        owner = np.searchsorted(ends, at, side="right") - 1
        # Not the last word of one post and the first of the next.
        within_post = at + 1 < ends[owner + 1]
        counted = is_article_pair & within_post
        numbers = owner[counted] * len(self._keys) + key_index[counted]
        owner, key_index = np.divmod(np.unique(numbers), max(len(self._keys), 1))
        sums = [
            np.bincount(owner, pair_weights[key_index], len(ends) - 1)
            for pair_weights in self._pairs.T
        ]
        return np.stack(sums).astype(np.float32)

    def cosines(self, segment: Segment, rows: slice | Ints) -> tuple[Floats, Floats]:
        """The cosines (A, n) of some rows, and upper bounds (n,) on their errors."""
        vectors = segment.vectors[rows]
        cosines = np.empty((self.articles, len(vectors)), np.float32)
        for start in range(0, len(vectors), _IN_CACHE):
            batch = slice(start, start + _IN_CACHE)
            cosines[:, batch] = (vectors[batch].astype(np.float32) @ self._vectors).T
        cosines *= segment.steps[rows].astype(np.float32)
        # A vector has at most length 1, rounded a little more.
        away = segment.errors[rows].astype(np.float32) * (1 + _SLACK)
        return cosines, away + (self._rounding + _LEAST)

    def scores(self, lexical: Floats, cosines: Floats, errors: Floats) -> Floats:
        """(A, n) upper bounds on the scores, from bounds on their parts.

        `lexical` is (A, n), or (n,) for any article; `errors` is (n,) or (A, 1).
        """
        form = self.form
        room = np.empty_like(cosines)
        highest_cosines = cosines + errors
        bounds = form.lexical[:, None].astype(np.float32) * lexical
        bounds += np.multiply(
            form.cosine[:, None].astype(np.float32), highest_cosines, out=room
        )
        if form.excess.any():
            np.subtract(
                highest_cosines, form.quantiles[:, None].astype(np.float32), out=room
            )
            np.maximum(room, 0, out=room)
            room *= form.excess[:, None].astype(np.float32)
            bounds += room
        np.abs(bounds, out=room)
        room *= _SLACK
        bounds += room
        bounds += _LEAST
        return bounds

    def without_vectors(
        self, number: int, rows: Ints, lexical: Floats
    ) -> tuple[Floats, Floats]:
        """Upper bounds (A, n) and lower bounds (A, 1) on the scores of rows of a segment.

        `lexical` is (n,). The vectors are not read: a cosine is at most what the article's vector
        has of the earlier one times the earlier cosine, and the length of the rest.
        """
        nothing = np.zeros_like(self._longest)
        highest_cosines = np.broadcast_to(self._longest, (self.articles, len(rows)))
        if self._earlier is not None:
            highest_cosines = np.minimum(
                self._kept * self._earlier[number][rows] + self._rest, highest_cosines
            )
        return self.scores(lexical, highest_cosines, nothing), self.lower_bounds(
            nothing, self._longest
        )

    def lower_bounds(self, cosines: Floats, errors: Floats) -> Floats:
        """(A, n) lower bounds on the scores; words only add."""
        lower_bounds = self.form.cosine[:, None].astype(np.float32) * (cosines - errors)
        lowest: Floats = lower_bounds - _SLACK * np.abs(lower_bounds) - _LEAST
        return lowest


def _hashes(
    left_codes: NDArray[np.int32], right_codes: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Hashes of pairs of codes, of `_BITS` bits; the products wrap."""
    mixed = left_codes.view(np.uint32) * np.uint32(0x9E3779B1)
    mixed += right_codes.view(np.uint32)
    mixed *= np.uint32(0x85EBCA77)
    mixed >>= np.uint32(32 - _BITS)
    return mixed.view(np.int32)
