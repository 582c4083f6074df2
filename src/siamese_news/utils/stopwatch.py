"""Measures how much time each stage of the work takes."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
Item = TypeVar("Item")

_running: "list[Stopwatch]" = []


class Stopwatch:
    """Adds up the seconds of each stage; a stage inside another stops the clock of the outer one.

    Attributes:
        seconds: by stage, of those that have ended.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._stages: list[str] = []
        self._started = self._since = time.perf_counter()

    def begin(self, stage: str) -> None:
        """A stage begins."""
        self._add()
        self._stages.append(stage)

    def end(self) -> None:
        """The stage that began last ends."""
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


def timed(stage: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a function whose calls are a stage; without a `stopwatch` it is called as it is."""

    def decorated(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            if not _running:
                return function(*args, **kwargs)
            watch = _running[-1]
            watch.begin(stage)
            try:
                return function(*args, **kwargs)
            finally:
                watch.end()

        return call

    return decorated


def timed_items(items: Iterable[Item], stage: str) -> Iterable[Item]:
    """The items as they are; waiting for each is a stage where a `stopwatch` measures."""
    return _timed_items(items, stage, _running[-1]) if _running else items


def _timed_items(items: Iterable[Item], stage: str, watch: Stopwatch) -> Iterator[Item]:
    iterator = iter(items)
    while True:
        watch.begin(stage)
        try:
            item = next(iterator)
        except StopIteration:
            return
        finally:
            watch.end()
        yield item
