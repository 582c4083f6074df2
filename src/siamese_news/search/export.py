"""The rows of a ranking, with clusters, terms, languages and map coordinates."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from siamese_news.data.records import Post
from siamese_news.search.clusters import CLUSTERED, clusters_of
from siamese_news.search.output import row_of
from siamese_news.search.query import Query
from siamese_news.search.rank import Ranking
from siamese_news.search.report.charts import MAP_POINTS
from siamese_news.search.scan import blocks


def map_of(
    posts: Iterable[Post], encode: Callable[[Sequence[str]], np.ndarray]
) -> dict[str, dict[str, float]]:
    """Id -> ``x`` and ``y`` of the first 2,000 different posts.

    Args:
        posts: best first.
        encode: texts to vectors.
    """
    shown: dict[str, str] = {}
    for post in posts:
        shown.setdefault(post.id, post.text)
        if len(shown) == MAP_POINTS:
            break
    found = places(encode(list(shown.values())))
    return {
        post: {"x": place[0], "y": place[1]}
        for post, place in zip(shown, found, strict=True)
        if place is not None
    }


def places(vectors: np.ndarray) -> list[tuple[float, float] | None]:
    """A place on the map for each post; None for those after the first 2,000.

    t-SNE keeps neighbours together; distances between groups mean little. The same vectors give
    the same map on the same machine. Fewer than five different vectors have no map.

    Args:
        vectors: (posts, dimensions), best-ranked first.
    """
    from sklearn.manifold import TSNE

    shown = np.asarray(vectors, dtype=np.float32)[:MAP_POINTS]
    nowhere: list[tuple[float, float] | None] = [None] * len(vectors)
    different, where = np.unique(shown, axis=0, return_inverse=True)
    if len(different) < 5 or different.shape[1] < 2:
        return nowhere
    # Copies share one place, so that a retweet does not make a cloud of itself.
    tsne = TSNE(init="pca", random_state=0, perplexity=min(30.0, (len(different) - 1) / 3))
    found = tsne.fit_transform(different)
    return [(float(x), float(y)) for x, y in found[where.ravel()]] + nowhere[len(shown) :]


def ranking_rows(
    ranking: Ranking,
    query: Query,
    *,
    matched: Callable[[Sequence[str]], list[list[str]]],
    one_name: bool,
    bare: bool,
    encode: Callable[[Sequence[str]], np.ndarray] | None = None,
    language: Callable[[Post], str | None] | None = None,
) -> Iterator[dict[str, Any]]:
    """The rows of a ranking.

    Args:
        ranking: the lists.
        query: which columns; with `dedupe`, ranks are renumbered.
        matched: the terms that carried the scores of posts.
        one_name: call the article of one list over several seeds ``all``, as TREC needs.
        bare: only what a TREC run has: no clusters unless they are needed, no terms.
        encode: texts to vectors, for the map that the query may ask for.
        language: of a post, where its metadata does not say.
    """
    clusters: dict[str, tuple[int, int]] = {}
    posts, dedupe = ranking.posts(), query.dedupe
    if dedupe or (not bare and len(posts) <= CLUSTERED):
        clusters = clusters_of(posts)
    terms: dict[str, list[str]] = {}
    for block in () if bare else blocks(posts):
        found = matched([post.text for post in block])
        terms.update(zip((post.id for post in block), found, strict=True))
    known: dict[str, str | None] = {}
    if language is not None and len(posts) <= CLUSTERED:
        known = {post.id: language(post) for post in posts}
    points = {}
    if query.map and encode is not None:
        points = map_of(_best_first(ranking), encode)
    for kept in ranking:
        seen: set[int] = set()
        for item in kept:
            number, size = clusters.get(item.post.id, (None, None))
            if dedupe:
                assert number is not None
                if number in seen:
                    continue
                seen.add(number)
            row = row_of(item)
            if one_name and ranking.seeds.one_story:
                row["article"] = "all"
            if dedupe:
                row["rank"] = len(seen)
            if not bare:
                row |= {
                    "lang": row["lang"] or known.get(item.post.id),
                    "cluster": number,
                    "cluster_size": size,
                    "terms": terms[item.post.id],
                    "author": query.author_of(item.post),
                    **points.get(item.post.id, {}),
                }
            yield row


def _best_first(ranking: Ranking) -> list[Post]:
    """The first posts of all lists, then the second ones, as many as a map shows."""
    heads = [found[:MAP_POINTS] for found in ranking]
    return [item.post for line in zip_longest(*heads) for item in line if item is not None]
