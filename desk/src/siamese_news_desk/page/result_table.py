"""The posts of one search: filtered, counted, and read a page at a time.

Texts and words are in SQLite; the narrow columns that filters need are arrays. Both are built once
from the file of results. A certificate is about that file, so what the page shows must be of it: a
database that this user's page did not build from it, in a project that was sent, is built again.
"""

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from siamese_news.data.columns import RANKED
from siamese_news.data.label_map import LabelMap
from siamese_news.data.readers.values import iso_date
from siamese_news.data.results import result_rows, web_link
from siamese_news.errors import InputError
from siamese_news.search.report import ReportPost
from siamese_news.utils.cache import FileRecord
from siamese_news.utils.files import atomic_write
from siamese_news_desk.page.words import patterns, searchable, split

_VERSION = 10  # of the database; one of another version is rebuilt
_TABLES = """
PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
CREATE TABLE posts (article TEXT, rank INTEGER PRIMARY KEY, score REAL, relevance REAL, post TEXT,
    text TEXT,
    cluster INTEGER, cluster_size INTEGER, lang TEXT, created_at TEXT, terms BLOB, link TEXT);
CREATE TABLE searchable (rank INTEGER PRIMARY KEY, text TEXT);
"""
_KEPT = 32  # cached answers to filters by words


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter of posts; empty fields do not restrict.

    Attributes:
        words: each must be in the post, at the beginning of a word; a word after a minus must not.
        lang: language code; ``-`` for posts without one; after ``!`` every language but that.
        seed: id of the seed nearest to the post; likewise.
        start: first day, ``2026-03-01``.
        end: last day.
        min_score: lowest score.
        groups: only the best of near-duplicates.
    """

    words: str = ""
    lang: str = ""
    seed: str = ""
    start: str = ""
    end: str = ""
    min_score: float | None = None
    groups: bool = False


class Results:
    """The posts of a file that ``filter`` wrote; a missing database is built next to it.

    Attributes:
        scores: (N,) by rank.
        relevance: (N,) by rank; NaN where it is unknown.
        labels: the map by the user's labels, if the relevance is by them.
        clusters: (N,) by rank, the cluster of near-duplicates.
        grouped: whether near-duplicates are known; otherwise each post is a cluster.
        languages: the numbers of posts by language; ``-`` for none.
        seeds: likewise, by the id of the article.
    """

    def __init__(self, parquet: Path) -> None:
        self._database = parquet.with_suffix(".sqlite")
        columns = parquet.with_suffix(".npz")
        self._local = threading.local()
        self._with_word = lru_cache(_KEPT)(self._search)
        built = FileRecord(f"desk-{_VERSION}", (parquet, self._database, columns))
        if not built.holds():
            _build(parquet, self._database, columns)
            built.write(built.state())
        with np.load(columns, allow_pickle=False) as held:
            self.scores: NDArray[np.float64] = held["scores"]
            self._estimates: NDArray[np.float64] = held["relevance"]
            self.clusters: NDArray[np.int64] = held["clusters"]
            self._lang = held["lang"]
            self._seed = held["article"]
            self._hour = held["hour"]
            self._lead = held["lead"]
            self.grouped = bool(held["grouped"])
            names = msgspec.json.decode(held["names"].tobytes())
        self.languages: dict[str, int] = names["lang"]
        self.seeds: dict[str, int] = names["article"]
        self.use(None)

    def __len__(self) -> int:
        return len(self.scores)

    def use(self, labels: LabelMap | None) -> None:
        """Let relevance be that of the user's labels; with None, the estimate of the search."""
        self.labels = labels
        scores = labels is not None and labels.mapped == "score"
        values = self.scores if scores else self._estimates
        # As in a search: a score of 0 or less has a relevance of 0, whatever the labels say.
        self.relevance = (
            values if labels is None else labels.relevance(values) * (self.scores > 0)
        )

    @property
    def known(self) -> bool:
        """Whether the relevance of any post is known."""
        return not np.isnan(self.relevance).all()

    @property
    def days(self) -> tuple[str, str] | None:
        """The first and the last day of a post; None without dates."""
        dated = self._hour[~np.isnat(self._hour)]
        return (str(dated.min())[:10], str(dated.max())[:10]) if len(dated) else None

    def find(self, filter: Filter) -> NDArray[np.int64]:
        """The ranks of the posts, from 1, best first."""
        keep = np.ones(len(self), bool)
        if filter.min_score is not None:
            keep &= self.scores >= filter.min_score
        if filter.groups:
            keep &= self._lead
        for name, names, codes in (
            (filter.lang, self.languages, self._lang),
            (filter.seed, self.seeds, self._seed),
        ):
            if name:
                name_wanted = name.removeprefix("!")
                alike = codes == (
                    list(names).index(name_wanted) if name_wanted in names else -1
                )
                keep &= ~alike if name.startswith("!") else alike
        if filter.start:
            keep &= self._hour >= _day(filter.start)
        if filter.end:
            keep &= self._hour < _day(filter.end) + np.timedelta64(1, "D")
        words, without = split(filter.words)
        for word in words:
            keep &= self._with_word(word)
        for word in without:
            keep &= ~self._with_word(word)
        return np.flatnonzero(keep) + 1

    def least_score(self, by: str, value: float) -> float:
        """The score from which the list has the posts of a ``relevance``, or a number of ``posts``.

        Posts with the score of the last one are in the list, too.
        """
        size = int(value)
        if by == "relevance":
            # Posts of an unknown relevance may be between those that have one.
            size = int(np.flatnonzero(self.relevance >= value).max(initial=-1)) + 1
        size = min(max(size, 0), len(self))
        # Scores have six decimals.
        return float(self.scores[size - 1] if size else round(self.scores[0] + 1e-6, 6))

    def posts(self, ranks: Iterable[int]) -> list[ReportPost]:
        """The posts at these ranks, in their order."""
        rank_list = [int(rank) for rank in ranks]
        rows = self._rows("rank", rank_list)
        return [rows[rank] for rank in rank_list if rank in rows]

    def by_id(self, posts: Sequence[str]) -> dict[str, ReportPost]:
        """The posts with these ids that exist."""
        return {post.id: post for post in self._rows("post", list(posts)).values()}

    def ids(self) -> list[str]:
        """The ids of all posts, by rank."""
        return [
            row[0]
            for row in self._base().execute("SELECT post FROM posts ORDER BY rank")
        ]

    def copies(self, rank: int) -> list[int]:
        """The ranks of all posts in a post's cluster of near-duplicates, including its own."""
        if not 1 <= rank <= len(self):
            raise InputError(
                f"there is no post of rank {rank} in these results; reload the page"
            )
        copies: list[int] = (
            np.flatnonzero(self.clusters == self.clusters[rank - 1]) + 1
        ).tolist()
        return copies

    def counted_by_hour(self, ranks: NDArray[np.int64]) -> dict[datetime, int]:
        """Number of posts of each hour that has any."""
        hours = self._hour[ranks - 1]
        different_hours, counts = np.unique(hours[~np.isnat(hours)], return_counts=True)
        return dict(zip(different_hours.tolist(), counts.tolist(), strict=True))

    def _rows(self, column: str, values: list[Any]) -> dict[int, ReportPost]:
        posts: dict[int, ReportPost] = {}
        for start in range(0, len(values), 500):
            batch = values[start : start + 500]
            marks = ", ".join("?" * len(batch))
            rows = self._base().execute(
                f"SELECT * FROM posts WHERE {column} IN ({marks})", batch
            )
            for row in (dict(zip(RANKED, values, strict=True)) for values in rows):
                rank, cluster = row["rank"], row["cluster"]
                relevance = float(self.relevance[rank - 1])
                posts[rank] = ReportPost(
                    rank,
                    row["post"],
                    row["score"],
                    row["text"],
                    -rank if cluster is None else cluster,
                    row["cluster_size"] or 1,
                    row["article"],
                    row["created_at"],
                    row["lang"],
                    msgspec.json.decode(row["terms"]),
                    link=web_link(row["link"]),
                    relevance=None if np.isnan(relevance) else relevance,
                )
        return posts

    def _search(self, word: str) -> NDArray[np.bool_]:
        """Which posts contain a word, by rank."""
        values = patterns(word)
        # One text of all ranks comes three times as fast as a row for each.
        condition = " AND ".join(["instr(text, ?)"] * len(values)) or "TRUE"
        sql = f"SELECT group_concat(rank) FROM searchable WHERE {condition}"
        (ranks,) = self._base().execute(sql, values).fetchone()
        keep = np.zeros(len(self), bool)
        if ranks is not None:
            keep[np.fromstring(str(ranks), np.int64, sep=",") - 1] = True
        return keep

    def _base(self) -> sqlite3.Connection:
        """A read-only connection of this thread."""
        base: sqlite3.Connection | None = getattr(self._local, "base", None)
        if base is None:
            # Immutable: a journal next to the database, which could change it, is not looked at.
            address = f"{self._database.as_uri()}?mode=ro&immutable=1"
            base = sqlite3.connect(address, uri=True)
            self._local.base = base
        return base


