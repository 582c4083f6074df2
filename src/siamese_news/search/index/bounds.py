"""Upper bounds on the scores of the posts of a segment, from the little that is stored of each.

The lexical score of a post is a sum over its different words and pairs of words, divided by a
length that is stored. First every token of the post adds the weight of its word for the article:
one sparse product over all tokens. Few pairs of tokens are pairs of an article; a hash of the two
tokens finds the candidates, which are looked up. `Bounds.refined` counts each word and pair once;
it is for the posts that are left.

The error of a cosine with a rounded vector is at most the distance of the rounded vector from the
true one (Cauchy and Schwarz); that distance is stored.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from siamese_news.lexical_head.features import FIRST_BIGRAM
from siamese_news.scoring import ScoreForm
from siamese_news.search.index.arrays import ragged
from siamese_news.search.index.chunks import Chunk
from siamese_news.search.index.segment import Codes, Segment, in_steps

# Sums in single precision come in another order than those of the scorer.
_SLACK = np.float32(1e-4)
_LEAST = np.float32(3e-6)
_IN_CACHE = 4096  # rows that are made floats at once, in the processor's cache
_BITS = 18  # of the hash of a pair: a table of so many flags stays in the processor's cache


class Bounds:
    """Upper bounds for the scores of a scorer as it is now."""

    def __init__(self, form: ScoreForm, codes: Codes) -> None:
        self.form, self.articles = form, form.terms.shape[0]
        width = codes.words + codes.buckets
        self._width = width
        terms = np.asarray(form.terms.T.toarray(), np.float32)  # (C, A)
        words = form.columns < FIRST_BIGRAM
        self._words = np.zeros((width, self.articles), np.float32)
        # Words that share a bucket, and pairs whose words do, count as the heaviest of them.
        np.maximum.at(self._words, codes(form.columns[words]), terms[words])
        ids, left, right = form.pairs
        place = np.searchsorted(form.columns, ids)
        found = place < len(form.columns)
        found[found] = np.equal(form.columns[place[found]], ids[found])
        keys = codes(left[found]) * width + codes(right[found])
        self._keys, group = np.unique(keys, return_inverse=True)
        self._pairs = np.zeros((len(self._keys), self.articles), np.float32)
        np.maximum.at(self._pairs, group, terms[place[found]])
        self._maybe = np.zeros(1 << _BITS, bool)
        self._maybe[_hashes(self._keys // width, self._keys % width)] = True
        self._counts = np.asarray(self._words.any(axis=1))
        self._vectors, self._steps, self._away = _halves(form.vectors)
        # A cosine is at most as high as the article's vector is long.
        self._longest = np.linalg.norm(form.vectors, axis=1)[:, None].astype(np.float32) + _LEAST

    def lexical(self, chunk: Chunk) -> NDArray[np.float32]:
        """(A, n) upper bounds on the lexical scores of the posts of a chunk."""
        segment, rows = chunk.segment, slice(chunk.start, chunk.end)
        starts = segment.starts[chunk.start : chunk.end + 1].astype(np.int64)
        codes = segment.codes[starts[0] : starts[-1]].astype(np.int32)
        texts = sparse.csr_matrix(
            (np.ones(len(codes), np.float32), codes, (starts - starts[0]).astype(np.int32)),
            shape=(chunk.end - chunk.start, len(self._words)),
        )
        scales = segment.scales[rows].astype(np.float32)
        most = np.ascontiguousarray((texts @ self._words).T) * scales[:, 0]
        most += self._of_pairs(codes, starts - starts[0]) * scales[:, 1]
        return chunk.of_live(most * (1 + _SLACK))

    def _of_pairs(
        self, codes: NDArray[np.int32], offsets: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """(A, n) the sums over the pairs in each of n posts."""
        at = np.flatnonzero(self._maybe[_hashes(codes[:-1], codes[1:])])
        place, known = self._found(codes[at].astype(np.int64), codes[at + 1])
        at, place = at[known], place[known]
        owner = np.searchsorted(offsets, at, side="right") - 1
        within = at + 1 < offsets[owner + 1]  # not the last of one post and the first of the next
        owner, place = owner[within], place[within]
        found = np.zeros((self.articles, len(offsets) - 1), np.float32)
        for own, weights in zip(found, self._pairs.T, strict=True):
            own += np.bincount(owner, weights=weights[place], minlength=len(own))
        return found

    def _found(
        self, left: NDArray[np.int64], right: NDArray[np.integer]
    ) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """The index of each pair among the article's pairs, and whether it is one of them."""
        keys = left * self._width + right
        place = np.searchsorted(self._keys, keys)
        return place, np.append(self._keys, -1)[place] == keys  # a key that is none of them

    def refined(self, segment: Segment, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """(A, n) closer upper bounds on the lexical scores of some rows."""
        places, lengths = ragged(segment.starts, rows)
        codes = segment.codes[places].astype(np.int64)
        owner = np.repeat(np.arange(len(rows)), lengths)
        scales = segment.scales[rows].astype(np.float32)
        counts = self._counts[codes]
        most = self._summed(owner[counts], codes[counts], self._words, len(rows)) * scales[:, 0]
        place, known = self._found(codes[:-1], codes[1:])
        hit = known & (owner[:-1] == owner[1:])
        pairs = self._summed(owner[:-1][hit], place[hit], self._pairs, len(rows))
        most += pairs * scales[:, 1]
        return most * (1 + _SLACK)

    def _summed(
        self, owner: NDArray[np.int64], codes: NDArray[np.int64], table: NDArray[np.float32], n: int
    ) -> NDArray[np.float32]:
        """(A, n) the sums over the different codes of each owner."""
        pairs = np.unique(owner * len(table) + codes)
        owners, places = np.divmod(pairs, max(len(table), 1))
        rows = table[places]
        sums = [np.bincount(owners, weights=rows[:, a], minlength=n) for a in range(self.articles)]
        return np.stack(sums).astype(np.float32)

    def cosines(
        self, segment: Segment, rows: slice | NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The cosines (A, n) of some rows, and upper bounds (n,) on their errors."""
        products = _products(np.array(segment.vectors[rows]), self._vectors).T
        found = products[: self.articles].astype(np.float32, order="C")
        found *= self._steps[0]
        fine = products[self.articles :].astype(np.float32, order="C")
        fine *= self._steps[1]
        found += fine
        found *= segment.steps[rows].astype(np.float32)
        # A vector has at most length 1, rounded a little more.
        away = segment.errors[rows].astype(np.float32) * (1 + _SLACK)
        return found, away + np.float32(2 * self._away) + _LEAST

    def scores(
        self,
        lexical: NDArray[np.float32],
        cosines: NDArray[np.float32],
        errors: NDArray[np.float32],
    ) -> NDArray[np.float32]:
        """(A, n) upper bounds on the scores, from bounds on their parts; errors (n,) or (A, 1)."""
        form, room = self.form, np.empty_like(lexical)
        most = cosines + errors
        found = form.lexical[:, None].astype(np.float32) * lexical
        found += np.multiply(form.cosine[:, None].astype(np.float32), most, out=room)
        if form.excess.any():
            np.subtract(most, form.quantiles[:, None].astype(np.float32), out=room)
            np.maximum(room, 0, out=room)
            room *= form.excess[:, None].astype(np.float32)
            found += room
        np.abs(found, out=room)
        room *= _SLACK
        found += room
        found += _LEAST
        return found

    def scores_by_words(
        self, lexical: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Upper and lower bounds (A, n) on the scores, for any cosines."""
        nothing = np.zeros_like(self._longest)
        rest = self.scores(nothing, nothing, self._longest)  # (A, 1)
        most = lexical * (self.form.lexical[:, None].astype(np.float32) * (1 + _SLACK)) + rest
        return most, np.broadcast_to(self.least(nothing, self._longest), lexical.shape)

    def least(
        self, cosines: NDArray[np.float32], errors: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """(A, n) lower bounds on the scores; words only add."""
        found = self.form.cosine[:, None].astype(np.float32) * (cosines - errors)
        lowest: NDArray[np.float32] = found - _SLACK * np.abs(found) - _LEAST
        return lowest


def _hashes(left: NDArray[np.integer], right: NDArray[np.integer]) -> NDArray[np.uint32]:
    """Hashes of pairs of codes, of `_BITS` bits; the products wrap."""
    mixed = left.astype(np.uint32) * np.uint32(0x9E3779B1)
    mixed += right.astype(np.uint32) * np.uint32(0x85EBCA77)
    return mixed >> np.uint32(32 - _BITS)


def _halves(vectors: NDArray[np.float64]) -> tuple[NDArray[np.float32], NDArray[np.float32], float]:
    """Vectors (A, D) as two numbers of steps, where the second rounds the rest of the first.

    Returns:
        (D, 2 A), the first numbers of all and then the second; (2, A, 1) the steps; and an upper
        bound on the rounding error.
    """
    first, size, _ = in_steps(vectors.astype(np.float32))
    left = vectors - first * size.astype(np.float64)[:, None]
    second, fine, _ = in_steps(left.astype(np.float32))
    left -= second * fine.astype(np.float64)[:, None]
    away = float(np.linalg.norm(left, axis=1).max(initial=0.0)) + 1e-6
    both = np.ascontiguousarray(np.concatenate([first, second]).T, np.float32)
    return both, np.stack([size, fine])[..., None].astype(np.float32), away


def _products(rows: NDArray[np.int8], columns: NDArray[np.float32]) -> NDArray[np.float32]:
    """The product of two matrices of bytes, exactly: (n, D) by (D, A).

    As floats the sums are whole numbers below 2^24 for up to 1,024 dimensions.
    """
    found = np.empty((len(rows), columns.shape[1]), np.float32)
    for start in range(0, len(rows), _IN_CACHE):
        part = slice(start, start + _IN_CACHE)
        np.matmul(rows[part].astype(np.float32), columns, out=found[part])
    return found
