"""Small records that the whole search shares."""

from dataclasses import dataclass
from zlib import crc32

from siamese_news.data.columns import ResultRow
from siamese_news.data.records import Article, Post

SAMPLE = 999
"""Posts from which the languages of a pool are detected."""


@dataclass(frozen=True, slots=True)
class RankedPost:
    """A post at its rank, from 1, for the seed of the list that it is nearest to.

    The relevance is None where scores are not calibrated.
    """

    article: Article
    rank: int
    score: float
    post: Post
    relevance: float | None = None


def metadata_text(post: Post, name: str) -> str | None:
    """A post's metadata value if it is text; prepared collections may hold anything."""
    value = post.metadata.get(name)
    return value if isinstance(value, str) else None


def post_columns(post: Post) -> ResultRow:
    """The columns of the results that come from the post alone."""
    return {
        "post": post.id,
        "text": post.text,
        "lang": metadata_text(post, "lang"),
        "created_at": metadata_text(post, "created_at"),
        "link": metadata_text(post, "permalink"),
    }


class Sample:
    """The `SAMPLE` posts whose ids have the smallest checksums.

    The order of the posts does not matter, and the samples of two parts of a pool can be combined.
    """

    def __init__(self) -> None:
        self._noted: list[tuple[int, str, Post]] = []
        self._bound = 1 << 32

    def note(self, post: Post) -> None:
        """Keep a post if its checksum is small enough."""
        checksum = crc32(post.id.encode("utf-8", "replace"))
        if checksum < self._bound:
            self._noted.append((checksum, post.id, post))
            if len(self._noted) >= 2 * SAMPLE:
                self._cut()
                self._bound = self._noted[-1][0] + 1

    @property
    def posts(self) -> list[Post]:
        """The sample."""
        self._cut()
        return [post for _, _, post in self._noted]

    def _cut(self) -> None:
        self._noted.sort(key=lambda item: item[:2])
        del self._noted[SAMPLE:]
