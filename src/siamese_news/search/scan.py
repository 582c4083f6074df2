"""Scoring a stream of posts in fixed blocks: memory is bounded, and block n is always block n."""

import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from siamese_news.data.readers.duplicates import SeenIds
from siamese_news.data.records import Post, check_id
from siamese_news.errors import InputError
from siamese_news.model.siamese import BLOCK
from siamese_news.scoring import Scorer
from siamese_news.search.window import Window


@dataclass(frozen=True, slots=True)
class Scored:
    """A block of posts with its scores.

    Attributes:
        number: from 0; a block is `BLOCK` rows of the input, whatever the window leaves of it.
        posts: P posts, those within the window.
        scores: (A, P).
    """

    number: int
    posts: list[Post]
    scores: np.ndarray


def passes(
    scorer: Scorer,
    posts: Iterable[Post],
    *,
    window: Window | None = None,
    done: int = 0,
    again: Callable[[str], None] | None = None,
) -> Iterator[Iterator[Scored]]:
    """The passes over the posts, at least one; what the last one says counts.

    A scorer that chooses by the whole pool (`Scorer.adapt`) may need another pass, so each pass
    must be read to its end before the next is asked for.

    Args:
        scorer: of any model.
        posts: iterated once a pass.
        window: which posts by date; None for all. Counts anew in each pass.
        done: blocks of the first of these passes that are only read, for the scorer knows them.
        again: called before each further pass, with the reason.

    Yields:
        The scored blocks of a pass; one of which the window leaves nothing does not come.
    """
    window = window or Window()
    yield _scored(scorer, posts, window, done)
    while reason := scorer.adapt():
        if again is not None:
            again(reason)
        yield _scored(scorer, posts, window, 0)


def _scored(scorer: Scorer, posts: Iterable[Post], window: Window, done: int) -> Iterator[Scored]:
    window.start()
    for number, block in enumerate(blocks(posts)):
        kept = window(block)
        if kept and number >= done:
            yield Scored(number, kept, scorer.scores([post.text for post in kept]))
    window.check()


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
    """Posts that say on standard error how many came; each pass is a line of its own.

    Args:
        posts: the posts.
    """

    def __init__(self, posts: Iterable[Post]) -> None:
        self._posts = posts

    def __iter__(self) -> Iterator[Post]:
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.completed:,} posts"), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            bar = progress.add_task("posts", total=None)
            for block in blocks(self._posts):
                yield from block
                progress.advance(bar, len(block))
