"""``siamese-news rank``."""

import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Any

import typer

from siamese_news.cli.options import asks
from siamese_news.cli.outputs import ForceOption, check_query_output, format_of
from siamese_news.cli.reading import echo, open_pool, read_seeds, say_found
from siamese_news.search.query import Query
from siamese_news.search.threads import use_threads

if TYPE_CHECKING:
    from siamese_news.scoring import Scorer
    from siamese_news.search.opening import OpenQuery
    from siamese_news.search.pool import Pool
    from siamese_news.search.seeds import Decided


@asks(Query(), needs=("articles",), without=("threshold",), hint="nothing was written")
def rank(
    query: Query,
    force: ForceOption = False,
    scores_only: Annotated[
        bool,
        typer.Option(
            "--scores-only",
            help="Write only the id and score of every post, in input order, for sample and "
            "certify. --out must be a .parquet file.",
        ),
    ] = False,
) -> None:
    """Rank posts for each seed article, most relevant first.

    Example: siamese-news rank --articles story.html --posts tweets.jsonl.gz --top 50 --out top.csv

    Also writes <out>.meta.json (command, hashes, all scores) and <out>.rejected.jsonl.

    --dedupe merges near-duplicates among the --top posts of a list.

    Exit codes: 0 success, 1 output cannot be written, 2 bad input, 130 interrupted.
    """
    from siamese_news.errors import InputError
    from siamese_news.search.export import ranking_rows
    from siamese_news.search.opening import open_query
    from siamese_news.search.output import BINARY, write_rows
    from siamese_news.search.partial_results import output_lock
    from siamese_news.search.rank import search, write_scores
    from siamese_news.utils.files import atomic_write

    use_threads(query.threads)
    query = format_of(query, "table")
    out, format = query.out, query.format
    assert format is not None
    if scores_only and (
        out is None
        or format != "parquet"
        or query.dedupe
        or query.map
        or query.author
        or query.second_look
    ):
        raise InputError(
            "--scores-only writes ids and scores to a Parquet file; expected --out with a name "
            "that ends with .parquet, and no --dedupe, --map, --author or --second-look"
        )
    check_query_output(query, force=force)
    seeds = read_seeds(query)
    with ExitStack() as held:
        if out is not None:
            held.enter_context(output_lock(out))
        opened = open_query(query, seeds)
        second_look = opened.second_look  # what it lacks is better known before the search
        pool, scorer = open_pool(query, opened.model), opened.scorer()
        if scores_only:
            assert out is not None
            with atomic_write(out, "wb") as target:
                scored, scores = write_scores(target, scorer, seeds, pool, opened.window)
            decided, remarks = _settle(opened, scorer, pool, scored, [])
            counts = {**pool.counts(), **opened.window.counts(), "scored": scored}
            opened.write_meta(scorer.kind, counts, scores, decided, remarks)
            echo(f"{out}: the scores of {scored:,} posts")
            return
        bare = format == "trec"
        ranking = search(
            scorer,
            seeds,
            pool,
            top=query.top,
            window=opened.window,
            texts=not bare or query.dedupe,
            second_look=second_look,
        )
        decided, remarks = _settle(opened, scorer, pool, ranking.scanned, ranking.remarks())
        rows = ranking_rows(ranking, opened, scorer)
        options: dict[str, Any] = {
            "columns": query.columns,
            "titles": opened.titles,
            "bom": query.bom,
        }
        binary = format in BINARY
        if out is None:
            terminal = sys.stdout.isatty()
            stream: Any = sys.stdout.buffer if binary else sys.stdout
            write_rows(stream, rows, format, terminal=terminal, **options)
            return
        with atomic_write(out, "wb" if binary else "w") as target:
            write_rows(target, rows, format, **options)
        kept = len(ranking.posts())
        counts = {
            **pool.counts(),
            **opened.window.counts(),
            "scored": ranking.scanned,
            "kept": kept,
        }
        opened.write_meta(scorer.kind, counts, ranking.scores, decided, remarks)
        echo(f"{out}: {kept:,} different posts for {len(seeds.articles)} seeds")


def _settle(
    opened: "OpenQuery", scorer: "Scorer", pool: "Pool", scored: int, more: list[str]
) -> "tuple[Decided, list[str]]":
    """Print and return what the search looked for and what a reader should know."""
    opened.languages.note(pool.sample())
    decided = opened.decided(scorer)
    say_found(pool.summary(scored), decided, opened.window)
    remarks = opened.remarks(*pool.remarks(), *more)
    for remark in remarks:
        echo(remark)
    return decided, remarks
