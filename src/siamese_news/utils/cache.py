"""The user's cache: files that are made once for a machine, and made again if anything is wrong.

What lies there is believed only if nobody else can have put it there: each folder and file belongs
to this user (or to the administrator) and can be written by nobody else. It matters, because a table
decides what a certificate says.
"""

import hashlib
import json
import logging
import os
import stat
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from siamese_news.utils.files import atomic_write

if TYPE_CHECKING:
    from numpy.typing import NDArray

_log = logging.getLogger(__name__)


def cache_folder() -> Path:
    """``$SIAMESE_NEWS_CACHE``, else ``~/.cache/siamese_news``."""
    configured = os.environ.get("SIAMESE_NEWS_CACHE")
    return Path(configured) if configured else Path.home() / ".cache" / "siamese_news"


def private_folder(*names: str, root: Path | None = None) -> Path | None:
    """A folder of the cache, made if it is missing; None if it cannot be made or trusted.

    The reason is logged once. `root` takes the place of `cache_folder`.
    """
    folder = (root or cache_folder()).absolute()
    try:
        _make(folder)
        for name in names:
            folder /= name
            _make(folder)
    except OSError as error:
        _warn(folder, error.strerror or str(error))
        return None
    return folder


def _make(folder: Path) -> None:
    """Make a folder that only this user can write to; an OSError if that is not possible."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    status = folder.stat()
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(0, "it is not a folder")
    if not _is_ours(status):
        raise PermissionError(0, "it belongs to another user")
    if _others_write(status):
        folder.chmod(stat.S_IMODE(status.st_mode) & ~0o022)


@cache
def _warn(folder: Path, reason: str) -> None:
    _log.warning(
        "%s: is not used as a cache (%s); set SIAMESE_NEWS_CACHE to a folder of your own",
        folder,
        reason,
    )


def is_trusted(path: Path) -> bool:
    """Whether a file exists that only this user can have written; links do not count."""
    try:
        status = path.lstat()
    except OSError:
        return False
    return (
        stat.S_ISREG(status.st_mode) and _is_ours(status) and not _others_write(status)
    )


def _is_ours(status: os.stat_result) -> bool:
    return os.name != "posix" or status.st_uid in (os.getuid(), 0)


def _others_write(status: os.stat_result) -> bool:
    return os.name == "posix" and bool(status.st_mode & 0o022)


@contextmanager
def cache_write(path: Path) -> Iterator[IO[bytes]]:
    """Open a file of the cache for writing: it appears whole, for this user alone, or not at all.

    Processes that write it at the same time write the same content.
    """
    with atomic_write(path, "wb") as stream:
        yield stream
    path.chmod(0o600)


def load_arrays(path: Path) -> "dict[str, NDArray[Any]] | None":
    """The arrays that `save_arrays` wrote; None if the file is missing, damaged or not trusted."""
    import numpy as np

    if not is_trusted(path):
        return None
    try:
        # The file is a zip, which has a checksum of each array.
        with np.load(path, allow_pickle=False) as content:
            return {name: content[name] for name in content.files}
    except (
        OSError,
        EOFError,
        KeyError,
        ValueError,
        TypeError,
        AttributeError,
        zipfile.BadZipFile,
    ):
        return None


def save_arrays(path: Path, **arrays: Any) -> None:
    """Write arrays by name; an OSError if there is no space."""
    import numpy as np

    with cache_write(path) as stream:
        np.savez(stream, allow_pickle=False, **arrays)


class FileRecord:
    """The record, in the cache, that some files were checked or built by this user.

    It holds while each has the same size, times of change and number on the disk. The time of a
    file's last change on this disk (`st_ctime_ns`) and that number do not travel with it, so
    nobody can send files that fit the record. Without a cache it never holds.

    Args:
        purpose: what was done with the files; another version of it has another name.
        files: the first one names the record.
    """

    def __init__(self, purpose: str, files: Sequence[Path]) -> None:
        self._files = files
        folder = private_folder("records")
        key = f"{purpose}\0{files[0].resolve()}".encode("utf-8", "surrogateescape")
        name = f"{hashlib.sha256(key).hexdigest()[:32]}.json"
        self._path = None if folder is None else folder / name

    def holds(self) -> bool:
        """Whether all files are as they were."""
        if self._path is None or not is_trusted(self._path):
            return False
        try:
            return bool(json.loads(self._path.read_bytes()) == self.state())
        except (OSError, ValueError):
            return False

    def write(self, state: list[list[int]]) -> None:
        """Record a `state`: that of files before they were checked, or after they were built.

        If the cache cannot be written, it costs time only.
        """
        if self._path is not None:
            with suppress(OSError), cache_write(self._path) as stream:
                stream.write(json.dumps(state).encode())

    def state(self) -> list[list[int]]:
        """The files as they are now."""
        return [
            [s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino]
            for s in map(Path.stat, self._files)
        ]
