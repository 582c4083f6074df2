"""A stream of posts, scored in fixed blocks, and the spool that keeps them for the second pass."""

import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy as np

from siamese_news.data.records import Post
from siamese_news.model.text_model import BLOCK
from siamese_news.scoring import Content, Scorer
from siamese_news.search.pool import Pool, Pruning, Scored, Window
from siamese_news.search.ranked_posts import Sample
from siamese_news.text.token_ids import TokenIds
from siamese_news.utils.zstd_module import zstd

# Fast, and still three to four times smaller.
_LEVEL = 1


@dataclass(frozen=True, slots=True)
class Block:
    """Block `number` of `BLOCK` rows: the posts in the window, and their texts or token ids."""

    number: int
    posts: Sequence[Post]
    content: Content


class Spool:
    """Blocks in a file: a pass over them reads no input and cuts no text into tokens.

    A post takes about 150 bytes. The `index` has a row for each block: its number, how many posts
    it has, and the places of its parts. What other processes can write, in a `shared` file, is JSON
    and not unpickled.
    """

    def __init__(
        self, file: IO[bytes], index: Iterable[list[int]] = (), *, shared: bool = False
    ) -> None:
        self._file = file
        self.index = list(index)
        self._shared = shared

    @property
    def posts(self) -> int:
        """How many posts it has."""
        return sum(count for _, count, *_ in self.index)

    def add(self, block: Block) -> None:
        """Keep a block; an OSError if the disk is full."""
        dump = msgspec.json.encode if self._shared else _pickled
        rows = [dump((post.id, post.text, post.metadata)) for post in block.posts]
        parts = [b"\n".join(rows) if self._shared else _pickled(rows)]
        if isinstance(block.content, TokenIds):
            lengths = block.content.lengths.astype(np.int32)
            unknown = msgspec.json.encode(list(block.content.unknown.items()))
            parts += [block.content.flat.tobytes(), lengths.tobytes(), unknown]
        ends = [self._file.tell()]
        for column in parts:
            self._file.write(zstd.compress(column, _LEVEL))
            ends.append(self._file.tell())
        self.index.append([block.number, len(block.posts), *ends])

    def __iter__(self) -> Iterator[Block]:
        for number, count, start, posts_end, *ends in self.index:
            read_rows = partial(self._rows, start, posts_end)
            posts = _SpooledPosts(count, read_rows, self._post)
            if not ends:
                yield Block(number, posts, [post.text for post in posts])
                continue
            ids_end, lengths_end, unknown_end = ends
            flat = np.frombuffer(self._read(posts_end, ids_end), np.int64)
            lengths = np.frombuffer(self._read(ids_end, lengths_end), np.int32)
            offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
            unknown = dict(msgspec.json.decode(self._read(lengths_end, unknown_end)))
            yield Block(number, posts, TokenIds(flat, offsets, unknown))

    def _read(self, start: int, end: int) -> bytearray:
        self._file.seek(start)
        # A bytearray, for torch warns of arrays that cannot be written to.
        return bytearray(zstd.decompress(self._file.read(end - start)))

    def _rows(self, start: int, end: int) -> list[bytes]:
        data = bytes(self._read(start, end))
        rows: list[bytes] = data.splitlines() if self._shared else pickle.loads(data)
        return rows

    def _post(self, row: bytes) -> Post:
        return Post(*(msgspec.json.decode(row) if self._shared else pickle.loads(row)))


_pickled = partial(pickle.dumps, protocol=5)


class _SpooledPosts(Sequence[Post]):
    """The posts of a block, read when the first one is used, and each made when it is: few are."""

    def __init__(
        self,
        count: int,
        read_rows: Callable[[], list[bytes]],
        post: Callable[[bytes], Post],
    ) -> None:
        self._count = count
        self._read = read_rows
        self._post = post
        self._rows: list[bytes] | None = None

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        if self._rows is None:
            self._rows = self._read()
        rows = self._rows[index]
        return (
            list(map(self._post, rows)) if isinstance(rows, list) else self._post(rows)
        )


# Articles times posts that are scored at once.
_CELLS = 1 << 24


class StreamPool(Pool):
    """A stream of posts with unique ids.

    They are read once, if the disk of `folder` has room for the spool, and otherwise once for each
    pass. A `spool` that is given has the blocks of posts to score, which were observed before.
    """

    def __init__(
        self,
        posts: Iterable[Post],
        *,
        folder: Path | None = None,
        spool: Spool | None = None,
    ) -> None:
        self._posts = posts
        self._folder = folder
        self.spool = spool
        self._sample = Sample()

    def __iter__(self) -> Iterator[Post]:
        self._sample = Sample()
        for post in self._read():
            self._sample.note(post)
            yield post

    def _read(self) -> Iterable[Post]:
        """A pass over the posts."""
        return self._posts

    def _read_again(self, spool: Spool) -> Iterable[Block]:
        """A pass over the blocks that a spool has."""
        return spool

    def observe(self, scorer: Scorer, window: Window) -> Scorer:
        """See `Pool`; the posts are kept in the spool meanwhile."""
        observer = scorer.observer()
        if observer is None:
            return scorer
        self.spool = spool = None
        # A file without a name, which disappears however the process ends.
        with suppress(OSError):
            spool = Spool(tempfile.TemporaryFile(dir=self._folder))
        for block in self._blocks(scorer, window):
            try:
                if spool is not None:
                    spool.add(block)
            except OSError:
                spool = None
            observer.observe(block.content)
        self.spool = spool
        return self._settled(observer)

    def parts(
        self,
        scorer: Scorer,
        articles: int,
        window: Window,
        pruning: Pruning | None,
    ) -> Iterator[Scored]:
        """All posts, in blocks of at most `_CELLS` scores."""
        rows = max(1, _CELLS // articles)
        spool = self.spool
        scored = (
            self._blocks(scorer, window) if spool is None else self._read_again(spool)
        )
        for block in scored:
            count = len(block.posts)
            for start in range(0, count, rows):
                content = block.content[start : start + rows]
                scores = scorer.scores(content)
                posts = (
                    block.posts if count <= rows else block.posts[start : start + rows]
                )
                yield Scored(block.number, posts, scores, content=content)

    def observed(self) -> Iterable[Block]:
        """The blocks that a scorer observed, from the spool where there is one."""
        return (
            posts_in_blocks(self)
            if self.spool is None
            else self._read_again(self.spool)
        )

    def sample(self) -> list[Post]:
        """The posts with the smallest checksums among those read."""
        return self._sample.posts

    def _blocks(self, scorer: Scorer, window: Window) -> Iterator[Block]:
        """The posts in blocks, ready for a scorer."""
        window.start()
        for number, rows in enumerate(blocks(self)):
            in_window = window(rows)
            yield Block(number, in_window, content_of(scorer, in_window))
        window.check()


def content_of(scorer: Scorer, posts: Sequence[Post]) -> Content:
    """The form in which a scorer reads posts."""
    texts = [post.text for post in posts]
    ids = scorer.token_ids(texts)
    return texts if ids is None else ids


def posts_in_blocks(posts: Iterable[Post]) -> Iterator[Block]:
    """The blocks of posts, as texts."""
    for number, rows in enumerate(blocks(posts)):
        yield Block(number, rows, [post.text for post in rows])


def blocks(posts: Iterable[Post]) -> Iterator[list[Post]]:
    """The posts in blocks of `BLOCK`; the last one may be shorter."""
    stream = iter(posts)
    while block := list(islice(stream, BLOCK)):
        yield block
