"""A `filter`, run to the end by this process, or by several of this machine."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from functools import partial

from siamese_news.errors import InputError
from siamese_news.search.cpu_threads import use_threads
from siamese_news.search.file_pool import FilePool, empty_remarks
from siamese_news.search.filtering import filter_posts, write_filtered
from siamese_news.search.opened_query import FilterOutcome, OpenQuery
from siamese_news.search.partial_results import partial_place
from siamese_news.search.pool import Pool
from siamese_news.search.sharding.steps import ShardFolder, finish, merge, step_of
from siamese_news.utils.exits import ENDING
from siamese_news.utils.processes import copying

# An interrupted part is repeated, so it should not be too large; nor too small, because each part
# skips over what others read of its files.
_PART = 128 << 20
_PARTS = 8  # of each worker, at most
_KEPT = "finished parts are kept: run the same command with --resume to continue"

Run = Callable[[Sequence[int]], Iterator[tuple[int, str]]]
"""Does the next step of some parts: yields each part and a report, as they finish."""


def parts_for(workers: int, size: int) -> int:
    """The number of parts of files of `size` bytes: several for each worker, so that none idles."""
    return workers * max(1, min(_PARTS, -(-size // (_PART * workers))))


def filter_to_file(
    opened: OpenQuery,
    pool: Pool,
    workers: int,
    *,
    resume: bool,
    say: Callable[[str], None],
) -> FilterOutcome:
    """Run a query, or `resume` it, and write all posts that it keeps, best first.

    A single one of the `workers` is this process; several are processes of their own. An index, and
    posts that come through a pipe, are always searched from the beginning.
    """
    query = opened.query
    out = query.out
    assert out is not None
    several = workers > 1
    versions = pool.job()
    if not versions and (resume or several):
        raise InputError(
            f"--{'resume' if resume else 'workers'}: the posts come through a pipe, which cannot be "
            "checked to be the same, or read in parts; save them to a file and start over"
        )
    with partial_place(out, resume=resume) as unfinished:
        folder = ShardFolder(unfinished)
        files = isinstance(pool, FilePool) and pool.stream.total_bytes
        shards = parts_for(workers, files) if files and several else 1
        folder.start(opened.job(versions), shards, resume=resume)
        continues = folder.begun
        if continues:
            say(f"{folder.path}: continues the unfinished run")
        try:
            if isinstance(pool, FilePool) and versions:
                run: Run = partial(_here, opened, folder, pool)
                if several and folder.shards > 1:
                    count = min(workers, folder.shards)
                    run = partial(local_workers, opened, folder, count)
                outcome = _run(opened, folder, pool, run, say)
            else:
                outcome = filter_posts(opened, pool, folder.rows)
                opened.languages.note(pool.sample())
            remarks = write_filtered(
                opened, folder.rows, outcome, pool.counts(), pool.remarks()
            )
            folder.remove()
        finally:
            if not folder.begun:
                folder.remove()
    summary = pool.summary(outcome.scored)
    if continues and isinstance(pool, FilePool):  # the speed is unknown
        summary = [str(pool.stream.counts), *empty_remarks(pool.stream.counts)]
    for line in [*opened.findings(summary, outcome.scorer), *remarks]:
        say(line)
    return outcome


def _run(
    opened: OpenQuery,
    folder: ShardFolder,
    pool: FilePool,
    run: Run,
    say: Callable[[str], None],
) -> FilterOutcome:
    """Do every step of every unfinished part, and merge them; see `finish`."""
    while True:
        for index, report in run(folder.missing(step_of(folder)[0])):
            if folder.shards > 1:
                say(f"shard {index + 1} of {folder.shards}: {report}")
        if folder.pool.exists():
            return finish(opened, folder, pool.stream)
        if duplicates := merge(
            opened, folder, lambda reason: say(f"the posts are scored: {reason}")
        ):
            shard_names = ", ".join(str(index + 1) for index in duplicates[:10])
            say(
                f"shards {shard_names} share post ids with other shards: reading them again without "
                "these"
            )


def _here(
    opened: OpenQuery, folder: ShardFolder, pool: FilePool, parts: Sequence[int]
) -> Iterator[tuple[int, str]]:
    """Do the next step of parts in this process, which reads the `pool` if it is the only part."""
    for index in parts:
        step = step_of(folder)[1]
        yield index, step(opened, folder, index, pool if folder.shards == 1 else None)


def advance(opened: OpenQuery, folder: ShardFolder, index: int) -> tuple[int, str]:
    """Do the next step of a part in this process: the part, and a report."""
    use_threads(1)
    try:
        return index, step_of(folder)[1](opened, folder, index, None)
    except OSError as error:
        raise InputError(
            f"{error.filename or folder.path}: {error.strerror or error}; {_KEPT}"
        ) from error


_job: list[tuple[OpenQuery, ShardFolder]] = []
"""What this process works on, if it is one of `local_workers`."""


def _begin(opened: OpenQuery, folder: ShardFolder, current: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    for number in ENDING:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)  # a copy has the parent's handler
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.chdir(current)  # the user's paths may be relative
    _job.append((opened, folder))


def _end_with_parent() -> None:
    """End a worker whose parent was killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _advance(index: int) -> tuple[int, str]:
    return advance(*_job[0], index)


def local_workers(
    opened: OpenQuery, folder: ShardFolder, count: int, parts: Sequence[int]
) -> Iterator[tuple[int, str]]:
    """Do the next step of parts in processes of this machine, which end with it.

    They are copies of this process, with its model and what the pool has taught it; where it cannot
    be copied, each of them reads all of that itself.

    Raises:
        InputError: one of them died.
    """
    begin = (_begin, (opened, folder, os.getcwd()))
    with ProcessPoolExecutor(count, copying(), *begin) as pool:
        futures = [pool.submit(_advance, index) for index in parts]
        processes = multiprocessing.active_children()
        try:
            for future in as_completed(futures):
                yield future.result()
        except BrokenProcessPool:
            endings = [
                f"(process {process.pid}) {_end(process.exitcode or 0)}"
                for process in processes
                if process.exitcode not in (None, 0, -signal.SIGTERM)
            ]
            raise InputError(
                f"a worker {endings[0] if endings else 'ended'}; {_KEPT}"
            ) from None
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in processes:
                process.terminate()
            raise


def _end(code: int) -> str:
    return f"was ended by signal {-code}" if code < 0 else f"ended with exit {code}"
