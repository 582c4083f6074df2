"""The parts of a mixture's score: what words, vectors, n-grams, passages and neighbors add."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from siamese_news.scoring.basis import Basis
from siamese_news.scoring.post_features import PostReader, Posts
from siamese_news.scoring.scorer import Neighbor, ScoreParts
from siamese_news.scoring.surface import by_id

NameOf = Callable[[NDArray[Any], NDArray[Any]], Iterator[str]]
"""Rows of posts and ids of words or pairs -> what these are in the posts."""


def score_parts(
    basis: Basis, reader: PostReader, post: str, article: int
) -> ScoreParts:
    """The parts of a post's score for an article; see `ScoreParts`."""
    post_features = reader([post])
    name_of = partial(reader.names_of, post_features.ids)
    own_weight, neighbors = _leaning(basis, post_features, article)
    posts = _with_neighbors(reader, post_features, neighbors)
    weights = [own_weight, *(neighbor.weight for neighbor in neighbors)]
    # (P,) what a unit of each one's score adds: of the post, then of its neighbors.
    units = np.array(weights, np.float32)
    terms, of_words = _by_words(basis, posts, name_of, units, article)
    article_vector, factors = _by_vectors(basis, posts, units, article)
    own_share = float(basis.articles.kept_dense[article])
    views = []
    if basis.surface is not None:
        views.append(basis.surface.parts(post_features.ids, article))
    if basis.passages is not None:
        views.append(basis.passages.parts(post_features, article))
    of_post = _total(by_post for by_post, _ in views)
    word_ids = np.array(list(of_post), np.int64)
    additions = np.array(list(of_post.values()))
    of_article = _total([of_words, *(by_article for _, by_article in views)])
    return ScoreParts(
        terms={name: value * own_weight for name, value in terms.items()},
        surface=_named(name_of, word_ids, additions),
        article_terms=of_article,
        article_vector=article_vector,
        post_vector=own_share * own_weight * float(factors[0]),
        own_weight=own_weight,
        neighbors=sorted(neighbors, key=lambda neighbor: -neighbor.added),
    )


def _leaning(
    basis: Basis, post_features: Posts, article: int
) -> tuple[float, list[Neighbor]]:
    """The weight of the post's own score in the whole one, and its neighbors with theirs."""
    own_weight = 1.0
    neighbors = list[Neighbor]()
    if basis.smoothed is not None:
        own_weight, neighbors = basis.smoothed.neighbors(post_features, article)
    scale = float(basis.scales[article])
    scaled = [
        replace(neighbor, weight=neighbor.weight * scale) for neighbor in neighbors
    ]
    return own_weight * scale, scaled


def _with_neighbors(
    reader: PostReader, post_features: Posts, neighbors: Sequence[Neighbor]
) -> Posts:
    """The post, then its neighbors."""
    ids = [*post_features.ids, *(neighbor.ids for neighbor in neighbors)]
    vectors = [
        post_features.whole_text_vectors,
        *(neighbor.whole_text_vectors for neighbor in neighbors),
    ]
    of_encoder = [vector for vector in vectors if vector is not None]
    if not of_encoder:
        return reader.of_ids(ids)
    return reader.of_ids(ids, np.concatenate(of_encoder))


def _by_words(
    basis: Basis,
    posts: Posts,
    name_of: NameOf,
    units: NDArray[np.float32],
    article: int,
) -> tuple[dict[str, float], dict[int, float]]:
    """What the lexical head adds by each word of a post and by each of the article's own.

    The first are by name, for a unit of the score of the first post; the second by word id,
    through all posts.
    """
    articles = basis.articles
    group, row = articles.group_of(article)
    cosine_weight, excess_weight, _ = basis.weights.of(article)
    word_weight = 1 - cosine_weight - excess_weight
    vectors = posts.weighted(group.weights, articles.columns)

    products = group.vectors[[row]].multiply(vectors[[0]]).tocoo()
    of_post = _named(name_of, articles.columns[products.col], products.data)
    additions_of_post = {name: value * word_weight for name, value in of_post.items()}

    total = sparse.csr_matrix(units[None]) @ vectors
    products = group.unexpanded[[row]].multiply(total).tocoo()
    additions = products.data.astype(np.float64) * word_weight
    additions *= float(articles.kept[article])
    return additions_of_post, by_id(articles.columns[products.col], additions)


def _by_vectors(
    basis: Basis, posts: Posts, units: NDArray[np.float32], article: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """`ScoreParts.article_vector`, and the factors (P,) of the posts' cosines in their scores."""
    articles = basis.articles
    _, rows = articles.heads(posts, [article])
    if rows is None or posts.vectors is None:
        return np.zeros(0, np.float32), np.zeros(len(units), np.float32)
    (cosines,) = rows
    cosine_weight, excess_weight, quantile = basis.weights.of(article)
    # What a cosine exceeds the quantile by is the cosine times a factor.
    divisors = np.where(cosines > 0, cosines, 1.0)
    over = np.maximum(cosines - quantile, 0) / divisors
    factors = (cosine_weight + excess_weight * over).astype(np.float32)
    vector = (units * factors) @ posts.vectors
    return np.float32(articles.kept_dense[article]) * vector, factors


def _total(parts: Iterable[Mapping[int, float]]) -> dict[int, float]:
    """Their sum, by id."""
    totals: dict[int, float] = {}
    for additions in parts:
        for id, value in additions.items():
            totals[id] = totals.get(id, 0.0) + value
    return totals


def _named(
    name_of: NameOf, ids: NDArray[Any], values: NDArray[Any]
) -> dict[str, float]:
    """Values by name in the first post, highest first."""
    order = np.argsort(-values, kind="stable")
    words = name_of(np.zeros_like(ids), ids[order])
    return dict(zip(words, values[order].tolist(), strict=True))