def _build(parquet: Path, database: Path, columns: Path) -> None:
    """Write the arrays and the database of a file of results, each whole or not at all."""

    def rows() -> Iterator[tuple[Any, ...]]:
        for _, row in result_rows(parquet):
            terms = msgspec.json.encode(row.get("terms") or [])
            text = row.get("text") or ""
            fields = {**row, "terms": terms, "text": text}
            yield tuple(map(fields.get, RANKED))

    partial_database = database.with_name(database.name + ".part")
    for leftover in (
        partial_database,
        partial_database.with_name(partial_database.name + "-journal"),
        partial_database.with_name(partial_database.name + "-wal"),
    ):
        leftover.unlink(missing_ok=True)
    with closing(sqlite3.connect(partial_database)) as base:
        base.executescript(_TABLES)
        with base:
            marks = ", ".join("?" * len(RANKED))
            base.executemany(f"INSERT INTO posts VALUES ({marks})", rows())
            texts = base.execute("SELECT rank, text FROM posts")
            plain = ((rank, searchable(text)) for rank, text in texts)
            base.executemany("INSERT INTO searchable VALUES (?, ?)", plain)
            base.execute("CREATE UNIQUE INDEX ids ON posts(post)")
    with atomic_write(columns, "wb") as stream:
        np.savez(stream, allow_pickle=False, **_arrays(parquet))
    partial_database.replace(database)


