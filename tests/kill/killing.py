"""Commands that are killed at random points and go on, until the result is there."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

LIMIT = 1800  # seconds, after which a process hangs
ENV = {**os.environ, "OMP_NUM_THREADS": "1", "SIAMESE_NEWS_STAMP": "test"}


def start(
    command: Sequence[str],
    folder: Path,
    log: Path,
    stdin: Path | None = None,
    **variables: str,
) -> subprocess.Popen:
    """A process of its own, whose output goes to a file: a full pipe would stop it."""
    with log.open("ab") as stream, open(stdin or os.devnull, "rb") as given:
        return subprocess.Popen(
            [sys.executable, *map(str, command)],
            cwd=folder,
            env={**ENV, **variables},
            stdin=given,
            stdout=stream,
            stderr=subprocess.STDOUT,
        )


def finish(process: subprocess.Popen, log: Path) -> None:
    """Wait for a process that must end by itself."""
    assert process.wait(timeout=LIMIT) == 0, log.read_text()[-3000:]


def wait_for(sign: Callable[[], bool], process: subprocess.Popen) -> None:
    """Until there is a sign of work, or the process ends."""
    until = time.monotonic() + LIMIT
    while process.poll() is None and not sign():
        assert time.monotonic() < until
        time.sleep(0.01)


def kill_often(
    command: Callable[[], Sequence[str]],
    check: Callable[[], None],
    fresh: Callable[[], None],
    *,
    folder: Path,
    begun: Callable[[], bool],
    seconds: float,
    signals: Sequence[int] = (signal.SIGKILL, signal.SIGTERM),
    codes: Sequence[int] = (143, -signal.SIGTERM),
    kills: int = 20,
    seed: int = 0,
    stdin: Path | None = None,
    **variables: str,
) -> None:
    """Run a command until it was killed so many times, and at last to its end.

    Whenever a run reaches its end, its result is checked and the next begins anew.

    Args:
        command: the arguments of Python for the next attempt, which goes on where it can.
        check: that the result is that of a run that nothing interrupted.
        fresh: removes what was done, and prepares an attempt.
        folder: where the commands run.
        begun: whether the present attempt has begun its work; it is killed some time after that.
        seconds: that the work of an attempt takes, about.
        signals: one of these is sent.
        codes: with which an attempt may end after SIGTERM, apart from 0.
        kills: how many.
        seed: of the points in time and the signals.
        stdin: a file that each attempt reads as its standard input.
        variables: of the environment.
    """
    rng, log, done, whole = random.Random(seed), folder / "log.txt", 0, 0
    print(f"seed {seed}, {kills} kills, work of about {seconds:.1f} s")
    fresh()
    while True:
        log.unlink(missing_ok=True)
        process = start(command(), folder, log, stdin, **variables)
        if done == kills:
            finish(process, log)
            check()
            print(f"{done} kills, {whole + 1} results")
            return
        wait_for(begun, process)
        pause = rng.uniform(0, 1.1 * seconds)
        sent = rng.choice(list(signals))
        try:
            code = process.wait(timeout=pause)
        except subprocess.TimeoutExpired:
            process.send_signal(sent)
            code = process.wait(timeout=LIMIT)
            done += 1
            print(
                f"kill {done}: signal {sent} after {pause:.2f} s, exit code {code}",
                flush=True,
            )
            expected = (-signal.SIGKILL,) if sent == signal.SIGKILL else codes
            assert code in (0, *expected), log.read_text()[-3000:]
        assert code == 0 or code < 0 or code in codes, log.read_text()[-3000:]
        if code == 0:
            check()
            whole += 1
            fresh()


def newer(path: Path) -> Callable[[], bool]:
    """Whether a file has been written since now."""
    before = path.stat().st_mtime_ns if path.exists() else 0
    return lambda: path.exists() and path.stat().st_mtime_ns > before


def bytes_of(folder: Path, names: Sequence[str]) -> dict[str, bytes]:
    """The contents of files."""
    return {name: (folder / name).read_bytes() for name in names}


def nothing_spooled(folder: Path) -> None:
    """No temporary file is left in a folder."""
    assert not list(folder.iterdir())
