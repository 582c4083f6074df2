"""The arrays of a segment: written row by row in the .npy format, read as memory maps."""

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import DTypeLike, NDArray

UNDATED = np.iinfo(np.int64).min
"""The date of a post without one that can be read."""


class ArrayWriter:
    """A .npy file that grows along its first axis.

    Args:
        path: of the file.
        dtype: of the numbers.
        columns: shape of a row; nothing where it is a number.
    """

    def __init__(self, path: Path, dtype: DTypeLike, *columns: int) -> None:
        self._dtype, self._columns, self._rows = np.dtype(dtype), columns, 0
        self._stream: IO[bytes] = path.open("wb")
        self._header()
        self._start = self._stream.tell()

    def _header(self) -> None:
        # Numpy leaves room in the header for the length to grow.
        shape = (self._rows, *self._columns)
        header = {"descr": npy.dtype_to_descr(self._dtype), "fortran_order": False, "shape": shape}
        npy.write_array_header_1_0(self._stream, header)

    def append(self, rows: NDArray[Any]) -> None:
        """Add rows, of the type and shape that were said."""
        assert rows.dtype == self._dtype and rows.shape[1:] == self._columns
        self._stream.write(np.ascontiguousarray(rows).data)
        self._rows += len(rows)

    def close(self) -> None:
        """Write the length and flush the file to the disk."""
        self._stream.seek(0)
        self._header()
        assert self._stream.tell() == self._start
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._stream.close()


def ragged(starts: NDArray[Any], rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Where the items of some rows lie, one row after the other, and how many each row has.

    Args:
        starts: (P + 1,) where each row's items begin.
        rows: (n,) which rows.
    """
    first = starts[rows].astype(np.int64)
    lengths = starts[rows + 1].astype(np.int64) - first
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(first - (ends - lengths), lengths) + np.arange(total), lengths


def rounded_up(values: NDArray[Any]) -> NDArray[np.float16]:
    """The values rounded up to 16-bit floats."""
    found = values.astype(np.float16)
    return np.where(found < values, np.nextafter(found, np.float16(np.inf)), found)


_PIECE = 1024  # rows; a packed piece is unpacked as a whole
_HELD = 8  # pieces in memory


class Table:
    """Writes a table, and in a .npy file which row each piece begins with."""

    def __init__(self, path: Path, columns: Mapping[str, Any], *, packed: bool) -> None:
        import pyarrow as pa

        self._pa, self._schema = pa, pa.schema(list(columns.items()))
        self._firsts = ArrayWriter(_firsts(path), np.int64)
        self._rows = 0
        self._stream = path.open("wb")
        options = pa.ipc.IpcWriteOptions(compression="zstd" if packed else None)
        self._table = pa.ipc.new_file(self._stream, self._schema, options=options)

    def append(self, columns: Sequence[Any]) -> None:
        """Add rows."""
        batch = self._pa.record_batch(list(columns), schema=self._schema)
        for start in range(0, batch.num_rows, _PIECE):
            piece = batch.slice(start, _PIECE)
            self._table.write_batch(piece)
            self._firsts.append(np.array([self._rows], np.int64))
            self._rows += piece.num_rows

    def close(self) -> None:
        """Finish the files and flush them to the disk."""
        self._table.close()
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._stream.close()
        self._firsts.close()


class TableRows:
    """Reads what `Table` wrote, by row."""

    def __init__(self, path: Path) -> None:
        import pyarrow as pa

        self._table = pa.ipc.open_file(pa.memory_map(str(path)))
        self._firsts = np.load(_firsts(path))
        self._piece = lru_cache(_HELD)(self._table.get_batch)

    def __getitem__(self, row: int) -> tuple[Any, ...]:
        place = int(np.searchsorted(self._firsts, row, side="right")) - 1
        within = row - int(self._firsts[place])
        return tuple(column[within].as_py() for column in self._piece(place).columns)

    def pieces(self) -> Iterator[tuple[int, Any]]:
        """The first row and the table of one piece after the other."""
        for place, first in enumerate(self._firsts.tolist()):
            yield first, self._table.get_batch(place)


def _firsts(path: Path) -> Path:
    return path.with_name(f"{path.stem}_firsts.npy")
