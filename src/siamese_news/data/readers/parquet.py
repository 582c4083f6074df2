"""Records of Parquet files, a batch at a time."""

from collections.abc import Callable, Iterator
from typing import Any

from siamese_news.data.lines import BadRow
from siamese_news.data.readers.dates import iso_seconds
from siamese_news.data.readers.fields import Record
from siamese_news.data.readers.inputs import Input
from siamese_news.errors import InputError

_BATCH = 8192
# Decoders believe the counts in a file. Ids differ, so a real row takes more than a bit or two.
_ROWS_PER_BYTE = 8
_GROUPS = 100_000
# What pyarrow raises over a damaged file; its own exceptions are among these.
_BROKEN = (OSError, ValueError, TypeError, LookupError, ArithmeticError, MemoryError, RuntimeError)


def parquet_columns(source: Input) -> list[str]:
    """The names of the columns.

    Raises:
        InputError: for a file that is none, or promises more than it can hold.
    """
    with _reading(source) as file:
        names = list(file.schema_arrow.names)
    if len(set(names)) < len(names):
        raise InputError(f"{source.name}: two columns have one name; rename one of: {names}")
    return names


def parquet_rows(
    source: Input, names: tuple[str, ...], progress: Callable[[float], None]
) -> Iterator[tuple[int, Record | BadRow, Any]]:
    """Yield (row from 1, record, the record again) of the columns `names`.

    Args:
        source: the file.
        names: the columns to read.
        progress: told the share of the rows that has been read.

    Raises:
        InputError: for a file that is no Parquet file.
    """
    number = 0
    with _reading(source) as file:
        total = max(1, file.metadata.num_rows)
        try:
            for batch in file.iter_batches(_BATCH, columns=list(names), use_threads=False):
                progress((number + len(batch)) / total)
                columns = [_values(batch.column(name)) for name in names]
                for values in zip(*columns, strict=True):
                    number += 1
                    record = dict(zip(names, values, strict=True))
                    bad = next((v for v in values if isinstance(v, BadRow)), None)
                    yield number, bad or record, record
        except _BROKEN as error:
            message = f"cannot be read on from here ({error}); the file is damaged"
            yield number + 1, BadRow("damaged file", message), ""


def _reading(source: Input) -> Any:
    import pyarrow.parquet

    if source.path is None:
        raise InputError(f"{source.name}: Parquet needs a file; save it first")
    size = source.path.stat().st_size
    try:
        # Buffered: a column is never read whole.
        file = pyarrow.parquet.ParquetFile(
            source.path, buffer_size=2**20, thrift_container_size_limit=_GROUPS * 10
        )
    except _BROKEN as error:
        raise InputError(
            f"{source.name}: not a Parquet file that can be read ({error}); get or make it again"
        ) from error
    metadata = file.metadata
    if metadata.num_rows > size * _ROWS_PER_BYTE or metadata.num_row_groups > _GROUPS:
        raise InputError(
            f"{source.name}: promises {metadata.num_rows:,} rows in {metadata.num_row_groups:,} "
            f"row groups, but has {size:,} bytes; the file is damaged or made to fill the memory"
        )
    return file


def _values(array: Any) -> list[Any]:
    """The column's values as JSON would have them; `BadRow` for text that is not UTF-8."""
    import pyarrow
    from pyarrow import types

    if types.is_date(array.type) or types.is_timestamp(array.type):
        # By way of seconds: Python's dates end at the year 9999, and a file's need not.
        moments = array.cast(pyarrow.timestamp("s"), safe=False).cast(pyarrow.int64())
        return [v if v is None else iso_seconds(v) for v in moments.to_pylist()]
    if types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if types.is_string(array.type) or types.is_large_string(array.type):
        try:
            return list(array.to_pylist())
        except UnicodeDecodeError:
            large = types.is_large_string(array.type)
            array = array.cast(pyarrow.large_binary() if large else pyarrow.binary())
    values: list[Any] = array.to_pylist()
    return [_decoded(v) if isinstance(v, bytes) else v for v in values]


def _decoded(value: bytes) -> str | BadRow:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return BadRow("not UTF-8", "bytes that are not UTF-8; write the column as UTF-8 text")
