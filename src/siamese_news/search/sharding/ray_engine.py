"""Workers as actors of a Ray cluster."""

import logging
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from siamese_news.errors import InputError
from siamese_news.search.sharding.folder import ShardFolder
from siamese_news.search.sharding.stages import advance
from siamese_news.search.threads import use_threads
from siamese_news.search.work import OpenWork, Work
from siamese_news.utils.extras import needs

_TRIES = 3  # of a part whose actor died


def ray() -> Any:
    """The library.

    Raises:
        MissingExtraError: it is not installed.
    """
    with needs("ray", "--engine ray"):
        import ray as library
    return library


class RayWorkers:
    """So many actors, each with the model loaded once and one CPU.

    Every machine of the cluster must see the posts and the folder of the output under one path. A
    part whose actor dies is done by another one; what is done stays done when the driver dies.

    Args:
        count: how many.
        work: what is done.
        out: the results' file.
        address: of the cluster; None starts one on this machine, which ends with this.
    """

    def __init__(self, count: int, work: Work, out: Path, address: str | None) -> None:
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
                f"--address {address}: there is no Ray cluster ({error}); start one with ray start "
                "--head, or leave --address out"
            ) from error
        self._actor: Any = self._ray.remote(num_cpus=1)(_Actor)
        self._make = lambda: self._actor.remote(work, out, os.getcwd())
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
    def __init__(self, work: Work, out: Path, folder: str) -> None:
        os.chdir(folder)  # what the user named may be relative to it
        self._work, self._folder = work, ShardFolder(out)
        self._opened: OpenWork | None = None

    def advance(self, part: int) -> tuple[str, bool]:
        use_threads(self._work.threads or 1)
        try:
            self._opened = self._opened or OpenWork(self._work)
            return advance(self._opened, self._folder, part), False
        except (InputError, OSError) as error:
            return str(error), True
