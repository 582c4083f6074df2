"""All posts over a threshold: streamed to disk, then sorted."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import msgspec
import numpy as np

from siamese_news.data.columns import ResultRow
from siamese_news.data.records import Post
from siamese_news.scoring import Content, Scorer
from siamese_news.search.clusters import CLUSTERED
from siamese_news.search.histogram import ScoreCounts
from siamese_news.search.list_relevance import Cut
from siamese_news.search.opened_query import FilterOutcome, OpenQuery
from siamese_news.search.pool import Pool, Pruning, Scored
from siamese_news.search.ranked_posts import post_columns
from siamese_news.search.remarks import order_remarks, share_remarks
from siamese_news.search.result_files import BINARY
from siamese_news.search.result_rows import finished_rows
from siamese_news.search.seeds import MILLION
from siamese_news.text.token_ids import TokenIds
from siamese_news.utils.files import atomic_write, naming


def filter_posts(opened: OpenQuery, pool: Pool, path: Path) -> FilterOutcome:
    """Write the rows that the query keeps to a file, in the order of the pool."""
    scorer = pool.observe(opened.scorer(), opened.window)
    cut = opened.cut(scorer)
    counts = ScoreCounts()
    scored = listed = unknown = 0
    with naming(path), path.open("wb") as stream:
        for block, scores, lines, left_out in kept_rows(opened, scorer, pool, cut):
            counts.add(scores, of_all=block.rows is None)
            stream.writelines(lines)
            scored += len(block.posts)
            listed += len(lines)
            unknown += left_out
    if opened.second_look is not None:
        opened.second_look.read_sample(pool.sample())
    return FilterOutcome(
        scorer, scored, pool.searched(scored), counts, listed, cut, unknown
    )


def kept_rows(
    opened: OpenQuery, scorer: Scorer, pool: Pool, cut: Cut
) -> Iterator[tuple[Scored, np.ndarray, list[bytes], int]]:
    """The blocks, (1, P) scores over all seeds in millionths, and a line for each post to keep.

    Last comes how many others have the score of a post to keep, but no relevance. The scorer has
    observed the posts.
    """
    seeds = opened.seeds
    pruning = Pruning(seeds.at_most, lambda: np.array([cut.floor]))
    for block in pool.parts(scorer, len(seeds.texts), opened.window, pruning):
        scores, best = seeds.combine(block.scores)
        lines = _lines(scorer, opened, block, cut, scores[0], best)
        yield block, scores, lines, cut.reached(scores[0], best)[1]


def _lines(
    scorer: Scorer,
    opened: OpenQuery,
    block: Scored,
    cut: Cut,
    scores: np.ndarray,
    best: np.ndarray,
) -> list[bytes]:
    rows = rows_over(scorer, opened, cut, block.posts, scores, best, block.content)
    return [msgspec.json.encode(row) + b"\n" for row in rows]


def rows_over(
    scorer: Scorer,
    opened: OpenQuery,
    cut: Cut,
    posts: Sequence[Post],
    scores: np.ndarray,
    best: np.ndarray,
    content: Content | None = None,
) -> Iterator[ResultRow]:
    """A row for each of P posts that the cut keeps, with its score in millionths.

    `scores` and `best` are (P,) results of `Seeds.combine` for one list over all seeds, and
    `content` is what the scorer read of the posts, where it is at hand.
    """
    query = opened.query
    articles = opened.seeds.articles
    over, _ = cut.reached(scores, best)
    columns = over.tolist()
    kept_content = (
        content.take(over)
        if isinstance(content, TokenIds)
        else [posts[column].text for column in columns]
    )
    terms = scorer.matched_terms(kept_content)
    likely = cut.relevance.column(0, scores[over], best[over])
    for column, matched, relevance in zip(columns, terms, likely, strict=True):
        post = posts[column]
        yield {
            "article": articles[int(best[column])].id,
            "score": int(scores[column]),
            "relevance": relevance,
            **post_columns(
                post
            ),  # the text is for the clusters even if it is not written
            "terms": matched,
            "author": query.author_of(post),
        }


def write_filtered(
    opened: OpenQuery,
    rows: Path,
    outcome: FilterOutcome,
    read_counts: Mapping[str, int],
    remarks: Sequence[str],
) -> list[str]:
    """Write partial results, best first, and their meta file; returns remarks for the user.

    `read_counts` are the counts of the pool, and `remarks` about its posts.
    """
    query = opened.query
    assert query.out is not None
    relevance: list[float] = []
    with atomic_write(query.out, "wb" if query.format in BINARY else "w") as target:
        rows_of = _noted(filtered_rows(rows, opened, outcome), relevance)
        opened.write_rows(target, rows_of)
    all_remarks = [
        *remarks,
        *filter_remarks(opened, outcome, relevance),
    ]
    if outcome.listed > CLUSTERED and not query.dedupe:
        all_remarks.append(
            f"More than {CLUSTERED:,} posts were kept, too many to look for near-duplicates and "
            "languages; --dedupe finds the former."
        )
    remarks = opened.remarks(*all_remarks)
    opened.write_meta(outcome, read_counts, remarks)
    return remarks


def filter_remarks(
    opened: OpenQuery, outcome: FilterOutcome, kept_relevance: Sequence[float]
) -> list[str]:
    """Remarks on the scores, on the share of the posts that was kept, and on their relevance."""
    query = opened.query
    cut = outcome.cut
    if query.threshold is None:
        threshold = f"{query.min_score:g}"
    else:
        score = "no score" if cut.score is None else f"a score of {cut.score:.3f}"
        threshold = f"{query.threshold:g} of relevance ({score} here)"
    scores = outcome.scores
    # Where relevance is unknown, no threshold keeps a post: the remark on it says what to do.
    unknown = query.threshold is not None and np.isnan(cut.relevance_of(scores.highest))
    share = share_remarks(outcome.listed, outcome.searched, threshold, scores)
    return [
        *(() if unknown else share),
        *order_remarks(scores, {"the seeds": scores.highest}),
        *cut.remarks(kept_relevance, outcome.listed, outcome.unknown),
    ]


def _noted(rows: Iterable[ResultRow], relevance: list[float]) -> Iterator[ResultRow]:
    """The rows, whose relevance is noted, if they have one."""
    for row in rows:
        if row["relevance"] is not None:
            relevance.append(row["relevance"])
        yield row


def filtered_rows(
    path: Path, opened: OpenQuery, outcome: FilterOutcome
) -> Iterator[ResultRow]:
    """The rows of a part file, best first, ties by post id descending, with rank and cluster.

    Only the scores and the places of the rows are in memory, and the texts where clusters are
    looked for (`finished_rows`).
    """
    starts = array("q")
    scores = array("q")
    with path.open("rb") as stream:
        offset = 0
        for line in stream:
            starts.append(offset)
            scores.append(msgspec.json.decode(line)["score"])
            offset += len(line)
        row_scores = np.array(scores, np.int64)

        def row_at(row_number: int) -> ResultRow:
            stream.seek(starts[row_number])
            row: ResultRow = msgspec.json.decode(stream.readline())
            if row["relevance"] is not None:
                row["relevance"] = likely.get(row_number, row["relevance"])
            return row | {"score": int(row_scores[row_number]) / MILLION}

        likely: dict[int, float] = {}
        order = _order(row_scores, row_at)
        if opened.second_look is not None:
            reread = opened.second_look.reread(
                0,
                row_scores,
                order,
                lambda rows: [
                    row_at(row_number)["text"] for row_number in rows.tolist()
                ],
                outcome.scorer.scales(),
                outcome.scorer.agreement(),
            )
            relevance = outcome.cut.relevance.of(0, row_scores[reread])
            likely = dict(zip(reread.tolist(), relevance.tolist(), strict=True))
            order = _order(row_scores, row_at)

        def rows() -> Iterator[ResultRow]:
            return map(row_at, order.tolist())

        def posts() -> Iterator[Post]:
            return (Post(row["post"], row["text"]) for row in rows())

        yield from finished_rows([rows()], len(order), posts, opened)


def _order(scores: np.ndarray, row_at: Callable[[int], ResultRow]) -> np.ndarray:
    """Places by score descending, then by id descending; rows are read only where scores tie."""
    order = np.argsort(-scores, kind="stable")
    bounds = np.flatnonzero(np.diff(scores[order])) + 1
    for start, end in pairwise([0, *bounds.tolist(), len(order)]):
        if end - start > 1:
            tied = order[start:end].tolist()
            order[start:end] = sorted(
                tied, key=lambda row_number: row_at(row_number)["post"], reverse=True
            )
    return order
