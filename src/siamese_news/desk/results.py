"""The posts that a search found, as the page asks for them: filtered, counted, a page at a time.

Texts stay on the disk, in SQLite; the narrow columns that filters need are arrays.
"""

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from siamese_news.data.readers.dates import iso_date
from siamese_news.errors import InputError
from siamese_news.search.report import ReportPost
from siamese_news.utils.files import atomic_write

_UNDATED = np.iinfo(np.int32).min
_COLUMNS = "rank, post, score, article, text, lang, created, cluster, copies, terms, x, y"
_KEPT = 32  # answers to filters by words


@dataclass(frozen=True, slots=True)
class Asked:
    """Which posts; what is empty does not restrict.

    Attributes:
        words: each must be in the post, at the beginning of a word.
        lang: language code; ``-`` for posts without one.
        seed: id of the seed that a post is nearest to.
        start: first day, ``2026-03-01``.
        end: last day.
        least: lowest score.
        groups: of near-duplicates only the best.
    """

    words: str = ""
    lang: str = ""
    seed: str = ""
    start: str = ""
    end: str = ""
    least: float | None = None
    groups: bool = False


def build(parquet: Path, database: Path) -> None:
    """Make the database of a file of results; it is there whole or not at all."""
    import pyarrow.parquet as pq

    part = database.with_name(database.name + ".part")
    part.unlink(missing_ok=True)
    with closing(sqlite3.connect(part)) as base:
        base.executescript(
            """
            PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
            CREATE TABLE posts (rank INTEGER PRIMARY KEY, post TEXT, score REAL, article TEXT,
                text TEXT, lang TEXT, created TEXT, cluster INTEGER, copies INTEGER, terms BLOB,
                x REAL, y REAL);
            CREATE VIRTUAL TABLE words USING fts5(text, content = 'posts', content_rowid = 'rank',
                detail = 'none', prefix = '3 4 5 6',
                tokenize = 'unicode61 remove_diacritics 2');
            """
        )
        with base:
            for batch in pq.ParquetFile(parquet).iter_batches(8192):
                base.executemany(
                    f"INSERT INTO posts VALUES ({', '.join('?' * 12)})",
                    [
                        (
                            row["rank"], row["post"], row["score"], row["article"],
                            row.get("text") or "", row.get("lang"), row.get("created_at"),
                            row.get("cluster"), row.get("cluster_size"),
                            orjson.dumps(row.get("terms") or []), row.get("x"), row.get("y"),
                        )
                        for row in batch.to_pylist()
                    ],
                )  # fmt: skip
            base.execute("INSERT INTO words(words) VALUES ('rebuild')")
            base.execute("CREATE UNIQUE INDEX ids ON posts(post)")
    part.replace(database)


