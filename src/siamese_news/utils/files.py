"""Files that are written whole or not at all, and text files that may be compressed."""

import codecs
import errno
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import stat
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal

from siamese_news.errors import InputError
from siamese_news.utils.zstd_module import zstd

_BUFFER = 2**20
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_DAMAGED = (zlib.error, zstd.ZstdError)
# Bytes that are unpacked at a time. One of gzip expands to 1 KB at most, and 4 of zstd to 128 KiB,
# so 4 MiB come out at worst.
_GZIP_FEED = 2**12
_ZSTD_FEED = 2**7


_REPLACED = "siamese_news.replaced"


def _replaced(error: UnicodeError) -> tuple[str, int]:
    """U+FFFD for half a character, which UTF-8 cannot hold: of an argument that is not UTF-8."""
    assert isinstance(error, UnicodeEncodeError)
    return "\ufffd" * (error.end - error.start), error.end


codecs.register_error(_REPLACED, _replaced)


def is_stream(path: str | Path) -> bool:
    """Whether a path is, or links to, a pipe, a socket or a device: no file can be put next to it.

    A link in ``/dev`` (``/dev/stdout``, ``/dev/fd/3``) is a stream whatever is behind it.
    """
    target = Path(path)
    try:
        mode = target.stat().st_mode
    except OSError:
        return False
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return target.is_symlink() and target.absolute().is_relative_to("/dev")
    return True


def expect_regular(path: str | Path, expected: str = "a file") -> None:
    """Refuse a pipe, a device or a folder, whose reading may never end, and a link to nothing.

    A missing file is allowed.

    Raises:
        InputError: it says what was `expected`.
    """
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):  # whoever reads it says why it cannot be read
        if os.path.islink(path):
            raise InputError(
                f"{path}: is a link to nothing; expected {expected}: restore what it names, or "
                "remove it"
            ) from None
        return
    if stat.S_ISDIR(mode):
        raise InputError(f"{path}: is a folder; expected {expected}")
    if not stat.S_ISREG(mode):
        raise InputError(
            f"{path}: is a pipe or a device; expected {expected}: copy it to a file"
        )


@contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Make an error about a full disk name the file that is being written."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno in _FULL:
            error.filename = str(path)
        raise


@contextmanager
def atomic_write(path: str | Path, mode: Literal["w", "wb"] = "w") -> Iterator[IO[Any]]:
    r"""Open a temporary file that takes the place of `path` only if the block succeeds.

    Its folder is made, and a name ending in ``.gz`` is compressed. A link is followed and stays a
    link. A pipe or a device is not replaced: once the block has succeeded, everything written goes
    through it. The mode is ``"w"`` (UTF-8 text, ``\n`` line ends; half a character becomes U+FFFD)
    or ``"wb"``.
    """
    through = is_stream(path)
    target = Path(path) if through else Path(os.path.realpath(path))
    folder = None if through else target.parent
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=folder)
    try:
        with naming(path), os.fdopen(handle, "wb") as raw:
            binary: Any = raw
            # mtime=0: the same content makes the same bytes.
            if Path(path).suffix == ".gz":
                binary = gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0)
            stream: Any = binary
            if mode == "w":
                stream = io.TextIOWrapper(
                    binary, encoding="utf-8", errors=_REPLACED, newline="\n"
                )
            yield stream
            stream.flush()
            if mode == "w":
                stream.detach()
            if binary is not raw:
                binary.close()
            raw.flush()
            os.fsync(raw.fileno())
        if through:
            with open(name, "rb") as source, target.open("ab") as sink:
                shutil.copyfileobj(source, sink, _BUFFER)
            os.unlink(name)
            return
        # mkstemp makes 0600; set those of the file that is replaced, or of a plain open().
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(
            name,
            stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666 & ~umask,
        )
        os.replace(name, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name)
        raise


def write_json(path: str | Path, value: Any) -> None:
    """Write a value as indented JSON by `atomic_write`."""
    with atomic_write(path) as stream:
        stream.write(json_text(value, indent=1) + "\n")


def json_text(value: Any, **options: Any) -> str:
    """A value as JSON that UTF-8 can hold, whatever the names of files in it.

    Python writes the bytes of a name that are not UTF-8 as lone surrogates; JSON can escape these.
    """
    text = json.dumps(value, ensure_ascii=False, **options)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, **options)
    return text


def for_arrow(path: Path) -> Any:
    """The path, or the open file if its name is not UTF-8, which Arrow does not take."""
    return path if readable_name(str(path)) == str(path) else path.open("rb")


def readable_name(name: str) -> str:
    """The name of a file with the bytes that are not UTF-8 written as in an address: ``%E9``."""
    if name.isascii():
        return name
    return re.sub("[\udc80-\udcff]", lambda byte: f"%{ord(byte[0]) - 0xDC00:02X}", name)


class GrowingFile:
    """A file that rows are added to; bytes after its committed `size` are cut off on opening.

    Raises:
        InputError: it has fewer bytes than were committed; `remedy` says what to do.
    """

    def __init__(self, path: Path, size: int, remedy: str) -> None:
        self.path = path
        self.size = size
        # "a" would write at the end, wherever the committed end is.
        self.stream = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+b")
        have = os.fstat(self.stream.fileno()).st_size
        if have < size:
            self.stream.close()
            raise InputError(
                f"{path}: has {have:,} bytes, expected at least {size:,}; it was changed: {remedy}"
            )
        self.stream.truncate(size)
        self.stream.seek(size)

    def append(self, data: bytes) -> None:
        """Add rows; they are on the disk after `sync`."""
        with naming(self.path):
            self.stream.write(data)
        self.size += len(data)

    def sync(self) -> None:
        """Put all rows on the disk."""
        with naming(self.path):
            self.stream.flush()
            os.fsync(self.stream.fileno())

    def close(self) -> None:
        """Close the file."""
        self.stream.close()


