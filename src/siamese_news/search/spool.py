"""What the first pass over a pool has read, in a temporary file, for the passes after it."""

import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np

from siamese_news.data.records import Post
from siamese_news.scoring import Content
from siamese_news.text.token_ids import TokenIds

# Fast, and still three to four times smaller.
_LEVEL = 1


@dataclass(frozen=True, slots=True)
class Block:
    """A block of posts as a scorer reads it.

    Attributes:
        number: from 0; a block is `BLOCK` rows of the input, whatever a window leaves of it.
        posts: P posts, those within the window.
        content: their texts or token ids.
    """

    number: int
    posts: Sequence[Post]
    content: Content


Watch = Callable[[Iterable[Block], int], Iterable[Block]]
"""Blocks, and how many posts they hold -> the same blocks, while somebody is told."""


class Spool:
    """Blocks in a temporary file: a pass over them reads no input and cuts no text into tokens.

    A post takes about 150 bytes there. The file has no name, so nothing is left of it however the
    process ends. Where the disk is full the spool is given up, and the input is read again.

    Args:
        folder: where the file is; None for the folder of temporary files.
        watch: told of a pass over the blocks.

    Attributes:
        complete: whether the spool has every block of the pool.
    """

    def __init__(self, folder: Path | None = None, watch: Watch | None = None) -> None:
        self._folder, self._watch = folder, watch
        self._file: Any = None
        self._places: list[tuple[int, int, list[int]]] = []
        self.complete = False

    def start(self) -> None:
        """Forget what is there."""
        from zstandard import ZstdCompressor

        self.close()
        self._pack = ZstdCompressor(level=_LEVEL).compress
        self._places, self.complete = [], False
        try:
            self._file = tempfile.TemporaryFile(dir=self._folder)
        except OSError:
            self._file = None

    def add(self, block: Block) -> None:
        """Keep a block whose content are token ids; another kind of block ends the spool."""
        if self._file is None:
            return
        if not isinstance(block.content, TokenIds):
            self.close()
            return
        posts = [(post.id, post.text, post.metadata) for post in block.posts]
        parts = [
            pickle.dumps(posts, pickle.HIGHEST_PROTOCOL),
            block.content.flat.tobytes(),
            block.content.lengths.astype(np.int32).tobytes(),
        ]
        try:
            ends = [self._file.tell()]
            for part in parts:
                self._file.write(self._pack(part))
                ends.append(self._file.tell())
        except OSError:
            self.close()
            return
        self._places.append((block.number, len(block.posts), ends))

    def finish(self) -> None:
        """Every block was added."""
        if self._file is not None:
            self.complete = True

    def close(self) -> None:
        """Give the file up."""
        if self._file is not None:
            self._file.close()
        self._file, self.complete = None, False

    def __iter__(self) -> Iterator[Block]:
        total = sum(count for _, count, _ in self._places)
        yield from self._watch(self._blocks(), total) if self._watch else self._blocks()

    def _blocks(self) -> Iterator[Block]:
        for number, count, ends in self._places:
            flat = np.frombuffer(self._read(*ends[1:3]), np.int64)
            lengths = np.frombuffer(self._read(*ends[2:4]), np.int32)
            offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
            posts = _SpooledPosts(self, ends[0], ends[1], count)
            yield Block(number, posts, TokenIds(flat, offsets))

    def _read(self, start: int, end: int) -> bytearray:
        from zstandard import ZstdDecompressor

        self._file.seek(start)
        # A bytearray, for torch warns of arrays that cannot be written to.
        return bytearray(ZstdDecompressor().decompress(self._file.read(end - start)))

    def posts(self, start: int, end: int) -> list[Post]:
        """The posts of a block by where they stand."""
        return [Post(*values) for values in pickle.loads(self._read(start, end))]


class _SpooledPosts(Sequence[Post]):
    """The posts of a block, fetched when the first one is asked for: most blocks need none."""

    def __init__(self, spool: Spool, start: int, end: int, count: int) -> None:
        self._spool, self._start, self._end, self._count = spool, start, end, count
        self._posts: list[Post] | None = None

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Post: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Post]: ...

    def __getitem__(self, index: int | slice) -> Post | Sequence[Post]:
        if self._posts is None:
            self._posts = self._spool.posts(self._start, self._end)
        return self._posts[index]
