"""``siamese-news rank``."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from siamese_news.cli.outputs import (
    OUTPUT_PANEL,
    ForceOption,
    check_query_output,
    format_of,
    open_output,
)
from siamese_news.cli.search_inputs import open_pool, read_seeds
from siamese_news.cli.search_options import search_command
from siamese_news.errors import InputError
from siamese_news.search.cpu_threads import use_threads
from siamese_news.search.partial_results import output_lock
from siamese_news.search.query import (
    DATES,
    LISTS,
    NO_LOOK,
    OUTPUT,
    READING,
    SCORING,
    SHARED,
    Query,
)
from siamese_news.utils.terminal import counted, echo

if TYPE_CHECKING:
    from siamese_news.search.opened_query import OpenQuery, Outcome
    from siamese_news.search.pool import Pool


@search_command(
    Query(),
    [
        "articles",
        "posts",
        "index",
        "model",
        "top",
        "relevance_map",
        *LISTS,
        *SCORING,
        *DATES,
        "dedupe",
        *OUTPUT,
        *SHARED,
        "second_look",
        *READING,
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
            rich_help_panel=OUTPUT_PANEL,
        ),
    ] = False,
) -> None:
    """Rank posts for each seed article, most relevant first.

    Example: siamese-news rank --articles story.html --posts tweets.jsonl.gz --top 50 --out top.csv

    Also writes <out>.meta.json (command, hashes, all scores) and <out>.rejected.jsonl.

    --dedupe merges near-duplicates among the --top posts of a list.
    """
    from siamese_news.search.opened_query import open_query
    from siamese_news.search.post_ranking import rank_posts, write_scores
    from siamese_news.search.result_rows import ranking_rows

    use_threads()
    query = format_of(query, "table")
    out = query.out
    format = str(query.format)
    needs_texts = (
        query.dedupe or query.author or query.second_look not in (None, NO_LOOK)
    )
    if scores_only and (
        out is None or format not in ("parquet", "jsonl", "csv") or needs_texts
    ):
        raise InputError(
            "--scores-only writes ids and scores; expected --out with a name that ends with "
            ".parquet, .jsonl or .csv, and no --dedupe, --author or --second-look"
        )
    if scores_only:
        query = replace(query, second_look=NO_LOOK)
    check_query_output(query, force=force)
    seeds = read_seeds(query)
    if seeds.lists > 1 and not query.distinct:
        apart = (
            "posts that fit an unrelated seed better fall (--no-distinct: they do not)"
        )
        rule = "each by itself" if query.distinct is False else apart
        echo(f"a list for each seed, {rule}; --one-story makes one list")
    with output_lock(out):
        opened = open_query(query, seeds)
        pool = open_pool(query, opened.model)
        if scores_only:
            with open_output(out, format) as (stream, _):
                outcome = write_scores(stream, opened, pool)
            remarks = _report(opened, pool, outcome, [])
            echo(f"{out}: the scores of {counted(outcome.scored, 'post')}")
        else:
            ranking = rank_posts(opened, pool)
            outcome = ranking.outcome
            remarks = _report(opened, pool, outcome, ranking.remarks())
            with open_output(out, format) as (stream, terminal):
                opened.write_rows(
                    stream, ranking_rows(ranking, opened), terminal=terminal
                )
            if out is not None:
                posts = counted(outcome.listed or 0, "different post")
                echo(f"{out}: {posts} for {counted(len(seeds.articles), 'seed')}")
        opened.write_meta(outcome, pool.counts(), remarks)


def _report(
    opened: "OpenQuery", pool: "Pool", outcome: "Outcome", remarks_of_list: list[str]
) -> list[str]:
    """Print what the search looked for, and print and return the remarks for a reader."""
    opened.languages.note(pool.sample())
    remarks = opened.remarks(*pool.remarks(), *remarks_of_list)
    findings = opened.findings(pool.summary(outcome.scored), outcome.scorer)
    for line in (*findings, *remarks):
        echo(line)
    return remarks
