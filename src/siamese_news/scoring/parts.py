"""What a score is made of."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from siamese_news.scoring.articles import ArticleVectors
from siamese_news.scoring.features import PostReader
from siamese_news.scoring.passages import PassageScores
from siamese_news.scoring.smoothing import SmoothedScores
from siamese_news.scoring.surface import SurfaceScores


@dataclass(frozen=True, slots=True)
class Neighbor:
    """A post that another post's score leans on.

    Attributes:
        ids: its word ids.
        weight: what a unit of its score adds.
        added: what its score adds.
    """

    ids: NDArray[np.int64]
    weight: float
    added: float


@dataclass(frozen=True, slots=True)
class ScoreParts:
    """What a post's score for an article is made of.

    Attributes:
        terms: what each word of the post, or two in a row, adds by the lexical head, strongest
            first.
        surface: what each word of the post adds by the n-grams inside it and by a close passage,
            strongest first.
        article_terms: what each word id of the article's own text adds by the lexical head, through
            the post and through its neighbors, and by its n-grams.
        article_vector: (D,), whose product with the article's own vector is what that adds through
            the post and its neighbors; empty where the dense head does not count.
        post_vector: the factor of the cosine of the article's own vector and the post's in the
            score.
        own: the weight of the post's own score before smoothing.
        neighbors: the posts that the score leans on, the greatest addition first.

    Example:
        >>> from siamese_news import open_model, open_scorer
        >>> scorer = open_scorer(open_model(), ["A river floods a town."])
        >>> list(scorer.parts_of("the river is in my cellar", 0).terms)
        ['river']
    """

    terms: dict[str, float] = field(default_factory=dict)
    surface: dict[str, float] = field(default_factory=dict)
    article_terms: dict[int, float] = field(default_factory=dict)
    article_vector: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))
    post_vector: float = 1.0
    own: float = 1.0
    neighbors: list[Neighbor] = field(default_factory=list)


def matched_terms(
    articles: ArticleVectors, reader: PostReader, posts: Sequence[str], limit: int
) -> list[list[str]]:
    """The words that carried each post's best lexical score, strongest first.

    Args:
        articles: the articles.
        reader: of posts.
        posts: P texts.
        limit: words of a post, at most.
    """
    read = reader(posts)
    best = articles.heads(read)[0].argmax(axis=0)
    found: list[list[str]] = [[] for _ in posts]
    for group in articles.groups:
        mine = np.flatnonzero(np.isin(best, group.rows))
        if not len(mine):
            continue
        vectors = read.weighted(group.weights, articles.columns)[mine]
        rows = group.vectors[np.searchsorted(group.rows, best[mine])]
        products = sparse.csr_matrix(rows.multiply(vectors))
        ends = products.indptr
        for place, start, end in zip(mine.tolist(), ends[:-1], ends[1:], strict=True):
            ids = articles.columns[products.indices[start:end]]
            named = _named(reader.names(posts[place]), ids, products.data[start:end])
            found[place] = list(named)[:limit]
    return found


def score_parts(
    articles: ArticleVectors,
    reader: PostReader,
    smoothed: SmoothedScores | None,
    surface: SurfaceScores | None,
    passages: PassageScores | None,
    weights: tuple[float, float, float],
    post: str,
    article: int,
) -> ScoreParts:
    """What a post's score for an article is made of.

    Args:
        articles: the articles.
        reader: of posts.
        smoothed: the smoothed scores; None for none.
        surface: the surface; None for none.
        passages: what close passages give; None for none.
        weights: of the cosine and of its excess, and from which cosine on there is excess.
        post: its text.
        article: the article's number.
    """
    share, excess, quantile = weights
    group, row = articles.group_of(article)
    read = reader([post])
    weight, around = smoothed.influences(read, article) if smoothed is not None else (1.0, [])
    if surface is not None:
        weight *= surface.scale
        around = [replace(one, weight=one.weight * surface.scale) for one in around]
    said = [part for part in (read.said, *(one.said for one in around)) if part is not None]
    near = reader.of_ids(
        [*read.ids, *(one.ids for one in around)], np.concatenate(said) if said else None
    )
    shares = np.array([weight, *(one.weight for one in around)], np.float32)
    dense = articles.heads(near, [article])[1]
    lexical, kept = 1 - share - excess, float(articles.kept[article])
    vectors = near.weighted(group.weights, articles.columns)
    products = group.vectors[[row]].multiply(vectors[[0]]).tocoo()
    terms = _named(reader.names(post), articles.columns[products.col], products.data)
    mine = group.own[[row]].multiply(sparse.csr_matrix(shares[None]) @ vectors).tocoo()
    by_id = zip(articles.columns[mine.col].tolist(), mine.data.tolist(), strict=True)
    vector, factor = np.zeros(0, np.float32), 0.0
    if dense is not None and near.vectors is not None:
        # The excess of a cosine is the cosine times a factor.
        over = np.maximum(dense[0] - quantile, 0) / np.where(dense[0] > 0, dense[0], 1.0)
        factors = (share + excess * over).astype(np.float32)
        vector = np.float32(kept) * ((shares * factors) @ near.vectors)
        factor = kept * weight * float(factors[0])
    article_terms = {id: value * lexical * kept for id, value in by_id}
    by_grams: dict[str, float] = {}
    if surface is not None:
        of_post, of_article = surface.parts(read.ids, article)
        if passages is not None:
            more_of_post, more_of_article = passages.parts(read, article)
            _add(of_post, more_of_post)
            _add(of_article, more_of_article)
        ids, values = np.array(list(of_post), np.int64), np.array(list(of_post.values()))
        by_grams = _named(reader.names(post), ids, values)
        _add(article_terms, of_article)
    return ScoreParts(
        terms={name: value * lexical * weight for name, value in terms.items()},
        surface=by_grams,
        article_terms=article_terms,
        article_vector=vector,
        post_vector=factor,
        own=weight,
        neighbors=sorted(
            (Neighbor(one.ids, one.weight, one.weight * one.score) for one in around),
            key=lambda one: -one.added,
        ),
    )


def _add(values: dict[int, float], more: dict[int, float]) -> None:
    for id, value in more.items():
        values[id] = values.get(id, 0.0) + value


def _named(names: dict[int, str], ids: NDArray[Any], values: NDArray[Any]) -> dict[str, float]:
    """Values by name, highest first."""
    order = np.argsort(-values, kind="stable")
    found = (names[id] for id in ids[order].tolist())
    return dict(zip(found, values[order].tolist(), strict=True))
