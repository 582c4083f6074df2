"""Build and change an index; a change takes effect as a whole or not at all.

New segments are written next to the old ones, and the manifest is replaced last. A process that
has the index open keeps the posts that it had. The next change removes what an interrupted run
left behind.
"""

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from siamese_news.data.readers.duplicates import SeenIds
from siamese_news.data.records import Post
from siamese_news.errors import InputError
from siamese_news.model.base import BLOCK, TextModel
from siamese_news.search.index.fingerprint import check_model, check_reading, fingerprint, indexable
from siamese_news.search.index.manifest import NAME, FileEntry, Manifest, SegmentEntry
from siamese_news.search.index.pool import deleted_rows, places
from siamese_news.search.index.segment import Codes, Segment
from siamese_news.search.index.writing import IndexWriter, RowMaker, in_blocks, sync
from siamese_news.utils.files import naming

Source = tuple[str, int, int]
_OURS = ("segment-", "deleted-", f".{NAME}.")


@dataclass(frozen=True, slots=True)
class Changed:
    """The outcome of a change.

    Attributes:
        posts: how many the index has now.
        added: how many were added.
        present: how many existed already, by id, and were left out.
        deleted: how many were deleted.
        missing: ids to delete that do not exist.
    """

    posts: int
    added: int = 0
    present: int = 0
    deleted: int = 0
    missing: Sequence[str] = ()


def build(
    path: Path,
    posts: Iterable[Post],
    model: TextModel,
    *,
    name: str,
    sources: Sequence[Source] = (),
) -> Changed:
    """Build an index, as a whole or not at all; it replaces an earlier one.

    Args:
        path: its folder; the caller holds it with `output_lock`.
        posts: whose ids are known to differ.
        model: reads them.
        name: of the model, for messages.
        sources: path, size and time of change (ns) of the files that are read.

    Raises:
        InputError: the name belongs to something else, there is no post, or the model is another
            library's.
    """
    maker = RowMaker(indexable(model))
    if path.exists() and not (path / NAME).is_file():
        raise InputError(
            f"{path}: exists and is not an index of posts; name another folder with --out"
        )
    staged, old = path.with_name(f".{path.name}.part"), path.with_name(f".{path.name}.old")
    if old.exists() and not path.exists():
        old.rename(path)  # an earlier run died between the two renames below
    for left in (staged, old):
        shutil.rmtree(left, ignore_errors=True)
    staged.mkdir(parents=True)
    try:
        manifest = Manifest(
            model={"folder": name, "fingerprint": fingerprint(model)},
            words=maker.codes.words,
            gram=maker.codes.gram,
            sources=list(sources),
        )
        writer = IndexWriter(staged, maker.codes, model.output_dim, 0)
        for block in in_blocks(posts, BLOCK, list):
            with naming(path):
                writer.append(maker(block))
        with naming(path):
            manifest.segments = writer.finish()
        if not manifest.segments:
            raise InputError("no posts to index: expected at least one")
        manifest.write(staged)
        sync(staged)
        if path.exists():
            path.rename(old)
        staged.rename(path)
        sync(path.parent)
        shutil.rmtree(old, ignore_errors=True)
    except BaseException:
        shutil.rmtree(staged, ignore_errors=True)
        raise
    total = sum(segment.posts for segment in manifest.segments)
    return Changed(total, added=total)


