"""The arrays of a segment: written row by row in the .npy format, read as memory maps."""

import mmap
import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import DTypeLike, NDArray

from siamese_news.errors import InputError
from siamese_news.search.pool import Ints
from siamese_news.utils.zstd_module import zstd


class ArrayWriter:
    """A .npy file that grows by rows of the shape `columns`."""

    def __init__(self, path: Path, dtype: DTypeLike, *columns: int) -> None:
        self._dtype = np.dtype(dtype)
        self._columns = columns
        self._rows = 0
        self._stream: IO[bytes] = path.open("wb")
        self._header()

    def _header(self) -> None:
        # Numpy leaves room in the header for the length to grow.
        shape = (self._rows, *self._columns)
        header = {
            "descr": npy.dtype_to_descr(self._dtype),
            "fortran_order": False,
            "shape": shape,
        }
        npy.write_array_header_1_0(self._stream, header)

    def append(self, rows: NDArray[Any]) -> None:
        """Add rows of the right type and shape."""
        self._stream.write(np.ascontiguousarray(rows).data)
        self._rows += len(rows)

    def close(self) -> None:
        """Write the length and flush the file to the disk."""
        self._stream.seek(0)
        self._header()
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._stream.close()


def rounded_up(values: NDArray[Any]) -> NDArray[np.float16]:
    """The values rounded up to 16-bit floats."""
    rounded = values.astype(np.float16)
    above = np.nextafter(rounded, np.float16(np.inf))
    return np.where(rounded < values, above, rounded)


_PIECE = 1024  # rows; a packed piece is unpacked as a whole
_LARGEST = 1 << 28  # bytes of a piece: 256 KiB for each row
_HELD = 8  # pieces in memory
# A copied piece need not stay mapped: what is mapped counts as memory of the process.
_FORGET = getattr(mmap, "MADV_DONTNEED", None)


def read_array(
    folder: Path, name: str, dtype: DTypeLike, *columns: int
) -> NDArray[Any]:
    """The rows of an array that `ArrayWriter` wrote, mapped.

    Raises:
        ValueError: they have another type or shape.
    """
    try:
        # As a plain array: slices of a numpy.memmap are slow.
        array = np.load(folder / f"{name}.npy", mmap_mode="r").view(np.ndarray)
    except OSError:
        raise
    except Exception as error:  # numpy's parser of a header raises whatever it meets
        raise ValueError(f"{name}.npy is not an array of numpy") from error
    if array.dtype != np.dtype(dtype) or array.ndim != 1 + len(columns):
        raise ValueError(
            f"{name}.npy has the type {array.dtype} and shape {array.shape}"
        )
    if array.shape[1:] != columns:
        raise ValueError(f"{name}.npy has the shape {array.shape}")
    return array


class Table:
    """Writes rows of byte strings in pieces, which may be packed, and the places of the pieces."""

    def __init__(self, folder: Path, name: str, columns: int, *, packed: bool) -> None:
        self._columns = columns
        self._packed = packed
        self._content = ArrayWriter(folder / f"{name}.npy", np.uint8)
        self._places = ArrayWriter(folder / f"{name}_places.npy", np.int64, 2)
        self._rows = self._end = 0

    def append(self, columns: Sequence[Sequence[bytes]]) -> None:
        """Add rows, column by column."""
        for start in range(0, len(columns[0]), _PIECE):
            values = [
                value for column in columns for value in column[start : start + _PIECE]
            ]
            lengths = np.fromiter(map(len, values), np.uint32, len(values))
            piece = b"".join([lengths.tobytes(), *values])
            if len(piece) > _LARGEST:
                raise InputError(
                    f"{_PIECE:,} posts in a row have more than {_LARGEST >> 20} MiB of text or "
                    "fields, more than an index takes; is one of their fields a whole file?"
                )
            if self._packed:
                piece = zstd.compress(piece)
            self._places.append(np.array([[self._rows, self._end]], np.int64))
            self._content.append(np.frombuffer(piece, np.uint8))
            self._rows += len(values) // self._columns
            self._end += len(piece)

    def close(self) -> None:
        """Finish the files and flush them to the disk."""
        self._places.append(np.array([[self._rows, self._end]], np.int64))
        self._content.close()
        self._places.close()


class TableRows:
    """Reads a `Table` by row."""

    def __init__(self, folder: Path, name: str, columns: int, *, packed: bool) -> None:
        self._columns = columns
        self._packed = packed
        boundaries = read_array(folder, f"{name}_places", np.int64, 2)
        path = folder / f"{name}.npy"
        # A map outlives its file, which a reader needs while another process replaces the index.
        with path.open("rb") as file:
            self._content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        size = len(read_array(folder, name, np.uint8))
        self._firsts, starts = boundaries.T.copy()
        rows = np.diff(self._firsts)
        covers_file = len(boundaries) and (self._firsts[0], starts[0], starts[-1]) == (
            0,
            0,
            size,
        )
        in_order = (rows >= 1).all() and (np.diff(starts) >= 0).all()
        if not covers_file or not in_order or (rows > _PIECE).any():
            raise ValueError(f"{name}_places.npy names places outside of {name}.npy")
        self._starts = starts + len(self._content) - size
        self._path = path
        self._piece = lru_cache(_HELD)(self._read)

    def __len__(self) -> int:
        return int(self._firsts[-1])

    def _read(self, piece_number: int) -> tuple[bytes, Ints]:
        """The bytes of a piece, and where each value in them begins, with the end."""
        try:
            return self._unpacked(piece_number)
        except (ValueError, zstd.ZstdError) as error:
            raise InputError(
                f"{self._path}: is damaged ({error}); build the index again"
            ) from error

    def _unpacked(self, piece_number: int) -> tuple[bytes, Ints]:
        piece = self._content[
            self._starts[piece_number] : self._starts[piece_number + 1]
        ]
        if _FORGET is not None:
            self._content.madvise(_FORGET)
        if self._packed:
            unpacker = zstd.ZstdDecompressor()
            piece = unpacker.decompress(piece, _LARGEST)
            if not unpacker.eof:
                raise ValueError(
                    "a piece is cut off, or unpacks to more than any index has"
                )
        count = (
            int(self._firsts[piece_number + 1] - self._firsts[piece_number])
            * self._columns
        )
        lengths = np.frombuffer(piece, np.uint32, count)
        ends = np.cumsum(lengths, dtype=np.int64)
        starts = lengths.nbytes + np.concatenate([np.zeros(1, np.int64), ends])
        if starts[-1] != len(piece):
            raise ValueError("the lengths of its values are not those of a piece")
        return piece, starts

    def __getitem__(self, row: int) -> tuple[bytes, ...]:
        piece_number = int(np.searchsorted(self._firsts, row, side="right")) - 1
        piece, starts = self._piece(piece_number)
        step = int(self._firsts[piece_number + 1] - self._firsts[piece_number])
        within = range(
            row - int(self._firsts[piece_number]), step * self._columns, step
        )
        return tuple(piece[starts[at] : starts[at + 1]] for at in within)

    def pieces(self) -> Iterator[tuple[int, list[list[bytes]]]]:
        """The first row and the columns of one piece after the other."""
        for piece_number, first_row in enumerate(self._firsts[:-1].tolist()):
            piece, starts = self._read(piece_number)
            values = [piece[start:end] for start, end in pairwise(starts.tolist())]
            step = len(values) // self._columns
            yield (
                first_row,
                [values[n * step : (n + 1) * step] for n in range(self._columns)],
            )
