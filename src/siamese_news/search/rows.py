"""The rows of the results, with clusters, terms, languages and map coordinates."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice, zip_longest

import numpy as np

from siamese_news.data.columns import ResultRow
from siamese_news.data.records import Post
from siamese_news.search.clusters import CLUSTERED, clusters_of
from siamese_news.search.opening import OpenQuery
from siamese_news.search.output import row_of
from siamese_news.search.rank import Ranking
from siamese_news.search.records import MAP_POINTS, RankedPost
from siamese_news.search.scan import blocks
from siamese_news.text.languages import languages_of

_TOLD_TOGETHER = 4096  # rows whose languages are told at once


def map_of(
    posts: Iterable[Post], encode: Callable[[Sequence[str]], np.ndarray]
) -> dict[str, ResultRow]:
    """Id -> ``x`` and ``y`` of the first 2,000 different posts, from the vectors of their texts."""
    shown: dict[str, str] = {}
    for post in posts:
        shown.setdefault(post.id, post.text)
        if len(shown) == MAP_POINTS:
            break
    vectors = encode(list(shown.values()))
    return {
        id: {"x": place[0], "y": place[1]}
        for id, place in zip(shown, places(vectors), strict=True)
        if place is not None
    }


def places(vectors: np.ndarray) -> list[tuple[float, float] | None]:
    """A place on the map for each row of vectors, best first; None after the first 2,000.

    t-SNE keeps neighbors together; distances between groups mean little. The same vectors
    have the same map on the same machine. Fewer than five different vectors have no map.
    """
    from sklearn.manifold import TSNE

    shown = np.asarray(vectors, dtype=np.float32)[:MAP_POINTS]
    nowhere: list[tuple[float, float] | None] = [None] * len(vectors)
    different, where = np.unique(shown, axis=0, return_inverse=True)
    if len(different) < 5 or different.shape[1] < 2:
        return nowhere
    # Copies share one place, so that a retweet does not make a cloud of itself.
    perplexity = min(30.0, (len(different) - 1) / 3)
    tsne = TSNE(init="pca", random_state=0, perplexity=perplexity)
    coordinates = tsne.fit_transform(different)[where.ravel()]
    return [(float(x), float(y)) for x, y in coordinates] + nowhere[len(shown) :]


def ranking_rows(ranking: Ranking, opened: OpenQuery) -> Iterator[ResultRow]:
    """The rows of a ranking, with the columns that the query asks for."""
    query = opened.query
    posts = ranking.posts()
    terms: dict[str, list[str]] = {}
    for block in () if query.format == "trec" else blocks(posts):
        matched = ranking.scorer.matched_terms([post.text for post in block])
        terms.update(zip((post.id for post in block), matched, strict=True))

    def row_for(item: RankedPost) -> ResultRow:
        row = row_of(item)
        row["terms"] = terms.get(item.post.id)
        row["author"] = query.author_of(item.post)
        return row

    lists = (map(row_for, ranked) for ranked in ranking)
    return finished_rows(
        lists, len(posts), lambda: posts, partial(_best_first, ranking), opened
    )


def finished_rows(
    lists: Iterable[Iterable[ResultRow]],
    count: int,
    posts: Callable[[], Iterable[Post]],
    best_first: Callable[[], Iterable[Post]],
    opened: OpenQuery,
) -> Iterator[ResultRow]:
    """Rows with rank, cluster, language and map coordinates; without near-duplicates if asked.

    `lists` are the rows of each list, best first. `posts` are their `count` different posts, and
    `best_first` the same in the order in which they get a place on the map. Over `CLUSTERED` posts,
    clusters are found only on request and languages not at all. A TREC run has one list for each
    name: the article of a list for several seeds is ``all``.
    """
    query = opened.query
    seeds = opened.seeds
    few = count <= CLUSTERED
    several = seeds.one_story and len(seeds.articles) > 1
    bare = query.format == "trec"
    clusters: dict[str, tuple[int, int]] = {}
    points: dict[str, ResultRow] = {}
    if query.dedupe or (few and not bare):
        clusters = clusters_of(list(posts()))
    if query.map and not bare:
        points = map_of(best_first(), opened.model.encode_posts)
    tell = few and query.format not in ("trec", "table")
    for rows in lists:
        seen: set[int | None] = set()
        rank = 0
        stream = iter(rows)
        while block := list(islice(stream, _TOLD_TOGETHER)):
            listed = []
            for row in block:
                number, size = clusters.get(row["post"], (None, None))
                if query.dedupe:
                    if number in seen:
                        continue
                    seen.add(number)
                rank += 1
                row |= {"rank": rank, "cluster": number, "cluster_size": size}
                if bare and several:
                    row["article"] = "all"
                listed.append(row)
            if tell:
                _tell_languages(listed)
            for row in listed:
                yield row | points.get(row["post"], {})


def _tell_languages(rows: Iterable[ResultRow]) -> None:
    """Set the language of each row without a language."""
    untold = [row for row in rows if not row["lang"]]
    languages = languages_of([row["text"] for row in untold])
    for row, language in zip(untold, languages, strict=True):
        row["lang"] = language


def _best_first(ranking: Ranking) -> list[Post]:
    """The first posts of all lists, then the second ones, as many as a map shows."""
    heads = [ranked[:MAP_POINTS] for ranked in ranking]
    in_turn = chain.from_iterable(zip_longest(*heads))
    return [item.post for item in in_turn if item is not None]
