"""``siamese-news filter``."""

from typing import Annotated

import typer

from siamese_news.cli.outputs import ForceOption, check_query_output, format_of
from siamese_news.cli.search_inputs import open_pool, read_seeds
from siamese_news.cli.search_options import search_command
from siamese_news.errors import InputError
from siamese_news.search.cpu_threads import use_threads
from siamese_news.search.partial_results import output_lock
from siamese_news.search.query import (
    CUT,
    DATES,
    FILTER,
    OUTPUT,
    READING,
    SCORING,
    SHARED,
    Query,
    check_cut,
)
from siamese_news.utils.exits import ending
from siamese_news.utils.terminal import counted, echo, shown_relevance


@ending(
    "run the same command with --resume to continue, or without it if the results go into a pipe"
)
@search_command(
    FILTER,
    [
        "articles",
        "posts",
        "index",
        "model",
        *CUT,
        *SCORING,
        *DATES,
        "dedupe",
        *OUTPUT,
        *SHARED,
        "second_look",
        *READING,
    ],
    required=["articles", "out"],
    helps={
        "out": "File to write.",
        "format": "Output format (default: by the file name).",
    },
)
def filter(
    query: Query,
    force: ForceOption = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume an interrupted run.")
    ] = False,
    workers: Annotated[
        int,
        typer.Option(min=1, help="Number of processes."),
    ] = 1,
) -> None:
    """Keep every post that is likely relevant to the seeds, best first.

    Example: siamese-news filter --articles a.txt b.txt --posts dump/ --threshold 0.5 --out all.csv

    Results are collected in the folder <out>.part; <out> appears when all posts are read.

    After Ctrl-C or kill -9, the same command with --resume continues, and the results are the same.
    """
    check_cut(query)
    # Workers share the processors.
    use_threads(1 if workers > 1 else None)
    query = format_of(query, None)
    out = query.out
    assert out is not None
    check_query_output(query, force=force)
    if query.index is not None and workers > 1:
        raise InputError("--index runs in one process, in seconds; leave out --workers")
    seeds = read_seeds(query)
    echo(_kept_by(query))
    with output_lock(out):
        from siamese_news.search.opened_query import open_query
        from siamese_news.search.sharding.workers import filter_to_file

        opened = open_query(query, seeds)
        pool = open_pool(query, opened.model)
        outcome = filter_to_file(
            opened,
            pool,
            workers,
            resume=resume,
            say=echo,
        )
    listed = outcome.listed
    searched = outcome.searched
    scores = outcome.scores
    share = f" ({listed / searched:.2%})" if searched else ""
    # An index omits posts of low scores.
    sure = scores.total and (listed or scores.of_all)
    highest = ""
    if sure:
        highest = f"; the highest score is {scores.highest:.3f}"
        relevance = outcome.cut.relevance_of(scores.highest)
        # Its post may be nearest to a seed whose relevance is unknown.
        if relevance >= 0 and not outcome.cut.relevance.unmeasured:
            highest += f", a relevance of {shown_relevance(relevance)}"
    if outcome.unknown:
        highest += f"; {outcome.unknown:,} more reach the score of the cut, of unknown relevance"
    echo(f"{out}: {listed:,} of {counted(searched, 'post')}{share}{highest}")


def _kept_by(query: Query) -> str:
    """Which posts are kept, in words."""
    conditions = []
    if query.threshold is not None:
        likely = ", more likely relevant than not" if query.threshold == 0.5 else ""
        conditions.append(f"a relevance of {query.threshold:g} or more{likely}")
    if query.min_score is not None:
        conditions.append(f"a score of {query.min_score:g} or more")
    return f"keeping posts with {' and '.join(conditions)}"
