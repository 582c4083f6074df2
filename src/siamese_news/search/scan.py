"""A stream of posts, scored in fixed blocks, and the spool that keeps them for later passes."""

import os
import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from siamese_news.data.records import Post
from siamese_news.errors import InputError
from siamese_news.model.base import BLOCK
from siamese_news.scoring import Content, Scorer
from siamese_news.search.pool import Pool, Scored, Wanted, Window
from siamese_news.search.records import Sample
from siamese_news.text.token_ids import TokenIds

# Fast, and still three to four times smaller.
_LEVEL = 1


@dataclass(frozen=True, slots=True)
class Block:
    """Block `number` of `BLOCK` rows: the posts in the window, and their texts or token ids."""

    number: int
    posts: Sequence[Post]
    content: Content


Watch = Callable[[Iterable[Block], int], Iterable[Block]]
"""Blocks and their number of posts -> the same blocks, with reports of progress."""


class Spool:
    """Blocks in a temporary file: a pass over them reads no input and cuts no text into tokens.

    A post takes about 150 bytes. The file has no name, so it disappears however the process ends.
    If the disk is full, the spool is dropped and the input is read again. With a `path`, for other
    processes, it has a name, and a full disk is an error. `watch` reports the progress of a pass.
    """

    def __init__(
        self, folder: Path | None = None, watch: Watch | None = None, path: Path | None = None
    ) -> None:
        self._folder, self._watch, self._path = folder, watch, path
        self._file: Any = None
        self._index: list[list[int]] = []
        self.complete = False

    def start(self) -> None:
        """Begin an empty spool."""
        from zstandard import ZstdCompressor

        self.close()
        self._pack = ZstdCompressor(level=_LEVEL).compress
        self._index = []
        if self._path is not None:
            self._file = self._path.open("w+b")
            return
        with suppress(OSError):
            self._file = tempfile.TemporaryFile(dir=self._folder)

    def add(self, block: Block) -> None:
        """Keep a block."""
        if self._file is None:
            return
        posts = [(post.id, post.text, post.metadata) for post in block.posts]
        # What others can write is not unpickled.
        parts = [pickle.dumps(posts, 5) if self._path is None else orjson.dumps(posts)]
        if isinstance(block.content, TokenIds):
            lengths = block.content.lengths.astype(np.int32)
            unknown = orjson.dumps(list(block.content.unknown.items()))
            parts += [block.content.flat.tobytes(), lengths.tobytes(), unknown]
        try:
            ends = [self._file.tell()]
            for part in parts:
                self._file.write(self._pack(part))
                ends.append(self._file.tell())
        except OSError:
            if self._path is not None:
                raise
            self.close()
            return
        self._index.append([block.number, len(block.posts), *ends])

    def finish(self) -> list[list[int]]:
        """After the last block; returns the index that `reopen` needs."""
        if self._file is not None:
            self.complete = True
            if self._path is not None:
                self._file.flush()
                os.fsync(self._file.fileno())
        return self._index

    def reopen(self, index: list[list[int]]) -> None:
        """Open a file that another process finished; InputError if it is missing or too short."""
        assert self._path is not None
        size = self._path.stat().st_size if self._path.is_file() else 0
        if index and size < index[-1][-1]:
            raise InputError(
                f"{self._path}: has {size:,} bytes, expected {index[-1][-1]:,}; it was changed or "
                "removed: start over with another --out"
            )
        self._file, self._index, self.complete = self._path.open("rb"), index, True

    def close(self) -> None:
        """Drop the file."""
        if self._file is not None:
            self._file.close()
        self._file, self.complete = None, False

    def __iter__(self) -> Iterator[Block]:
        total = sum(row[1] for row in self._index)
        yield from self._watch(self._blocks(), total) if self._watch else self._blocks()

    def _blocks(self) -> Iterator[Block]:
        for number, count, *ends in self._index:
            posts = _SpooledPosts(count, partial(self._posts, *ends[:2]))
            if len(ends) == 2:
                yield Block(number, posts, [post.text for post in posts])
                continue
            flat = np.frombuffer(self._read(*ends[1:3]), np.int64)
            lengths = np.frombuffer(self._read(*ends[2:4]), np.int32)
            offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
            unknown = dict(orjson.loads(self._read(*ends[3:5])))
            yield Block(number, posts, TokenIds(flat, offsets, unknown))

    def _read(self, start: int, end: int) -> bytearray:
        from zstandard import ZstdDecompressor

        self._file.seek(start)
        # A bytearray, for torch warns of arrays that cannot be written to.
        return bytearray(ZstdDecompressor().decompress(self._file.read(end - start)))

    def _posts(self, start: int, end: int) -> list[Post]:
        data = self._read(start, end)
        rows = pickle.loads(data) if self._path is None else orjson.loads(data)
        return [Post(*values) for values in rows]


class _SpooledPosts(Sequence[Post]):
    """The posts of a block, read when the first one is used: most blocks need none."""

    def __init__(self, count: int, read: Callable[[], list[Post]]) -> None:
        self._count, self._read = count, read
        self._posts: list[Post] | None = None

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        if self._posts is None:
            self._posts = self._read()
        return self._posts[index]


# Articles times posts that are scored at once.
_CELLS = 1 << 24


class StreamPool(Pool):
    """A stream of posts with unique ids.

    They are iterated once for each pass, or only once if the disk has room for the spool. `again`
    is called with the reason for another pass.
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
        """Observe all posts from block `done` on."""
        if scorer.observing:
            for block in self._pass(scorer, window, done):
                scorer.observe(block.content)
                yield block.number + 1
            reason = scorer.settle()
            if reason and self._again is not None:
                self._again(reason)
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
