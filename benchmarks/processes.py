"""A command in a process of its own: its time and memory, and what it wrote."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

SIAMESE_NEWS = ("-m", "siamese_news")
# What the system says of children is the sum of their times and the most that one of them held, so
# a process of its own starts the command.
_LAUNCH = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss)
sys.exit(done.returncode)
"""


class Measured(NamedTuple):
    """Seconds of the processor and of the clock, peak bytes, and standard error of a command."""

    cpu: float
    seconds: float
    peak: int
    errors: str


def measured(
    *arguments: object,
    threads: int = 1,
    environment: Mapping[str, str] = {},
    folder: Path | None = None,
) -> Measured:
    """Run Python with some arguments, such as those of ``siamese-news`` after `SIAMESE_NEWS`.

    It runs in the `folder`, or in the current one.

    Raises:
        SystemExit: it failed; the message is its own.
    """
    command: Sequence[Any] = [sys.executable, *map(str, arguments)]
    # An installation keeps compiled modules, whatever this process was told to do.
    fixed = {"OMP_NUM_THREADS": str(threads), "PYTHONDONTWRITEBYTECODE": ""}
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", _LAUNCH, *command],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, **fixed, **environment},
    )
    seconds = time.perf_counter() - started
    if done.returncode:
        raise SystemExit(done.stderr)
    cpu, kilobytes = done.stdout.split()[-2:]
    return Measured(float(cpu), seconds, int(kilobytes) * 1024, done.stderr)
