"""The unfinished output of a long search, which survives Ctrl-C, kill -9 and a power cut."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from siamese_news.errors import InputError
from siamese_news.search.histogram import Counted
from siamese_news.utils.checked_json import read_state_and_data, write_state
from siamese_news.utils.files import GrowingFile, is_stream

_SECONDS = 1.0  # between two records of the progress
_RECORD = 0.02  # a record that takes longer than this, in seconds, makes records less frequent


@contextmanager
def output_lock(out: Path | None) -> Iterator[None]:
    """Hold an output file so that no other run writes it, unless it is a stream (None: the terminal).

    Folders made for it are removed again if they stay empty.
    """
    from filelock import FileLock, Timeout

    if out is None or is_stream(out):
        yield
        return
    new_folders = [folder for folder in out.parents if not folder.exists()]
    out.parent.mkdir(parents=True, exist_ok=True)
    path = _lock(out)
    lock = FileLock(path)
    try:
        path.touch()  # a lock that cannot be made looks to FileLock like one that is held
        lock.acquire(timeout=0)
    except Timeout as error:
        raise InputError(
            f"{out}: another run is writing it; wait for that run, or name another file with --out"
        ) from error
    except OSError as error:
        raise InputError(
            f"{out}: cannot be written: no file can be made in {out.parent} "
            f"({error.strerror or error}); name another with --out"
        ) from error
    try:
        yield
    finally:
        # Before the release: a process that waits for the removed file looks again.
        with suppress(OSError):
            path.unlink()
        lock.release()
        with suppress(OSError):  # the first that is not empty ends it
            for folder in new_folders:
                folder.rmdir()


@contextmanager
def partial_place(out: Path, *, resume: bool) -> Iterator[Path]:
    """The path next to which the partial results of an output are.

    Next to a stream no file can be, and no later run finds its rows: its place is temporary.

    Raises:
        InputError: a run into a stream cannot `resume`.
    """
    if not is_stream(out):
        yield out
        return
    if resume:
        raise InputError(
            f"--resume: {out} is a pipe or a device, which keeps no earlier results; start over "
            "without --resume, or write to a file"
        )
    with TemporaryDirectory() as folder:
        yield Path(folder) / "results"


def is_held(out: Path) -> bool:
    """Whether a run is writing this output; its lock ends with its process."""
    if not _lock(out).exists():
        return False
    try:
        with output_lock(out):
            return False
    except InputError:
        return True


def _lock(out: Path) -> Path:
    return out.with_name(f".{out.name}.lock")


@dataclass(slots=True)
class Progress:
    """The progress of a search: finished blocks of this pass, and what belongs to them.

    `size` and `rows` are the bytes and rows of the part file; `scored` posts are counted in the
    `histogram` (`ScoreCounts.plain`). `state` is that of the pass over the pool (`Observer.state`),
    or where all of it is `observed` that of the scorer (`Scorer.state`).
    """

    blocks: int = 0
    size: int = 0
    rows: int = 0
    scored: int = 0
    histogram: Counted = field(default_factory=dict)
    observed: bool = False
    state: bytes = b""


class PartialResults:
    """``<out>.part``, rows in the order of the input, and ``<out>.part.json``, its progress.

    The progress is written once the rows it counts are on the disk; later rows are cut off when the
    run is resumed. The output must be held with `output_lock`. `job` has plain values that must be
    the same to resume; without `resume`, an unfinished run is an InputError.
    """

    def __init__(self, out: Path, job: Mapping[str, Any], *, resume: bool) -> None:
        self.path = out.with_name(out.name + ".part")
        self._state = out.with_name(out.name + ".part.json")
        self._job = dict(job)
        self.progress = Progress()
        if self._state.exists():
            self._continue(resume)
        self._rows = GrowingFile(self.path, self.progress.size, self._remedy)
        try:
            self._saved = self._took = 0.0
            self.save()
        except BaseException:
            self._rows.close()
            raise

    @property
    def _remedy(self) -> str:
        return f"remove it and {self._state.name} to start over"

    def append(self, rows: Sequence[bytes]) -> None:
        """Add lines of one block, each with its end."""
        self._rows.append(b"".join(rows))
        self.progress.rows += len(rows)

    @property
    def due(self) -> bool:
        """Whether the last `save` is a while ago."""
        pause = _SECONDS * max(1.0, self._took / _RECORD)
        return time.monotonic() - self._saved >= pause

    def save(self) -> None:
        """Record `progress`."""
        started = time.monotonic()
        self._rows.sync()
        self.progress.size = self._rows.size
        progress = asdict(self.progress)
        state = progress.pop("state")
        write_state(self._state, {"job": self._job, "progress": progress}, state)
        self._saved = time.monotonic()
        self._took = self._saved - started

    def close(self) -> None:
        """Close the files, and keep them for a later run if anything was done."""
        if not self.progress.blocks and not self.progress.state:
            self.remove()
        self._rows.close()

    def remove(self) -> None:
        """Remove the files once the results are written."""
        self._rows.close()
        self._state.unlink(missing_ok=True)
        self.path.unlink(missing_ok=True)

    def _continue(self, resume: bool) -> None:
        remedy = f"remove it and {self.path.name} to start over"
        saved, state = read_state_and_data(self._state, dict[str, Any], remedy)
        if not saved["progress"]["blocks"] and not state:
            return
        if not resume:
            raise InputError(
                f"{self.path}: left by an unfinished run; continue with --resume, or {self._remedy}"
            )
        check_job(self.path, saved["job"], self._job, self._remedy)
        self.progress = Progress(**saved["progress"], state=state)


def check_job(
    path: Path, job: Mapping[str, Any], mine: Mapping[str, Any], remedy: str
) -> None:
    """Check that the earlier job that left a file or folder is this run's."""
    if mismatch := difference(job, json.loads(json.dumps(dict(mine)))):
        raise InputError(
            f"{path}: was made with other settings ({mismatch}); continue with the same command and "
            f"files, or {remedy}"
        )


def difference(job: Mapping[str, Any], mine: Mapping[str, Any]) -> str:
    """The first difference between an earlier job and this run's; empty for none."""
    for name, value in mine.items():
        earlier = job.get(name)
        if isinstance(earlier, Mapping) and isinstance(value, Mapping):
            if inner := difference(earlier, value):
                return inner
        elif earlier != value:
            return f"{name}: {_short(earlier)} there, {_short(value)} here"
    return ""


def _short(value: Any) -> str:
    text = "not set" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:77] + "..."
