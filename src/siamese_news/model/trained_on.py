"""What a model was trained on, as sorted hashes that are read only when they are needed.

In a model folder ``config.json`` says how many articles and posts of which collection and how many
fingerprints there are; ``trained_on.bin`` holds their hashes, 8 bytes each (little-endian), sorted
within each of these parts, in the order of the counts.
"""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_news.errors import InputError
from siamese_news.utils.files import reading

TRAINED_ON = "trained_on.bin"

Hashes = NDArray[np.uint64]
_KINDS = ("articles", "posts")
_STORED = np.dtype("<u8")


class TrainingRecord:
    """The articles and posts that a model was trained on.

    Args:
        articles: sorted hashes of the ids by the collection's name.
        posts: likewise.
        fingerprints: sorted hashes of the articles' texts, for other collections that hold them.
    """

    def __init__(
        self,
        articles: Mapping[str, Hashes] | None = None,
        posts: Mapping[str, Hashes] | None = None,
        fingerprints: Hashes | None = None,
    ) -> None:
        self._articles, self._posts = dict(articles or {}), dict(posts or {})
        self._fingerprints = np.zeros(0, np.uint64) if fingerprints is None else fingerprints
        # The file of hashes that were not read yet, and the number of hashes in each part.
        self._unread: tuple[Path, Mapping[str, Any]] | None = None

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> "TrainingRecord":
        """The record of ids by collection (``articles``, ``posts``) and ``fingerprints`` (hex)."""
        articles, posts = (
            {name: _hashed(ids) for name, ids in plain.get(kind, {}).items()} for kind in _KINDS
        )
        return cls(articles, posts, _from_hex(plain.get("fingerprints", ())))

    @classmethod
    def in_folder(cls, folder: str | Path, plain: Mapping[str, Any]) -> "TrainingRecord":
        """The record of a model folder; its hashes are read on first use.

        Args:
            folder: the model folder.
            plain: the counts in its ``config.json``.

        Raises:
            InputError: the file is missing or does not have the size that the counts give.
        """
        path = Path(folder) / TRAINED_ON
        if not path.is_file():
            raise InputError(f"{folder}: {TRAINED_ON} is missing; copy the model folder again")
        expected = sum(count for _, _, count in _parts(plain)) * _STORED.itemsize
        if path.stat().st_size != expected:
            raise InputError(
                f"{path}: has {path.stat().st_size} bytes, expected {expected} by config.json; "
                "copy the model folder again"
            )
        record = cls()
        if expected:
            record._unread = (path, plain)
        return record

    @property
    def articles(self) -> dict[str, Hashes]:
        """Sorted hashes of the articles' ids by collection."""
        self._read()
        return self._articles

    @property
    def posts(self) -> dict[str, Hashes]:
        """Sorted hashes of the posts' ids by collection."""
        self._read()
        return self._posts

    @property
    def fingerprints(self) -> Hashes:
        """Sorted hashes of the articles' texts."""
        self._read()
        return self._fingerprints

    def __bool__(self) -> bool:
        return self._unread is not None or bool(
            self._articles or self._posts or len(self._fingerprints)
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TrainingRecord):
            return NotImplemented
        return self.plain() == other.plain() and self.tobytes() == other.tobytes()

    __hash__ = None  # type: ignore[assignment]

    def has_articles(self, collection: str, ids: Iterable[str]) -> NDArray[np.bool_]:
        """Which of these articles of a collection were trained on, in the order given."""
        return _among(ids, self.articles.get(collection))

    def has_posts(self, collection: str, ids: Iterable[str]) -> NDArray[np.bool_]:
        """Which of these posts of a collection were trained on, in the order given."""
        return _among(ids, self.posts.get(collection))

    def has_fingerprints(self, fingerprints: Iterable[str]) -> NDArray[np.bool_]:
        """Which of these fingerprints (16 hex digits each) were trained on, in the order given."""
        wanted = np.array([int(one, 16) for one in fingerprints], np.uint64)
        return np.isin(wanted, self.fingerprints)

    def add(
        self, collection: str, *, articles: Iterable[str] = (), posts: Iterable[str] = ()
    ) -> None:
        """Add articles and posts of a collection, by id."""
        for known, ids in ((self.articles, articles), (self.posts, posts)):
            before = known.get(collection, np.zeros(0, np.uint64))
            known[collection] = np.union1d(before, _hashed(ids))

    def add_fingerprints(self, fingerprints: Iterable[str]) -> None:
        """Add fingerprints of articles' texts, 16 hex digits each."""
        self._fingerprints = np.union1d(self.fingerprints, _from_hex(fingerprints))

    def plain(self) -> dict[str, Any]:
        """The counts that `config.json` keeps; the order of the collections is that of the file."""
        return {
            "articles": {name: len(ids) for name, ids in sorted(self.articles.items())},
            "posts": {name: len(ids) for name, ids in sorted(self.posts.items())},
            "fingerprints": len(self.fingerprints),
        }

    def tobytes(self) -> bytes:
        """The content of ``trained_on.bin``."""
        parts = [table[name] for table in (self.articles, self.posts) for name in sorted(table)]
        return b"".join(part.astype(_STORED).tobytes() for part in (*parts, self.fingerprints))

    def _read(self) -> None:
        if self._unread is None:
            return
        path, plain = self._unread
        with reading(path):
            hashes = np.frombuffer(path.read_bytes(), _STORED).astype(np.uint64)
        if len(hashes) != sum(count for _, _, count in _parts(plain)):
            raise InputError(f"{path}: was changed since the model was loaded; load it again")
        self._unread = None
        start = 0
        for kind, name, count in _parts(plain):
            part, start = hashes[start : start + count], start + count
            if kind == "articles":
                self._articles[name] = part
            elif kind == "posts":
                self._posts[name] = part
            else:
                self._fingerprints = part


def _parts(plain: Mapping[str, Any]) -> list[tuple[str, str, int]]:
    """(kind, collection, how many) in the order of the file."""
    parts = [(kind, name, count) for kind in _KINDS for name, count in plain[kind].items()]
    return [*parts, ("fingerprints", "", plain["fingerprints"])]


def _hashed(ids: Iterable[str]) -> Hashes:
    return np.unique(np.array([_hash(one) for one in ids], np.uint64))


def _hash(id: str) -> int:
    data = id.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def _from_hex(fingerprints: Iterable[str]) -> Hashes:
    return np.unique(np.array([int(one, 16) for one in fingerprints], np.uint64))


def _among(ids: Iterable[str], known: Hashes | None) -> NDArray[np.bool_]:
    hashes = np.array([_hash(one) for one in ids], np.uint64)
    if known is None:
        return np.zeros(len(hashes), np.bool_)
    return np.isin(hashes, known)
