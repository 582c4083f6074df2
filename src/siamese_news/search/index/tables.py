"""The strings of a segment, in Arrow files: written in pieces, read by row."""

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from siamese_news.search.index.arrays import ArrayWriter

_PIECE = 1024  # rows; a packed piece is unpacked as a whole
_HELD = 8  # pieces in memory


class Table:
    """Writes a table, and in a .npy file which row each piece begins with.

    Args:
        path: of the table.
        columns: names and types.
        packed: whether the pieces are packed with zstd.
    """

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
        """All is on the disk after this."""
        self._table.close()
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._stream.close()
        self._firsts.close()


class TableRows:
    """Reads what `Table` wrote, by row.

    Args:
        path: of the table.
    """

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
