"""The folder ``<out>.shards``, in which the parts of a search exchange data."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from siamese_news.errors import InputError
from siamese_news.search.partial_results import difference
from siamese_news.utils.files import atomic_write, write_json


class ShardFolder:
    """Files of a search in parts. Every file appears whole, or not at all.

    ``work.json`` has the job and the number of parts. For part n there are
    ``n.read.json`` (once its posts are read), ``n.observed-r`` (what it observed in pass r),
    ``n.scored.json`` (once its rows are written), and the files that these name.
    ``pool-r`` holds what all parts observed in pass r; ``settled`` appears after the last pass.

    Attributes:
        shards: how many parts there are, once `start` has been called.
    """

    def __init__(self, out: Path) -> None:
        self.path = out.with_name(out.name + ".shards")
        self.shards = 0

    def start(self, job: Mapping[str, Any], shards: int) -> None:
        """Make the folder, or check that it belongs to the same job.

        Args:
            job: what must be the same: name -> plain value.
            shards: how many parts a new folder has.

        Raises:
            InputError: it belongs to another job, or is damaged.
        """
        path = self.path / "work.json"
        if not path.exists():
            self.path.mkdir(parents=True, exist_ok=True)
            write_json(path, {"job": dict(job), "shards": shards})
        found, mine = self._read(path), json.loads(json.dumps(dict(job)))
        if said := difference(found.get("job", {}), mine):
            raise InputError(
                f"{self.path}: was made with other settings ({said}); continue with the same "
                "command, model and posts, or remove the folder to start over"
            )
        self.shards = int(found["shards"])

    def file(self, index: int, name: str) -> Path:
        """A file of part `index`, from 0."""
        return self.path / f"{index + 1:05}.{name}"

    def missing(self, name: str) -> list[int]:
        """The parts that lack a file."""
        return [index for index in range(self.shards) if not self.file(index, name).exists()]

    def read(self, index: int, name: str) -> dict[str, Any]:
        """A JSON file of part `index`."""
        return self._read(self.file(index, name))

    def write(self, index: int, name: str, values: Mapping[str, Any]) -> None:
        """Write a JSON file of part `index`."""
        write_json(self.file(index, name), dict(values))

    @property
    def passes(self) -> int:
        """How many passes over the pool all parts have done together."""
        return len(list(self.path.glob("pool-*")))

    def pool(self) -> bytes:
        """What was observed in the last of these passes."""
        return (self.path / f"pool-{self.passes}").read_bytes() if self.passes else b""

    @property
    def settled(self) -> bool:
        """Whether the parts can be scored."""
        return (self.path / "settled").exists()

    def _read(self, path: Path) -> dict[str, Any]:
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            return dict(found)
        except (OSError, ValueError, TypeError) as error:
            raise InputError(
                f"{path}: is damaged ({error}); remove the folder {self.path.name} to start over"
            ) from error


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file, whole or not at all."""
    with atomic_write(path, "wb") as stream:
        stream.write(data)
