"""Columns and texts of files of scored posts: Parquet, JSON lines, CSV, TREC runs."""

import csv
import json
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from siamese_news.data.columns import RELEVANCE_UNKNOWN, ResultMeta, ResultRow
from siamese_news.data.jsonl import read_jsonl
from siamese_news.data.lines import LINE_CAP, decode_whole, read_lines
from siamese_news.data.readers.inputs import LINES, PARQUET, plain_suffix
from siamese_news.data.records import clean_text
from siamese_news.data.trec import rows_of
from siamese_news.errors import InputError
from siamese_news.utils.checked_json import fitting
from siamese_news.utils.files import expect_regular, for_arrow, open_binary, reading
from siamese_news.utils.strings import Strings
from siamese_news.utils.terminal import unguarded

_PIECE = 2**18  # rows in memory as Python objects at one time
_BLOCK = 8192  # rows with texts in memory at one time
_TREC = (".trec", ".run")
_TREC_COLUMNS = ("article", "q0", "post", "rank", "score", "tag")
_LINKS = ("link", "permalink", "url")


# (N,) the index of the name of each row, and the names.
Articles = tuple[NDArray[np.int32], list[str]]


def read_columns(path: Path) -> tuple[Strings, Articles | None, NDArray[np.float64]]:
    """Ids, articles (or None) and scores, in the order of the file."""
    ids: list[Strings] = []
    piece: list[str] = []
    articles = array("i")
    scores = array("d")
    names: dict[str, int] = {}
    has_articles: bool | None = None
    if plain_suffix(path) in PARQUET:
        _expect(path, column_names(path))
    for location, row in result_rows(path, ("article", "post", "score")):
        if has_articles is None and plain_suffix(path) in (".csv", ".tsv"):
            _expect(path, list(row))
        piece.append(_id(row.get("post"), location))
        article = row.get("article")
        has_articles = has_articles is not False and article is not None
        articles.append(names.setdefault(clean_text(str(article)), len(names)))
        scores.append(_score(row.get("score"), location))
        if len(piece) == _PIECE:
            ids.append(Strings.of(piece))
            piece.clear()
    ids.append(Strings.of(piece))
    return (
        Strings.joined(ids),
        (np.array(articles, np.int32), list(names)) if has_articles else None,
        np.array(scores),
    )


@contextmanager
def _parquet(path: Path, **options: Any) -> Iterator[Any]:
    """The file, open; errors of reading it become an `InputError`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    open_binary(path).close()  # raises the errors of the path itself
    try:
        with pq.ParquetFile(for_arrow(path), **options) as file:
            yield file
    except (pa.ArrowException, OSError) as error:
        raise InputError(
            f"{path}: not a Parquet file that can be read ({error})"
        ) from error


def read_texts(path: Path, rows: Sequence[int]) -> dict[int, tuple[str, str]]:
    """Text and link of the rows (from 0) of a file."""
    requested = set(rows)
    if not requested or plain_suffix(path) in _TREC:
        return {}
    numbered = enumerate(
        islice(result_rows(path, ("text", *_LINKS)), max(requested) + 1)
    )
    return {
        row: _text_and_link(record) for row, (_, record) in numbered if row in requested
    }


def read_values(path: Path, names: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """The values of these columns, of each row in the order of the file; those that it has."""
    for _, row in result_rows(path, names):
        yield {name: row[name] for name in names if row.get(name) is not None}


def column_names(path: Path) -> list[str]:
    """The names of the columns, by the first rows of a file."""
    if plain_suffix(path) in PARQUET:
        with _parquet(path) as file:
            return list(file.schema_arrow.names)
    top_rows = [row for _, row in islice(result_rows(path), _BLOCK)]
    return list(dict.fromkeys(name for row in top_rows for name in row if name))


def text_pieces(path: Path) -> Iterator[list[str]]:
    """The texts of all rows in the order of the file, a piece at a time; none if it has none."""
    if "text" not in column_names(path):
        return
    rows = read_values(path, ["text"])
    while block := list(islice(rows, _BLOCK)):
        yield [str(row.get("text") or "") for row in block]


def _text_and_link(record: Mapping[str, Any]) -> tuple[str, str]:
    link = next((str(record[name]) for name in _LINKS if record.get(name)), "")
    return clean_text(str(record.get("text") or "")), clean_text(link)


def _expect(path: Path, names: Sequence[str]) -> None:
    for name in ("post", "score"):
        if name not in names:
            raise InputError(
                f"{path}: has no column '{name}' (it has: {', '.join(names[:12])}); expected a "
                "file that rank or filter wrote, or one with the columns post and score"
            )


def _id(value: Any, location: str) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    # An id may hold a NUL, which no text of ours does.
    plain = value.replace("\0", "") if isinstance(value, str) else ""
    if not isinstance(value, str) or not value or clean_text(plain) != plain:
        raise InputError(
            f"{location}: field 'post' is {value!r}; expected results of a search"
        )
    return value


def _score(value: Any, location: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InputError(
            f"{location}: field 'score' is {value!r}, expected a number"
        ) from None


def result_rows(
    path: Path, names: Sequence[str] | None = None
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The place (for messages) and the fields of each row of a file of results.

    Parquet, of which only the columns with these `names` are read, if any are given; or JSON lines,
    CSV, TSV or a TREC run: the last four plain, .gz or .zst.

    Raises:
        InputError: for another file, and an unreadable row.
    """
    ending = plain_suffix(path)
    if ending in PARQUET:
        with _parquet(path) as file:
            there = file.schema_arrow.names
            columns = there if names is None else [n for n in names if n in there]
            batches = file.iter_batches(_BLOCK, columns=columns) if columns else ()
            rows = (row for batch in batches for row in batch.to_pylist())
            for number, row in enumerate(rows, 1):
                yield f"{path}:row {number}", row
    elif ending in LINES:
        yield from ((f"{path}:{number}", record) for number, record in read_jsonl(path))
    elif ending in (".csv", ".tsv"):
        yield from _csv_rows(path, "\t" if ending == ".tsv" else ",")
    elif ending in _TREC:
        for location, values in rows_of(path, "query Q0 document rank score tag"):
            yield location, dict(zip(_TREC_COLUMNS, values, strict=True))
    else:
        raise InputError(
            f"{path}: unknown format; expected a name that ends with .parquet, .jsonl, .csv, .tsv, "
            ".trec or .run, as rank and filter write them"
        )


