"""The conversations of the posts from the threshold on, as `siamese-news threads` finds them."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_news.desk.project import Project
from siamese_news.desk.search import FIELDS, command_line, posts_of
from siamese_news.errors import InputError
from siamese_news.search.conversations import COLUMNS, bring_threads
from siamese_news.search.output import write_rows
from siamese_news.utils.files import atomic_write, write_json

MOST = 100
"""Posts of each thread at most."""


class Threads:
    """The threads of the present search.

    Args:
        project: whose.
    """

    def __init__(self, project: Project) -> None:
        self._project = project
        self._guard = threading.Lock()
        self._held: tuple[object, NDArray[np.int32], NDArray[np.int32]] | None = None

    @property
    def path(self) -> Path:
        """The file of threads of the current search, whether it exists or not."""
        return self._project.search / "threads.parquet"

    def find(self, results: Path, threshold: float) -> list[str]:
        """Find the threads of a list, and say what was found.

        Args:
            results: the list.
            threshold: from which its posts are.
        """
        with self._guard:
            rows, said = bring_threads(results, posts_of(self._project), most=MOST)
            with atomic_write(self.path, "wb") as stream:
                write_rows(stream, rows, "parquet", columns=COLUMNS)
            meta = json.loads((results.with_name(results.name + ".meta.json")).read_text("utf-8"))
            remarks = [*meta.get("remarks", ()), *said]
            write_json(
                self.path.with_name(self.path.name + ".meta.json"),
                meta | {"remarks": remarks, "said": said, "threshold": threshold},
            )
        return said

    def found(self) -> dict[str, Any] | None:
        """What was said of them (``said``) and their ``threshold``; None where none were found."""
        if not self.path.exists():
            return None
        meta = self.path.with_name(self.path.name + ".meta.json")
        try:
            return dict(json.loads(meta.read_text("utf-8")))
        except (OSError, ValueError):
            return None

    def sizes(self, posts: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """By rank: the number of the thread whose best post it is, else 0, and the thread's size.

        Args:
            posts: how many the results have.

        Raises:
            InputError: they are not found yet.
        """
        import pyarrow.parquet as pq

        with self._guard:
            if not self.path.exists():
                raise InputError("the threads are not found yet; find them first")
            stamp = self.path, self.path.stat().st_mtime_ns
            if self._held is None or self._held[0] != stamp:
                table = pq.read_table(self.path, columns=["thread_rank", "rank"])
                thread, rank = (table.column(name) for name in ("thread_rank", "rank"))
                number, ranks = thread.to_numpy(), rank.fill_null(0).to_numpy()
                sizes, found = np.bincount(number), ranks > 0
                order = np.lexsort((ranks[found], number[found]))
                names, first = np.unique(number[found][order], return_index=True)
                best = ranks[found][order][first]
                lead, size = (np.zeros(posts, np.int32) for _ in range(2))
                lead[best - 1], size[best - 1] = names, sizes[names]
                self._held = stamp, lead, size
            return self._held[1:]

    def rows(self, number: int | None = None) -> Iterator[dict[str, Any]]:
        """The rows of a thread, or of all.

        Raises:
            InputError: they are not found yet.
        """
        import pyarrow.parquet as pq

        if not self.path.exists():
            raise InputError("the threads are not found yet; find them on the view of posts")
        if number is not None:
            own = [("thread_rank", "=", number)]
            yield from pq.read_table(self.path, filters=own).to_pylist()
            return
        for batch in pq.ParquetFile(self.path).iter_batches(8192):
            yield from batch.to_pylist()

    def commands(self) -> list[str]:
        """The equivalent command lines, to be run in the project's folder."""
        project, out = self._project, "hand-over/threads.parquet"
        options = project.config()["options"]
        reading = [
            part
            for name in FIELDS
            if options.get(name)
            for part in (f"--{name.replace('_', '-')}", str(options[name]))
        ]
        return [
            command_line(
                [
                    "threads",
                    "--results",
                    "hand-over/found.parquet",
                    "--posts",
                    *project.sources("posts"),
                    *reading,
                    "--out",
                    out,
                ]
            ),
            command_line(["report", "--results", out, "--out", "hand-over/threads.html"]),
        ]
