"""Columns and texts of files with scored posts: Parquet, JSON lines, CSV, TREC runs."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from siamese_news.errors import InputError
from siamese_news.utils.files import open_binary, reading
from siamese_news.utils.spreadsheet import unguarded

_PIECE = 2**18  # rows that are Python objects at one time
_PARQUET = (".parquet", ".pq")
_TREC = (".trec", ".run")
_TREC_COLUMNS = ("article", "q0", "post", "rank", "score", "tag")
_LINKS = ("link", "permalink", "url")


def _ending(path: Path) -> str:
    suffixes = [s for s in path.suffixes if s.lower() not in (".gz", ".zst")]
    return suffixes[-1].lower() if suffixes else ""


def read_columns(path: Path) -> tuple[Any, Any, NDArray[np.float64]]:
    """Ids, articles (or None) and scores, in the order of the file.

    Ids and articles are chunked arrays of Arrow, so that nothing is held twice.
    """
    import pyarrow as pa

    if _ending(path) in _PARQUET:
        return _parquet_columns(path)
    ids: list[Any] = []
    articles: list[Any] = []
    scores: list[NDArray[np.float64]] = []
    pieces: tuple[list[str], list[str], list[float]] = ([], [], [])

    def put() -> None:
        ids.append(pa.array(pieces[0], pa.large_string()))
        articles.append(pa.array(pieces[1], pa.large_string()).dictionary_encode())
        scores.append(np.array(pieces[2], np.float64))
        for piece in pieces:
            piece.clear()

    named = True
    for number, row in _records(path):
        where = f"{path}:{number}"
        pieces[0].append(_id(row.get("post"), where))
        article = row.get("article")
        named = named and article is not None
        pieces[1].append("" if article is None else str(article))
        pieces[2].append(_score(row.get("score"), where))
        if len(pieces[0]) == _PIECE:
            put()
    put()
    merged = pa.chunked_array(articles).unify_dictionaries() if named else None
    return pa.chunked_array(ids), merged, np.concatenate(scores)


def _parquet_columns(path: Path) -> tuple[Any, Any, NDArray[np.float64]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not path.is_file():
        raise InputError(f"{path}: no such file; check the path")
    try:
        names = pq.read_schema(path).names
        _expect(path, names)
        coded = ["article"] if "article" in names else None
        with pq.ParquetFile(path, read_dictionary=coded, pre_buffer=False) as file:
            if pa.types.is_floating(file.schema_arrow.field("post").type):
                raise InputError(
                    f"{path}: column 'post' holds fractions, so ids lost digits; write text"
                )
            wanted = [name for name in ("post", "score", "article") if name in names]
            scores = np.empty(file.metadata.num_rows)
            ids, articles, end = [], [], 0
            for batch in file.iter_batches(_PIECE, columns=wanted):
                if batch.column("post").null_count or batch.column("score").null_count:
                    raise InputError(
                        f"{path}: a post has no id or no score; expected both in every row"
                    )
                start, end = end, end + len(batch)
                scores[start:end] = _numbers(path, batch.column("score"))
                ids.append(_texts(batch.column("post")))
                if "article" in names:
                    articles.append(batch.column("article"))
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: not a Parquet file that can be read ({error})") from error
    merged = pa.chunked_array(articles).unify_dictionaries() if articles else None
    return pa.chunked_array(ids, None if ids else pa.large_string()), merged, scores


def _numbers(path: Path, column: Any) -> NDArray[np.float64]:
    import pyarrow as pa

    try:
        found: NDArray[np.float64] = column.cast(pa.float64()).to_numpy()
    except pa.ArrowException as error:
        raise InputError(f"{path}: column 'score' is not a number ({error})") from error
    return found


def _texts(column: Any) -> Any:
    import pyarrow as pa

    plain = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    return column if plain else column.cast(pa.large_string())


def read_texts(path: Path, rows: Sequence[int]) -> dict[int, tuple[str, str]]:
    """Text and link of the rows (from 0) of a file."""
    wanted = set(rows)
    if not wanted or _ending(path) in _TREC:
        return {}
    found: dict[int, tuple[str, str]] = {}
    if _ending(path) in _PARQUET:
        import pyarrow.parquet as pq

        file = pq.ParquetFile(path)
        names = [n for n in ("text", *_LINKS) if n in file.schema_arrow.names]
        start = 0
        for group in range(file.num_row_groups if names else 0):
            size = file.metadata.row_group(group).num_rows
            own = sorted(row for row in wanted if start <= row < start + size)
            if own:
                table = file.read_row_group(group, columns=names)
                part = table.take([row - start for row in own]).to_pylist()
                found.update((row, _shown(r)) for row, r in zip(own, part, strict=True))
            start += size
        return found
    last = max(wanted)
    for row, (_, record) in enumerate(_records(path)):
        if row in wanted:
            found[row] = _shown(record)
        if row == last:
            break
    return found


def _shown(record: dict[str, Any]) -> tuple[str, str]:
    link = next((str(record[name]) for name in _LINKS if record.get(name)), "")
    return str(record.get("text") or ""), link


def _records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line number and fields of each row of a text file."""
    ending = _ending(path)
    with reading(path), open_binary(path) as stream:
        if ending in _TREC:
            for number, line in enumerate(stream, 1):
                values = line.decode("utf-8", "replace").split()
                if len(values) != len(_TREC_COLUMNS):
                    raise InputError(f"{path}:{number}: {len(values)} fields, expected 6 of a run")
                yield number, dict(zip(_TREC_COLUMNS, values, strict=True))
        elif ending in (".csv", ".tsv"):
            lines = (
                line.decode("utf-8-sig" if n == 0 else "utf-8") for n, line in enumerate(stream)
            )
            reader = csv.DictReader(lines, delimiter="\t" if ending == ".tsv" else ",")
            _expect(path, reader.fieldnames or [])
            for row in reader:
                yield reader.line_num, {k: unguarded(v or "") for k, v in row.items() if k}
        elif ending in (".jsonl", ".ndjson"):
            for number, line in enumerate(stream, 1):
                try:
                    record = orjson.loads(line)
                except orjson.JSONDecodeError as error:
                    raise InputError(f"{path}:{number}: not JSON ({error})") from error
                if not isinstance(record, dict):
                    raise InputError(f"{path}:{number}: expected an object with post and score")
                yield number, record
        else:
            raise InputError(
                f"{path}: the name does not tell the format; expected .parquet, .jsonl, .csv, "
                ".tsv, .trec or .run, as rank and filter write them"
            )


def _expect(path: Path, names: Sequence[str]) -> None:
    for name in ("post", "score"):
        if name not in names:
            raise InputError(
                f"{path}: has no column '{name}' (it has: {', '.join(names[:12])}); expected a "
                "file that rank or filter wrote, or one with the columns post and score"
            )


def _id(value: Any, where: str) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value:
        raise InputError(f"{where}: field 'post' is {value!r}, expected an id")
    return value


def _score(value: Any, where: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InputError(f"{where}: field 'score' is {value!r}, expected a number") from None


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
