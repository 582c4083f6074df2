"""The posts that a search found, filtered, counted and a page at a time.

Texts stay on the disk, in SQLite; the narrow columns that filters need are arrays.
"""

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from siamese_news.desk.results_file import UNDATED, build, day_of, is_there, save_columns
from siamese_news.desk.word_index import split, wanted
from siamese_news.search.report import ReportPost

_COLUMNS = "rank, post, score, article, text, lang, created, cluster, copies, terms, x, y, link"
_KEPT = 32  # answers to filters by words
_STRETCH = 2000  # posts with the words that are looked at together


@dataclass(frozen=True, slots=True)
class Asked:
    """A filter of posts; empty fields do not restrict.

    Attributes:
        words: each must be in the post, at the beginning of a word; one with a minus before it must
            not.
        lang: language code; ``-`` for posts without one; with ``!`` before it all but that.
        seed: id of the seed that a post is nearest to; likewise.
        start: first day, ``2026-03-01``.
        end: last day.
        least: lowest score.
        groups: of near-duplicates only the best.
        among: (N,) which posts by rank; None for all.
    """

    words: str = ""
    lang: str = ""
    seed: str = ""
    start: str = ""
    end: str = ""
    least: float | None = None
    groups: bool = False
    among: NDArray[np.bool_] | None = None


