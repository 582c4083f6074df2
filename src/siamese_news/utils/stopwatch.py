"""Measures how much time each stage of the work takes."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TypeVar

Item = TypeVar("Item")

_running: "list[Stopwatch]" = []


class Stopwatch:
    """Adds up the seconds of each stage; one inside another stops the clock of the outer one."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._stages: list[str] = []
        self._started = self._since = time.perf_counter()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count the time within for a stage."""
        self._add()
        self._stages.append(name)
        try:
            yield
        finally:
            self._add()
            self._stages.pop()

    def total(self) -> float:
        """Seconds since the stopwatch was made."""
        return time.perf_counter() - self._started

    def _add(self) -> None:
        now = time.perf_counter()
        if self._stages:
            stage = self._stages[-1]
            self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self._since
        self._since = now


@contextmanager
def stopwatch() -> Iterator[Stopwatch]:
    """Measure the stages within, in this process and on one thread."""
    watch = Stopwatch()
    _running.append(watch)
    try:
        yield watch
    finally:
        _running.remove(watch)


@contextmanager
def timed(stage: str) -> Iterator[None]:
    """Decorate a function whose calls are a stage; only a `stopwatch` around them measures it."""
    with _running[-1].stage(stage) if _running else nullcontext():
        yield


def timed_items(items: Iterable[Item], stage: str) -> Iterable[Item]:
    """The items, unchanged; waiting for each is a stage for a `stopwatch`."""
    return _timed_items(items, stage, _running[-1]) if _running else items


def _timed_items(items: Iterable[Item], stage: str, watch: Stopwatch) -> Iterator[Item]:
    iterator = iter(items)
    while True:
        with watch.stage(stage):
            found = next(iterator, watch)
        if found is watch:
            return
        yield found  # type: ignore[misc]
