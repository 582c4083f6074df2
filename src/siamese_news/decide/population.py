"""Scored posts as a population: their ids, their scores from the highest down, their texts."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_news.decide.design import keys_of
from siamese_news.decide.scored_file import read_columns, read_texts
from siamese_news.errors import InputError

_PIECE = 2**18  # ids that are Python objects at one time


@dataclass(frozen=True, slots=True)
class Unit:
    """One thing to judge.

    Attributes:
        name: what the random order and the labels know it by.
        post: the post's id.
        article: of the list it stands in, where the results have several lists; else empty.
        text: of the post; empty where the results have none.
        link: to the post.
    """

    name: str
    post: str
    article: str = ""
    text: str = ""
    link: str = ""


class Population:
    """The posts of a file that `rank` or `filter` wrote, best first.

    Of each post the id and the score are held; texts are read when they are asked for. Where a post
    stands in several lists, every (article, post) pair is a unit by itself.

    Args:
        path: Parquet, JSON lines, CSV or a TREC run; the last three plain, .gz or .zst.

    Attributes:
        scores: (N,) descending.

    Raises:
        InputError: for a file without ids and scores, and one that has a unit twice.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        ids, articles, scores = read_columns(path)
        if not len(scores):
            raise InputError(f"{path}: no post in the file; expected what rank or filter wrote")
        bad = np.flatnonzero(~np.isfinite(scores))
        if len(bad):
            raise InputError(
                f"{path}: the score of row {bad[0] + 1} is {scores[bad[0]]}; rank anew"
            )
        self._ids = ids
        self._articles = articles if articles is not None and _repeats(ids) else None
        if self._articles is not None or articles is None:
            again = _repeats(self._ids, self._articles)
            if again:
                raise InputError(
                    f"{path}: {again!r} occurs twice; expected each post once in a list: remove one"
                )
        self._rows = np.argsort(-scores, kind="stable")
        self.scores: NDArray[np.float64] = scores[self._rows]

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def pairs(self) -> bool:
        """Whether the units are (article, post) pairs."""
        return self._articles is not None

    def names(self, start: int, end: int) -> list[str]:
        """The names of the units from one rank (from 0) up to another."""
        return self._names(self._rows[start:end])

    def names_at(self, ranks: Sequence[int]) -> list[str]:
        """The names of the units at these ranks."""
        return self._names(self._rows[np.asarray(ranks, np.int64)])

    def keys(self, seed: int, purpose: str = "certify") -> Callable[[int, int], NDArray[np.uint64]]:
        """The keys of the random order by rank; see `design.Order`."""
        return lambda start, end: keys_of(seed, self.names(start, end), purpose=purpose)

    def ranks_of(self, names: Sequence[str]) -> dict[str, int]:
        """The ranks of those of the names that there are."""
        import pyarrow as pa
        import pyarrow.compute as pc

        wanted = set(names)
        posts = pa.array([name.split("\t")[-1] for name in names], self._ids.type)
        rows = np.flatnonzero(pc.is_in(self._ids, value_set=posts).to_numpy(zero_copy_only=False))
        places = np.empty(len(self), np.int64)
        places[self._rows] = np.arange(len(self))
        found = zip(self._names(rows), places[rows].tolist(), strict=True)
        return {name: rank for name, rank in found if name in wanted}

    def units(self, ranks: Iterable[int]) -> list[Unit]:
        """The units at these ranks, with their texts."""
        ranks = list(ranks)
        rows = self._rows[np.asarray(ranks, np.int64)].tolist()
        texts = read_texts(self.path, rows)
        names = self.names_at(ranks) if ranks else []
        units = []
        for name, row in zip(names, rows, strict=True):
            article, _, post = name.rpartition("\t")
            units.append(Unit(name, post, article, *texts.get(row, ("", ""))))
        return units

    def size_at(self, threshold: float) -> int:
        """How many units have this score or a higher one."""
        return len(self) - int(np.searchsorted(self.scores[::-1], threshold, side="left"))

    def _names(self, rows: NDArray[np.int64]) -> list[str]:
        posts: list[str] = self._ids.take(_indices(rows)).to_pylist()
        if self._articles is None:
            return posts
        articles = self._articles.take(_indices(rows)).to_pylist()
        return [f"{a}\t{p}" for a, p in zip(articles, posts, strict=True)]


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes.

    Raises:
        InputError: where it cannot be read.
    """
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); check the path") from error


def _indices(rows: NDArray[np.int64]) -> Any:
    import pyarrow as pa

    return pa.array(rows)


def _repeats(ids: Any, articles: Any = None) -> str | None:
    """A unit that occurs twice, or None."""
    if articles is None and _different_numbers(ids):
        return None
    pieces = []
    for start in range(0, len(ids), _PIECE):
        names = ids.slice(start, _PIECE).to_pylist()
        if articles is not None:
            names = zip(articles.slice(start, _PIECE).to_pylist(), names, strict=True)
        pieces.append(np.fromiter(map(hash, names), np.int64))
    hashes = np.concatenate(pieces)
    ordered = np.sort(hashes)
    same = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    if not len(same):
        return None
    seen: set[Any] = set()
    for row in np.flatnonzero(np.isin(hashes, same)).tolist():
        name = ids[row].as_py()
        unit = name if articles is None else (articles[row].as_py(), name)
        if unit in seen:
            return str(name)
        seen.add(unit)
    return None


def _different_numbers(ids: Any) -> bool:
    """Whether the ids are whole numbers that all differ, which is quickly told."""
    import pyarrow as pa

    try:
        numbers = np.sort(ids.cast(pa.uint64()).to_numpy(zero_copy_only=False))
    except pa.ArrowException:
        return False
    return bool((numbers[1:] != numbers[:-1]).all())
