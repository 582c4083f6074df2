"""Scored posts as a population: their ids, their descending scores, and their texts."""

import hashlib
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_news.data.results import (
    Articles,
    column_names,
    read_columns,
    read_texts,
    read_values,
)
from siamese_news.errors import InputError
from siamese_news.utils.strings import Strings
from siamese_news_desk.decide.plan.design import keys_of
from siamese_news_desk.labels.units import Unit

_PIECE = 1 << 18  # names in memory at one time
_IDS_READ = 1000  # ids by which it is decided what kind they are
_DENSE = 100  # names are those of these posts if so many times as many are possible
_PART = re.compile(r"\d+|[^\W\d_]{1,10}|[\W_]+")
_FEWEST = 16  # fewer names or scores may be those of other posts by chance
_STEP = 4  # ranks that are rounded have regular steps over so many scores
# The median change of these steps, as a share; it is .24 if scores come at random.
_IRREGULAR = 0.15
_BITS = 16
_LIKELY = 50_000  # best posts whose relevance is read

# Hashes of a sketch: they estimate the part of a population that another one shares to within .02,
# and to within .1 if one is twenty times as large as the other.
SKETCH = 512

# Posts of the head of a list.
HEAD = 64


class Population:
    """The posts of a file that `rank` or `filter` wrote, best first.

    Ids and scores are in memory; texts are read when needed. If a post is in several lists, each
    (article, post) pair is a unit.

    Attributes:
        scores: (N,) descending.
        sketch: the smallest hashes of the ids, by which `sketch` recognizes the same posts whatever
            the file and the scores. Ids that are not `distinctive` count with their scores, if
            these tell posts apart; see `_with_scores`.
        best: the same hashes of the best posts, by which it recognizes the head of a list.
        distinctive: whether the ids are those of these posts alone (`are_distinctive`).

    Raises:
        InputError: for a file without ids and scores, and one with a repeated unit.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        ids, articles, scores = read_columns(path)
        if not len(scores):
            raise InputError(
                f"{path}: no post in the file; expected a file that rank or filter wrote"
            )
        bad = np.flatnonzero(~np.isfinite(scores))
        if len(bad):
            raise InputError(
                f"{path}: the score of row {bad[0] + 1} is {scores[bad[0]]}; expected a "
                "number: run rank again"
            )
        self._ids = ids
        self._articles: Articles | None = None
        repeated = self._repeated()
        if repeated is not None and articles is not None:
            self._articles = articles
            repeated = self._repeated()
        if repeated is not None:
            raise InputError(
                f"{path}: {repeated!r} occurs twice; expected each post once in a list: remove one, "
                "or write the file again if a spreadsheet shortened its ids"
            )
        np.negative(scores, out=scores)
        rows = np.argsort(scores, kind="stable")
        self._rows: NDArray[Any] = rows.astype(
            np.int32 if len(rows) < 2**31 else np.int64
        )
        self.scores: NDArray[np.float64] = -scores[rows]
        self._ranks: dict[str, int] = {}
        # Hashes of the ids, once they are needed.
        self._sorted: NDArray[np.uint64] | None = None
        self._best = _keys(Strings.of(ids.at(self._rows[:HEAD].tolist())))
        self._identify()

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def pairs(self) -> bool:
        """Whether the units are (article, post) pairs."""
        return self._articles is not None

    def names_at(self, ranks: Sequence[int]) -> list[str]:
        """The names of the units at these ranks (from 0)."""
        names = self._names(self._rows[np.asarray(ranks, np.int64)])
        self._ranks.update(zip(names, ranks, strict=True))
        return names

    def keys(
        self, seed: int, purpose: str = "certify"
    ) -> Callable[[int, int], NDArray[np.uint64]]:
        """The keys of the random order by rank; see `design.Order`.

        Other scores have another order. A ranking that was learned from labels has the posts that
        were labeled relevant at the top; in the order of these labels its sets would look better
        than they are.
        """
        scores = hashlib.blake2b(self.scores.tobytes(), digest_size=16).hexdigest()

        @cache
        def made() -> NDArray[np.uint64]:
            """Of all posts at once, in the order of the file."""
            purposed = f"{purpose}:{scores}"
            return np.concatenate(
                [keys_of(seed, n, purpose=purposed) for n in self._pieces()]
            )

        def keys(start: int, end: int) -> NDArray[np.uint64]:
            return made()[self._rows[start:end]]

        return keys

    def ranks_of(self, names: Sequence[str]) -> dict[str, int]:
        """The ranks of the known names among these."""
        if new := [name for name in dict.fromkeys(names) if name not in self._ranks]:
            name_keys = _keys(Strings.of(new))
            start = 0
            rows = []
            for piece in self._pieces():
                rows.append(start + np.flatnonzero(np.isin(_keys(piece), name_keys)))
                start += len(piece)
            self.names_at(
                np.flatnonzero(np.isin(self._rows, np.concatenate(rows))).tolist()
            )
        return {name: self._ranks[name] for name in names if name in self._ranks}

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

    def values(self, size: int, columns: Sequence[str]) -> list[Mapping[str, Any]]:
        """The values of these columns of the file for the first `size` ranks."""
        rank_of = {row: rank for rank, row in enumerate(self._rows[:size].tolist())}
        values_at: list[Mapping[str, Any]] = [{}] * size
        for row, values in enumerate(read_values(self.path, columns)):
            if row in rank_of:
                values_at[rank_of.pop(row)] = values
            if not rank_of:  # a search writes the best posts first
                break
        return values_at

    def relevance(self, posts: int = _LIKELY) -> NDArray[np.float64] | None:
        """The relevance of so many of the best posts that the search estimated, best first.

        None if the file has none, or not for each of them.
        """
        if "relevance" not in column_names(self.path):
            return None
        rows = self.values(min(posts, len(self)), ["relevance"])
        try:
            relevance = np.array([float(row["relevance"]) for row in rows], np.float64)
        except (KeyError, TypeError, ValueError):
            return None
        return relevance if ((relevance >= 0) & (relevance <= 1)).all() else None

    def members(
        self, posts: Sequence[str]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Whether each of these ids (n,) is of a post here, and whether of one of the best."""
        if self._sorted is None:
            self._sorted = np.sort(_keys(self._ids))
        keys = _keys(Strings.of(posts))
        nearest = np.minimum(np.searchsorted(self._sorted, keys), len(self._sorted) - 1)
        return self._sorted[nearest] == keys, np.isin(keys, self._best)

    def is_best(self, start: int, end: int) -> NDArray[np.bool_]:
        """Whether the rows of the file between these two are of the best posts."""
        return np.isin(np.arange(start, end), self._rows[:HEAD])

    def size_at(self, threshold: float) -> int:
        """The number of units with this score or a higher one."""
        return len(self) - int(
            np.searchsorted(self.scores[::-1], threshold, side="left")
        )

    def _names(self, rows: NDArray[Any]) -> list[str]:
        posts = self._ids.at(rows.tolist())
        if self._articles is None:
            return posts
        codes, names = self._articles
        return [
            f"{names[a]}\t{p}" for a, p in zip(codes[rows].tolist(), posts, strict=True)
        ]

    def _pieces(self) -> Iterator[Strings]:
        """The names of all units in the order of the file, a piece at a time."""
        for start in range(0, len(self._ids), _PIECE):
            end = min(start + _PIECE, len(self._ids))
            if self._articles is None:
                yield self._ids[start:end]
            else:
                yield Strings.of(self._names(np.arange(start, end)))

    def _identify(self) -> None:
        """Hash what identifies the posts; see the attributes."""
        size = len(self._ids)
        rows = np.linspace(0, size - 1, min(_IDS_READ, size)).astype(np.int64)
        self.distinctive = are_distinctive(self._ids.at(rows.tolist()), size)
        keys = _keys(self._ids)
        best = self._rows[:HEAD]
        best_keys = keys[best]
        if not self.distinctive:
            keys, telling = _with_scores(keys, self.scores, self._rows)
            best_keys = keys[best[telling[best]]]
            # Rows of another file have other numbers, so these are only the same all together.
            keys = keys[telling] + np.uint64(size)
        self.best = smallest(best_keys)
        self.sketch = smallest(keys)

    def _repeated(self) -> str | None:
        """A unit that occurs twice, or None."""
        keys = np.concatenate([_keys(piece) for piece in self._pieces()])
        keys.sort()
        repeated_keys = np.unique(keys[1:][keys[1:] == keys[:-1]])
        if not len(repeated_keys):
            return None
        seen: set[str] = set()
        for piece in self._pieces():
            for name in piece.at(
                np.flatnonzero(np.isin(_keys(piece), repeated_keys)).tolist()
            ):
                if name in seen:
                    return name.rpartition("\t")[2]
                seen.add(name)
        return None


