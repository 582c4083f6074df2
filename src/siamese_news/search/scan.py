"""Scoring a stream of posts in fixed blocks: memory is bounded, and block n is always block n."""

import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from siamese_news.data.readers.duplicates import SeenIds
from siamese_news.data.records import Post, check_id
from siamese_news.errors import InputError
from siamese_news.model.siamese import BLOCK
from siamese_news.scoring import Scorer
from siamese_news.search.index.pool import PostIndex
from siamese_news.search.index.scoring import Wanted
from siamese_news.search.spool import Block, Spool
from siamese_news.search.window import Window

# Articles times posts that are scored at once.
_CELLS = 1 << 24


@dataclass(frozen=True, slots=True)
class Scored:
    """A block of posts with its scores.

    Attributes:
        number: see `Block`.
        posts: P posts, those within the window (of an index, those that can matter).
        scores: (A, P).
        last: whether the block has no further part.
        rows: (P,) places of the posts in the pool; None where all posts come in its order.
    """

    number: int
    posts: Sequence[Post]
    scores: np.ndarray
    last: bool = True
    rows: np.ndarray | None = None


def observe(
    scorer: Scorer,
    posts: Iterable[Post],
    *,
    window: Window | None = None,
    done: int = 0,
    again: Callable[[str], None] | None = None,
    spool: Spool | None = None,
) -> Iterator[int]:
    """The passes over the posts in which a scorer observes the pool; none where it learns nothing.

    Args:
        scorer: of any model; the iteration must be read to its end before it scores.
        posts: iterated once a pass, or only once if there is a spool.
        window: which posts by date; None for all. Counts anew in each pass over the posts.
        done: blocks of the first of these passes that the scorer knows.
        again: called after each pass, with what was learned.
        spool: keeps what the first pass has read; give it to `scored` as well.

    Yields:
        After each block how many blocks of its pass are done; 0 after the end of a pass.
    """
    if isinstance(posts, PostIndex):
        posts.observe(scorer, window or Window(), again)
        yield 0
    while scorer.observing:
        for block in _pass(scorer, posts, window or Window(), done, spool):
            scorer.observe(block.content)
            yield block.number + 1
        reason = scorer.settle()
        if reason and again is not None:
            again(reason)
        done = 0
        yield 0


def scored(
    scorer: Scorer,
    posts: Iterable[Post],
    *,
    articles: int,
    window: Window | None = None,
    done: int = 0,
    spool: Spool | None = None,
    wanted: Wanted | None = None,
) -> Iterator[Scored]:
    """The posts with their scores, a block at a time.

    Args:
        scorer: one that has observed the posts.
        posts: iterated once, if the spool does not have them.
        articles: how many the scorer has.
        window: which posts by date; None for all.
        done: blocks that are left out.
        spool: the one that `observe` had.
        wanted: which posts can matter, by bounds on their scores: of an index only these come. None
            for all.

    Yields:
        The blocks; one of which the window leaves nothing does not come, and one with very many
        scores comes in parts.
    """
    if isinstance(posts, PostIndex):
        # An index is one block: it is asked anew rather than gone on with.
        for part in posts.parts(scorer, articles, window or Window(), wanted) if not done else ():
            yield Scored(0, part.posts, part.scores, last=False, rows=part.rows)
        return
    rows = max(1, _CELLS // articles)
    for block in _pass(scorer, posts, window or Window(), done, spool):
        count = len(block.posts)
        for start in range(0, count, rows):
            scores = scorer.scores(block.content[start : start + rows])
            some = block.posts if count <= rows else block.posts[start : start + rows]
            yield Scored(block.number, some, scores, last=start + rows >= count)


def _pass(
    scorer: Scorer, posts: Iterable[Post], window: Window, done: int, spool: Spool | None
) -> Iterator[Block]:
    """The blocks from number `done` on, from the spool if it has them."""
    if spool is not None and spool.complete:
        yield from (block for block in spool if block.number >= done)
        return
    keeps = spool is not None and scorer.observing  # another pass will follow
    if spool is not None and keeps:
        spool.start()
    window.start()
    for number, rows in enumerate(blocks(posts)):
        kept = window(rows)
        if number < done and not keeps:
            continue
        texts = [post.text for post in kept]
        ids = scorer.token_ids(texts)
        block = Block(number, kept, texts if ids is None else ids)
        if spool is not None and keeps:
            spool.add(block)
        if number >= done:
            yield block
    window.check()
    if spool is not None and keeps:
        spool.finish()


def blocks(posts: Iterable[Post]) -> Iterator[list[Post]]:
    """The posts in blocks of `BLOCK`; the last one may be shorter."""
    stream = iter(posts)
    while block := list(islice(stream, BLOCK)):
        yield block


class ReplayablePosts:
    """Posts from anywhere: ids checked, each only once, and a one-way iterator can be read again.

    What an iterator gives is kept in a temporary file for that. `PostStream` does all of it itself.
    """

    def __init__(self, posts: Iterable[Post]) -> None:
        self._posts = posts
        self._copy = tempfile.TemporaryFile() if isinstance(posts, Iterator) else None
        self._blocks = 0

    def __iter__(self) -> Iterator[Post]:
        if self._copy is not None and self._blocks:
            self._copy.seek(0)
            for _ in range(self._blocks):
                yield from pickle.load(self._copy)
            return
        seen = SeenIds()
        try:
            for block in blocks(self._posts):
                ids = [check_id(post.id, "a post's id") for post in block]
                for index in seen.add(ids):
                    raise InputError(f"post id {ids[index]!r} occurs twice; ids must be unique")
                if self._copy is not None:
                    pickle.dump(block, self._copy, pickle.HIGHEST_PROTOCOL)
                    self._blocks += 1
                yield from block
        finally:
            seen.close()


class CountedPosts:
    """Posts that say how many came.

    Args:
        posts: the posts.
        told: called with how many came so far, after each `BLOCK` of them and at the end; None is a
            line on standard error.
    """

    def __init__(self, posts: Iterable[Post], told: Callable[[int], None] | None = None) -> None:
        self._posts, self._told = posts, told

    def __iter__(self) -> Iterator[Post]:
        if self._told is not None:
            count = 0
            for block in blocks(self._posts):
                yield from block
                count += len(block)
                self._told(count)
            return
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.completed:,} posts"), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            bar = progress.add_task("posts", total=None)
            for block in blocks(self._posts):
                yield from block
                progress.advance(bar, len(block))
