"""Detects ids that come twice, and tells repeats of a post from other posts with its id.

Many exports number the posts of each chat or file from 1, or write NA where there is no id. Posts
with one id and different texts are different posts, and none of them may be lost.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from siamese_news.data.records import Post, clean_text

_RECENT = 2**17  # hashes in a dict, which are then sorted into the others
_TEXT = 2**32 - 1  # the bits of a hash that are of the text
_PLACE = 2**63 - 2**32  # and those of the place where a post was written

# Ids that a platform gives once: a text that differs is that of another version of the post.
# Numbers of 15 digits and more, addresses, UUIDs, names of Reddit, comments of YouTube.
_GIVEN_ONCE = re.compile(
    r"\d[\d_]{13,}\d|[a-z]+:\S+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|t[1-6]_[0-9a-z]+"
    r"|Ug[\w-]{20,}(?:\.\S+)?",
    re.IGNORECASE,
)
_NO_ID = re.compile(
    r"[-0.?]*|n/?a|#n/a|nan|none|null|nil|undefined|missing", re.IGNORECASE
)


class SeenIds:
    """A growing set of ids, of which it keeps hashes of 64 bits, and a mark for each.

    Among ten million ids, the chance that two of them have the same hash is 1 in 400,000. Marks are
    integers of 64 bits.
    """

    def __init__(self) -> None:
        self._recent: dict[int, int] = {}
        self._sorted: NDArray[np.int64] = np.zeros(0, np.int64)
        self._marks: NDArray[np.int64] = np.zeros(0, np.int64)  # of the sorted ones

    def add(self, ids: Sequence[str], marks: Sequence[int] | None = None) -> list[int]:
        """Add ids; the indexes of those that came before, in this call or an earlier one.

        An id keeps the mark that it came with first.
        """
        hashes = list(map(hash, ids))
        values: Sequence[int] = marks or [0] * len(ids)
        older = self._among_sorted(hashes)
        recent = self._recent
        repeated: list[int] = []
        new = dict(zip(hashes, values, strict=True))
        if not older and len(new) == len(hashes) and recent.keys().isdisjoint(new):
            recent.update(new)  # by far the most frequent case
        else:
            for index, (hashed, value) in enumerate(zip(hashes, values, strict=True)):
                if index in older or hashed in recent:
                    repeated.append(index)
                else:
                    recent[hashed] = value
        if len(recent) >= _RECENT:
            self._sort_recent()
        return repeated

    def mark(self, id: str) -> int | None:
        """The mark of an id; None if it was not added."""
        hashed = hash(id)
        if hashed in self._recent:
            return self._recent[hashed]
        at = int(np.searchsorted(self._sorted, hashed))
        if at == len(self._sorted) or self._sorted[at] != hashed:
            return None
        return int(self._marks[at])

    def _among_sorted(self, hashes: list[int]) -> set[int]:
        """The indexes of the hashes that are not recent."""
        if not len(self._sorted):
            return set()
        keys = np.array(hashes, np.int64)
        at = np.minimum(np.searchsorted(self._sorted, keys), len(self._sorted) - 1)
        return set(np.flatnonzero(self._sorted[at] == keys).tolist())

    def _sort_recent(self) -> None:
        keys = np.fromiter(self._recent.keys(), np.int64, len(self._recent))
        marks = np.fromiter(self._recent.values(), np.int64, len(self._recent))
        order = np.argsort(keys)
        positions = np.searchsorted(self._sorted, keys[order])
        self._marks = np.insert(self._marks, positions, marks[order])
        self._sorted = np.insert(self._sorted, positions, keys[order])
        self._recent.clear()


class SameIdError(Exception):
    """The post at `index` has the id of an earlier one and another text; nothing tells them apart.

    `missing` says whether the id is one that stands for none, such as NA; the posts before it but
    for those at `repeated` are new.
    """

    def __init__(self, index: int, post: Post, repeated: set[int]) -> None:
        super().__init__(post.id)
        self.index = index
        self.post = post
        self.repeated = repeated
        self.missing = _NO_ID.fullmatch(post.id) is not None


def differ(id: str) -> bool:
    """Whether two texts with one id belong to two posts, rather than to versions of one."""
    return _GIVEN_ONCE.fullmatch(id) is None


def version_of(post: Post, *, platform_ids: bool) -> str:
    """What all versions of a post have alike and no other post has; empty if nothing tells.

    An id that only one file or thread gives once needs the time of the post and its author.
    """
    if platform_ids or not differ(post.id):
        return post.id
    if not (written := post.metadata.get("created_at")):
        return ""
    return f"{post.id}\n{written}\n{post.metadata.get('author', '')}"


class PostIds:
    """Gives each post of a stream of so many `files` an id of its own.

    The first post with an id keeps it. A later one with the same text is a repeat. One with another
    text gets the place where it was written in front of its id (``cats/1``), or its file, and the
    links of posts written there follow.
    """

    def __init__(self, files: int) -> None:
        self._seen = SeenIds()
        self._files = files
        self._renaming = False

    def add(self, posts: list[Post]) -> list[int]:
        """Add posts whose platform gives each id once: the indexes of the repeated ones."""
        return self._seen.add([post.id for post in posts])

    def rename(
        self, posts: list[Post], file: str, number: int, *, placed: bool
    ) -> tuple[list[int], list[int], list[int]]:
        """Add posts of file `number`; some are replaced by the same posts with new ids.

        Only `placed` ones say where they were written. Returns the indexes of repeats, of other
        versions of an earlier post, and of the posts with new ids.

        Raises:
            SameIdError: nothing tells two posts apart.
        """
        marks = self._marks(posts, number, placed)
        repeats: list[int] = []
        versions: list[int] = []
        renamed: list[int] = []
        for index in self._seen.add([post.id for post in posts], marks):
            post = posts[index]
            mark = marks[index]
            earlier = self._seen.mark(post.id)
            if not earlier or _same_text(earlier, mark):
                repeats.append(index)
            elif not differ(post.id):
                versions.append(index)
            elif (name := self._name(post, mark, file)) is None:
                repeats.append(index)
            elif name:
                posts[index] = Post(name, post.text, post.metadata)
                renamed.append(index)
            else:
                raise SameIdError(index, post, {*repeats, *versions})
        self._renaming |= bool(renamed)
        if self._renaming:
            posts[:] = [
                self._linked(*pair, file)
                for pair in zip(posts, self._marks(posts, number, placed), strict=True)
            ]
        return repeats, versions, renamed

    def _marks(self, posts: Sequence[Post], number: int, placed: bool) -> list[int]:
        """The hashes of posts: the lower 32 bits are of the text, the others of place and file."""
        # Other bits cannot matter: there are no other names.
        if self._files == 1 and not placed:
            return [hash(post.text) for post in posts]
        nowhere = hash(("", number)) & _PLACE
        if not placed:
            return [hash(post.text) & _TEXT | nowhere for post in posts]
        return [
            hash(post.text) & _TEXT | hash((place_of(post), number)) & _PLACE
            for post in posts
        ]

    def _name(self, post: Post, mark: int, file: str) -> str | None:
        """The new id of a post, which is added; None for a repeat, empty if there is none."""
        for name in (post.id, *self._names(post, post.id, file)):
            earlier = self._seen.mark(name)
            if earlier is None:
                self._seen.add([name], [mark])
                return name
            if _same_text(earlier, mark):
                return None
            if earlier >> 32 == mark >> 32:
                return ""
        return ""

    def _names(self, post: Post, id: str, file: str) -> Iterator[str]:
        """What an id can be called outside the place, or the file, of a post."""
        fronts = [place_of(post), *([Path(file).name] if self._files > 1 else [])]
        return (
            f"{'_'.join(clean_text(front).split())}/{id}" for front in fronts if front
        )

    def _linked(self, post: Post, mark: int, file: str) -> Post:
        """The post with its links, if they lead to renamed posts, or into another place."""
        links = {}
        for name in ("reply_to", "thread", "quotes"):
            link = post.metadata.get(name)
            target = None if link is None else self._seen.mark(link)
            if link is None or target is None:
                continue
            elsewhere = self._files == 1 and target >> 32 != mark >> 32
            for new in self._names(post, link, file):
                if elsewhere or self._seen.mark(new) is not None:
                    links[name] = new
                    break
        return Post(post.id, post.text, {**post.metadata, **links}) if links else post


def place_of(post: Post) -> str:
    """Where a post was written, as far as its record says: its group, channel or thread."""
    get = post.metadata.get
    return get("group") or get("channel") or get("thread") or ""


def _same_text(mark: int, second_mark: int) -> bool:
    return mark & _TEXT == second_mark & _TEXT
