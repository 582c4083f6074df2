"""The conversations of the posts from the threshold on, as `siamese-news threads` finds them."""

import threading
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_news.desk.project import Project, read_json
from siamese_news.desk.search import posts_of, reading_options
from siamese_news.errors import InputError
from siamese_news.labels.results import result_meta, result_rows
from siamese_news.search.conversations import COLUMNS, bring_threads
from siamese_news.search.output import write_rows
from siamese_news.utils.files import atomic_write, write_json

MOST = 100
"""Posts of each thread at most."""

Leads = tuple[NDArray[np.int32], NDArray[np.int32]]
"""By rank: the number of the thread whose best post it is, else 0, and the size of the thread."""


class Threads:
    """The threads of the current search."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._guard = threading.Lock()

    @property
    def path(self) -> Path:
        """The file of threads of the current search, whether it exists or not."""
        return self._project.search / "threads.parquet"

    def find(self, results: Path, threshold: float) -> list[str]:
        """Find the threads of the posts in a file from a threshold on; returns remarks."""
        with self._guard:
            rows, said = bring_threads(results, posts_of(self._project), most=MOST)
            with atomic_write(self.path, "wb") as stream:
                write_rows(stream, rows, "parquet", columns=COLUMNS)
            meta = result_meta(results)
            remarks = [*meta.get("remarks", ()), *said]
            write_json(
                self._meta, meta | {"remarks": remarks, "said": said, "threshold": threshold}
            )
        return said

    def found(self) -> dict[str, Any]:
        """The remarks on the threads (``said``) and their ``threshold``; empty before `find`."""
        return read_json(self._meta) if self.path.exists() else {}

    def leads(self, posts: int) -> Leads:
        """The best posts of the threads, by the ranks of so many results."""
        path = self.require()
        with self._guard:
            return _leads(path, path.stat().st_mtime_ns, posts)

    def rows(self, number: int | None = None) -> Iterable[Mapping[str, Any]]:
        """The rows of a thread, or of all; an error before `find`."""
        import pyarrow.parquet as pq

        path = self.require()
        if number is None:
            return (row for _, row in result_rows(path))
        rows: list[dict[str, Any]] = pq.read_table(
            path, filters=[("thread_rank", "=", number)]
        ).to_pylist()
        return rows

    def commands(self) -> list[str]:
        """The equivalent command lines, to be run in the project's folder."""
        project, exports = self._project, self._project.exports
        out, posts = exports / "threads.parquet", project.sources("posts")
        found, reading = exports / "found.parquet", reading_options(project)
        return [
            project.command("threads", results=found, posts=posts, **reading, out=out),
            project.command("report", results=out, out=exports / "threads.html"),
        ]

    @property
    def _meta(self) -> Path:
        return self.path.with_name(self.path.name + ".meta.json")

    def require(self) -> Path:
        """The file of threads; an error before `find`."""
        if not self.path.exists():
            raise InputError("the threads are not found yet; find them on the view of posts")
        return self.path


@lru_cache(1)
def _leads(path: Path, changed: int, posts: int) -> Leads:
    import pyarrow.parquet as pq

    table = pq.read_table(path, columns=["thread_rank", "rank"])
    thread, rank = (table.column(name) for name in ("thread_rank", "rank"))
    number, ranks = thread.to_numpy(), rank.fill_null(0).to_numpy()
    sizes, found = np.bincount(number), ranks > 0
    order = np.lexsort((ranks[found], number[found]))
    names, first = np.unique(number[found][order], return_index=True)
    best = ranks[found][order][first]
    lead, size = (np.zeros(posts, np.int32) for _ in range(2))
    lead[best - 1], size[best - 1] = names, sizes[names]
    return lead, size
