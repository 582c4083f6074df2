"""The manifest of an index, which lists its content and is replaced as a whole."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, TypedDict

from msgspec import Meta

from siamese_news import __version__
from siamese_news.errors import InputError
from siamese_news.search.index.segment import SEGMENT_FILES, Codes, Segment
from siamese_news.utils.cache import FileRecord
from siamese_news.utils.checked_json import converted
from siamese_news.utils.files import file_sha256, reading, write_json

FORMAT = 9
NAME = "manifest.json"
_KIND = "index of posts"


# A folder of the index, and none elsewhere.
_SegmentName = Annotated[str, Meta(pattern=r"^segment-\d{1,9}\Z")]


class BuiltWith(TypedDict):
    """The folder of a model, and what tells it from others (`fingerprint`)."""

    folder: str
    fingerprint: str


@dataclass(slots=True)
class Manifest:
    """The facts about an index that are known before any post is read.

    `words` is the size of the `model`'s vocabulary, and `gram` the length of the n-grams that are
    kept of other words. The `segments`, folders with their numbers of posts, are in the order of
    the posts, `files` sizes and SHA-256 of all other files by their path in the folder, and
    `sources` path, size and time of change of the files that posts were read from. `version` is
    that of the package that wrote it.
    """

    model: BuiltWith
    words: Annotated[int, Meta(ge=0, lt=1 << 31)]
    gram: Annotated[int, Meta(ge=1, lt=1 << 10)]
    segments: Annotated[
        dict[_SegmentName, Annotated[int, Meta(ge=1)]], Meta(min_length=1)
    ] = field(default_factory=dict)
    files: dict[str, tuple[int, str]] = field(default_factory=dict)
    sources: list[tuple[str, int, int]] = field(default_factory=list)
    version: str = __version__

    def write(self, folder: Path) -> None:
        """Write it, whole or not at all; from then on the index is what it lists."""
        write_json(folder / NAME, {"kind": _KIND, "format": FORMAT, **asdict(self)})

    @classmethod
    def read(cls, folder: Path) -> "Manifest":
        """Read it, and check that every file it lists exists in its size; see `verify`."""
        path = folder / NAME
        with reading(folder):
            if folder.is_file():
                raise InputError(
                    f"{folder}: is a file; expected the folder of an index"
                )
            if not folder.is_dir():
                raise InputError(
                    f"{folder}: no such index; make one with "
                    f"siamese-news index --posts … --out {folder}"
                )
            if not path.is_file():
                raise InputError(
                    f"{folder}: is not an index of posts, because it has no {NAME}; name another "
                    "folder, or make an index with siamese-news index --posts … --out FOLDER"
                )
            try:
                document = json.loads(path.read_bytes())
                kind = document.pop("kind")
                version = document.pop("format")
                if kind != _KIND:
                    raise InputError(
                        f"{path}: is a {kind!r}, expected an {_KIND!r}; name another"
                    )
                if version != FORMAT:
                    raise InputError(
                        f"{folder}: is an index of format {version!r}, written by siamese_news "
                        f"{document.get('version')}; this one, {__version__}, reads format "
                        f"{FORMAT}: build the index again"
                    )
                manifest = converted(document, cls)
                expected_files = {
                    f"{name}/{file}"
                    for name in manifest.segments
                    for file in SEGMENT_FILES
                }
                if different := sorted(expected_files ^ manifest.files.keys()):
                    raise ValueError(
                        f"{different[0][:80]} is not listed, or should not be"
                    )
            except InputError:
                raise
            except (
                KeyError,
                TypeError,
                ValueError,
                AttributeError,
                RecursionError,
            ) as error:
                raise InputError(
                    f"{path}: is damaged ({error}); build the index again"
                ) from error
            for name, (expected, _) in manifest.files.items():
                file = folder / name
                size = file.stat().st_size if file.is_file() else None
                if size != expected:
                    have = "is missing" if size is None else f"has {size:,} bytes"
                    raise InputError(
                        f"{file}: {have}, expected {expected:,} bytes; the index is not complete: "
                        "copy it again, or build it again"
                    )
        return manifest

    def verify(self, folder: Path, segments: Sequence[Segment]) -> None:
        """Check the content of all files: their checksums, and every place that they name.

        This reads all of them, so it is done once: the cache records which files were checked, by
        their sizes and times of change.

        Raises:
            InputError: a file was changed, or names a place that does not exist.
        """
        record = self.record(folder)
        if record.holds():
            return
        state = record.state()
        for name, (_, checksum) in self.files.items():
            if file_sha256(folder / name) != checksum:
                raise InputError(
                    f"{folder / name}: differs from its checksum in {NAME}; copy the index again, "
                    "or build it again"
                )
        for segment in segments:
            segment.check()
        record.write(state)

    def record(self, folder: Path) -> FileRecord:
        """The record of the files that were checked, or written by this user."""
        names = (NAME, *sorted(self.files))
        return FileRecord(f"index-{FORMAT}", [folder / name for name in names])

    @property
    def posts(self) -> int:
        """How many posts the index has."""
        return sum(self.segments.values())

    @property
    def codes(self) -> Codes:
        """The codes of the tokens."""
        return Codes.of(self.words, self.gram)

    def open_segments(self, folder: Path, dimensions: int) -> list[Segment]:
        """The posts of the index, whose vectors have so many `dimensions`; verified (`verify`)."""
        segments = [
            Segment(folder / name, self.codes, posts, dimensions)
            for name, posts in self.segments.items()
        ]
        self.verify(folder, segments)
        return segments

    def changed_sources(self) -> list[str]:
        """The files that changed since they were read; a missing one does not count."""
        return [
            name
            for name, *size_and_time in self.sources
            if (path := Path(name)).is_file()
            and [path.stat().st_size, path.stat().st_mtime_ns] != size_and_time
        ]
