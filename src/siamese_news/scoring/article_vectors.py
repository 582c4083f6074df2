"""The articles' vectors under both heads, and what the pool makes of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from siamese_news.lexical_head.head import TermHead, mean_vectors
from siamese_news.lexical_head.term_ids import FIRST_BIGRAM, places_among
from siamese_news.lexical_head.weights import PoolCounts, TermWeights
from siamese_news.scoring.post_features import PostReader, Posts
from siamese_news.scoring.rules import rarity

Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DistantPosts:
    """The posts of a pool that are not near an article: the pool's, less a share of those near."""

    pool: PoolCounts
    near: Sequence[Ids]
    share: float

    def rarity(self, terms: TermHead, columns: Ids) -> NDArray[np.float64]:
        """(C,) how rare features are among these posts (`rules.rarity`)."""
        counts = self.pool.of(columns)
        if self.near:
            _, features, _ = terms.distinct(self.near)
            _, column_of_feature = places_among(columns, features)
            counts_near = np.bincount(column_of_feature, minlength=len(columns))
            counts = counts - self.share * counts_near
        return rarity(counts, self.pool.posts - self.share * len(self.near))


@dataclass(slots=True)
class Group:
    """Articles that are scored under the same weights of words and bigrams."""

    weights: TermWeights
    rows: NDArray[np.int64]  # (a,) which articles they are
    unexpanded: sparse.csr_matrix  # (a, C) their own vectors
    vectors: sparse.csr_matrix  # (a, C) the same with what their best posts add

    def weaken(self, row: int, factors: NDArray[np.float64], columns: Ids) -> None:
        """Multiply an article's features by (C,) factors; words and pairs keep their lengths."""
        matrices = [self.unexpanded]
        if self.vectors is not self.unexpanded:
            matrices.append(self.vectors)
        for vectors in matrices:
            entries = slice(vectors.indptr[row], vectors.indptr[row + 1])
            ids = vectors.indices[entries]
            values = vectors.data[entries]
            for paired in (False, True):
                group = (columns[ids] >= FIRST_BIGRAM) == paired
                length = np.linalg.norm(values[group])
                values[group] *= factors[ids[group]]
                weakened_length = np.linalg.norm(values[group])
                if weakened_length > 0:
                    values[group] *= length / weakened_length


@dataclass(frozen=True, slots=True)
class ReadArticles:
    """A articles as both heads read them, whatever the pool; stop words are left out of each.

    Attributes:
        terms: the lexical head.
        background: the weights of its words before any pool.
        reader: what reads the posts.
        ids: each article's word ids.
        dense: (A, D) their vectors.
        factors: of their words, from the encoder; None is 1 for all.
    """

    terms: TermHead
    background: TermWeights
    reader: PostReader
    ids: list[Ids]
    dense: NDArray[np.float32]
    factors: Any

    @classmethod
    def of(
        cls, terms: TermHead, reader: PostReader, texts: Sequence[str]
    ) -> "ReadArticles":
        """Read the full texts of articles."""
        return cls(terms, terms.background(), reader, *reader.articles(texts))

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class Feedback:
    """The posts of a pool that expand A articles.

    Attributes:
        lists: A lists of posts, each its word ids.
        cached_vectors: (N, D) the vectors of these N posts, if an encoder of whole texts gave them.
        shares: (A,) the weight of the posts of each list that has some.
    """

    lists: Sequence[Sequence[Ids]]
    cached_vectors: NDArray[np.float16] | None
    shares: NDArray[np.float64]


