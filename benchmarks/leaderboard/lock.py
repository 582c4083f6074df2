"""The lock, written before a test is scored, and the ledger of the scorings by the leaderboard."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.leaderboard.rows import Board, Row, digest
from siamese_news.errors import InputError
from siamese_news.utils.files import atomic_write
from siamese_news.utils.provenance import provenance

Document = dict[str, Any]


def read(path: Path, empty: Any) -> Any:
    """A JSON file, or `empty` where there is none."""
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else empty


def write(path: Path, document: Any) -> None:
    with atomic_write(path) as stream:
        json.dump(document, stream, indent=1, ensure_ascii=False, sort_keys=True)
        stream.write("\n")


class Lock:
    """Every row's options, choices, model hashes and the dev figures that chose them.

    Args:
        path: path of lock.json.
        board: the rows as they are now.
    """

    def __init__(self, path: Path, board: Board) -> None:
        self._path, self._board = path, board
        self._rows: dict[str, Document] = read(path, {"rows": {}})["rows"]

    def __contains__(self, name: str) -> bool:
        return name in self._rows

    def put(self, row: Row, choices: Mapping[str, Any], chosen_by: Any) -> None:
        """Write a row's entry, in place of an earlier one."""
        about = provenance()
        self._rows[row.name] = {
            **self._board.described(row, choices),
            "choices": dict(choices),
            "chosen_by": chosen_by,
            "date": about["date"],
            "revision": about["revision"],
        }
        write(self._path, {"rows": self._rows})

    def entry(self, row: Row) -> Document:
        """The entry of a row.

        Raises:
            InputError: the entry is missing, or the row or its model differs from what was locked.
        """
        changed = self.changed(row)
        again = f"python -m benchmarks.leaderboard choose --rows {row.name}"
        if row.name not in self._rows:
            raise InputError(f"{self._path}: row {row.name} is not locked; run {again}")
        if changed:
            raise InputError(
                f"{self._path}: row {row.name} was locked with other {', '.join(changed)}; a test "
                f"is scored with what dev pools chose: run {again}"
            )
        return self._rows[row.name]

    def changed(self, row: Row) -> list[str]:
        """The parts of a row that differ from the lock; empty for a row that may be scored."""
        entry = self._rows.get(row.name, {"choices": {}})
        now = self._board.described(row, entry["choices"])
        return [key for key in now if now[key] != entry.get(key)]

    def key(self, row: Row) -> str:
        """A hash that identifies the row as it is locked."""
        return digest(self._board.described(row, self.entry(row)["choices"]))


class Ledger:
    """Records which row was scored on which test, when and how often.

    Args:
        path: path of scored.json.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries: list[Document] = read(path, [])

    def count(self, row: str, test: str) -> int:
        """How often a row was scored on a test, under any options and models."""
        return sum(
            entry["row"] == row and entry["test"] == test for entry in self._entries
        )

    def last_key(self, row: str, test: str) -> str | None:
        """The key under which a row was last scored on a test."""
        keys = [
            one["key"]
            for one in self._entries
            if (one["row"], one["test"]) == (row, test)
        ]
        return keys[-1] if keys else None

    def add(self, row: str, test: str, key: str, models: list[str]) -> None:
        """Append one scoring, which is on disk before its figures can be read."""
        about = provenance()
        self._entries.append(
            {
                "row": row,
                "test": test,
                "count": self.count(row, test) + 1,
                "key": key,
                "models": models,
                "date": about["date"],
                "revision": about["revision"],
            }
        )
        write(self._path, self._entries)
