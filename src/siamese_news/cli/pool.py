"""What a command searches: files of posts, or an index of them."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from siamese_news.cli.inputs import say_empty, say_posts
from siamese_news.cli.outputs import rejected_file, spool_beside
from siamese_news.cli.progress import Watched

if TYPE_CHECKING:
    from siamese_news.data.readers.stream import PostStream
    from siamese_news.data.records import Post
    from siamese_news.model.loading import AnyModel
    from siamese_news.search.index.pool import PostIndex
    from siamese_news.search.languages import SearchLanguages
    from siamese_news.search.spool import Spool
    from siamese_news.search.work import Work


class Pool:
    """The posts of a command.

    Args:
        posts: what ``--posts`` named.
        index: what ``--index`` named.
        out: the output, beside which bad rows go.
        fields: how the posts' files are read.

    Raises:
        InputError: not exactly one of the two, or what is wrong with it.
    """

    def __init__(
        self, posts: list[str] | None, index: Path | None, out: Path | None, fields: dict[str, Any]
    ) -> None:
        from siamese_news.errors import InputError

        if bool(posts) == bool(index):
            raise InputError(
                "the posts to search are named by --posts, or by --index for an index of them; "
                "expected one of the two"
            )
        if index and (given := [name for name, value in fields.items() if value]):
            option = f"--{given[0].replace('_', '-')}"
            raise InputError(
                f"{option} says how files of posts are read, and with --index none is; leave it "
                "out, or give it to siamese-news index"
            )
        self._path, self._out = index, out
        self.stream: PostStream | None = None
        self._watched: Watched | None = None
        self._index: PostIndex | None = None
        if posts:
            from siamese_news.data.readers import open_posts

            self.stream = open_posts(posts, rejected=rejected_file(out), **fields)

    def open(self, model: "AnyModel", languages: "SearchLanguages") -> "Iterable[Post]":
        """The posts.

        Args:
            model: what reads them.
            languages: takes note of a sample of the posts.
        """
        if self.stream is not None:
            say_posts(self.stream)
            self.stream.spool()
            self._watched = Watched(self.stream)
            return languages.watch(self._watched)
        self._index = open_index_of(self._path, model)
        languages.note(self._index.sample())
        return self._index

    def spool(self) -> "Spool | None":
        """What keeps what the first pass has read; an index needs none."""
        return None if self._watched is None else spool_beside(self._out, self._watched.blocks)

    def again(self, reason: str) -> None:
        """Say what was learned of the posts."""
        if self._watched is not None:
            self._watched.again(reason)
        else:
            typer.echo(f"the scores depend on all posts: {reason}", err=True)

    def finish(self, scored: int) -> None:
        """Say what was read and how fast."""
        if self._watched is not None:
            self._watched.finish(scored)
        elif self._index is not None:
            typer.echo(f"{len(self._index):,} posts in the index, {scored:,} scored", err=True)

    def say_empty(self) -> None:
        """Say how many posts have no words, where they are many."""
        if self.stream is not None:
            say_empty(self.stream.counts)

    def counts(self) -> dict[str, int]:
        """What was read, in plain values."""
        if self._watched is not None:
            return self._watched.counts()
        assert self._index is not None
        return {"read": len(self._index), "rejected": 0, "duplicates": 0, "skipped": 0}

    def size(self, scored: int) -> int:
        """How many posts were searched, of which so many were scored."""
        return scored if self._index is None else len(self._index)

    def remarks(self) -> list[str]:
        """What a reader of the results should know."""
        if self.stream is not None:
            return self.stream.remarks()
        if self._index is None or self._index.scored >= len(self._index):
            return []
        return [
            f"Of {len(self._index):,} posts in the index only the {self._index.scored:,} that "
            "could be in the results were scored; the counts of scores are of these."
        ]

    def job(self, work: "Work", which: "Mapping[str, str]") -> dict[str, Any]:
        """What must be the same to go on with an interrupted filter of these posts."""
        job = work.job(self.stream, which)
        if self.stream is None:
            assert self._path is not None
            manifest = (self._path / "manifest.json").stat()
            job["posts"] = [[str(self._path), manifest.st_size, manifest.st_mtime_ns]]
        return job


def open_index_of(path: "Path | None", model: "AnyModel") -> "PostIndex":
    """An index for a model; its state is said."""
    from siamese_news.search.index.pool import open_index
    from siamese_news.utils.terminal import clean

    assert path is not None
    index = open_index(path, model)
    typer.echo(clean(f"index {path}: {len(index):,} posts"), err=True)
    for name in index.manifest.changed_sources():
        typer.echo(
            clean(
                f"{name}: has changed since the index was built, which has the posts as they were; "
                "siamese-news index --add adds new ones"
            ),
            err=True,
        )
    return index


def index_files(path: "Path | None") -> "list[Path]":
    """The files of an index, which no output may replace."""
    return [] if path is None else [item for item in path.rglob("*") if item.is_file()]
