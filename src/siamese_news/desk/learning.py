"""An order learned from the labels of a project: what the command `feedback` writes."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from siamese_news.desk.project import Project
from siamese_news.desk.search import command_line
from siamese_news.errors import InputError
from siamese_news.utils.files import atomic_write


@dataclass(frozen=True, slots=True)
class Learned:
    """What labels taught.

    Attributes:
        sentence: what cross-validation says.
        words: that speak for a post, and against it.
        helps: whether the order may be used.
        labels: how many labelled posts there were.
    """

    sentence: str
    words: list[str]
    helps: bool
    labels: int


class Learning:
    """Learning from the labels of the present search.

    Args:
        project: whose.
    """

    def __init__(self, project: Project) -> None:
        self._project = project
        self._guard = threading.Lock()
        self._places: tuple[int, NDArray[np.int64]] | None = None

    def learn(self, labels: Callable[[], Path], count: int) -> Learned:
        """Run the command over the labels that there are.

        Args:
            labels: writes the file of labels.
            count: how many posts it has.

        Raises:
            InputError: where it refuses; says why.
        """
        with self._guard:
            if not self._project.results.exists():
                raise InputError("there are no results yet; search first")
            given = labels()
            for path in (self._file, self._said):
                path.unlink(missing_ok=True)
            done = subprocess.run(
                [sys.executable, "-m", "siamese_news", *self._arguments(given)],
                cwd=self._project.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            )  # fmt: skip
            if done.returncode:
                last = done.stderr.strip().splitlines()[-1:] or ["feedback ended without a word"]
                raise InputError(last[0].removeprefix("siamese-news: "))
            sentence, *words = done.stdout.strip().splitlines()
            found = Learned(sentence, words, self._file.exists(), count)
            with atomic_write(self._said) as stream:
                json.dump(asdict(found), stream, indent=1, ensure_ascii=False)
            return found

    def found(self) -> Learned | None:
        """What was learned last; None where nothing was."""
        try:
            return Learned(**json.loads(self._said.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def places(self) -> NDArray[np.int64] | None:
        """The rank in the learned order by the rank in that of the search; None without one."""
        try:
            stamp = self._file.stat().st_mtime_ns
        except OSError:
            return None
        if self._places is None or self._places[0] != stamp:
            import pyarrow.parquet as pq

            table = pq.read_table(self._file, columns=["rank", "rank_before"])
            places = np.empty(len(table), np.int64)
            places[table.column("rank_before").to_numpy() - 1] = table.column("rank").to_numpy()
            self._places = stamp, places
        return self._places[1]

    def commands(self) -> list[str]:
        """The command line that does the same."""
        labels = self._project.handed / "labels.csv"
        return [command_line(self._arguments(labels))] if self._said.exists() else []

    @property
    def _file(self) -> Path:
        return self._project.search / "learned.parquet"

    @property
    def _said(self) -> Path:
        return self._project.search / "learned.json"

    def _arguments(self, labels: Path) -> list[str]:
        paths = (self._project.results, labels, self._file)
        results, given, out = (str(path.relative_to(self._project.folder)) for path in paths)
        return ["feedback", "--results", results, "--labels", given, "--out", out]
