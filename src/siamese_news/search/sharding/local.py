"""Workers as processes of this machine."""

import multiprocessing
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from siamese_news.errors import InputError
from siamese_news.search.sharding.folder import ShardFolder
from siamese_news.search.sharding.stages import advance
from siamese_news.search.threads import use_threads
from siamese_news.search.work import OpenWork, Work
from siamese_news.utils.processes import importing

_END = 5.0  # seconds for a worker to end by itself


class LocalWorkers:
    """So many processes, each with the model loaded once.

    Args:
        count: how many.
        work: what is done.
        out: the results' file.
    """

    def __init__(self, count: int, work: Work, out: Path) -> None:
        context = importing([__name__])  # no effect where it was begun earlier
        self._workers: list[tuple[Any, Any]] = []
        for _ in range(count):
            mine, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, work, out), daemon=True)
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
                f"worker {number + 1} (process {process.pid}) {how} at shard {part + 1}; what is "
                "done is kept: run the same command with --resume to continue"
            ) from None
        if failed:
            raise InputError(said)
        return str(said)


def _serve(pipe: Connection, work: Work, out: Path) -> None:
    """A worker: parts come through the pipe, what was done goes back."""
    parent: Any = multiprocessing.parent_process()
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    use_threads(work.threads or 1)
    folder = ShardFolder(out)
    opened: OpenWork | None = None
    with suppress(EOFError, BrokenPipeError, KeyboardInterrupt):
        while True:
            part = pipe.recv()
            try:
                opened = opened or OpenWork(work)
                pipe.send((advance(opened, folder, part), False))
            except (InputError, OSError) as error:
                pipe.send((str(error), True))


def _end_with(parent: Any) -> None:
    """A worker whose parent was killed is of no use."""
    parent.join()
    os._exit(1)
