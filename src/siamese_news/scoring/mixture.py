"""Words and vectors together."""

import io
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy import sparse

from siamese_news.lexical_head import (
    BestPosts,
    PoolCounts,
    RocchioFeedback,
    TermWeights,
    bigram_ids,
    mean_factors,
    mean_vectors,
)
from siamese_news.model.siamese import Model
from siamese_news.model.term_factors import TextHeads
from siamese_news.text.checks import check_texts

_ABOUT_THE_STORY = "the posts are mostly about the story, so what is rare among them counts"
_FEEDBACK = "the best posts speak for the articles as well"


class MixtureScorer:
    """``(1 - w)`` times the lexical head's score plus ``w`` times the cosine of the dense head.

    Args:
        model: a model with a lexical head; its options have w.
        articles: A texts.
        positives: how many of them, the first, say what the story is; None means all.
        dense: w; None is that of the options.
        feedback: None is that of the options.
    """

    kind = "mixture"

    def __init__(
        self,
        model: Model,
        articles: Sequence[str],
        *,
        positives: int | None = None,
        dense: float | None = None,
        feedback: RocchioFeedback | None = None,
    ) -> None:
        assert model.terms is not None
        options = model.terms.options
        self._positives = len(articles) if positives is None else positives
        self._share = options.dense if dense is None else dense
        self._feedback = options.feedback if feedback is None else feedback
        self._model, self._terms = model, model.terms
        self._ids = [model.ids(text)[: self._terms.options.article_tokens] for text in articles]
        features = [self._terms.features(ids) for ids in self._ids]
        self._columns = np.unique(np.concatenate([*features, np.zeros(0, np.int64)]))
        self._heads = TextHeads(model)
        self._dense, self._factors = self._heads(self._ids, "article")
        # What is learned of the pool in the first pass, and whether that is over.
        self._pool = PoolCounts(len(model.vocabulary))
        self._best = BestPosts(self._positives, self._feedback)
        self._about = 0
        self._settled = False
        self._kept = np.ones(len(articles), np.float32)
        self._use(self._terms.background())

    def _use(self, weights: TermWeights) -> None:
        self._weights = weights
        self._own = self._lexical = weights.articles(self._ids, self._columns, self._factors)

    def scores(self, posts: Sequence[str]) -> np.ndarray:
        """See `Scorer`."""
        lexical, dense = self.parts(posts)
        return self.mixed(lexical, dense)

    def mixed(self, lexical: np.ndarray, dense: np.ndarray | None) -> np.ndarray:
        """The scores, from `parts`."""
        mixed = lexical * np.float32(1 - self._share)
        if dense is not None:
            mixed += np.float32(self._share) * dense
        return mixed

    def parts(self, posts: Sequence[str]) -> tuple[np.ndarray, np.ndarray | None]:
        """The scores of the lexical head and of the dense one (None where it does not count).

        In the first pass the scorer learns from the posts what they are like.

        Returns:
            Twice (A, P) float32 for P posts.
        """
        check_texts(posts, "scores: posts")
        ids = [self._model.ids(post) for post in posts]
        vectors, factors = None, None
        if self._share or self._model.encoder.has_factors:
            vectors, factors = self._heads(ids, "post")
        rows, words, count = self._terms.distinct(ids)
        means = self._means(ids, factors)
        found = self._weights.posts(rows, words, count, self._columns, means)
        lexical = np.asarray((self._lexical @ found.T).toarray(), np.float32)
        dense = self._dense @ vectors.T if self._share and vectors is not None else None
        if not self._settled and count and len(lexical):
            self._pool.add(rows, words, count)
            # The words alone: unlike theirs, the cosine of what has nothing in common is not 0.
            best = lexical[: self._positives].max(axis=0)
            self._about += int((best > self._terms.options.focused_pool.score).sum())
            if self._feedback.weight:
                self._best.add(self.mixed(lexical, dense)[: self._positives], ids)
        return lexical, dense

    def _means(
        self, ids: Sequence[np.ndarray], factors: Sequence[np.ndarray] | None
    ) -> np.ndarray | None:
        """The mean factor of each (row, id) pair that `TermHead.distinct` gives."""
        if factors is None:
            return None
        features = [self._terms.features(text) for text in ids]
        return mean_factors(features, list(map(self._terms.feature_factors, factors)))

    def adapt(self) -> str:
        """Decide whether the pool is mostly about the story, and what its best posts add."""
        if self._settled:
            return ""
        self._settled = True
        return "; ".join(self._settle())

    def _settle(self) -> list[str]:
        """Weights and articles by what was learned, and what there was to learn."""
        pool, rule = self._pool, self._terms.options.focused_pool
        reasons = []
        if pool.posts >= rule.posts and self._about >= rule.share * pool.posts:
            self._use(self._terms.focused(pool))
            reasons.append(_ABOUT_THE_STORY)
        best = self._best.lists()
        if any(best):
            self._take_over(best)
            reasons.append(_FEEDBACK)
        return reasons

    def _take_over(self, lists: Sequence[Sequence[np.ndarray]]) -> None:
        """Move the articles that have posts towards these."""
        posts = [post for own in lists for post in own]
        vectors, factors = self._heads(posts, "post")
        owner = np.repeat(np.arange(len(lists)), [len(own) for own in lists])
        features = [self._terms.features(post) for post in posts]
        self._columns = np.unique(np.concatenate([self._columns, *features]))
        self._use(self._weights)
        by_list = None
        if factors is not None:
            by_list = [[factors[post] for post in np.flatnonzero(owner == n)] for n in
                       range(len(lists))]  # fmt: skip
        means = mean_vectors(self._terms, self._weights, lists, self._columns, by_list)
        self._kept[: len(lists)] = [1 - self._feedback.weight if own else 1.0 for own in lists]
        none = sparse.csr_matrix((len(self._ids) - len(lists), len(self._columns)))
        self._lexical = sparse.csr_matrix(
            sparse.diags_array(self._kept) @ self._own
            + sparse.diags_array(1 - self._kept) @ sparse.vstack([means, none]),
            dtype=np.float32,
        )
        sums = np.zeros_like(self._dense)
        np.add.at(sums, owner, vectors)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        sums /= np.where(lengths > 0, lengths, 1.0)
        self._dense = self._kept[:, None] * self._dense + (1 - self._kept[:, None]) * sums

    def matched_terms(self, posts: Sequence[str], limit: int = 8) -> list[list[str]]:
        """See `Scorer`."""
        check_texts(posts, "matched_terms: posts")
        names, vectors = self._words(posts)
        best = np.asarray((self._lexical @ vectors.T).toarray()).argmax(axis=0)
        products = sparse.csr_matrix(self._lexical[best].multiply(vectors))
        ends = products.indptr
        return [
            list(self._ordered(own, products.indices[start:end], products.data[start:end]))[:limit]
            for own, start, end in zip(names, ends[:-1], ends[1:], strict=True)
        ]

    def term_contributions(self, post: str, article: int, *, own: bool = False) -> dict[str, float]:
        """See `Scorer`."""
        row = (
            self._own[[article]] * self.article_weight(article) if own else self._lexical[[article]]
        )
        (names,), vector = self._words([post])
        products = row.multiply(vector).tocoo()
        share = 1 - self._share
        ordered = self._ordered(names, products.col, products.data)
        return {name: value * share for name, value in ordered.items()}

    def article_term_shares(self, article: int) -> dict[int, float]:
        """See `Scorer`."""
        row = self._own[[article]].tocoo()
        squares = row.data.astype(np.float64) ** 2
        total = max(float(squares.sum()), 1e-12)
        return dict(zip(self._columns[row.col].tolist(), (squares / total).tolist(), strict=True))

    def article_weight(self, article: int) -> float:
        """See `Scorer`."""
        return float(self._kept[article])

    def state(self) -> bytes:
        """See `Scorer`."""
        arrays = {"numbers": np.array([self._settled, self._about, self._pool.posts])}
        for place, counts in enumerate(self._pool.counts):
            arrays[f"places{place}"] = found = np.flatnonzero(counts)
            arrays[f"counts{place}"] = counts[found]
        stream = io.BytesIO()
        np.savez(stream, allow_pickle=False, **arrays, **self._best.plain())
        return stream.getvalue()

    def restore(self, state: bytes, of: Sequence[int] | None = None) -> None:
        """See `Scorer`."""
        with np.load(io.BytesIO(state), allow_pickle=False) as saved:
            settled, self._about, self._pool.posts = map(int, saved["numbers"])
            for place, counts in enumerate(self._pool.counts):
                counts[:] = 0
                counts[saved[f"places{place}"]] = saved[f"counts{place}"]
            self._best.restore(saved["best"], saved["words"], of)
        if settled:
            self.adapt()

    def _words(self, posts: Sequence[str]) -> tuple[list[dict[int, str]], sparse.csr_matrix]:
        """The words and pairs of each post by their ids, and the posts' vectors (P, C)."""
        vocabulary = self._model.vocabulary
        tokens = [self._model.tokens(post) for post in posts]
        if vocabulary.unknown == "drop":  # what has no id has no place among the pairs either
            tokens = [[token for token in own if token in vocabulary] for own in tokens]
        ids = [vocabulary.ids(own) for own in tokens]
        factors = self._heads(ids, "post")[1] if self._model.encoder.has_factors else None
        rows, words, count = self._terms.distinct(ids)
        means = self._means(ids, factors)
        vectors = self._weights.posts(rows, words, count, self._columns, means)
        names = []
        for own, mine in zip(tokens, ids, strict=True):
            phrases = (f"{left} {right}" for left, right in pairwise(own))
            found = dict(zip(bigram_ids(mine).tolist(), phrases, strict=True))
            names.append(found | dict(zip(mine.tolist(), own, strict=True)))
        return names, vectors

    def _ordered(
        self, names: dict[int, str], places: np.ndarray, values: np.ndarray
    ) -> dict[str, float]:
        """Values by name, highest first; a name's id is found by its place among the columns."""
        order = np.argsort(-values, kind="stable")
        ids = self._columns[places[order]].tolist()
        return dict(zip((names[id] for id in ids), values[order].tolist(), strict=True))
