"""Id and score of every post, and nothing else: what a certificate is planned on."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import IO, Any

from siamese_news.data.records import Post
from siamese_news.errors import InputError
from siamese_news.scoring import Scorer
from siamese_news.search.histogram import ScoreCounts
from siamese_news.search.scan import observe, scored
from siamese_news.search.seeds import MILLION, Seeds
from siamese_news.search.spool import Spool
from siamese_news.search.window import Window


@dataclass(frozen=True, slots=True)
class AllScores:
    """What was written.

    Attributes:
        scanned: posts.
        scores: how many have which score.
    """

    scanned: int
    scores: ScoreCounts


def write_scores(
    stream: IO[bytes],
    scorer: Scorer,
    seeds: Seeds,
    posts: Iterable[Post],
    *,
    window: Window | None = None,
    again: Callable[[str], None] | None = None,
    spool: Spool | None = None,
) -> AllScores:
    """Write a Parquet file with the columns ``post`` and ``score``, in the order of the posts.

    Where there is a list for each seed, ``article`` comes first and every pair is a row. A block of
    posts is in memory at one time.

    Args:
        stream: where to.
        scorer: opened with `seeds.texts`.
        seeds: what to search for.
        posts: such as a `PostStream`.
        window: which posts by date; None for all.
        again: called after each pass that the scorer learned from, with what it learned.
        spool: where the first pass leaves what it read for the others; None is a new one.

    Raises:
        InputError: no post.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    fields = [("post", pa.string()), ("score", pa.float64())]
    if not seeds.over:
        fields.insert(0, ("article", pa.string()))
    schema = pa.schema(fields)
    spool = spool or Spool()
    for _ in observe(scorer, posts, window=window, again=again, spool=spool):
        pass
    scanned, counts = 0, ScoreCounts()
    # Ids are all different and scores nearly so: dictionaries would only take room.
    options: dict[str, Any] = {"compression": "zstd", "use_dictionary": ["article"]}
    with pq.ParquetWriter(stream, schema, **options) as writer:
        for block in scored(scorer, posts, articles=len(seeds.texts), window=window, spool=spool):
            scores, _ = seeds.combine(block.scores)
            counts.add(scores)
            scanned += len(block.posts)
            ids = pa.array([post.id for post in block.posts], pa.string())
            for number, line in enumerate(scores):
                columns = [ids, pa.array(line / MILLION)]
                if not seeds.over:
                    name = seeds.articles[number].id
                    columns.insert(0, pa.array([name] * len(block.posts), pa.string()))
                writer.write_table(pa.table(columns, schema=schema))
    spool.close()
    if not scanned:
        raise InputError("there is no post to rank: expected at least one")
    return AllScores(scanned, counts)