class IndexChange:
    """Changes an existing index; the caller holds it with `output_lock`.

    Raises:
        InputError: there is no index, or it is damaged, incomplete or has another version.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.manifest = path, Manifest.read(path)
        self._codes = Codes.of(self.manifest.words, self.manifest.gram)
        self.manifest.generation += 1
        self._sweep()

    def add(
        self, posts: Iterable[Post], model: TextModel, *, sources: Sequence[Source] = ()
    ) -> Changed:
        """Add posts in segments of their own; posts with an existing id are skipped.

        Args:
            posts: whose ids are known to differ.
            model: the one that the index was built with.
            sources: as for `build`.

        Raises:
            InputError: another model.
        """
        maker = RowMaker(indexable(model))
        check_model(self.path, self.manifest.model, model)
        seen, left_out = SeenIds(), 0
        try:
            for segment in self._segments():
                check_reading(segment, model, str(self.path))
                for first, ids in segment.ids():
                    live = segment.live[first : first + len(ids)]
                    seen.add([id for id, kept in zip(ids, live.tolist(), strict=True) if kept])

            def new(block: list[Post]) -> list[Post]:
                nonlocal left_out
                again = set(seen.add([post.id for post in block]))
                left_out += len(again)
                return [post for place, post in enumerate(block) if place not in again]

            writer = self._writer(model.output_dim)
            for block in in_blocks(posts, BLOCK, new):
                writer.append(maker(block))
            added = writer.finish()
        except BaseException:
            self._sweep()
            raise
        finally:
            seen.close()
        self.manifest.segments += added
        known_sources = {name: (name, size, time) for name, size, time in self.manifest.sources}
        self.manifest.sources = list((known_sources | {s[0]: s for s in sources}).values())
        self._write()
        count = sum(segment.posts for segment in added)
        return Changed(self._posts(), added=count, present=left_out)

    def delete(self, ids: Iterable[str]) -> Changed:
        """Delete posts by id, so that searches no longer return them; `compact` frees the disk.

        Raises:
            InputError: none of the ids exists.
        """
        wanted = list(dict.fromkeys(ids))
        found = places(self._segments(), wanted)
        missing = [id for id in wanted if id not in found]
        if not found:
            shown = ", ".join(repr(id) for id in missing[:3])
            raise InputError(f"{self.path}: has no post {shown}; check the ids")
        for number, entry in enumerate(self.manifest.segments):
            rows = [row for segment, row in found.values() if segment == number]
            if rows:
                self._delete(entry, np.array(rows, np.int64))
        self._write()
        return Changed(self._posts(), deleted=len(found), missing=missing)

    def compact(self) -> Changed:
        """Rewrite all segments without the deleted posts, and remove the old files.

        Raises:
            InputError: no post would be left.
        """
        before = sum(entry.posts for entry in self.manifest.segments)
        segments = self._segments()
        try:
            writer = self._writer(segments[0].vectors.shape[1])
            for segment in segments:
                for rows in segment.rows():
                    writer.append(rows)
            entries = writer.finish()
        except BaseException:
            self._sweep()
            raise
        if not entries:
            raise InputError(f"{self.path}: every post is deleted; remove the index itself instead")
        self.manifest.segments, self.manifest.files = entries, {}
        self._write()
        return Changed(self._posts(), deleted=before - self._posts())

    def _delete(self, entry: SegmentEntry, rows: np.ndarray) -> None:
        gone = np.union1d(deleted_rows(self.path, entry.deleted), rows)
        name = f"deleted-{self.manifest.generation}-{entry.name}.npy"
        with (self.path / name).open("wb") as stream:
            np.save(stream, gone)
        if entry.deleted is not None:
            del self.manifest.files[entry.deleted]
        entry.deleted, entry.deletions = name, len(gone)
        self.manifest.files[name] = FileEntry.of(self.path / name)

    def _segments(self) -> list[Segment]:
        return [
            Segment(self.path / one.name, self._codes, deleted_rows(self.path, one.deleted))
            for one in self.manifest.segments
        ]

    def _posts(self) -> int:
        return sum(entry.posts - entry.deletions for entry in self.manifest.segments)

    def _writer(self, dimensions: int) -> IndexWriter:
        return IndexWriter(self.path, self._codes, dimensions, self.manifest.generation)

    def _write(self) -> None:
        sync(self.path)
        self.manifest.write(self.path)
        sync(self.path)
        self._sweep()

    def _sweep(self) -> None:
        """Remove files that the manifest does not name: replaced ones, or an interrupted run's."""
        named = {NAME, *self.manifest.files, *(one.name for one in self.manifest.segments)}
        for item in self.path.iterdir():
            if item.name not in named and item.name.startswith(_OURS):
                if item.is_dir():
                    shutil.rmtree(item)
                else:
                    item.unlink()