class ArticleVectors:
    """The vectors of A articles under both heads, before a pool or by one.

    Args:
        articles: as they are read.
        pool: document frequencies; None where no degree is above 0.
        degrees: (A,) how far each article's weights follow these (`TermHead.focused`); None: 0.
        feedback: the posts that expand the articles; None: none.
        distant_posts: by article, the posts among which words that are common count less.
        leaders: by article, the vectors (n, D) of posts towards whose mean its own vector moves, and
            the weight of that.

    Attributes:
        groups: the articles by the weights that they are scored under.
        columns: sorted ids of the features that some article has.
        kept: (A,) the weight of each article's own vectors.
        kept_dense: (A,) the same in the vectors that the cosines are of.
        moved: (A, D) the vectors that the cosines are of.
        texts: the word ids of each article and of each post that expands one.
    """

    def __init__(
        self,
        articles: ReadArticles,
        *,
        pool: PoolCounts | None = None,
        degrees: NDArray[np.float64] | None = None,
        feedback: Feedback | None = None,
        distant_posts: Mapping[int, DistantPosts] | None = None,
        leaders: Mapping[int, tuple[NDArray[np.float32], float]] | None = None,
    ) -> None:
        self._articles = articles
        if degrees is None:
            degrees = np.zeros(len(articles))
        lists = [[]] * len(articles) if feedback is None else feedback.lists
        posts = [post for article_posts in lists for post in article_posts]
        self.texts = [*articles.ids, *posts]
        features = [articles.terms.features(text) for text in self.texts]
        all_features = np.concatenate([*features, np.zeros(0, np.int64)])
        self.columns = np.unique(all_features)
        self.kept = np.ones(len(articles), np.float32)
        self.moved = articles.dense.astype(np.float64)
        by_list = None
        if feedback is not None and posts:
            counts = [len(article_posts) for article_posts in lists]
            is_expanded = np.array(counts) > 0
            self.kept[:] = 1 - np.where(is_expanded, feedback.shares, 0.0)
            vectors, factors = articles.reader.of_best(posts, feedback.cached_vectors)
            self._move_towards(vectors, counts)
            if factors is not None:
                remaining = iter(factors)
                by_list = [list(islice(remaining, count)) for count in counts]
        self.kept_dense = self.kept.copy()
        for article, (leading, share) in (leaders or {}).items():
            self._lead(article, leading, share)

        self.groups = []
        for degree in np.unique(degrees).tolist():
            weights = articles.background
            if degree:
                assert pool is not None
                weights = articles.terms.focused(pool, degree)
            rows = np.flatnonzero(degrees == degree)
            self.groups.append(self._group(weights, rows, lists, by_list))
        for article, background_posts in (distant_posts or {}).items():
            rarities = background_posts.rarity(articles.terms, self.columns)
            group, row = self.group_of(article)
            group.weaken(row, rarities, self.columns)

    def __len__(self) -> int:
        return len(self._articles)

    def _move_towards(
        self, vectors: NDArray[np.float32], counts: Sequence[int]
    ) -> None:
        """Move each article's vector towards the posts that expand it, its next `counts` (A,)."""
        sums = np.zeros_like(self.moved)
        article_of_post = np.repeat(np.arange(len(counts)), counts)
        np.add.at(sums, article_of_post, vectors)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        directions = sums / np.where(lengths > 0, lengths, 1.0)
        own_shares = self.kept[:, None]
        self.moved = own_shares * self.moved + (1 - own_shares) * directions

    def _lead(self, article: int, vectors: NDArray[np.float32], share: float) -> None:
        """Move an article's vector by a share of the mean of some posts' vectors (n, D)."""
        mean = vectors.astype(np.float64).mean(axis=0)
        length = _length(self.moved[article])
        direction = self.moved[article] / length
        moved = direction + share * mean / _length(mean)
        moved_length = _length(moved)
        self.kept_dense[article] /= length * moved_length
        self.moved[article] = moved / moved_length

    def _group(
        self,
        weights: TermWeights,
        rows: Ids,
        lists: Sequence[Sequence[Ids]],
        factors: list[list[NDArray[np.float32]]] | None,
    ) -> Group:
        """The vectors of the articles `rows` under these weights.

        Each has a list of posts that expand it, and these the factors of their words.
        """
        articles = self._articles
        texts = [articles.ids[row] for row in rows]
        factors_of_texts = (
            None
            if articles.factors is None
            else [articles.factors[row] for row in rows]
        )
        unexpanded = weights.articles(texts, self.columns, factors_of_texts)
        is_expanded = np.array([bool(lists[row]) for row in rows], bool)
        if not is_expanded.any():
            return Group(weights, rows, unexpanded, unexpanded)

        expanded = rows[is_expanded]
        lists_of_posts = [lists[row] for row in expanded]
        factors_of_posts = (
            None if factors is None else [factors[row] for row in expanded]
        )
        means = mean_vectors(
            articles.terms, weights, lists_of_posts, self.columns, factors_of_posts
        )
        # (rows, lists) of ones: the rows without a list take nothing.
        count = len(expanded)
        entries = (np.flatnonzero(is_expanded), np.arange(count))
        spread = sparse.csr_matrix((np.ones(count), entries), shape=(len(rows), count))
        own_shares = self.kept[rows]
        from_article = sparse.diags_array(own_shares) @ unexpanded
        from_posts = sparse.diags_array(1 - own_shares) @ (spread @ means)
        vectors = sparse.csr_matrix(from_article + from_posts, dtype=np.float32)
        return Group(weights, rows, unexpanded, vectors)

    def term_shares(self, article: int) -> dict[int, float]:
        """How much of an article's own vector each of its features is, by id; they sum to 1."""
        group, row = self.group_of(article)
        terms = group.unexpanded[[row]].tocoo()
        squares = terms.data.astype(np.float64) ** 2
        shares = squares / max(float(squares.sum()), 1e-12)
        ids = self.columns[terms.col]
        return dict(zip(ids.tolist(), shares.tolist(), strict=True))

    def group_of(self, article: int) -> tuple[Group, int]:
        """The group of an article, and its row there."""
        group = next(group for group in self.groups if article in group.rows)
        return group, int(np.searchsorted(group.rows, article))

    def heads(
        self, posts: Posts, articles: Sequence[int] | None = None
    ) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        """The scores of P posts for a of the articles, by number, or for all: twice (a, P).

        The first are those of the words, the second the cosines, or None where the dense head does
        not count.
        """
        if articles is None:
            articles = range(len(self))
        numbers = np.array(articles, np.int64)
        place_of = np.full(len(self), -1)
        place_of[numbers] = np.arange(len(numbers))
        lexical = np.zeros((len(numbers), len(posts.ids)), np.float32)
        for group in self.groups:
            output_rows = place_of[group.rows]
            rows = np.flatnonzero(output_rows >= 0)
            if len(rows):
                # A selection copies the vectors, and most often all are wanted.
                everything = len(rows) == len(group.rows)
                of_articles = group.vectors if everything else group.vectors[rows]
                of_posts = posts.weighted(group.weights, self.columns)
                lexical[output_rows[rows]] = (of_articles @ of_posts.T).toarray()
        if posts.vectors is None:
            return lexical, None
        return lexical, self.cosines(posts.vectors, numbers)

    def cosines(
        self, vectors: NDArray[np.float32], articles: Ids
    ) -> NDArray[np.float32]:
        """(a, P) the cosines of P posts' vectors with a of the articles."""
        # In double precision a cosine does not depend on which articles are asked for with it.
        cosines = self.moved[articles] @ vectors.T.astype(np.float64)
        return cosines.astype(np.float32)


def _length(vector: NDArray[np.float64]) -> np.float64:
    """The length to divide by: 1 for a vector of zeros."""
    return np.float64(np.linalg.norm(vector) or 1.0)