def file_sha256(path: str | Path) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal.

    Raises:
        InputError: it is not a regular file, or cannot be read.
    """
    expect_regular(path)
    with reading(path), Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def open_binary(path: str | Path) -> IO[bytes]:
    """Open a plain, ``.gz`` or ``.zst`` file for reading bytes.

    Raises:
        InputError: where the file is missing, a folder, empty, or may not be read.
    """
    source = Path(path)
    wrong = ""
    with reading(source):
        if not source.exists():
            wrong = "no such file; check the path"
        elif source.is_dir():
            wrong = "is a folder, expected a file; name a file in it"
        elif source.stat().st_size == 0:
            wrong = "the file is empty, expected at least one line"
        if wrong:
            raise InputError(f"{source}: {wrong}")
        return unpack(source.open("rb"))


@contextmanager
def reading(name: str | Path) -> Iterator[None]:
    """Turn an error of the operating system, or of a damaged packed file, into an `InputError`."""
    try:
        yield
    except EOFError as error:
        raise InputError(
            f"{name}: cannot be read to its end ({error}); the file is damaged or cut off: fetch "
            "or make it again"
        ) from error
    except OSError as error:
        raise InputError(
            f"{error.filename or name}: cannot be read ({error.strerror or error}); check that you "
            "may read it, or name another file"
        ) from error


def packing(raw: io.BufferedReader) -> str:
    """How a file is packed, by its first bytes: ``"gz"``, ``"zst"`` or ``""``."""
    start = raw.peek(4)[:4]
    return (
        "gz"
        if start[:2] == b"\x1f\x8b"
        else "zst"
        # Or a frame to skip, with which pzstd begins.
        if re.match(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18", start)
        else ""
    )


def unpack(raw: io.BufferedReader) -> io.BufferedReader:
    """The bytes of a plain, gzip or zstd stream; closing it closes `raw`.

    The output of each read is bounded, so a few bytes that expand to gigabytes fill no memory. A
    damaged or incomplete stream raises an `EOFError` where its bytes end, whatever the packing.
    """
    packed = packing(raw)
    if packed == "gz":
        members = partial(zlib.decompressobj, zlib.MAX_WBITS | 16)
        return as_file(_unpacked(raw, members, _GZIP_FEED), raw)
    if packed == "zst":
        # The monthly dumps of Reddit have windows of 2 GiB, of which a short file fills little.
        options = {int(zstd.DecompressionParameter.window_log_max): 31}
        frames = partial(zstd.ZstdDecompressor, options=options)
        return as_file(_unpacked(raw, frames, _ZSTD_FEED), raw)
    return raw


def as_file(
    pieces: Iterator[bytes], source: IO[bytes] | None = None
) -> io.BufferedReader:
    """The bytes of `pieces` as a file; closing it closes `source`."""
    return io.BufferedReader(_Pieces(pieces, source), _BUFFER)


class _Pieces(io.RawIOBase):
    def __init__(self, pieces: Iterator[bytes], source: IO[bytes] | None) -> None:
        self._pieces = pieces
        self._source = source
        self._held = memoryview(b"")
        self._read = 0

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._read

    def readinto(self, buffer: Any) -> int:
        while not self._held:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._held = memoryview(piece)
        size = min(len(buffer), len(self._held))
        buffer[:size] = self._held[:size]
        self._held = self._held[size:]
        self._read += size
        return size

    def close(self) -> None:
        if self._source is not None:
            self._source.close()
        super().close()


def _unpacked(
    raw: io.BufferedReader, start: Callable[[], Any], feed: int
) -> Iterator[bytes]:
    """The bytes of all frames (members of gzip) of a packed stream, read `feed` bytes at a time.

    `start` makes what unpacks the next frame. A frame that is cut off is an error, not a short file.

    Raises:
        EOFError: the stream is damaged; everything before the fault was yielded, but of a pipe what
            was read last.
    """
    data = b""
    frame = None
    begins = fed = 0  # of a frame: where it begins in `raw`, and its bytes so far
    while data := data or raw.read(feed):
        if frame is None:
            data = data.lstrip(b"\0")  # gzip may fill up a block of a tape
            if not data:
                continue
            frame, fed = start(), 0
            begins = raw.tell() - len(data) if raw.seekable() else -1
        try:
            piece = frame.decompress(data)
        except _DAMAGED as error:
            if begins >= 0:
                raw.seek(begins)
                yield from _before_fault(raw, start(), fed, feed)
            raise EOFError(str(error)) from error
        yield piece
        fed += len(data)
        data, frame = (frame.unused_data, None) if frame.eof else (b"", frame)
    if frame is not None:
        raise EOFError("the file ends before its compressed data")


def _before_fault(
    raw: io.BufferedReader, frame: Any, fed: int, feed: int
) -> Iterator[bytes]:
    """What a damaged frame holds after its first `fed` bytes and before its fault."""
    for at in range(0, fed, feed):
        frame.decompress(raw.read(min(feed, fed - at)))
    # Byte by byte, because an unpacker keeps what it made of the bytes next to the fault.
    with suppress(*_DAMAGED):
        while byte := raw.read(1):
            yield frame.decompress(byte)
