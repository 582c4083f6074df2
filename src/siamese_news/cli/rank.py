"""``siamese-news rank``."""

from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from siamese_news.cli.options import search_command
from siamese_news.cli.outputs import (
    ForceOption,
    check_query_output,
    format_of,
    open_output,
)
from siamese_news.cli.reading import open_pool, read_seeds, say_found
from siamese_news.errors import InputError
from siamese_news.search.cpu_threads import use_threads
from siamese_news.search.partial_results import output_lock
from siamese_news.search.query import (
    DATES,
    LISTS,
    OUTPUT,
    READING,
    SCORING,
    SECOND_LOOK,
    SHARED,
    Query,
)
from siamese_news.utils.terminal import counted, echo

if TYPE_CHECKING:
    from siamese_news.scoring import Scorer
    from siamese_news.search.opening import OpenQuery
    from siamese_news.search.pool import Pool


@search_command(
    Query(),
    [
        "articles",
        "posts",
        "index",
        "model",
        "top",
        *LISTS,
        *SCORING,
        *DATES,
        "dedupe",
        *OUTPUT,
        *SHARED,
        "map",
        *SECOND_LOOK,
        *READING,
        "threads",
    ],
    required=["articles"],
)
def rank(
    query: Query,
    force: ForceOption = False,
    scores_only: Annotated[
        bool,
        typer.Option(
            "--scores-only",
            help="Write only the id and score of every post, in input order, for sample and "
            "certify. --out must be a .parquet, .jsonl or .csv file.",
        ),
    ] = False,
) -> None:
    """Rank posts for each seed article, most relevant first.

    Example: siamese-news rank --articles story.html --posts tweets.jsonl.gz --top 50 --out top.csv

    Also writes <out>.meta.json (command, hashes, all scores) and <out>.rejected.jsonl.

    --dedupe merges near-duplicates among the --top posts of a list.
    """
    from siamese_news.search.opening import open_query
    from siamese_news.search.output import write_rows
    from siamese_news.search.rank import search, write_scores
    from siamese_news.search.rows import ranking_rows

    use_threads(query.threads)
    query = format_of(query, "table")
    out = query.out
    format = query.format
    assert format is not None
    more = query.dedupe or query.map or query.author or query.second_look
    if scores_only and (
        out is None or format not in ("parquet", "jsonl", "csv") or more
    ):
        raise InputError(
            "--scores-only writes ids and scores; expected --out with a name that ends with "
            ".parquet, .jsonl or .csv, and no --dedupe, --map, --author or --second-look"
        )
    check_query_output(query, force=force)
    seeds = read_seeds(query)
    if seeds.lists > 1 and not query.distinct:
        apart = (
            "posts that fit an unrelated seed better fall (--no-rivals: they do not)"
        )
        rule = "each by itself" if query.rivals is False else apart
        echo(f"a list for each seed, {rule}; --one-story makes one list")
    with ExitStack() as held:
        if out is not None:
            held.enter_context(output_lock(out))
        opened = open_query(query, seeds)
        seeds = opened.seeds  # which know their rivals
        # A missing library is better reported before the search.
        second_look = opened.second_look
        pool = open_pool(query, opened.model)
        if scores_only:
            with open_output(out, format) as (stream, _):
                scorer, scored, scores = write_scores(
                    stream, format, opened.scorer(), seeds, pool, opened.window
                )
            remarks = _report(opened, scorer, pool, scored, [])
            opened.write_meta(
                scorer, pool.counts(), {"scored": scored}, scores, remarks
            )
            echo(f"{out}: the scores of {counted(scored, 'post')}")
            return
        bare = format == "trec"
        ranking = search(
            opened.scorer(),
            seeds,
            pool,
            top=query.top,
            window=opened.window,
            texts=not bare or query.dedupe,
            second_look=second_look,
            calibration=None if bare else opened.calibration,
        )
        scorer = ranking.scorer
        remarks = _report(opened, scorer, pool, ranking.seen, ranking.remarks())
        rows = ranking_rows(ranking, opened)
        with open_output(out, format) as (stream, terminal):
            write_rows(
                stream,
                rows,
                format,
                terminal=terminal,
                columns=query.columns,
                titles=opened.titles,
                bom=query.bom,
            )
        if out is not None:
            ranked_posts = len(ranking.posts())
            done = {"scored": ranking.seen, "kept": ranked_posts}
            opened.write_meta(scorer, pool.counts(), done, ranking.scores, remarks)
            posts = counted(ranked_posts, "different post")
            lists = counted(len(seeds.articles), "seed")
            echo(f"{out}: {posts} for {lists}")


def _report(
    opened: "OpenQuery", scorer: "Scorer", pool: "Pool", scored: int, more: list[str]
) -> list[str]:
    """Print what the search looked for, and print and return the remarks for a reader."""
    opened.languages.note(pool.sample())
    say_found(pool.summary(scored), opened.decided(scorer), opened.window)
    remarks = opened.remarks(*pool.remarks(), *more)
    for remark in remarks:
        echo(remark)
    return remarks
