"""Where the unfinished results of a search are, and whether they belong to its job."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from siamese_news.errors import InputError
from siamese_news.utils.checked_json import brief_json, differences
from siamese_news.utils.files import is_stream


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


def check_job(
    path: Path, job: Mapping[str, Any], mine: Mapping[str, Any], remedy: str
) -> None:
    """Check that the earlier job that left a file or folder is this run's."""
    for path_of_value, saved, current in differences(
        job, json.loads(json.dumps(dict(mine))), inside_lists=False
    ):
        raise InputError(
            f"{path}: was made with other settings ({path_of_value.rpartition('.')[2]}: "
            f"{brief_json(saved)} there, {brief_json(current)} here); continue with the same "
            f"command and files, or {remedy}"
        )
