"""The inputs that the user names: files, folders, globs and standard input, in a fixed order."""

import glob
import io
import os
import re
import shutil
import sys
import tempfile
import weakref
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO, Any

from siamese_news.data.lines import BadRow
from siamese_news.data.readers.fields import Record
from siamese_news.errors import InputError
from siamese_news.utils.files import as_file, reading
from siamese_news.utils.terminal import unguarded

STDIN = "-"
LINES = (".jsonl", ".ndjson")
PARQUET = (".parquet", ".pq")
_PACKED = (".gz", ".zst")
_PIPE = 2**16  # bytes of a pipe that are read at once
_TWEETS = re.compile(r"tweets?(-part\d+)?\.js", re.IGNORECASE)


class Input:
    """One file, or one pipe (without a path), which can be read only once unless it is spooled.

    Messages call it by its name. It `is_explicit` if the user named it, rather than a folder or a glob
    that it is in.
    """

    def __init__(
        self,
        name: str,
        path: Path | None,
        pipe: IO[bytes] | None = None,
        *,
        is_explicit: bool = True,
    ) -> None:
        self.name = name
        self.is_explicit = is_explicit
        self.path = path
        self._pipe: Any = pipe
        self._head = bytearray()
        self._used = False
        self._copy: Any = None
        self.content: bytes | None = None  # of a small file, for the first pass

    @property
    def size(self) -> int | None:
        """Bytes on disk; None for a pipe."""
        return None if self.path is None else self.path.stat().st_size

    def open(self, *, look: bool = False) -> io.BufferedReader:
        """Open to read everything, or only to `look`: a pipe can then be read from its beginning.

        Raises:
            InputError: the file cannot be opened, or a pipe that was not spooled is read again.
        """
        if self.content is not None and not look:
            stream: Any = io.BytesIO(self.content)
            self.content = None
            return io.BufferedReader(stream)
        if self.path is not None:
            with reading(self.name):
                return self.path.open("rb")
        if self._used and not look:
            raise InputError(
                f"{self.name}: can be read only once, and it has been; save it to a file first"
            )
        self._used |= not look
        return as_file(self._pieces(look))

    def spool(self) -> None:
        """Copy a pipe to a temporary file, so that it can be read again."""
        if self.path is not None:
            return
        with self.open() as source:
            copy = tempfile.NamedTemporaryFile("w+b", delete=False)
            # The file is deleted with this object, or when the process ends.
            weakref.finalize(self, Path(copy.name).unlink, missing_ok=True)
            shutil.copyfileobj(source, copy, 2**20)
            copy.flush()
        self.path = Path(copy.name)
        handle = Path(f"/proc/self/fd/{copy.fileno()}")
        if handle.exists():  # a file without a name: not even kill -9 leaves it behind
            os.unlink(copy.name)
            self.path = handle
            self._copy = copy
        else:
            copy.close()

    def _pieces(self, keep: bool) -> Iterator[bytes]:
        """A pipe from its beginning: first the part that was kept, then the rest."""
        at = 0
        ended = False
        while not ended:
            data = bytes(self._head[at:])
            # The first four bytes come in one piece, because they tell how the stream is packed.
            while not ended and (not data or at + len(data) < 4):
                piece = self._pipe.read1(_PIPE)
                ended = not piece
                data += piece
                if keep:
                    self._head += piece
            at += len(data)
            yield data


@dataclass(slots=True)
class Skipped:
    """Files of folders and globs that are not read."""

    # Written by our commands, with others in their folder.
    our_files: list[Path] = field(default_factory=list)
    unknown: list[Path] = field(default_factory=list)  # they have another ending


def find_inputs(
    sources: Iterable[str | Path],
    suffixes: Sequence[str],
    skipped: Skipped | None = None,
) -> list[Input]:
    """The inputs that the user names: a folder's and a glob's files by name, no file twice.

    A glob can have ``**`` for any depth, and ``-`` is standard input. A folder's files are those
    with one of the suffixes, before ``.gz`` or ``.zst``; `skipped` receives the others, but no
    hidden files and no files of rejected rows. With ``.js`` only the tweets of an archive are
    meant, because it has other such files; their whole texts are read with them.

    Raises:
        InputError: an input does not exist, or a folder has no such file.
    """
    sources = list(sources)
    sources_given = {Path(source) for source in sources}
    inputs: list[Input] = []
    for path in input_paths(sources, suffixes, skipped):
        if path is None:
            inputs.append(Input("standard input", None, sys.stdin.buffer))
        elif os.path.isfile(path):
            inputs.append(Input(str(path), path, is_explicit=path in sources_given))
        else:  # a named pipe, such as the shell makes of <(...)
            with reading(path):
                inputs.append(Input(str(path), None, path.open("rb")))
    return inputs


