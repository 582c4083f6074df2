"""Scored posts as a population: their ids, their scores from the highest down, their texts."""

import csv
import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from siamese_news.decide.design import keys_of
from siamese_news.errors import InputError
from siamese_news.utils.files import open_binary
from siamese_news.utils.spreadsheet import unguarded

_PIECE = 2**18  # rows that are Python objects at one time
_PARQUET = (".parquet", ".pq")
_TREC = (".trec", ".run")
_TREC_COLUMNS = ("article", "q0", "post", "rank", "score", "tag")
_LINKS = ("link", "permalink", "url")


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
        ids, articles, scores = _columns(path)
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
        texts = _texts(self.path, rows)
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


def _ending(path: Path) -> str:
    suffixes = [s for s in path.suffixes if s.lower() not in (".gz", ".zst")]
    return suffixes[-1].lower() if suffixes else ""


def _columns(path: Path) -> tuple[Any, Any, NDArray[np.float64]]:
    """Ids, articles (or None) and scores, in the order of the file."""
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
    return pa.chunked_array(ids).combine_chunks(), merged, np.concatenate(scores)


def _parquet_columns(path: Path) -> tuple[Any, Any, NDArray[np.float64]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not path.is_file():
        raise InputError(f"{path}: no such file; check the path")
    try:
        names = pq.read_schema(path).names
        _expect(path, names)
        wanted = [name for name in ("post", "score", "article") if name in names]
        table = pq.read_table(path, columns=wanted, read_dictionary=["article"])
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: not a Parquet file that can be read ({error})") from error
    ids = table.column("post")
    if pa.types.is_floating(ids.type):
        raise InputError(f"{path}: column 'post' holds fractions, so ids lost digits; write text")
    if ids.null_count or table.column("score").null_count:
        raise InputError(f"{path}: a post has no id or no score; expected both in every row")
    try:
        scores = table.column("score").cast(pa.float64()).to_numpy()
    except pa.ArrowException as error:
        raise InputError(f"{path}: column 'score' is not a number ({error})") from error
    if not (pa.types.is_string(ids.type) or pa.types.is_large_string(ids.type)):
        ids = ids.cast(pa.large_string())
    ids = ids.combine_chunks()
    article = table.column("article") if "article" in table.column_names else None
    return ids, article, scores


def _texts(path: Path, rows: Sequence[int]) -> dict[int, tuple[str, str]]:
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
    with open_binary(path) as stream:
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
