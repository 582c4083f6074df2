"""The manifest of an index, which lists its content and is replaced as a whole."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from siamese_news import __version__
from siamese_news.errors import InputError
from siamese_news.utils.files import file_sha256, reading, write_json

FORMAT = 6
NAME = "manifest.json"
_KIND = "index of posts"


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file of an index.

    Attributes:
        bytes: its size.
        sha256: of its bytes.
    """

    bytes: int
    sha256: str

    @classmethod
    def of(cls, path: Path) -> "FileEntry":
        """The entry of a file as it is now."""
        return cls(path.stat().st_size, file_sha256(path))


@dataclass(slots=True)
class SegmentEntry:
    """A segment.

    Attributes:
        name: of its folder.
        posts: how many it holds, deleted ones among them.
        files: by name.
        deleted: the file of its deleted rows; None where there is none.
        deletions: how many rows that are.
    """

    name: str
    posts: int
    files: dict[str, FileEntry]
    deleted: str | None = None
    deletions: int = 0


@dataclass(slots=True)
class Manifest:
    """What is known about an index before any post is read.

    Attributes:
        model: ``folder``, and ``fingerprint`` of the model (`fingerprint`).
        words: size of the model's vocabulary.
        gram: characters of the n-grams that are kept of other words.
        segments: in the order of the posts.
        files: deletion files, by name.
        sources: the files that posts were read from: path, size and time of change.
        generation: how often the index was changed.
        version: of this package that wrote it.
    """

    model: dict[str, str]
    words: int
    gram: int
    segments: list[SegmentEntry] = field(default_factory=list)
    files: dict[str, FileEntry] = field(default_factory=dict)
    sources: list[tuple[str, int, int]] = field(default_factory=list)
    generation: int = 0
    version: str = __version__

    def write(self, folder: Path) -> None:
        """Write it, whole or not at all; from then on the index is what it lists."""
        write_json(folder / NAME, {"kind": _KIND, "format": FORMAT, **asdict(self)})

    @classmethod
    def read(cls, folder: Path) -> "Manifest":
        """Read it, and check that every file it names is there in its size.

        Raises:
            InputError: there is no index, or it is incomplete, damaged or has another version.
        """
        path = folder / NAME
        with reading(folder):
            if not folder.is_dir():
                raise InputError(
                    f"{folder}: no such index; make one with "
                    f"siamese-news index --posts … --out {folder}"
                )
            if not path.is_file():
                raise InputError(
                    f"{folder}: has no {NAME}, so it is not an index of posts, or one that was "
                    "never finished; remove it and build it again"
                )
            try:
                document = json.loads(path.read_bytes())
                kind, version = document.pop("kind"), document.pop("format")
            except (ValueError, KeyError, AttributeError, RecursionError) as error:
                raise InputError(f"{path}: is damaged ({error}); build the index again") from error
            if kind != _KIND:
                raise InputError(f"{path}: is a {kind!r}, expected an {_KIND!r}; name another")
            if version != FORMAT:
                raise InputError(
                    f"{folder}: is an index of format {version!r}, written by siamese_news "
                    f"{document.get('version')}; this one, {__version__}, reads format {FORMAT}: "
                    "build the index again"
                )
            try:
                found = cls._of(document)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise InputError(f"{path}: is damaged ({error}); build the index again") from error
            found._check(folder)
        return found

    @classmethod
    def _of(cls, document: dict[str, Any]) -> "Manifest":
        document["segments"] = [
            SegmentEntry(**one | {"files": _files(one["files"])}) for one in document["segments"]
        ]
        document["files"] = _files(document["files"])
        document["sources"] = [
            (str(p), int(size), int(time)) for p, size, time in document["sources"]
        ]
        return cls(**document)

    def paths(self, folder: Path) -> dict[Path, FileEntry]:
        """All files of the index but the manifest."""
        found = {folder / name: entry for name, entry in self.files.items()}
        for segment in self.segments:
            for name, entry in segment.files.items():
                found[folder / segment.name / name] = entry
        return found

    def _check(self, folder: Path) -> None:
        for path, entry in self.paths(folder).items():
            size = path.stat().st_size if path.is_file() else None
            if size != entry.bytes:
                have = "is missing" if size is None else f"has {size:,} bytes"
                raise InputError(
                    f"{path}: {have}, expected {entry.bytes:,} bytes; the index is not whole: "
                    "copy it again, or build it again"
                )

    def verify(self, folder: Path) -> int:
        """Compare every byte with what was written.

        Returns:
            How many files there are.

        Raises:
            InputError: a file differs.
        """
        paths = self.paths(folder)
        for path, entry in paths.items():
            if FileEntry.of(path) != entry:
                raise InputError(
                    f"{path}: differs from what {NAME} says; copy the index again, or build it "
                    "again"
                )
        return len(paths)

    def changed_sources(self) -> list[str]:
        """The files that changed since they were read; a missing one does not count."""
        found = []
        for name, size, time in self.sources:
            path = Path(name)
            if path.is_file():
                now = path.stat()
                if (now.st_size, now.st_mtime_ns) != (size, time):
                    found.append(name)
        return found


def _files(entries: dict[str, Any]) -> dict[str, FileEntry]:
    return {name: FileEntry(**entry) for name, entry in entries.items()}
