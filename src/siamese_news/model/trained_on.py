"""The training texts of a model, as sorted hashes.

In a model folder ``config.json`` has the number of articles and posts of each collection and of
fingerprints; ``trained_on.bin`` has their hashes, 8 bytes each (little-endian), sorted within each
of these parts, in the order of the counts.
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

# A part is a kind and a collection, which is empty for fingerprints.
_KINDS = ("articles", "posts")
_FINGERPRINTS = ("fingerprints", "")
_STORED = np.dtype("<u8")
_NONE = np.zeros(0, np.uint64)


class TrainingRecord:
    """The articles and posts that a model was trained on, as hashes of their ids.

    Articles of other collections are found by fingerprints of their texts. A new record is empty.
    """

    def __init__(self) -> None:
        self._parts: dict[tuple[str, str], Hashes] = {_FINGERPRINTS: _NONE}

    @classmethod
    def in_folder(
        cls, folder: str | Path, plain: Mapping[str, Any]
    ) -> "TrainingRecord":
        """The record of a model folder, by the counts in its ``config.json`` (`plain`)."""
        path = Path(folder) / TRAINED_ON
        if not path.is_file():
            raise InputError(
                f"{folder}: {TRAINED_ON} is missing; copy the model folder again"
            )
        with reading(path):
            return cls.of_bytes(path.read_bytes(), plain, str(path))

    @classmethod
    def of_bytes(
        cls, data: bytes, plain: Mapping[str, Any], location: str
    ) -> "TrainingRecord":
        """The record whose `tobytes` and `plain` these are; `location` begins messages."""
        counts = _counts(plain)
        expected = sum(counts.values()) * _STORED.itemsize
        if len(data) != expected:
            raise InputError(
                f"{location}: has {len(data)} bytes, expected {expected} by config.json; "
                "copy the model folder again"
            )
        hashes = np.frombuffer(data, _STORED).astype(np.uint64)
        ends = np.cumsum([*counts.values()])
        record = cls()
        record._parts |= dict(zip(counts, np.split(hashes, ends[:-1]), strict=True))
        return record

    @property
    def articles(self) -> dict[str, Hashes]:
        """Sorted hashes of the articles' ids by collection."""
        return self._of("articles")

    def __bool__(self) -> bool:
        return any(map(len, self._parts.values()))

    def has_articles(self, collection: str, ids: Iterable[str]) -> NDArray[np.bool_]:
        """Which of these articles of a collection were trained on, in the order given."""
        return self._has(("articles", collection), map(_hash, ids))

    def has_posts(self, collection: str, ids: Iterable[str]) -> NDArray[np.bool_]:
        """Which of these posts of a collection were trained on, in the order given."""
        return self._has(("posts", collection), map(_hash, ids))

    def has_fingerprints(self, fingerprints: Iterable[str]) -> NDArray[np.bool_]:
        """Which of these fingerprints (16 hex digits each) were trained on, in the order given."""
        return self._has(
            _FINGERPRINTS, (int(fingerprint, 16) for fingerprint in fingerprints)
        )

    def add(
        self,
        collection: str,
        *,
        articles: Iterable[str] = (),
        posts: Iterable[str] = (),
    ) -> None:
        """Add articles and posts of a collection, by id."""
        self._add(("articles", collection), map(_hash, articles))
        self._add(("posts", collection), map(_hash, posts))

    def add_fingerprints(self, fingerprints: Iterable[str]) -> None:
        """Add fingerprints of articles' texts, 16 hex digits each."""
        self._add(_FINGERPRINTS, (int(fingerprint, 16) for fingerprint in fingerprints))

    def plain(self) -> dict[str, Any]:
        """The counts that `config.json` keeps; the order of the collections is that of the file."""
        counts: dict[str, Any] = {
            kind: {name: len(ids) for name, ids in sorted(self._of(kind).items())}
            for kind in _KINDS
        }
        return counts | {"fingerprints": len(self._parts[_FINGERPRINTS])}

    def tobytes(self) -> bytes:
        """The content of ``trained_on.bin``."""
        parts = [self._parts[key] for key in _counts(self.plain())]
        return b"".join(key.astype(_STORED).tobytes() for key in parts)

    def _of(self, kind: str) -> dict[str, Hashes]:
        return {
            name: ids
            for (part_kind, name), ids in self._parts.items()
            if part_kind == kind
        }

    def _has(self, key: tuple[str, str], hashes: Iterable[int]) -> NDArray[np.bool_]:
        return np.isin(np.array(list(hashes), np.uint64), self._parts.get(key, _NONE))

    def _add(self, key: tuple[str, str], hashes: Iterable[int]) -> None:
        new = np.array(list(hashes), np.uint64)
        self._parts[key] = np.union1d(self._parts.get(key, _NONE), new)


def _counts(plain: Mapping[str, Any]) -> dict[tuple[str, str], int]:
    """How many hashes each part has, in the order of the file."""
    counts = {
        (kind, name): count for kind in _KINDS for name, count in plain[kind].items()
    }
    return counts | {_FINGERPRINTS: plain["fingerprints"]}


def _hash(id: str) -> int:
    data = id.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")
