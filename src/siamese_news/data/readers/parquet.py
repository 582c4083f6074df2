"""Records of Parquet files, a batch at a time."""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from siamese_news.data.lines import BadRow
from siamese_news.data.readers.fields import Record
from siamese_news.data.readers.inputs import Input
from siamese_news.data.readers.values import iso_seconds
from siamese_news.errors import InputError
from siamese_news.utils.files import for_arrow

_BATCH = 1024  # rows that are decoded at once
# Decoders believe the counts in a file. Ids differ, so a real row takes more than a bit or two.
_ROWS_PER_BYTE = 8
_GROUPS = 100_000
_CHUNK = 2**28  # size of a column in a row group from which its ratio is checked
_RATIO = 500  # bytes decoded for each byte of the file: words shrink to a tenth at best
# Errors of pyarrow over a damaged file; its own exceptions are among these.
_BROKEN = (
    OSError,
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    MemoryError,
    RuntimeError,
)


def parquet_columns(source: Input) -> list[str]:
    """The names of the columns.

    Raises:
        InputError: it is not a Parquet file, or declares more than it can hold.
    """
    with _reading(source) as file:
        names = list(file.schema_arrow.names)
    if len(set(names)) < len(names):
        raise InputError(
            f"{source.name}: two columns have one name; rename one of: {names}"
        )
    return names


def parquet_rows(
    source: Input, names: tuple[str, ...], progress: Callable[[float], None]
) -> Iterator[tuple[int, Record | BadRow, Any]]:
    """Yield (row from 1, record, the record again) of the columns `names`.

    `progress` is called with the share of the rows read so far.

    Raises:
        InputError: it is not a Parquet file.
    """
    number = decoded = 0
    limit = max(_CHUNK, _RATIO * (source.size or 0))
    with _reading(source) as file:
        total = max(1, file.metadata.num_rows)
        try:
            for batch in file.iter_batches(
                _BATCH, columns=list(names), use_threads=False
            ):
                progress((number + len(batch)) / total)
                columns = [_values(batch.column(name)) for name in names]
                decoded += sum(
                    len(v) for column in columns for v in column if isinstance(v, str)
                )
                if decoded > limit:
                    raise InputError(
                        f"{source.name}: {source.size:,} bytes unpack to more than {decoded:,} "
                        "characters; the file is made to fill the memory"
                    )
                for values in zip(*columns, strict=True):
                    number += 1
                    record = dict(zip(names, values, strict=True))
                    bad = next((v for v in values if isinstance(v, BadRow)), None)
                    yield number, bad or record, record
        except InputError:
            raise
        except _BROKEN as error:
            message = f"cannot be read further ({error}); the file is damaged"
            yield number + 1, BadRow("damaged file", message), ""


def _reading(source: Input) -> Any:
    import pyarrow.parquet

    assert source.path is not None
    size = source.path.stat().st_size
    try:
        strings = [
            f.name
            for f in pyarrow.parquet.read_schema(for_arrow(source.path))
            if pyarrow.types.is_string(f.type)
        ]
        # Buffered: a column is never read whole. Strings stay in their dictionaries: a thousand
        # rows with one long value hold it once.
        file = pyarrow.parquet.ParquetFile(
            for_arrow(source.path),
            buffer_size=2**20,
            thrift_container_size_limit=_GROUPS * 10,
            read_dictionary=strings,
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
    for at in product(range(metadata.num_row_groups), range(metadata.num_columns)):
        column = metadata.row_group(at[0]).column(at[1])
        decoded = column.total_uncompressed_size
        packed = column.total_compressed_size
        if decoded > _CHUNK and decoded > _RATIO * min(max(packed, 1), size):
            raise InputError(
                f"{source.name}: column '{column.path_in_schema}' would unpack {packed:,} bytes to "
                f"{decoded:,}; the file is made to fill the memory"
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
        # Every row that has a value shares it.
        values = _values(array.dictionary)
        return [None if at is None else values[at] for at in array.indices.to_pylist()]
    if types.is_string(array.type) or types.is_large_string(array.type):
        try:
            return list(array.to_pylist())
        except UnicodeDecodeError:
            large = types.is_large_string(array.type)
            array = array.cast(pyarrow.large_binary() if large else pyarrow.binary())
    return [_decoded(value) for value in array.to_pylist()]


def _decoded(value: Any) -> Any:
    try:
        return value.decode() if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        return BadRow(
            "not UTF-8", "bytes that are not UTF-8; write the column as UTF-8 text"
        )
