"""Scoring a stream of posts in fixed blocks: memory is bounded, and block n is always block n."""

import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import islice
from typing import Any

from siamese_news.data.readers.duplicates import SeenIds
from siamese_news.data.records import Post, check_id
from siamese_news.errors import InputError
from siamese_news.model.base import BLOCK
from siamese_news.scoring import Scorer
from siamese_news.search.pool import Pool, Scored, Wanted
from siamese_news.search.records import Sample
from siamese_news.search.spool import Block, Spool
from siamese_news.search.window import Window

# Articles times posts that are scored at once.
_CELLS = 1 << 24


class StreamPool(Pool):
    """A stream of posts with unique ids.

    They are iterated once for each pass, or only once if the disk has room for the spool.

    Args:
        posts: the posts.
        spool: keeps the posts of the first pass; None for a new one in a temporary file.
        again: called with what a scorer learned after each pass.
    """

    def __init__(
        self,
        posts: Iterable[Post],
        *,
        spool: Spool | None = None,
        again: Callable[[str], None] | None = None,
    ) -> None:
        self._posts = posts
        self._spool = spool or Spool()
        self._again = again
        self._sample = Sample()

    def __iter__(self) -> Iterator[Post]:
        self._sample = Sample()
        for post in self._read():
            self._sample.note(post)
            yield post

    def _read(self) -> Iterable[Post]:
        """A pass over the posts."""
        return self._posts

    def observe(self, scorer: Scorer, window: Window, *, done: int = 0) -> Iterator[int]:
        """Each pass reads all posts, the first one from block `done` on."""
        while scorer.observing:
            for block in self._pass(scorer, window, done):
                scorer.observe(block.content)
                yield block.number + 1
            reason = scorer.settle()
            if reason and self._again is not None:
                self._again(reason)
            done = 0
            yield 0

    def parts(
        self, scorer: Scorer, articles: int, window: Window, wanted: Wanted | None, done: int = 0
    ) -> Iterator[Scored]:
        """All posts, in blocks of at most `_CELLS` scores."""
        rows = max(1, _CELLS // articles)
        for block in self._pass(scorer, window, done):
            count = len(block.posts)
            for start in range(0, count, rows):
                scores = scorer.scores(block.content[start : start + rows])
                some = block.posts if count <= rows else block.posts[start : start + rows]
                yield Scored(block.number, some, scores, last=start + rows >= count)

    def sample(self) -> list[Post]:
        """The posts with the smallest checksums among those read."""
        return self._sample.posts

    def _pass(self, scorer: Scorer, window: Window, done: int) -> Iterator[Block]:
        """The blocks from number `done` on, from the spool if it has them."""
        spool = self._spool
        if spool.complete:
            yield from (block for block in spool if block.number >= done)
            return
        keeps = scorer.observing  # another pass will follow
        if keeps:
            spool.start()
        window.start()
        for number, rows in enumerate(blocks(self)):
            kept = window(rows)
            if number < done and not keeps:
                continue
            texts = [post.text for post in kept]
            ids = scorer.token_ids(texts)
            block = Block(number, kept, texts if ids is None else ids)
            if keeps:
                spool.add(block)
            if number >= done:
                yield block
        window.check()
        if keeps:
            spool.finish()


def blocks(posts: Iterable[Post]) -> Iterator[list[Post]]:
    """The posts in blocks of `BLOCK`; the last one may be shorter."""
    stream = iter(posts)
    while block := list(islice(stream, BLOCK)):
        yield block


class ReplayablePosts:
    """Posts of any kind, with checked ids; an iterator is copied to disk, to be read again.

    The number of posts is reported to `progress` after each `BLOCK` of them and at the end; True
    shows it on standard error.
    """

    def __init__(
        self, posts: Iterable[Post], progress: bool | Callable[[int], None] = False
    ) -> None:
        self._posts, self._progress = posts, progress
        self._copy = tempfile.TemporaryFile() if isinstance(posts, Iterator) else None
        self._blocks = 0

    def __iter__(self) -> Iterator[Post]:
        count = 0
        with _reporting(self._progress) as report:
            for block in self._again() if self._copy and self._blocks else self._checked():
                yield from block
                count += len(block)
                report(count)

    def _again(self) -> Iterator[list[Post]]:
        assert self._copy is not None
        self._copy.seek(0)
        for _ in range(self._blocks):
            yield pickle.load(self._copy)

    def _checked(self) -> Iterator[list[Post]]:
        with closing(SeenIds()) as seen:
            for block in blocks(self._posts):
                ids = [check_id(post.id, "a post's id") for post in block]
                for index in seen.add(ids):
                    raise InputError(f"post id {ids[index]!r} occurs twice; ids must be unique")
                if self._copy is not None:
                    pickle.dump(block, self._copy, pickle.HIGHEST_PROTOCOL)
                    self._blocks += 1
                yield block


@contextmanager
def _reporting(progress: bool | Callable[[int], None]) -> Iterator[Callable[[int], Any]]:
    """The function that is told how many posts of a pass have been read."""
    if progress is not True:
        yield progress or (lambda count: None)
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.completed:,} posts"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        bar = shown.add_task("posts", total=None)
        yield lambda count: shown.update(bar, completed=count)