def input_paths(
    sources: Iterable[str | Path],
    suffixes: Sequence[str],
    skipped: Skipped | None = None,
) -> list[Path | None]:
    """The paths that `find_inputs` opens; None is standard input."""
    skipped = skipped or Skipped()
    paths: dict[Any, Path | None] = {}
    resolved = cache(Path.resolve)  # of folders, which have many files
    for source in map(str, sources):
        if source == STDIN:
            paths[None] = None
            continue
        with reading(source):
            for path in _files(source, suffixes, skipped):
                real = (resolved(path.parent), path.name)
                if os.path.islink(path):
                    real = (path.resolve().parent, path.resolve().name)
                paths.setdefault(real, path)
    # The long posts of an archive of X are read with its tweets (`long_tweets`).
    archives = {
        path.parent for path in paths.values() if path and _TWEETS.fullmatch(path.name)
    }
    return [
        path
        for path in paths.values()
        if not (path and is_note_file(path) and path.parent in archives)
    ]


def is_note_file(path: Path) -> bool:
    """Whether a file has the long posts of an archive of X, by its name."""
    name = path.name.lower()
    return name.startswith("note-") and bool(_TWEETS.fullmatch(name[5:]))


def _files(source: str, suffixes: Sequence[str], skipped: Skipped) -> list[Path]:
    path = Path(source)
    if path.is_dir():
        files, unread = folder_files(path, suffixes)
        skipped.unknown += unread
        if not files:
            raise InputError(
                f"{source}: the folder holds no file that ends in {', '.join(suffixes)} "
                "(or these with .gz or .zst); name the files"
            )
    elif path.exists():
        return [path]
    elif "://" in source:
        raise InputError(
            f"{source}: is an address; expected a file. Open it in a browser, save the page "
            "(HTML only) and name the saved file: nothing is fetched from the network here"
        )
    elif glob.has_magic(source):
        files = sorted(
            path
            for path in map(Path, glob.glob(source, recursive=True))
            if not path.is_dir()
        )
        if not files:
            raise InputError(f"{source}: no file matches; check the pattern")
    else:
        raise InputError(f"{source}: no such file; check the path")
    listed = cache(lambda folder: frozenset(os.listdir(folder)))
    own_files = {path for path in files if is_own(path, listed(path.parent))}
    if len(own_files) == len(files):
        return files
    skipped.our_files += sorted(own_files)
    return [path for path in files if path not in own_files]


def folder_files(
    folder: Path, suffixes: Sequence[str]
) -> tuple[list[Path], list[Path]]:
    """The files of a folder by name that have one of the endings, and the others; none hidden."""
    files: list[Path] = []
    unread: list[Path] = []
    # Hidden files, and those of rejected rows, are passed over.
    for path in _tree(folder):
        (files if _is_data(path, folder, suffixes) else unread).append(path)
    return files, unread


def _tree(folder: Path) -> Iterator[Path]:
    """The files in a folder and in those in it, in the order of their paths."""
    with os.scandir(folder) as entries:
        by_name = sorted(entries, key=lambda entry: entry.name)
    for entry in by_name:
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            with suppress(PermissionError):
                yield from _tree(folder / entry.name)
        elif entry.is_file() and ".rejected." not in entry.name:
            yield folder / entry.name


def plain_suffix(name: str | Path) -> str:
    """The ending of a file's name before ``.gz`` or ``.zst``, in lower case."""
    path = Path(name)
    return (
        path.with_suffix("") if path.suffix.lower() in _PACKED else path
    ).suffix.lower()


def _is_data(path: Path, folder: Path, suffixes: Sequence[str]) -> bool:
    suffix = plain_suffix(path)
    if suffix == ".js" and not (_TWEETS.fullmatch(path.name) or is_note_file(path)):
        return False
    if suffix in (".html", ".htm") and any(
        name.endswith("_files") for name in path.relative_to(folder).parts[:-1]
    ):
        return False  # frames and the like, which a browser saves with a page
    # RC_2019-04.zst has no other ending.
    return suffix in suffixes or (path.suffix in _PACKED and suffix != ".tar")


def as_written(
    rows: Iterator[tuple[int, Record | BadRow, Any]], names: Sequence[str]
) -> Iterator[tuple[int, Record | BadRow, Any]]:
    """The rows of a table; those of our own results without the apostrophes against formulas."""
    if not {"article", "rank", "score", "post"} <= set(names):
        yield from rows
        return
    for line, record, row in rows:
        if not isinstance(record, BadRow):
            record = {
                name: unguarded(value) if isinstance(value, str) else value
                for name, value in record.items()
            }
        yield line, record, row


def is_own(path: Path, names: Collection[str]) -> bool:
    """Whether a command of ours wrote a file: an output, its ``.meta.json``, or unfinished work.

    The `names` are those in its folder.
    """
    output = path.name.removesuffix(".meta.json")
    if path.parent.suffix == ".part" and "work.json" in names:
        return True
    return (
        output != path.name and output in names
    ) or f"{path.name}.meta.json" in names