def _save_columns(parquet: Path, path: Path) -> None:
    """Keep what filters need of every post, so that a page opens at once."""
    import pyarrow.parquet as pq

    wanted = ["score", "article", "lang", "created_at", "cluster"]
    table = pq.read_table(parquet, columns=wanted, read_dictionary=["article", "lang"])
    languages, lang = _coded(table.column("lang"))
    seeds, seed = _coded(table.column("article"))
    cluster = table.column("cluster")
    grouped = len(table) > 0 and cluster.null_count == 0
    lead = np.ones(len(table), bool)
    if grouped:
        lead[:] = False
        lead[np.unique(cluster.to_numpy(), return_index=True)[1]] = True
    names = np.frombuffer(orjson.dumps({"lang": languages, "seed": seeds}), np.uint8)
    with atomic_write(path, "wb") as stream:
        np.savez(
            stream, scores=table.column("score").to_numpy(), lang=lang, seed=seed,
            hour=_hours(table.column("created_at")), lead=lead, grouped=np.array(grouped),
            names=names,
        )  # fmt: skip


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
        if not (database.exists() and columns.exists()):
            build(parquet, database)
            _save_columns(parquet, columns)
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
        known = self._hour[self._hour != _UNDATED]
        if not len(known):
            return None
        first, last = (_moment(hour).date().isoformat() for hour in (known.min(), known.max()))
        return first, last

    def find(self, asked: Asked) -> NDArray[np.int64]:
        """The ranks of the posts, from 1, best first."""
        keep = np.ones(len(self), bool)
        if asked.least is not None:
            keep &= self.scores >= asked.least
        if asked.groups:
            keep &= self._lead
        for name, known, codes in (
            (asked.lang, self.languages, self._lang), (asked.seed, self.seeds, self._seed),
        ):  # fmt: skip
            if name:
                keep &= codes == (list(known).index(name) if name in known else -1)
        if asked.start:
            keep &= self._hour >= 24 * _day(asked.start)
        if asked.end:
            keep &= (self._hour < 24 * _day(asked.end) + 24) & (self._hour != _UNDATED)
        words = asked.words.split()
        if words:
            keep &= self._with_words(words)
        return np.flatnonzero(keep) + 1

    def posts(self, ranks: Iterable[int]) -> list[ReportPost]:
        """The posts at these ranks, in their order."""
        wanted = [int(rank) for rank in ranks]
        rows = self._rows("rank", wanted)
        return [rows[rank] for rank in wanted if rank in rows]

    def by_id(self, posts: Sequence[str]) -> dict[str, ReportPost]:
        """The posts with these ids, as far as they are there."""
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
        found, counts = np.unique(hours[hours != _UNDATED], return_counts=True)
        return {_moment(hour): int(n) for hour, n in zip(found, counts, strict=True)}

    def at_thousandths(self) -> dict[str, Any]:
        """How many posts have a score or more, for every thousandth from ``first`` on."""
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
                rank, post, score, article, text, lang, created, cluster, copies, terms, x, y = row
                found[rank] = ReportPost(
                    rank, post, score, text, -rank if cluster is None else cluster, copies or 1,
                    article, created, lang, orjson.loads(terms),
                    place=None if x is None else (x, y),
                )  # fmt: skip
        return found

    def _with_words(self, words: list[str]) -> NDArray[np.bool_]:
        key = " ".join(words).casefold()
        with self._guard:
            if key in self._answers:
                self._answers.move_to_end(key)
                return self._answers[key]
        if any(_unspaced(word) for word in words):
            # No blanks between words: the index has whole phrases.
            each = " AND ".join(["text LIKE ? ESCAPE '\\'"] * len(words))
            sql = f"SELECT group_concat(rank) FROM posts WHERE {each}"
            values = [f"%{_literal(word)}%" for word in words]
        else:
            # As the index cuts texts into words: at everything but letters and digits.
            cut = "".join(sign if sign.isalnum() else " " for sign in " ".join(words))
            query = " AND ".join(f'"{word}"' + "*" * (len(word) > 2) for word in cut.split())
            sql, values = "SELECT group_concat(rowid) FROM words WHERE words MATCH ?", [query]
        # One text of all ranks comes three times as fast as a row for each.
        (ranks,) = self._base().execute(sql, values).fetchone()
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


def _coded(column: Any) -> tuple[dict[str, int], NDArray[np.int32]]:
    """Values with their counts, most frequent first, and the place of each row's value in them."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    merged = column.unify_dictionaries().combine_chunks()
    names = [*merged.dictionary.to_pylist(), "-"]
    codes = merged.indices.fill_null(len(names) - 1).to_numpy()
    counts = np.bincount(codes, minlength=len(names))
    order = np.argsort(-counts, kind="stable")
    places = np.empty(len(names), np.int32)
    places[order] = np.arange(len(names))
    known = {str(names[n]): int(counts[n]) for n in order.tolist() if counts[n]}
    return known, places[codes]


def _hours(column: Any) -> NDArray[np.int32]:
    """The hour of each row's date, in UTC, counted from the year 1."""
    import pyarrow.compute as pc

    merged = column.combine_chunks()
    plain = pc.match_substring_regex(merged, r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
    if pc.all(plain.fill_null(True)).as_py() is not False:
        # Few different hours, where there are as many different seconds as posts.
        merged = pc.binary_join_element_wise(pc.utf8_slice_codeunits(merged, 0, 13), ":00:00Z", "")
    coded = merged.dictionary_encode()
    known = [
        _day(iso[:10]) * 24 + int(iso[11:13]) if text and (iso := iso_date(text)) else _UNDATED
        for text in [*coded.dictionary.to_pylist(), None]
    ]
    return np.array(known, np.int32)[coded.indices.fill_null(len(known) - 1).to_numpy()]


def _moment(hour: Any) -> datetime:
    return datetime.fromordinal(int(hour) // 24) + timedelta(hours=int(hour) % 24)


def _day(text: str) -> int:
    try:
        return date.fromisoformat(text).toordinal()
    except ValueError as error:
        raise InputError(f"the date is {text!r}; expected one such as 2026-03-31") from error


def _unspaced(word: str) -> bool:
    """Whether it has signs of a script without blanks, or no letter that the index knows."""
    return not any(sign.isalnum() for sign in word) or any(
        "\u0e00" <= sign <= "\u0eff" or "\u1000" <= sign <= "\u109f" or "\u2e80" <= sign <= "\u9fff"
        or "\uac00" <= sign <= "\ud7a3" or "\uf900" <= sign <= "\ufaff" or sign >= "\U00020000"
        for sign in word
    )  # fmt: skip


def _literal(word: str) -> str:
    return word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
