"""Build and change an index; a change takes effect as a whole or not at all.

New segments are written next to the old ones, and the manifest is replaced last. A process that
has the index open keeps its posts. The next change removes the files of an interrupted run.
"""

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from siamese_news.data.readers.duplicates import SeenIds
from siamese_news.data.records import Post
from siamese_news.errors import InputError
from siamese_news.model.base import TextModel
from siamese_news.search.index.fingerprint import check_model, fingerprint, indexable
from siamese_news.search.index.manifest import NAME, FileEntry, Manifest
from siamese_news.search.index.segment import find_posts
from siamese_news.search.index.writing import IndexWriter, RowMaker, sync
from siamese_news.search.scan import blocks
from siamese_news.utils.files import naming

Source = tuple[str, int, int]
_OURS = ("segment-", "deleted-", f".{NAME}.")


@dataclass(frozen=True, slots=True)
class Changed:
    """The numbers of a change; `present` posts were skipped, `missing` ids could not be deleted."""

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

    The caller holds its folder with `output_lock`. The ids of the posts are unique; `name` is the
    model's, for messages, and `sources` are path, size and time of change (ns) of the files read.

    Raises:
        InputError: the folder is something else, there is no post, or the model is another
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
        writer = IndexWriter(staged, manifest, model.output_dim)
        for block in blocks(posts):
            with naming(path):
                writer.append(maker(block))
        with naming(path):
            writer.finish()
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
    return Changed(manifest.posts, added=manifest.posts)


class IndexChange:
    """Changes an existing index; the caller holds it with `output_lock`.

    Raises:
        InputError: there is no index, or it is damaged, incomplete or has another version.
    """

    def __init__(self, path: Path) -> None:
        self.path, self._manifest = path, Manifest.read(path)
        self._sweep()

    def add(
        self, posts: Iterable[Post], model: TextModel, *, sources: Sequence[Source] = ()
    ) -> Changed:
        """Add posts in segments of their own, skipping those whose id exists; see `build`.

        Raises:
            InputError: the index was built with another model.
        """
        maker = RowMaker(indexable(model))
        segments = self._manifest.open_segments(self.path)
        check_model(self.path, self._manifest.model, segments, model)
        before, present, seen = self._manifest.posts, 0, SeenIds()
        for segment in segments:
            for first, ids in segment.ids():
                live = segment.live[first : first + len(ids)]
                seen.add([id for id, kept in zip(ids, live.tolist(), strict=True) if kept])
        with self._change() as manifest:
            writer = IndexWriter(self.path, manifest, model.output_dim)
            for block in blocks(posts):
                again = set(seen.add([post.id for post in block]))
                present += len(again)
                new = [post for place, post in enumerate(block) if place not in again]
                writer.append(maker(new))
            writer.finish()
            read = {source[0]: source for source in (*manifest.sources, *sources)}
            manifest.sources = list(read.values())
        return Changed(self._manifest.posts, self._manifest.posts - before, present)

    def delete(self, ids: Iterable[str]) -> Changed:
        """Hide posts from searches, by id; `compact` frees the disk.

        Raises:
            InputError: no id is given, or none of them exists.
        """
        wanted = list(dict.fromkeys(ids))
        if not wanted:
            raise InputError("no ids to delete: expected at least one")
        segments = self._manifest.open_segments(self.path)
        found = find_posts(segments, wanted)
        missing = [id for id in wanted if id not in found]
        if not found:
            shown = ", ".join(repr(id) for id in missing[:3])
            raise InputError(
                f"{self.path}: has no post {shown}; check the ids: every blank and leading "
                "zero counts"
            )
        with self._change() as manifest:
            for number, (entry, segment) in enumerate(
                zip(manifest.segments, segments, strict=True)
            ):
                rows = [row for owner, row in found.values() if owner == number]
                if rows:
                    gone = np.union1d(np.flatnonzero(~segment.live), rows)
                    manifest.files.pop(entry.deleted or "", None)
                    name = f"deleted-{manifest.generation}-{entry.name}.npy"
                    np.save(self.path / name, gone)
                    manifest.files[name] = FileEntry.of(self.path / name)
                    entry.deleted, entry.deletions = name, len(gone)
        return Changed(self._manifest.posts, deleted=len(found), missing=missing)

    def compact(self) -> Changed:
        """Rewrite all segments without the deleted posts, and remove the old files.

        Raises:
            InputError: no post would be left.
        """
        deleted = sum(entry.deletions for entry in self._manifest.segments)
        if not self._manifest.posts:
            raise InputError(f"{self.path}: every post is deleted; remove the index itself instead")
        segments = self._manifest.open_segments(self.path)
        with self._change() as manifest:
            manifest.segments, manifest.files = [], {}
            writer = IndexWriter(self.path, manifest, segments[0].vectors.shape[1])
            for segment in segments:
                for rows in segment.rows():
                    writer.append(rows)
            writer.finish()
        return Changed(self._manifest.posts, deleted=deleted)

    @contextmanager
    def _change(self) -> Iterator[Manifest]:
        """The manifest of the next generation, which takes effect if the block succeeds."""
        old = self._manifest
        manifest = replace(
            old,
            segments=[replace(entry) for entry in old.segments],
            files=dict(old.files),
            generation=old.generation + 1,
        )
        try:
            yield manifest
        except BaseException:
            self._sweep()
            raise
        sync(self.path)
        manifest.write(self.path)
        sync(self.path)
        self._manifest = manifest
        self._sweep()

    def _sweep(self) -> None:
        """Remove files that the manifest does not name: replaced ones, or an interrupted run's."""
        named = {NAME, *(name.partition("/")[0] for name in self._manifest.files)}
        for item in self.path.iterdir():
            if item.name not in named and item.name.startswith(_OURS):
                if item.is_dir():
                    shutil.rmtree(item)
                else:
                    item.unlink()