def score_text(score: float) -> str:
    """The shortest decimal number that is exactly this score, so that it selects the same posts."""
    return np.format_float_positional(score, trim="-")


def are_distinctive(names: Sequence[str], size: int) -> bool:
    """Whether `size` posts with such names, or texts, have them alone.

    Numbers of rows, single words and forms such as ``post 17`` do not: few others are possible. Those
    are counted by the parts of a name; one that comes twice, as in ``17/17``, counts once.
    """
    possible = 0.0
    parts = [list(dict.fromkeys(_PART.findall(name))) for name in names]
    for column in zip_longest(*parts, fillvalue=""):
        if max(column, key=len).isdecimal():
            digits = zip_longest(*column, fillvalue="")
            possible += sum(math.log(len(set(digit))) for digit in digits)
        else:
            possible += math.log(len(set(column)))
    return possible >= math.log(_DENSE * size)


def smallest(keys: NDArray[np.uint64]) -> list[int]:
    """The smallest of these hashes, ascending; none if they are too few to say anything."""
    distinct = np.unique(keys)[:SKETCH].tolist()
    return distinct if len(distinct) >= _FEWEST else []


def _with_scores(
    keys: NDArray[np.uint64], descending: NDArray[np.float64], rows: NDArray[Any]
) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """Hashes (N,) of ids by row with their scores, and which tell posts apart.

    Scores are compared by their first bits, which stay when a search is repeated; those that two
    posts have are left out. None tells posts apart if the steps from one to the next are regular:
    any other list has the same ranks, and what follows from them.
    """
    distinct = np.unique(descending)
    steps = distinct[_STEP:] - distinct[:-_STEP]
    lower, upper = steps[:-_STEP], steps[_STEP:]
    bends = np.abs(upper - lower) / (upper + lower)
    is_regular = not len(bends) or float(np.median(bends)) < _IRREGULAR
    scores = np.empty_like(descending)
    scores[rows] = descending
    mantissas, exponents = np.frexp(scores)
    short = np.ldexp(np.round(np.ldexp(mantissas, _BITS)), exponents - _BITS)
    values, value_indices, counts = np.unique(
        short, return_inverse=True, return_counts=True
    )
    mixed = keys + values[value_indices].view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return mixed, (counts[value_indices] == 1) & (not is_regular)


def _keys(names: Strings) -> NDArray[np.uint64]:
    """Hashes by which equal names are found."""
    return keys_of(0, names, purpose="repeated")
