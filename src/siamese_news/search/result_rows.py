"""The rows of the results, with clusters, terms and languages."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from siamese_news.data.columns import ResultRow
from siamese_news.data.records import Post
from siamese_news.model.text_model import BLOCK
from siamese_news.search.clusters import CLUSTERED, clusters_of
from siamese_news.search.opened_query import OpenQuery
from siamese_news.search.post_ranking import Ranking
from siamese_news.search.ranked_posts import RankedPost
from siamese_news.search.result_files import row_of
from siamese_news.search.scan import blocks
from siamese_news.text.languages import languages_of


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
    return finished_rows(lists, len(posts), lambda: posts, opened)


def finished_rows(
    lists: Iterable[Iterable[ResultRow]],
    count: int,
    posts: Callable[[], Iterable[Post]],
    opened: OpenQuery,
) -> Iterator[ResultRow]:
    """Rows with rank, cluster and language; without near-duplicates if asked.

    `lists` are the rows of each list, best first. `posts` are their `count` different posts.
    Over `CLUSTERED` posts, clusters are found only on request and languages not at all. A TREC run
    has one list for each name: the article of a list for several seeds is ``all``.
    """
    query = opened.query
    seeds = opened.seeds
    is_small = count <= CLUSTERED
    several = seeds.one_story and len(seeds.articles) > 1
    bare = query.format == "trec"
    has_clusters = query.dedupe or (is_small and not bare)
    clusters = clusters_of(list(posts())) if has_clusters else {}
    tell = is_small and query.format not in ("trec", "table")
    for rows in lists:
        seen: set[int | None] = set()
        rank = 0
        for row in _with_languages(rows) if tell else rows:
            number, size = clusters.get(row["post"], (None, None))
            if query.dedupe:
                if number in seen:
                    continue
                seen.add(number)
            rank += 1
            row |= {"rank": rank, "cluster": number, "cluster_size": size}
            if bare and several:
                row["article"] = "all"
            yield row


def _with_languages(rows: Iterable[ResultRow]) -> Iterator[ResultRow]:
    """The rows with the languages of texts whose platform names none, many at a time."""
    stream = iter(rows)
    while batch := list(islice(stream, BLOCK)):
        unknown = [row for row in batch if not row["lang"]]
        codes = languages_of([row["text"] for row in unknown])
        for row, code in zip(unknown, codes, strict=True):
            row["lang"] = code
        yield from batch
