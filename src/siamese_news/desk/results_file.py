"""Files that make a list of results fast: texts and words in SQLite, narrow columns as arrays."""

import sqlite3
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from siamese_news.data.readers.values import iso_date
from siamese_news.desk.word_index import TABLES, pairs_of
from siamese_news.errors import InputError
from siamese_news.labels.results import web_link
from siamese_news.utils.files import atomic_write

UNDATED = np.iinfo(np.int32).min
"""The hour of a post without a date."""

_VERSION = 4  # of the database; one of another version is rebuilt


def is_there(database: Path, columns: Path) -> bool:
    """Whether both files exist in this version."""
    if not (database.exists() and columns.exists()):
        return False
    with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as base:
        return bool(base.execute("PRAGMA user_version").fetchone()[0] == _VERSION)


def build(parquet: Path, database: Path) -> None:
    """Make the database of a file of results, as a whole or not at all."""
    import pyarrow.parquet as pq

    part = database.with_name(database.name + ".part")
    part.unlink(missing_ok=True)
    with closing(sqlite3.connect(part)) as base:
        base.executescript(
            """
            PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
            CREATE TABLE posts (rank INTEGER PRIMARY KEY, post TEXT, score REAL, article TEXT,
                text TEXT, lang TEXT, created TEXT, cluster INTEGER, copies INTEGER, terms BLOB,
                x REAL, y REAL, link TEXT);
            """
            + TABLES
        )
        with base:
            for batch in pq.ParquetFile(parquet).iter_batches(8192):
                rows = batch.to_pylist()
                base.executemany(
                    f"INSERT INTO posts VALUES ({', '.join('?' * 13)})",
                    [
                        (
                            row["rank"],
                            row["post"],
                            row["score"],
                            row["article"],
                            row.get("text") or "",
                            row.get("lang"),
                            row.get("created_at"),
                            row.get("cluster"),
                            row.get("cluster_size"),
                            orjson.dumps(row.get("terms") or []),
                            row.get("x"),
                            row.get("y"),
                            web_link(row.get("link")),
                        )
                        for row in rows
                    ],
                )
                base.executemany(
                    "INSERT INTO pairs(rowid, text) VALUES (?, ?)",
                    [
                        (row["rank"], pairs)
                        for row in rows
                        if (pairs := pairs_of(row.get("text") or ""))
                    ],
                )
            base.execute("INSERT INTO words(words) VALUES ('rebuild')")
            base.execute("CREATE UNIQUE INDEX ids ON posts(post)")
            base.execute(f"PRAGMA user_version = {_VERSION}")
    part.replace(database)


def save_columns(parquet: Path, path: Path) -> None:
    """Save the columns that filters need, so that a page opens at once."""
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
            stream,
            scores=table.column("score").to_numpy(),
            lang=lang,
            seed=seed,
            hour=_hours(table.column("created_at")),
            lead=lead,
            grouped=np.array(grouped),
            names=names,
        )


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
        day_of(iso[:10]) * 24 + int(iso[11:13]) if text and (iso := iso_date(text)) else UNDATED
        for text in [*coded.dictionary.to_pylist(), None]
    ]
    return np.array(known, np.int32)[coded.indices.fill_null(len(known) - 1).to_numpy()]


def day_of(text: str) -> int:
    """The number of a day, counted from the year 1.

    Raises:
        InputError: for another text.
    """
    try:
        return date.fromisoformat(text).toordinal()
    except ValueError as error:
        raise InputError(f"the date is {text!r}; expected one such as 2026-03-31") from error
