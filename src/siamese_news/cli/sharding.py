"""``filter`` in parts: several workers, one part of a cluster's, and ``siamese-news merge``."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from siamese_news.cli.common import bad_input_exits
from siamese_news.cli.inputs import say_dates, say_decided, say_empty, say_posts
from siamese_news.search.threads import use_threads

if TYPE_CHECKING:
    from siamese_news.data.readers.rejected import Counts
    from siamese_news.search.filter import Filtered
    from siamese_news.search.seeds import Decided
    from siamese_news.search.window import Window
    from siamese_news.search.work import Work


class Engine(StrEnum):
    """What the workers are."""

    local = "local"
    ray = "ray"


WorkersOption = Annotated[
    int, typer.Option(min=1, help="Processes that share the work; with --engine ray its actors.")
]
ShardOption = Annotated[
    str | None,
    typer.Option(
        metavar="I/N",
        help="Do the next step of part I of N alone, such as 3/8; siamese-news merge joins them.",
    ),
]
EngineOption = Annotated[
    Engine, typer.Option(help="Workers as processes of this machine, or of a Ray cluster.")
]
AddressOption = Annotated[
    str | None, typer.Option(help="Of the Ray cluster; else one is started on this machine.")
]


def begin_workers() -> None:
    """Import what workers need while this process does its first work."""
    from siamese_news.utils.processes import importing

    importing(["siamese_news.cli", "siamese_news.search.sharding.local"])


def filter_together(
    work: "Work", out: Path, workers: int, *, resume: bool, engine: Engine, address: str | None
) -> None:
    """All parts, by workers."""
    from dataclasses import replace

    from siamese_news.errors import InputError
    from siamese_news.search.sharding import ShardFolder
    from siamese_news.search.sharding.together import parts_for, run_together
    from siamese_news.search.work import OpenWork

    if engine is Engine.ray:
        from siamese_news.search.sharding.ray_engine import RayWorkers, ray

        ray()
    folder = ShardFolder(out)
    if folder.path.exists():
        if not resume:
            raise InputError(
                f"{folder.path}: an unfinished run left this; continue with --resume, or remove it "
                "to start over"
            )
        work = replace(work, shards=folder.work().shards)
    stream = work.stream(None)
    if stream.total_bytes is None:
        raise InputError("--workers: the posts come through a pipe; save them to a file first")
    say_posts(stream)
    if not work.shards:
        work = replace(work, shards=parts_for(workers, stream.total_bytes))
    use_threads(work.threads or 1)
    opened = OpenWork(work)
    folder.start(work, work.job(stream, opened.which))
    if engine is Engine.ray:
        with RayWorkers(workers, work, out.resolve(), address) as actors:
            _say(out, *run_together(opened, folder, out, actors, _echo))
        return
    from siamese_news.search.sharding.local import LocalWorkers

    with LocalWorkers(min(workers, work.shards), work, out) as processes:
        _say(out, *run_together(opened, folder, out, processes, _echo))


def filter_shard(work: "Work", out: Path, shard: str) -> None:
    """The next step of one part."""
    from dataclasses import replace

    from siamese_news.errors import InputError
    from siamese_news.search.sharding import ShardFolder, advance
    from siamese_news.search.work import OpenWork

    index, _, count = shard.partition("/")
    if not (index.isdecimal() and count.isdecimal() and 1 <= int(index) <= int(count)):
        raise InputError(f"--shard is {shard!r}, expected I/N with I from 1 to N, such as 3/8")
    work = replace(work, shards=int(count))
    folder = ShardFolder(out)
    use_threads(work.threads or 1)
    opened = OpenWork(work)
    stream = work.stream(None)
    if stream.total_bytes is None:
        raise InputError("--shard: the posts come through a pipe; save them to a file first")
    folder.start(work, work.job(stream, opened.which))
    done = advance(opened, folder, int(index) - 1)
    _echo(f"shard {index} of {count}: {done or 'nothing to do before siamese-news merge'}")


def merge(
    out: Annotated[Path, typer.Argument(help="The --out of the filter commands with --shard.")],
    threads: Annotated[int | None, typer.Option(min=1, help="CPU threads.")] = None,
) -> None:
    """Join the shards of a filter: after they have read, and after they have scored.

    Example: siamese-news merge all.csv

    Says what is to be run next, until <out> is written.

    Exit codes: 0 done, 1 output cannot be written, 2 bad input (says what), 3 shards are to be run
    again first, 130 interrupted.
    """
    with bad_input_exits("the shards are as they were"):
        from siamese_news.search.partial_results import output_lock
        from siamese_news.search.sharding import ShardFolder, finish
        from siamese_news.search.sharding import merge as merge_shards
        from siamese_news.search.work import OpenWork

        use_threads(threads or 1)
        with output_lock(out):
            folder = ShardFolder(out)
            opened = OpenWork(folder.work())
            if folder.settled:
                _say(out, *finish(opened, folder, out))
                return
            again = merge_shards(opened, folder, lambda reason: _echo(f"learned: {reason}"))
        if again:
            _echo(
                f"ids of these shards are those of other shards as well: run shard "
                f"{', '.join(str(index + 1) for index in again)} again, then siamese-news merge"
            )
            raise typer.Exit(3)
        _echo("merged: run every shard once more, then siamese-news merge")


def _say(
    out: Path,
    remarks: list[str],
    found: "Filtered",
    counts: "Counts",
    window: "Window",
    decided: "Decided",
) -> None:
    say_decided(decided)
    _echo(str(counts))
    say_dates(window)
    say_empty(counts)
    for line in remarks:
        _echo(line)
    _echo(f"{out}: {found.kept:,} of {found.scored:,} posts")


def _echo(line: str) -> None:
    typer.echo(line, err=True)
