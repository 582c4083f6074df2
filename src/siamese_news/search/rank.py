"""Rank posts for seed articles: memory bounded, the same every time."""

from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any

from siamese_news.data.records import Article, Post
from siamese_news.errors import InputError
from siamese_news.model.siamese import Model
from siamese_news.scoring import Scorer, open_scorer
from siamese_news.search.histogram import ScoreCounts
from siamese_news.search.pool import Pool, Wanted
from siamese_news.search.query import Query
from siamese_news.search.records import RankedPost
from siamese_news.search.remarks import order_remarks
from siamese_news.search.scan import ReplayablePosts, StreamPool
from siamese_news.search.seeds import MILLION, Seeds
from siamese_news.search.top import TopPosts
from siamese_news.search.window import Window


class Ranking:
    """The lists of a search, made one at a time: they may be as long as the pool.

    Attributes:
        seeds: what was searched for.
        scores: how many posts have which score, of all that were scanned.
    """

    def __init__(self, seeds: Seeds, found: TopPosts, scores: ScoreCounts) -> None:
        self.seeds = seeds
        self.scores = scores
        self._found = found

    @property
    def scanned(self) -> int:
        """How many posts were scored."""
        return self._found.seen

    def remarks(self) -> list[str]:
        """What a user should know of lists that say little."""
        names = ["the seeds"] if self.seeds.one_story else [a.id for a in self.seeds.articles]
        best = (score / MILLION for score in self._found.best())
        return order_remarks(self.scores, dict(zip(names, best, strict=True)))

    def posts(self) -> list[Post]:
        """The different posts in the lists."""
        return self._found.posts()

    def __iter__(self) -> Iterator[list[RankedPost]]:
        articles = self.seeds.articles
        for number, kept in enumerate(self._found.lists()):
            yield [
                RankedPost(
                    articles[best if self.seeds.one_story else number], rank, s / MILLION, post
                )
                for rank, (s, post, best) in enumerate(kept, 1)
            ]


def rank_posts(
    model: Model, articles: Sequence[Article], posts: Iterable[Post], *, top: int
) -> list[list[RankedPost]]:
    """The `top` posts of each article, best first.

    Scores are rounded to 6 decimals; ties break by post id, descending, as trec_eval breaks them.
    Posts are encoded in blocks of 8,192 input rows, so only one block and the best are in memory.

    Args:
        model: any model.
        articles: the seeds.
        posts: any number of posts.
        top: how many posts to keep for each article.

    Returns:
        One list an article, in the order of `articles`.

    Raises:
        InputError: no articles, no posts, a post id twice, or `top` below 1.
    """
    seeds, query = Seeds(articles), Query(top=top)
    return list(
        search(
            open_scorer(model, seeds.texts, positives=len(seeds.articles)),
            seeds,
            StreamPool(ReplayablePosts(posts)),
            top=query.top,
        )
    )


def search(
    scorer: Scorer,
    seeds: Seeds,
    pool: Pool,
    *,
    top: int,
    window: Window | None = None,
    texts: bool = True,
) -> Ranking:
    """Rank the posts of a pool.

    Args:
        scorer: opened with `seeds.texts`.
        seeds: what to search for.
        pool: where.
        top: posts of each list.
        window: which posts by date; None for all.
        texts: whether the posts in the ranking need more than their ids.

    Raises:
        InputError: no post.
    """
    window = window or Window()
    for _ in pool.observe(scorer, window):
        pass
    found, counts = TopPosts(seeds.lists, top), ScoreCounts()
    wanted = Wanted(seeds.at_most, found.least)
    for block in pool.parts(scorer, len(seeds.texts), window, wanted=wanted):
        scores, best = seeds.combine(block.scores)
        counts.add(scores, of_all=block.rows is None)
        bare = block.rows is None and not texts
        kept = [Post(post.id, "") for post in block.posts] if bare else block.posts
        found.add(kept, scores, best, block.rows)
    if not found.seen:
        reason = "; no post lies within the dates" if window.counts() else ": expected at least one"
        raise InputError(f"no posts to rank{reason}")
    return Ranking(seeds, found, counts)


def write_scores(
    stream: IO[bytes], scorer: Scorer, seeds: Seeds, pool: Pool, window: Window
) -> tuple[int, ScoreCounts]:
    """Write a Parquet file with the columns ``post`` and ``score``, in the order of the posts.

    Where there is a list for each seed, ``article`` comes first and every pair is a row. A block of
    posts is in memory at one time.

    Args:
        stream: where to.
        scorer: opened with `seeds.texts`.
        seeds: what to search for.
        pool: the posts.
        window: which posts by date.

    Returns:
        How many posts were scored, and how many have which score.

    Raises:
        InputError: no post.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    fields = [("post", pa.string()), ("score", pa.float64())]
    if not seeds.one_story:
        fields.insert(0, ("article", pa.string()))
    schema = pa.schema(fields)
    for _ in pool.observe(scorer, window):
        pass
    scanned, counts = 0, ScoreCounts()
    # Ids are all different and scores nearly so: dictionaries would only take room.
    options: dict[str, Any] = {"compression": "zstd", "use_dictionary": ["article"]}
    with pq.ParquetWriter(stream, schema, **options) as writer:
        for block in pool.parts(scorer, len(seeds.texts), window):
            scores, _ = seeds.combine(block.scores)
            counts.add(scores)
            scanned += len(block.posts)
            ids = pa.array([post.id for post in block.posts], pa.string())
            for number, line in enumerate(scores):
                columns = [ids, pa.array(line / MILLION)]
                if not seeds.one_story:
                    name = seeds.articles[number].id
                    columns.insert(0, pa.array([name] * len(block.posts), pa.string()))
                writer.write_table(pa.table(columns, schema=schema))
    if not scanned:
        raise InputError("no posts to rank: expected at least one")
    return scanned, counts
