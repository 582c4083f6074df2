"""Build an index and add to it; both take effect as a whole or not at all.

New segments are written next to the old ones, and the manifest is replaced last. A process that
has the index open keeps its posts. The next run removes the files of an interrupted one.
"""

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

from siamese_news.data.readers.duplicates import SeenIds, differ
from siamese_news.data.records import Post
from siamese_news.errors import InputError
from siamese_news.model.text_model import TextModel
from siamese_news.search.index.fingerprint import check_model, fingerprint, indexable
from siamese_news.search.index.manifest import NAME, Manifest
from siamese_news.search.index.writing import IndexWriter, codes_of, sync
from siamese_news.search.scan import blocks
from siamese_news.utils.files import naming

Source = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class Changed:
    """How many posts an index has now, how many of these are new, and how many were present."""

    posts: int
    added: int
    present: int = 0


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
    codes = codes_of(indexable(model))
    if path.exists() and not (path / NAME).is_file():
        raise InputError(
            f"{path}: exists and is not an index of posts; name another folder with --out"
        )
    staged = path.with_name(f".{path.name}.part")
    old = path.with_name(f".{path.name}.old")
    if old.exists() and not path.exists():
        old.rename(path)  # an earlier run died between the two renames below
    for leftover in (staged, old):
        shutil.rmtree(leftover, ignore_errors=True)
    staged.mkdir(parents=True)
    try:
        manifest = Manifest(
            model={"folder": name, "fingerprint": fingerprint(model)},
            words=codes.words,
            gram=codes.gram,
            sources=list(sources),
        )
        writer = IndexWriter(staged, manifest, model)
        for block in blocks(posts):
            with naming(path):
                writer.append(block)
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
        record = manifest.record(path)
        record.write(record.state())
    except BaseException:
        shutil.rmtree(staged, ignore_errors=True)
        raise
    return Changed(manifest.posts, manifest.posts)


def add(
    path: Path,
    posts: Iterable[Post],
    model: TextModel,
    *,
    sources: Sequence[Source] = (),
    platform_ids: bool = False,
) -> Changed:
    """Add posts in segments of their own, skipping those whose id exists; see `build`.

    With `platform_ids`, a post with an id that exists is that post, whatever its text.

    Raises:
        InputError: the index is missing, damaged, incomplete or of another version, it was
            built with another model, or different posts have one id.
    """
    manifest = Manifest.read(path)
    _sweep(path, manifest)
    check_model(path, manifest.model, indexable(model))
    n_posts_before = manifest.posts
    present = 0
    seen = SeenIds()
    repeated: dict[str, int] = {}  # checksums of the texts of posts whose ids exist
    try:
        for segment in manifest.open_segments(path, model.output_dim):
            for _, ids in segment.ids():
                seen.add(ids)
        writer = IndexWriter(path, manifest, model)
        for block in blocks(posts):
            already_there = set(seen.add([post.id for post in block]))
            present += len(already_there)
            if not platform_ids:
                repeated_posts = (
                    block[n] for n in already_there if differ(block[n].id)
                )
                repeated.update(
                    (post.id, crc32(post.text.encode())) for post in repeated_posts
                )
            writer.append(
                [post for n, post in enumerate(block) if n not in already_there]
            )
        writer.finish()
        _refuse_others(path, manifest, repeated, model.output_dim)
        source_by_path = {source[0]: source for source in (*manifest.sources, *sources)}
        manifest.sources = list(source_by_path.values())
        sync(path)
        manifest.write(path)
        sync(path)
        record = manifest.record(path)
        record.write(record.state())
    except BaseException:
        _sweep(path, Manifest.read(path))
        raise
    return Changed(manifest.posts, manifest.posts - n_posts_before, present)


def _refuse_others(
    path: Path, manifest: Manifest, repeated: Mapping[str, int], dimensions: int
) -> None:
    """Refuse posts that have the ids of different posts in the index."""
    for segment in manifest.open_segments(path, dimensions) if repeated else ():
        for first_row, ids in segment.ids():
            for row, id in enumerate(ids, first_row):
                if id in repeated and crc32(segment.text(row).encode()) != repeated[id]:
                    raise InputError(
                        f"{path}: has another post with the id '{id}' "
                        f"({segment.text(row)[:60]!r}); expected an id for each post. Build the "
                        "index from all files at once, which tells the posts of several chats or "
                        "files apart, or number the rows with --id-field line"
                    )


def _sweep(path: Path, manifest: Manifest) -> None:
    """Remove the files of an interrupted run, which the manifest does not name."""
    for leftover in path.glob(f".{NAME}.*"):
        leftover.unlink()
    for item in path.glob("segment-*"):
        if item.name not in manifest.segments:
            shutil.rmtree(item)