def found_rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The rows of `result_rows`; `InputError` if the search found nothing."""
    if path.is_dir():
        raise InputError(
            f"{path}: is a folder; expected a file that rank or filter wrote"
        )
    empty = path.is_file() and not path.stat().st_size
    rows = iter(()) if empty else result_rows(path)
    first_row = next(rows, None)
    if first_row is None:
        # Where no threshold keeps a post, the search said what to do instead.
        remedies = [
            remark
            for remark in result_meta(path).get("remarks") or ()
            if remark.startswith(RELEVANCE_UNKNOWN)
        ] or ["search again with a lower --threshold, or name other results"]
        raise InputError(
            f"{path}: has no row; an empty file is left by a search that found no post: "
            f"{remedies[0]}"
        )
    yield first_row
    yield from rows


def _csv_rows(path: Path, delimiter: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    limit = csv.field_size_limit(LINE_CAP)
    between = "commas" if delimiter == "," else "tabs"
    try:
        reader = csv.DictReader(
            (line for _, line in read_lines(path, decode_whole)),
            delimiter=delimiter,
            strict=True,
        )
        for row in reader:
            location = f"{path}:{reader.line_num}"
            # Cells without a column have the key None; columns without a cell are None.
            if None in row:
                raise InputError(
                    f"{location}: has more cells than the header has columns; expected {between} "
                    "between the cells, and quotes around a cell with one in it"
                )
            yield (
                location,
                {name: cell and unguarded(cell) for name, cell in row.items()},
            )
    except csv.Error as error:
        raise InputError(f"{path}: not a CSV file ({error}); write it again") from error
    finally:
        csv.field_size_limit(limit)


def result_meta(path: Path) -> ResultMeta:
    """The search's file about its results; empty if there is none.

    Raises:
        InputError: it is not JSON, or a field has another type than `ResultMeta` declares.
    """
    about = path.with_name(path.name + ".meta.json")
    if not about.exists():
        return {}
    expect_regular(about, "the search's file about its results")
    try:
        with reading(about):
            meta = json.loads(about.read_text(encoding="utf-8"))
        return fitting(meta, ResultMeta)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{about}: not as a search writes it ({error}); remove it or search again"
        ) from error


def web_link(link: Any) -> str | None:
    """A link that is safe in a browser; another scheme than http could run a script."""
    is_web_link = isinstance(link, str) and link.lower().startswith(
        ("https://", "http://")
    )
    return link if is_web_link else None


def read_table(path: Path) -> Any:
    """The Arrow table of a file of results with texts and a single list of posts."""
    import pyarrow as pa

    if plain_suffix(path) in PARQUET:
        with _parquet(path) as file:
            table = file.read()
    else:
        rows = [_typed(location, row) for location, row in found_rows(path)]
        try:
            table = pa.Table.from_pylist(rows)
        except pa.ArrowException as error:
            raise InputError(
                f"{path}: a column has values of several kinds ({error}); search again"
            ) from error
    for name in ("post", "score", "text", "rank"):
        if name not in table.column_names:
            raise InputError(
                f"{path}: has no column '{name}'; expected results of filter, with texts"
            )
    posts = table.column("post").cast(pa.string())
    if len(posts.unique()) < len(posts):
        raise InputError(
            f"{path}: posts are in several lists; expected one list (rank --one-story, filter)"
        )
    texts = table.column("text").fill_null("")
    table = table.set_column(table.column_names.index("post"), "post", posts)
    return table.set_column(table.column_names.index("text"), "text", texts)


def _typed(location: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with the numbers and lists that a table of text has as text."""
    cells = {name: cell for name, cell in row.items() if cell != ""}
    if isinstance(terms := cells.get("terms"), str):
        cells["terms"] = terms.split("; ")  # as `write_rows` joins them
    try:
        values = msgspec.convert(cells, ResultRow, strict=False)
    except msgspec.ValidationError as error:
        raise InputError(
            f"{location}: {error}; expected results of a search"
        ) from error
    return {**dict.fromkeys(row), **cells, **values}
