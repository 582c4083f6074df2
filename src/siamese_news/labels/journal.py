"""A file of JSON lines that only grows; what was appended is on the disk."""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from siamese_news.errors import InputError


class Journal:
    """JSON lines. A last line without its end was never confirmed to anybody: it is cut off.

    Args:
        path: of the file; need not be there yet.

    Attributes:
        rows: number of the line (from 1) and its object, of every line.

    Raises:
        InputError: for a damaged line that is not the last one.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: list[tuple[int, dict[str, Any]]] = []
        content = path.read_bytes() if path.exists() else b""
        self._size = content.rfind(b"\n") + 1
        for number, line in enumerate(content[: self._size].split(b"\n")[:-1], 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
                if not isinstance(row, dict):
                    raise TypeError("not an object")
            except (ValueError, TypeError, RecursionError) as error:
                raise self.damaged(number, error) from error
            self.rows.append((number, row))

    def damaged(self, number: int, error: object) -> InputError:
        """What to raise for a line that cannot be used."""
        return InputError(f"{self.path}:{number}: is damaged ({error}); restore it from a copy")

    def append(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add lines; they are on the disk when this returns."""
        new = [dict(row) for row in rows]
        data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in new).encode()
        with open(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666), "r+b") as stream:
            stream.truncate(self._size)
            stream.seek(self._size)
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        self._size += len(data)
        last = self.rows[-1][0] if self.rows else 0
        self.rows += enumerate(new, last + 1)