class Results:
    """The results of one search.

    Args:
        parquet: what ``filter`` wrote.
        database: made from it where it is not there.

    Attributes:
        scores: (N,) by rank.
        languages: that occur, with their numbers of posts; ``-`` for none.
        seeds: likewise, ids of the articles.
    """

    def __init__(self, parquet: Path, database: Path) -> None:
        columns = database.with_suffix(".npz")
        if not is_there(database, columns):
            build(parquet, database)
            save_columns(parquet, columns)
        self._database = database
        self._local = threading.local()
        self._answers: OrderedDict[str, NDArray[np.bool_]] = OrderedDict()
        self._guard = threading.Lock()
        with np.load(columns, allow_pickle=False) as held:
            self.scores: NDArray[np.float64] = held["scores"]
            self._lang, self._seed, self._hour = held["lang"], held["seed"], held["hour"]
            self._lead, self.grouped = held["lead"], bool(held["grouped"])
            names = orjson.loads(held["names"].tobytes())
        self.languages: dict[str, int] = names["lang"]
        self.seeds: dict[str, int] = names["seed"]

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def days(self) -> tuple[str, str] | None:
        """The first and the last day of a post; None without dates."""
        known = self._hour[self._hour != UNDATED]
        if not len(known):
            return None
        first, last = (_moment(hour).date().isoformat() for hour in (known.min(), known.max()))
        return first, last

    def find(self, asked: Asked) -> NDArray[np.int64]:
        """The ranks of the posts, from 1, best first."""
        keep = self._narrow(asked)
        words, without = split(asked.words)
        if words:
            keep &= self._with_words(words)
        for word in without:
            keep &= ~self._with_words([word])
        return np.flatnonzero(keep) + 1

    def known(self, asked: Asked) -> bool:
        """Whether `find` answers at once; for new words it has to count all posts with them."""
        words, without = split(asked.words)
        with self._guard:
            # What is left out has to be counted in any case.
            return bool(without) or not words or _key(words) in self._answers

    def first(self, asked: Asked, after: int, count: int) -> list[int]:
        """The first ranks of `find` beyond a rank, without looking for all that there are."""
        keep = self._narrow(asked)
        asking = wanted(split(asked.words)[0])
        found: list[int] = []
        with closing(self._base().cursor()) as rows:
            rank = asking.rank
            rows.execute(f"{asking.sql} AND {rank} > ? ORDER BY {rank}", [*asking.values, after])
            while len(found) < count and (part := rows.fetchmany(_STRETCH)):
                ranks = np.array(part, np.int64)[:, 0]
                found += ranks[keep[ranks - 1]].tolist()
        return found[:count]

    def _narrow(self, asked: Asked) -> NDArray[np.bool_]:
        """Which posts pass the filter, apart from the words."""
        keep = np.ones(len(self), bool)
        if asked.least is not None:
            keep &= self.scores >= asked.least
        if asked.groups:
            keep &= self._lead
        if asked.among is not None:
            keep &= asked.among
        for name, known, codes in (
            (asked.lang, self.languages, self._lang),
            (asked.seed, self.seeds, self._seed),
        ):
            if name:
                one = name.removeprefix("!")
                alike = codes == (list(known).index(one) if one in known else -1)
                keep &= ~alike if name.startswith("!") else alike
        if asked.start:
            keep &= self._hour >= 24 * day_of(asked.start)
        if asked.end:
            keep &= (self._hour < 24 * day_of(asked.end) + 24) & (self._hour != UNDATED)
        return keep

    def posts(self, ranks: Iterable[int]) -> list[ReportPost]:
        """The posts at these ranks, in their order."""
        wanted = [int(rank) for rank in ranks]
        rows = self._rows("rank", wanted)
        return [rows[rank] for rank in wanted if rank in rows]

    def by_id(self, posts: Sequence[str]) -> dict[str, ReportPost]:
        """The posts with these ids that exist."""
        return {post.id: post for post in self._rows("post", list(posts)).values()}

    def copies(self, rank: int) -> list[int]:
        """The ranks of all posts in a post's cluster of near-duplicates, its own among them."""
        if not self.grouped:
            return [rank]
        found = self._base().execute(
            "SELECT rank FROM posts WHERE cluster = (SELECT cluster FROM posts WHERE rank = ?) "
            "ORDER BY rank",
            (rank,),
        )
        return [row[0] for row in found]

    def places(self, limit: int) -> list[int]:
        """The ranks of posts that have a place on the map."""
        found = self._base().execute(
            "SELECT rank FROM posts WHERE rank <= ? AND x IS NOT NULL ORDER BY rank", (limit,)
        )
        return [row[0] for row in found]

    def counted_by_hour(self, ranks: NDArray[np.int64]) -> dict[datetime, int]:
        """Number of posts of each hour that has any."""
        hours = self._hour[ranks - 1]
        found, counts = np.unique(hours[hours != UNDATED], return_counts=True)
        return {_moment(hour): int(n) for hour, n in zip(found, counts, strict=True)}

    def at_thousandths(self) -> dict[str, Any]:
        """Number of posts at or above each thousandth of a score, from ``first`` on."""
        if not len(self):
            return {"first": 0, "counts": [0]}
        places = np.floor(np.round(self.scores * 1000, 6)).astype(np.int64)
        first = int(places.min())
        counts = np.bincount(places - first)
        return {"first": first, "counts": np.cumsum(counts[::-1])[::-1].tolist()}

    def _rows(self, column: str, values: list[Any]) -> dict[int, ReportPost]:
        base = self._base()
        found: dict[int, ReportPost] = {}
        for start in range(0, len(values), 500):
            part = values[start : start + 500]
            marks = ", ".join("?" * len(part))
            for row in base.execute(
                f"SELECT {_COLUMNS} FROM posts WHERE {column} IN ({marks})", part
            ):
                rank, post, score, article, text, lang, created, cluster, copies = row[:9]
                terms, x, y, link = row[9:]
                found[rank] = ReportPost(
                    rank,
                    post,
                    score,
                    text,
                    -rank if cluster is None else cluster,
                    copies or 1,
                    article,
                    created,
                    lang,
                    orjson.loads(terms),
                    place=None if x is None else (x, y),
                    link=link,
                )
        return found

    def _with_words(self, words: list[str]) -> NDArray[np.bool_]:
        key = _key(words)
        with self._guard:
            if key in self._answers:
                self._answers.move_to_end(key)
                return self._answers[key]
        asking = wanted(words)
        sql = asking.sql.replace(f"SELECT {asking.rank}", f"SELECT group_concat({asking.rank})", 1)
        # One text of all ranks comes three times as fast as a row for each.
        (ranks,) = self._base().execute(sql, asking.values).fetchone()
        keep = np.zeros(len(self), bool)
        if ranks is not None:
            keep[np.fromstring(str(ranks), np.int64, sep=",") - 1] = True
        with self._guard:
            self._answers[key] = keep
            while len(self._answers) > _KEPT:
                self._answers.popitem(last=False)
        return keep

    def _base(self) -> sqlite3.Connection:
        """A connection of this thread, which can only read."""
        base: sqlite3.Connection | None = getattr(self._local, "base", None)
        if base is None:
            base = sqlite3.connect(f"{self._database.as_uri()}?mode=ro", uri=True)
            self._local.base = base
        return base


def _key(words: list[str]) -> str:
    return " ".join(words).casefold()


def _moment(hour: Any) -> datetime:
    return datetime.fromordinal(int(hour) // 24) + timedelta(hours=int(hour) % 24)