def _arrays(parquet: Path) -> dict[str, NDArray[Any]]:
    """The columns that filters need by rank, so that a page opens at once."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    table = pq.read_table(
        parquet,
        columns=["score", "relevance", "cluster", "lang", "article", "created_at"],
    )
    hours = [_hour_of(date) for date in table["created_at"].to_pylist()]
    arrays: dict[str, NDArray[Any]] = {
        "scores": table["score"].to_numpy(),
        "relevance": pc.fill_null(
            table["relevance"].cast("float64"), np.nan
        ).to_numpy(),
        "hour": np.array(hours, "datetime64[h]"),
    }
    names: dict[str, dict[str, int]] = {}
    for name in ("lang", "article"):
        # Number the values, the most frequent one first.
        column = pc.fill_null(table[name], "-").combine_chunks().dictionary_encode()
        codes = column.indices.to_numpy()
        values = column.dictionary.to_pylist()
        counts = np.bincount(codes, minlength=len(values))
        order = np.argsort(-counts, kind="stable")
        arrays[name] = np.argsort(order).astype(np.int32)[codes]
        names[name] = {values[n]: int(counts[n]) for n in order.tolist()}
    grouped = len(table) > 0 and not table["cluster"].null_count
    clusters = table["cluster"].to_numpy() if grouped else np.arange(len(table))
    lead = np.zeros(len(table), bool)
    lead[np.unique(clusters, return_index=True)[1]] = True
    encoded_names = np.frombuffer(msgspec.json.encode(names), np.uint8)
    arrays |= {
        "clusters": clusters,
        "lead": lead,
        "grouped": np.array(grouped),
        "names": encoded_names,
    }
    return arrays


def _hour_of(created: str | None) -> str:
    """The hour of a date in UTC, as numpy reads it."""
    if created and len(created) == 20 and created[10] == "T" and created.endswith("Z"):
        # Few different hours, many different seconds.
        created = f"{created[:13]}:00:00Z"
    return _hour(created) if created else "NaT"


@lru_cache(2**16)
def _hour(created: str) -> str:
    iso = iso_date(created)
    return iso[:13] if iso else "NaT"


def _day(text: str) -> np.datetime64:
    """A day that a user chose; an `InputError` for another text."""
    try:
        return np.datetime64(date.fromisoformat(text))
    except ValueError as error:
        raise InputError(
            f"the date is {text!r}; expected one such as 2026-03-31"
        ) from error
