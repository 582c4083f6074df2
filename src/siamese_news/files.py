"""Files that are never half there, and text files that may be compressed."""

import gzip
import io
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, cast

from siamese_news.errors import InputError


@contextmanager
def atomic_write(path: str | Path, mode: str = "w") -> Iterator[IO[Any]]:
    r"""Open a temporary file beside `path` that takes its place only if the block succeeds.

    Args:
        path: the file to write; its folder is made. A name ending in ``.gz`` is compressed.
        mode: ``"w"`` (UTF-8 text, ``\n`` line ends) or ``"wb"``.

    Raises:
        ValueError: for another mode.
    """
    if mode not in ("w", "wb"):
        raise ValueError(f"atomic_write got mode {mode!r}; expected 'w' or 'wb'")
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as raw:
            # mtime=0: the same content gives the same bytes.
            binary: Any = raw
            if target.suffix == ".gz":
                binary = gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0)
            stream: Any = binary
            if mode == "w":
                stream = io.TextIOWrapper(binary, encoding="utf-8", newline="\n")
            yield stream
            stream.flush()
            if mode == "w":
                stream.detach()
            if binary is not raw:
                binary.close()
            raw.flush()
            os.fsync(raw.fileno())
        # mkstemp makes 0600; give what a plain open() would have given.
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)
        os.replace(name, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name)
        raise


def open_binary(path: str | Path) -> IO[bytes]:
    """Open a plain, ``.gz`` or ``.zst`` file for reading bytes.

    Raises:
        InputError: where the file is missing, a folder, or empty.
    """
    source = Path(path)
    if not source.exists():
        raise InputError(f"{source}: no such file; check the path")
    if source.is_dir():
        raise InputError(f"{source}: is a folder, expected a file; name a file in it")
    if source.stat().st_size == 0:
        raise InputError(f"{source}: the file is empty, expected at least one line")
    if source.suffix == ".gz":
        return cast(IO[bytes], gzip.open(source, "rb"))
    if source.suffix == ".zst":
        return io.BufferedReader(_ZstdFile(source))
    return source.open("rb")


class _ZstdFile(io.RawIOBase):
    """All frames of a ``.zst`` file; one that is cut off is an error, not a short file."""

    def __init__(self, path: Path) -> None:
        self._raw = path.open("rb")
        self._frame: Any = None
        self._input = b""
        self._output = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        import zstandard

        while not self._output:
            data = self._input or self._raw.read(1 << 17)
            self._input = b""
            if not data:
                if self._frame is not None:
                    raise EOFError("the file ends inside a zstd frame")
                return 0
            if self._frame is None:
                self._frame = zstandard.ZstdDecompressor().decompressobj()
            self._output = self._frame.decompress(data)
            if self._frame.eof:
                self._input, self._frame = self._frame.unused_data, None
        size = min(len(buffer), len(self._output))
        buffer[:size] = self._output[:size]
        self._output = self._output[size:]
        return size

    def close(self) -> None:
        self._raw.close()
        super().close()
