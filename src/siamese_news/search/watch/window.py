"""The last posts of a stream, in files, and the states of scorers that observed them."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from siamese_news.data.records import Post
from siamese_news.scoring import Content, Scorer
from siamese_news.search.opened_query import OpenQuery
from siamese_news.search.scan import blocks, content_of
from siamese_news.utils.files import GrowingFile, atomic_write

WINDOW = 1_000_000
"""Posts of the window by default."""

_PARTS = 10  # the window moves by a tenth of it
_FIRST = 1_000  # fewest posts before the first update of the scores


def next_settling(position: int, window: int) -> int:
    """The position of the next update of the scores, after `position` posts of the stream.

    The scores are updated at each tenth of the window. Before the first tenth they are updated at a
    half, a quarter and so on of it, so that a stream without a warm start soon has useful scores.
    """
    point = interval = max(window // _PARTS, 1)
    if position >= interval:
        return (position // interval + 1) * interval
    while point // 2 > max(position, _FIRST - 1):
        point //= 2
    return point


@dataclass(slots=True)
class Chunk:
    """Posts between two updates of the scores, in a file of `size` bytes that the number names.

    `start` is the position of the first post, below 0 in a warm start.
    """

    number: int
    start: int
    size: int = 0


class PostWindow:
    """The last posts, a chunk for each update of the scores; the newest chunk grows.

    The posts are in ``window/`` as JSON lines, which any command reads; the states of scorers that
    observed a finished chunk are in ``learned/``. At most `posts` are kept. `saved` is a state of
    `plain`; later files are removed.

    `position` is the number of posts that came from the stream, and `known` has the ids of those in
    the window.
    """

    def __init__(
        self,
        folder: Path,
        opened: OpenQuery,
        posts: int,
        saved: Mapping[str, Any] | None = None,
    ) -> None:
        self._folder = folder
        self._posts = posts
        self._unlearned = opened.scorer()
        for name in ("window", "learned"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        growing = Chunk(0, 0)
        self.chunks: list[Chunk] = []
        self.position = 0
        if saved is not None:
            self.chunks = [Chunk(**chunk) for chunk in saved["chunks"]]
            growing = Chunk(**saved["growing"])
            self.position = saved["position"]
        self.known = {
            post.id
            for chunk in self.chunks
            if chunk.start >= 0
            for post in posts_in(self._path(chunk))
        }
        self._begin(growing)
        for block in blocks(posts_in(self._path(self.growing))):
            self._take(block, self.content(block))
        self.tidy()

    @property
    def room(self) -> int:
        """Number of posts until the next update of the scores."""
        return next_settling(self.position, self._posts) - self.position

    def warm_up(self, posts: Iterable[Post]) -> None:
        """Begin with the last of these posts, which are not scored."""
        recent = deque(posts, maxlen=self._posts)
        self.position = -len(recent)
        self._begin(Chunk(0, self.position))
        stream = iter(recent)
        while chunk_posts := list(islice(stream, max(self._posts // _PARTS, 1))):
            for piece in blocks(chunk_posts):
                self.add(piece, self.content(piece))
            self._close()
        self.known.clear()

    def content(self, posts: Sequence[Post]) -> Content:
        """The form of posts that the scorers of this window read."""
        return content_of(self._unlearned, posts)

    def add(self, posts: Sequence[Post], content: Content) -> None:
        """Add posts of the stream, at most `room`."""
        self._file.append(b"".join(map(line_of, posts)))
        self._take(posts, content)
        self.position += len(posts)

    def settle(self) -> None:
        """Finish the growing chunk, and drop chunks that have left the window."""
        self._close()
        while self.chunks and self.chunks[0].start < self.position - self._posts:
            chunk = self.chunks.pop(0)
            if chunk.start >= 0:
                self.known.difference_update(
                    post.id for post in posts_in(self._path(chunk))
                )

    def scorer(self) -> Scorer:
        """A scorer that has observed the finished chunks."""
        observer = self._unlearned.observer()
        if observer is None or not self.chunks:
            return self._unlearned
        for chunk in self.chunks:
            observer.merge(self._state(chunk).read_bytes())
        return observer.settle()

    def sync(self) -> None:
        """Put the posts on the disk."""
        self._file.sync()

    def plain(self) -> dict[str, Any]:
        """The state to continue from, once the posts are on the disk."""
        return {
            "position": self.position,
            "chunks": [asdict(chunk) for chunk in self.chunks],
            "growing": asdict(replace(self.growing, size=self._file.size)),
        }

    def tidy(self) -> None:
        """Remove the files of dropped chunks; call it only after a commit."""
        names_kept = {f"{chunk.number:06d}" for chunk in (*self.chunks, self.growing)}
        for path in [
            *(self._folder / "window").iterdir(),
            *(self._folder / "learned").iterdir(),
        ]:
            if path.name.split(".")[0] not in names_kept:
                path.unlink()

    def close(self) -> None:
        """Close the file of the growing chunk."""
        self._file.close()

    def _take(self, posts: Sequence[Post], content: Content) -> None:
        if self._observer is not None:
            self._observer.observe(content)
        self.known.update(post.id for post in posts)

    def _begin(self, chunk: Chunk) -> None:
        self.growing = chunk
        remedy = "start over with another --out"
        self._file = GrowingFile(self._path(chunk), chunk.size, remedy)
        self._observer = self._unlearned.observer()

    def _close(self) -> None:
        chunk = self.growing
        self._file.sync()
        self._file.close()
        chunk.size = self._file.size
        with atomic_write(self._state(chunk), "wb") as stream:
            stream.write(b"" if self._observer is None else self._observer.state())
        self.chunks.append(chunk)
        self._begin(Chunk(chunk.number + 1, self.position))

    def _path(self, chunk: Chunk) -> Path:
        return self._folder / "window" / f"{chunk.number:06d}.jsonl"

    def _state(self, chunk: Chunk) -> Path:
        return self._folder / "learned" / f"{chunk.number:06d}"


def posts_in(path: Path) -> Iterator[Post]:
    """The posts of a file of `line_of`."""
    with path.open("rb") as stream:
        for line in stream:
            row = msgspec.json.decode(line)
            yield Post(row.pop("id"), row.pop("text"), row)


def line_of(post: Post) -> bytes:
    """A post as a line of JSON, with its metadata next to id and text."""
    row = {**post.metadata, "id": post.id, "text": post.text}
    return msgspec.json.encode(row) + b"\n"
