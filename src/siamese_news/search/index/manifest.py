"""The manifest of an index, which lists its content and is replaced as a whole."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

from siamese_news import __version__
from siamese_news.errors import InputError
from siamese_news.search.index.segment import Codes, Segment
from siamese_news.utils.files import file_sha256, reading, write_json

FORMAT = 8
NAME = "manifest.json"
_KIND = "index of posts"


class FileEntry(NamedTuple):
    """Size and hash of a file of an index."""

    bytes: int
    sha256: str

    @classmethod
    def of(cls, path: Path) -> "FileEntry":
        """The entry of a file as it is now."""
        return cls(path.stat().st_size, file_sha256(path))


@dataclass(slots=True)
class Manifest:
    """The facts about an index that are known before any post is read.

    Of the `model` they are its ``folder`` and its ``fingerprint`` (`fingerprint`), of its
    vocabulary the number of `words`, and `gram` is the length of the n-grams that are kept of other
    words. The `segments`, folders with their numbers of posts, are in the order of the posts,
    `files` are all other files by their path in the folder, and `sources` path, size and time of
    change of the files that posts were read from. `version` is that of the package that wrote it.
    """

    model: dict[str, str]
    words: int
    gram: int
    segments: dict[str, int] = field(default_factory=dict)
    files: dict[str, FileEntry] = field(default_factory=dict)
    sources: list[tuple[str, int, int]] = field(default_factory=list)
    version: str = __version__

    def write(self, folder: Path) -> None:
        """Write it, whole or not at all; from then on the index is what it lists."""
        write_json(folder / NAME, {"kind": _KIND, "format": FORMAT, **asdict(self)})

    @classmethod
    def read(cls, folder: Path) -> "Manifest":
        """Read it, and check that every file it lists exists in its size."""
        path = folder / NAME
        with reading(folder):
            if folder.is_file():
                raise InputError(f"{folder}: is a file; expected the folder of an index")
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
                if kind != _KIND:
                    raise InputError(f"{path}: is a {kind!r}, expected an {_KIND!r}; name another")
                if version != FORMAT:
                    raise InputError(
                        f"{folder}: is an index of format {version!r}, written by siamese_news "
                        f"{document.get('version')}; this one, {__version__}, reads format "
                        f"{FORMAT}: build the index again"
                    )
                files = {name: FileEntry(*entry) for name, entry in document.pop("files").items()}
                found = cls(files=files, **document)
            except InputError:
                raise
            except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
                raise InputError(f"{path}: is damaged ({error}); build the index again") from error
            for name, entry in files.items():
                file = folder / name
                size = file.stat().st_size if file.is_file() else None
                if size != entry.bytes:
                    have = "is missing" if size is None else f"has {size:,} bytes"
                    raise InputError(
                        f"{file}: {have}, expected {entry.bytes:,} bytes; the index is not "
                        "complete: copy it again, or build it again"
                    )
        return found

    def verify(self, folder: Path) -> int:
        """Compare every byte with the hashes; return the number of files."""
        for name, entry in self.files.items():
            if FileEntry.of(folder / name) != entry:
                raise InputError(
                    f"{folder / name}: differs from its hash in {NAME}; copy the index again, or "
                    "build it again"
                )
        return len(self.files)

    @property
    def posts(self) -> int:
        """How many posts the index has."""
        return sum(self.segments.values())

    @property
    def codes(self) -> Codes:
        """The codes of the tokens."""
        return Codes.of(self.words, self.gram)

    def open_segments(self, folder: Path) -> list[Segment]:
        """The posts of the index."""
        return [Segment(folder / name, self.codes) for name in self.segments]

    def changed_sources(self) -> list[str]:
        """The files that changed since they were read; a missing one does not count."""
        found = []
        for name, *read in self.sources:
            path = Path(name)
            if path.is_file() and [path.stat().st_size, path.stat().st_mtime_ns] != read:
                found.append(name)
        return found
