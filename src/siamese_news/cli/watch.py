"""``siamese-news watch``."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from siamese_news.cli.outputs import ForceOption, check_output, files_read, format_of
from siamese_news.cli.search_inputs import open_files, open_index_of, read_seeds
from siamese_news.cli.search_options import search_command
from siamese_news.errors import InputError
from siamese_news.search.cpu_threads import use_threads
from siamese_news.search.partial_results import output_lock
from siamese_news.search.query import (
    CUT,
    FILTER,
    NO_LOOK,
    SCORING,
    SHARED,
    Query,
    check_cut,
)
from siamese_news.utils.exits import ending
from siamese_news.utils.files import is_stream
from siamese_news.utils.terminal import counted, echo

if TYPE_CHECKING:
    from siamese_news.data.records import Post
    from siamese_news.model.loading import AnyModel
    from siamese_news.search.watch.stream_sources import Batch, Cursor


@ending("run the same command again to continue")
@search_command(
    FILTER,
    [
        "articles",
        "model",
        *CUT,
        *SCORING,
        "out",
        *SHARED,
        "text_field",
        "id_field",
        "date_field",
        "date_format",
        "encoding",
    ],
    required=["articles", "out"],
    helps={"out": "File to write (.jsonl)."},
)
def watch(
    query: Query,
    source: Annotated[
        str,
        typer.Option(
            metavar="jetstream|stdin",
            help="Where posts come from: Bluesky's Jetstream (or the ws:// address of another "
            "one), or JSON lines on standard input.",
        ),
    ],
    force: ForceOption = False,
    warm_start: Annotated[
        list[str] | None,
        typer.Option(
            metavar="POOL",
            help="Earlier posts, or an index of them: the first scores are based on how common "
            "words are in them.",
        ),
    ] = None,
    window: Annotated[
        int | None,
        typer.Option(
            min=10,
            help="Number of most recent posts from which the scores learn which words are rare and "
            "expand the seeds (default: 1,000,000). The scores are updated every tenth of it.",
        ),
    ] = None,
    idle: Annotated[
        float | None,
        typer.Option(
            min=0, help="Stop after this many seconds without a post (default: never)."
        ),
    ] = None,
) -> None:
    """Collect the posts that are likely relevant as they arrive, for weeks if need be.

    Example: siamese-news watch --articles seeds --source jetstream --threshold .5 --out found.jsonl

    Each post is scored once, by a model of the posts before it, and its row never changes.

    After Ctrl-C, kill -9 or a full disk, the same command continues; no post is lost or repeated.
    """
    from siamese_news.search.opened_query import open_query
    from siamese_news.search.watch.watcher import Watch
    from siamese_news.search.watch.window import WINDOW

    check_cut(query)
    use_threads()
    query = format_of(query, None)
    out = query.out
    assert out is not None
    if query.format != "jsonl" or is_stream(out) or out.suffix == ".gz":
        raise InputError(
            f"--out {out}: expected the name of a file that ends in .jsonl"
        )
    window = window or WINDOW
    if not (out.with_name(out.name + ".watch") / "checkpoint.json").exists():
        # Left by a run that did not begin.
        empty = out.exists() and not out.stat().st_size
        check_output(out, files_read(query), force=force or empty)
    seeds = read_seeds(query)
    with output_lock(out):
        opened = open_query(replace(query, second_look=NO_LOOK), seeds)
        watch = Watch(opened, echo, source=source, window=window, idle=idle)
        try:
            batches = _batches(source, watch.cursor, query)
            if watch.fresh:
                watch.begin(_warm(warm_start or [], query, opened.model))
            else:
                echo(f"{out}: continues after {counted(watch.counts['read'], 'post')}")
            echo(
                f"scores are based on the last {window:,} posts, updated at every tenth of them"
            )
            watch.run(batches)
        finally:
            watch.close()
    echo(f"{out}: {watch.counts['found']:,} of {counted(watch.counts['read'], 'post')}")


def _batches(source: str, cursor: "Cursor", query: Query) -> "Iterator[Batch]":
    """The source, from the cursor on."""
    from siamese_news.search.watch.stream_sources import standard_input

    fields = query.reading()
    if source in ("stdin", "-"):
        if "-" in (*query.articles, *query.negatives):
            raise InputError(
                "standard input (-) is named twice; expected the posts alone there"
            )
        return standard_input(cursor, fields)
    if source == "jetstream" or "://" in source:
        from siamese_news.search.watch.jetstream import PUBLIC, jetstream

        return jetstream(PUBLIC if source == "jetstream" else source, cursor, fields)
    raise InputError(
        f"--source {source}: expected jetstream, a ws:// address or stdin; use filter for a "
        "whole file, and tail -n +1 -F FILE | siamese-news watch --source stdin … for a growing one"
    )


def _warm(sources: list[str], query: Query, model: "AnyModel") -> "Iterable[Post]":
    """The posts of files, or of an index."""
    from siamese_news.search.index.manifest import NAME

    if not sources:
        return ()
    if "-" in sources:
        raise InputError(
            "--warm-start - is not read; save the posts to a file and name that"
        )
    if len(sources) == 1 and (Path(sources[0]) / NAME).exists():
        return open_index_of(Path(sources[0]), model)
    return open_files(replace(query, posts=sources))
