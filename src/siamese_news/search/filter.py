"""Everything over a threshold: streamed to disk, resumed where it stopped, then best first."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from siamese_news.data.records import Post
from siamese_news.scoring import Scorer
from siamese_news.search.clusters import CLUSTERED, clusters_of
from siamese_news.search.export import ExportOptions, map_of
from siamese_news.search.histogram import ScoreCounts
from siamese_news.search.index.scoring import Wanted
from siamese_news.search.output import metadata_text
from siamese_news.search.partial_results import PartialResults
from siamese_news.search.scan import Scored, observe, scored
from siamese_news.search.seeds import MILLION, Seeds
from siamese_news.search.spool import Spool
from siamese_news.search.window import Window


@dataclass(frozen=True, slots=True)
class Filtered:
    """What came of it.

    Attributes:
        scored: posts scored in the last pass.
        kept: posts at or over the threshold.
        scores: how many posts have which score.
    """

    scored: int
    kept: int
    scores: ScoreCounts


def filter_posts(
    scorer: Scorer,
    seeds: Seeds,
    posts: Iterable[Post],
    part: PartialResults,
    *,
    threshold: float,
    share: ExportOptions,
    window: Window | None = None,
    again: Callable[[str], None] | None = None,
    spool: Spool | None = None,
) -> Filtered:
    """Write the posts at or over a threshold into the part file, in the order of the input.

    Args:
        scorer: opened with `seeds.texts`.
        seeds: what to search for; one list over all of them.
        posts: whose ids are known to differ, and that can be read twice.
        part: where to; says which blocks are done already.
        threshold: of the score, which is rounded to 6 decimals before.
        share: what is written of a post.
        window: which posts by date.
        again: called after each pass that the scorer learned from, with what it learned.
        spool: where the first pass leaves what it read for the others; None is a new one.
    """
    if part.progress.scorer:
        scorer.restore(part.progress.scorer)
    counts = ScoreCounts(part.progress.histogram)
    spool = spool or Spool()
    done = part.progress.blocks
    passes = observe(scorer, posts, window=window, done=done, again=again, spool=spool)
    for blocks in passes:
        part.progress.blocks = blocks
        if not blocks or part.due:
            _save(part, scorer, counts)
    done = part.progress.blocks
    for block, scores, lines in kept_rows(
        scorer, seeds, posts, threshold=threshold, share=share, window=window, done=done,
        spool=spool,
    ):  # fmt: skip
        counts.add(scores, of_all=block.rows is None)
        part.append(lines)
        part.progress.scored += len(block.posts)
        if block.last:
            part.progress.blocks = block.number + 1
            if part.due:
                _save(part, scorer, counts)
    spool.close()
    _save(part, scorer, counts)
    return Filtered(part.progress.scored, part.progress.rows, counts)


def kept_rows(
    scorer: Scorer,
    seeds: Seeds,
    posts: Iterable[Post],
    *,
    threshold: float,
    share: ExportOptions,
    window: Window | None = None,
    done: int = 0,
    spool: Spool | None = None,
) -> Iterator[tuple[Scored, np.ndarray, list[bytes]]]:
    """The blocks with their scores over all seeds, and a line for each post that is kept.

    Args:
        scorer: one that has observed the posts.
        seeds: what to search for; one list over all of them.
        posts: see `scored`.
        threshold: of the score, which is rounded to 6 decimals before.
        share: what is written of a post.
        window: see `scored`.
        done: see `scored`.
        spool: see `scored`.

    Yields:
        Block, (1, P) scores in millionths, and the lines.
    """
    least = round(threshold * MILLION)
    wanted = Wanted(seeds.at_most, lambda: np.array([least]))
    for block in scored(
        scorer, posts, articles=len(seeds.texts), window=window, done=done, spool=spool,
        wanted=wanted,
    ):  # fmt: skip
        scores, best = seeds.combine(block.scores)
        yield block, scores, _lines(scorer, seeds, block, scores[0], best, least, share)


def _save(part: PartialResults, scorer: Scorer, counts: ScoreCounts) -> None:
    part.progress.histogram = counts.plain()
    part.progress.scorer = scorer.state()
    part.save()


def _lines(
    scorer: Scorer,
    seeds: Seeds,
    block: Scored,
    scores: np.ndarray,
    best: np.ndarray,
    least: int,
    share: ExportOptions,
) -> list[bytes]:
    lines = []
    columns = np.flatnonzero(scores >= least).tolist()
    terms = scorer.matched_terms([block.posts[column].text for column in columns])
    for column, own in zip(columns, terms, strict=True):
        post = block.posts[column]
        row = {
            "article": seeds.articles[int(best[column])].id,
            "score": int(scores[column]),
            "post": post.id,
            # Needed for the clusters even where it is not handed on.
            "text": post.text,
            "lang": metadata_text(post, "lang"),
            "created_at": metadata_text(post, "created_at"),
            "link": metadata_text(post, "permalink"),
            "terms": own,
            "author": share.author_of(post),
        }
        lines.append(orjson.dumps(row) + b"\n")
    return lines


def filtered_rows(
    path: Path,
    *,
    dedupe: bool,
    encode: Callable[[Sequence[str]], np.ndarray] | None = None,
    one_name: bool = False,
    language: Callable[[Post], str | None] | None = None,
) -> Iterator[dict[str, Any]]:
    """The rows of a part file, best first, ties by post id descending, with rank and cluster.

    Only the scores and the places of the rows are held, and the texts where clusters are found:
    always with `dedupe`, else for up to `CLUSTERED` rows.

    Args:
        path: of the part file.
        dedupe: of each cluster only the best post.
        encode: texts to vectors, for a map.
        one_name: call the article of every row ``all``: a TREC run has one list of ranks for each
            name.
        language: of a post, where the row does not say; for up to `CLUSTERED` rows.
    """
    starts, scores = array("q"), array("q")
    with path.open("rb") as stream:
        place = 0
        for line in stream:
            starts.append(place)
            scores.append(orjson.loads(line)["score"])
            place += len(line)
        order = _order(np.array(scores, np.int64), lambda row: _row(stream, starts[row])["post"])

        def posts() -> Iterator[Post]:
            for number in order.tolist():
                row = _row(stream, starts[number])
                yield Post(row["post"], row["text"])

        clusters: dict[str, tuple[int, int]] = {}
        if dedupe or len(order) <= CLUSTERED:
            clusters = clusters_of(list(posts()))
        points = map_of(posts(), encode) if encode is not None else {}
        seen: set[int] = set()
        rank = 0
        for number in order.tolist():
            row = _row(stream, starts[number])
            row["cluster"], row["cluster_size"] = clusters.get(row["post"], (None, None))
            if dedupe:
                if row["cluster"] in seen:
                    continue
                seen.add(row["cluster"])
            rank += 1
            if one_name:
                row["article"] = "all"
            score = row["score"] / MILLION
            if language is not None and not row["lang"] and len(order) <= CLUSTERED:
                row["lang"] = language(Post(row["post"], row["text"]))
            yield row | {"rank": rank, "score": score, **points.get(row["post"], {})}


def _row(stream: Any, start: int) -> dict[str, Any]:
    stream.seek(start)
    row: dict[str, Any] = orjson.loads(stream.readline())
    return row


def _order(scores: np.ndarray, id_of: Callable[[int], str]) -> np.ndarray:
    """Rows by score descending, then by id descending; ids are looked at only where scores tie."""
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    bounds = np.flatnonzero(np.diff(ordered)) + 1
    ends = [*bounds.tolist(), len(order)]
    start = 0
    for end in ends:
        if end - start > 1:
            tied = order[start:end].tolist()
            order[start:end] = sorted(tied, key=id_of, reverse=True)
        start = end
    return order
