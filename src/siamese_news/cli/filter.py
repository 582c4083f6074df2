"""``siamese-news filter``."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from siamese_news.cli.options import search_command
from siamese_news.cli.outputs import ForceOption, check_query_output, format_of
from siamese_news.cli.reading import open_files, open_pool, read_seeds, say_found
from siamese_news.errors import InputError
from siamese_news.search.cpu_threads import use_threads
from siamese_news.search.partial_results import PartialResults, output_lock
from siamese_news.search.query import (
    CUT,
    DATES,
    FILTER,
    OUTPUT,
    READING,
    SCORING,
    SECOND_LOOK,
    SHARED,
    Query,
    check_cut,
)
from siamese_news.utils.exits import ending
from siamese_news.utils.terminal import counted, echo

if TYPE_CHECKING:
    from siamese_news.search.filter import Filtered
    from siamese_news.search.seeds import Seeds


@ending("run the same command with --resume to continue")
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
        "map",
        *SECOND_LOOK,
        *READING,
        "threads",
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
        typer.Option(
            min=1, help="Number of processes, or of actors with --engine ray."
        ),
    ] = 1,
    engine: Annotated[
        Literal["local", "ray"],
        typer.Option(help="Run the workers on this machine or on a Ray cluster."),
    ] = "local",
    address: Annotated[
        str | None,
        typer.Option(
            help="Address of the Ray cluster (default: start one on this machine)."
        ),
    ] = None,
) -> None:
    """Keep every post that is likely relevant to the seeds, best first.

    Example: siamese-news filter --articles a.txt b.txt --posts dump/ --threshold 0.5 --out all.csv

    Results are collected in <out>.part; <out> appears when all posts are read.

    After Ctrl-C or kill -9, the same command with --resume continues, and the results are the same.
    """
    check_cut(query)
    ray = engine == "ray"
    together = workers > 1 or engine == "ray"
    if together and not ray:
        from siamese_news.utils.processes import importing

        # The imports of the workers run while this process does its first work.
        importing(["siamese_news.cli", "siamese_news.search.sharding.workers"])
    use_threads(query.threads)
    query = format_of(query, None)
    out = query.out
    assert out is not None
    check_query_output(query, force=force)
    seeds = read_seeds(query)
    if address is not None and not ray:
        raise InputError("--address requires --engine ray")
    if query.index is not None and together:
        raise InputError(
            "--index runs in one process, in seconds; leave out --workers and --engine ray"
        )
    echo(_kept_by(query))
    with output_lock(out):
        if together:
            filtered = _together(
                query, seeds, out, workers, resume=resume, ray=ray, address=address
            )
            searched = filtered.scored
        else:
            filtered, searched = _alone(query, seeds, out, resume=resume)
    share = f" ({filtered.kept / searched:.2%})" if searched else ""
    scores = filtered.scores
    # An index omits posts of low scores.
    sure = scores.total and (filtered.kept or scores.of_all)
    highest = f"; the highest score is {scores.highest:.3f}" if sure else ""
    echo(f"{out}: {filtered.kept:,} of {counted(searched, 'post')}{share}{highest}")


def _kept_by(query: Query) -> str:
    """Which posts are kept, in words."""
    conditions = []
    if query.threshold is not None:
        likely = ", more likely relevant than not" if query.threshold == 0.5 else ""
        conditions.append(f"a relevance of {query.threshold:g} or more{likely}")
    if query.min_score is not None:
        conditions.append(f"a score of {query.min_score:g} or more")
    return f"keeping posts with {' and '.join(conditions)}"


def _alone(
    query: Query, seeds: "Seeds", out: Path, *, resume: bool
) -> "tuple[Filtered, int]":
    """Filter in this process: the results, and how many posts were searched."""
    from siamese_news.search.filter import filter_posts, write_filtered
    from siamese_news.search.opening import open_query

    opened = open_query(query, seeds)
    _ = opened.second_look  # a missing library is better reported before the search
    pool = open_pool(query, opened.model)
    if resume and not pool.job():
        raise InputError(
            "--resume: the posts come through a pipe, which cannot be checked to be the same; save "
            "them to a file and start over"
        )
    part = PartialResults(out, opened.job(pool.job()), resume=resume)
    try:
        if part.progress.blocks:
            echo(f"{part.path}: continues after block {part.progress.blocks}")
        before = part.progress.scored
        filtered = filter_posts(opened, pool, part)
        opened.languages.note(pool.sample())
        summary = pool.summary(max(filtered.scored - before, 0))
        say_found(summary, opened.decided(filtered.scorer), opened.window)
        searched = pool.searched(filtered.scored)
        for remark in write_filtered(
            opened, part.path, filtered, searched, pool.counts(), pool.remarks()
        ):
            echo(remark)
        part.remove()
    finally:
        part.close()
    return filtered, searched


def _together(
    query: Query,
    seeds: "Seeds",
    out: Path,
    workers: int,
    *,
    resume: bool,
    ray: bool,
    address: str | None,
) -> "Filtered":
    """Filter in parts, by workers."""
    from siamese_news.search.files import file_versions
    from siamese_news.search.opening import open_query
    from siamese_news.search.sharding import workers as sharding
    from siamese_news.search.sharding.steps import ShardFolder

    if ray:
        sharding.ray()
        query = replace(query, out=out.resolve())
    folder = ShardFolder(out.resolve() if ray else out)
    if folder.path.exists() and not resume:
        raise InputError(
            f"{folder.path}: left by an unfinished run; continue with --resume, or remove it "
            "to start over"
        )
    stream = open_files(query)
    if stream.total_bytes is None:
        raise InputError(
            "--workers: the posts come through a pipe; save them to a file first"
        )
    use_threads(query.threads or 1)
    opened = open_query(query, seeds)
    _ = opened.second_look
    shards = sharding.parts_for(workers, stream.total_bytes)
    folder.start(opened.job(file_versions(stream)), shards)
    job = (query, seeds, folder)
    with (
        sharding.ray_workers(workers, job, address)
        if ray
        else sharding.local_workers(min(workers, folder.shards), job)
    ) as run:
        filtered, decided, lines = sharding.run_together(
            opened, folder, stream, run, echo
        )
    say_found(lines, decided, opened.window)
    return filtered
