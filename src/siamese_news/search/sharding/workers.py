"""All parts of a `filter`, run to the end by workers: processes of this machine, or Ray actors."""

import logging
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol

from siamese_news.data.readers import PostStream
from siamese_news.errors import InputError
from siamese_news.search.filter import Filtered
from siamese_news.search.opening import OpenQuery, open_query
from siamese_news.search.query import Query
from siamese_news.search.seeds import Decided, Seeds
from siamese_news.search.sharding.folder import ShardFolder
from siamese_news.search.sharding.steps import advance, finish, merge
from siamese_news.search.threads import use_threads
from siamese_news.utils.extras import needs
from siamese_news.utils.processes import importing

# An interrupted part is repeated, so it should not be too large; nor too small, because each part
# skips over what others read of its files.
_PART = 128 << 20
_PARTS = 8  # of each worker, at most
_END = 5.0  # seconds for a worker to end by itself
_TRIES = 3  # of a part whose actor died


class Workers(Protocol):
    """Processes that do the steps of parts."""

    def run(self, parts: Sequence[int]) -> Iterator[tuple[int, str]]:
        """Do the next step of each part (`advance`): the part and what was done, as they finish.

        Raises:
            InputError: a worker found something wrong, or died.
        """


def parts_for(workers: int, size: int) -> int:
    """The number of parts: several for each worker, so that none waits long for the last one.

    Args:
        workers: how many there are.
        size: bytes of all files.
    """
    return workers * max(1, min(_PARTS, -(-size // (_PART * workers))))


def run_together(
    opened: OpenQuery,
    folder: ShardFolder,
    stream: PostStream,
    workers: Workers,
    say: Callable[[str], None],
) -> tuple[Filtered, Decided, list[str]]:
    """Do every step of every part, merge, and write the results.

    Args:
        opened: the query.
        folder: of all parts; those that are done stay so.
        stream: the files of posts.
        workers: the processes that do the steps.
        say: prints a line.

    Returns:
        See `finish`.

    Raises:
        InputError: what a worker found wrong, or that it died.
    """
    while True:
        if folder.settled:
            name = "scored.json"
        elif folder.passes:
            name = f"observed-{folder.passes + 1}"
        else:
            name = "read.json"
        for index, done in workers.run(folder.missing(name)):
            if done:
                say(f"shard {index + 1} of {folder.shards}: {done}")
        if folder.settled:
            return finish(opened, folder, stream)
        if again := merge(opened, folder, lambda reason: say(f"the posts are scored: {reason}")):
            some = ", ".join(str(index + 1) for index in again[:10])
            say(f"shards {some} share post ids with other shards: reading them again without these")


class Worker:
    """Does the steps in a process of its own."""

    def __init__(self, query: Query, seeds: Seeds, folder: ShardFolder) -> None:
        self._query, self._seeds, self._folder = query, seeds, folder
        self._opened: OpenQuery | None = None

    def advance(self, part: int) -> tuple[str, bool]:
        """Do the next step of a part: what was done, or what is wrong, and whether it failed."""
        try:
            use_threads(self._query.threads or 1)
            self._opened = self._opened or open_query(self._query, self._seeds)
            return advance(self._opened, self._folder, part), False
        except (InputError, OSError) as error:
            return str(error), True


class LocalWorkers:
    """Local processes, each with the model loaded once."""

    def __init__(self, count: int, worker: Worker) -> None:
        context = importing([__name__])  # no effect where it was begun earlier
        self._workers: list[tuple[Any, Any]] = []
        for _ in range(count):
            mine, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, worker), daemon=True)
            process.start()
            theirs.close()
            self._workers.append((process, mine))

    def __enter__(self) -> "LocalWorkers":
        return self

    def __exit__(self, *_: object) -> None:
        for process, pipe in self._workers:
            pipe.close()
            process.terminate()
        for process, _pipe in self._workers:
            process.join(_END)
            if process.is_alive():
                process.kill()
                process.join()

    def run(self, parts: Sequence[int]) -> Iterator[tuple[int, str]]:
        """See `Workers`."""
        left = list(reversed(parts))
        busy: dict[int, int] = {}
        idle = list(range(len(self._workers)))
        while left or busy:
            while left and idle:
                number = idle.pop(0)
                busy[number] = left.pop()
                with suppress(OSError):  # a dead one is seen below
                    self._workers[number][1].send(busy[number])
            pipes: dict[Any, int] = {self._workers[number][1]: number for number in busy}
            ready: list[Any] = wait(list(pipes))
            for pipe in ready:
                number = pipes[pipe]
                part = busy.pop(number)
                yield part, self._answer(number, part)
                idle.append(number)

    def _answer(self, number: int, part: int) -> str:
        process, pipe = self._workers[number]
        try:
            said, failed = pipe.recv()
        except (EOFError, OSError):
            process.join(_END)
            code = process.exitcode
            how = f"was ended by signal {-code}" if (code or 0) < 0 else f"ended with exit {code}"
            raise InputError(
                f"worker {number + 1} (process {process.pid}) {how} at shard {part + 1}; finished "
                "parts are kept: run the same command with --resume to continue"
            ) from None
        if failed:
            raise InputError(said)
        return str(said)


def _serve(pipe: Connection, worker: Worker) -> None:
    """A process: parts come through the pipe, what was done goes back."""
    parent: Any = multiprocessing.parent_process()
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    with suppress(EOFError, BrokenPipeError, KeyboardInterrupt):
        while True:
            pipe.send(worker.advance(pipe.recv()))


def _end_with(parent: Any) -> None:
    """End a worker whose parent was killed."""
    parent.join()
    os._exit(1)


def ray() -> Any:
    """The library.

    Raises:
        MissingExtraError: it is not installed.
    """
    with needs("ray", "--engine ray"):
        import ray as library
    return library


class RayWorkers:
    """Ray actors, each with the model loaded once and one CPU.

    Every machine of the cluster must see the posts and the folder of the output under one path. A
    part whose actor dies is repeated by another one; finished parts are kept if the driver dies.

    Args:
        count: how many.
        worker: the work of each of them.
        address: of the cluster; None starts a local one, which ends with this process.
    """

    def __init__(self, count: int, worker: Worker, address: str | None) -> None:
        self._ray = ray()
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            self._ray.init(
                address=address,
                num_cpus=None if address else count,
                include_dashboard=None if address else False,
                logging_level=logging.ERROR,
                log_to_driver=False,
            )
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise InputError(
                f"--address {address}: cannot connect to Ray ({error}); start a cluster with "
                "ray start --head, or leave --address out"
            ) from error
        self._actor: Any = self._ray.remote(num_cpus=1)(_Actor)
        self._make = lambda: self._actor.remote(worker, os.getcwd())
        self._idle = [self._make() for _ in range(count)]

    def __enter__(self) -> "RayWorkers":
        return self

    def __exit__(self, *_: object) -> None:
        self._ray.shutdown()

    def run(self, parts: Sequence[int]) -> Iterator[tuple[int, str]]:
        """See `Workers`."""
        left = list(reversed(parts))
        tries: dict[int, int] = {}
        busy: dict[Any, tuple[int, Any]] = {}
        while left or busy:
            while left and self._idle:
                part, actor = left.pop(), self._idle.pop()
                busy[actor.advance.remote(part)] = part, actor
            done, _ = self._ray.wait(list(busy), num_returns=1)
            part, actor = busy.pop(done[0])
            try:
                said, failed = self._ray.get(done[0])
            except self._ray.exceptions.RayActorError as error:
                tries[part] = tries.get(part, 0) + 1
                if tries[part] == _TRIES:
                    raise InputError(
                        f"shard {part + 1}: its Ray actor died {_TRIES} times "
                        f"({str(error).strip().splitlines()[0]}); what is done is kept: the same "
                        "command with --resume continues"
                    ) from None
                left.append(part)
                self._idle.append(self._make())
                continue
            self._idle.append(actor)
            if failed:
                raise InputError(said)
            yield part, said


class _Actor:
    def __init__(self, worker: Worker, folder: str) -> None:
        os.chdir(folder)  # what the user named may be relative to it
        self._worker = worker

    def advance(self, part: int) -> tuple[str, bool]:
        return self._worker.advance(part)
