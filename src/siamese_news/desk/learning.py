"""An order learned from the labels of a project: what the command `feedback` writes."""

import json
import threading
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from siamese_news.decide.asking import next_posts
from siamese_news.decide.new_order import learn_order
from siamese_news.desk.machine import Machine
from siamese_news.desk.project import Project
from siamese_news.desk.search import command_line
from siamese_news.errors import InputError
from siamese_news.labels.journal import NO, YES, LabelJournal
from siamese_news.utils.files import atomic_write


@dataclass(frozen=True, slots=True)
class Learned:
    """What labels taught.

    Attributes:
        sentence: what cross-validation says.
        words: that speak for a post, and against it.
        remarks: on labels and verdicts.
        helps: whether the order may be used.
        labels: how many labelled posts there were.
        command: the command line that does the same.
    """

    sentence: str
    words: list[str]
    remarks: list[str]
    helps: bool
    labels: int
    command: str


class Learning:
    """Learning from the labels of the present search, and from a machine's verdicts.

    Args:
        project: whose.
        log: the labels.
        machine: its verdicts.
    """

    def __init__(self, project: Project, log: LabelJournal, machine: Machine) -> None:
        self._project = project
        self._log = log
        self._machine = machine
        self._guard = threading.Lock()
        self._places: tuple[int, NDArray[np.int64]] | None = None
        self._groups: tuple[Path, NDArray[np.int64]] | None = None

    def learn(self) -> Learned:
        """Learn, in a process of its own so that the page stays quick.

        Raises:
            InputError: where the labels teach nothing; says why.
        """
        with self._guard:
            if not self._project.results.exists():
                raise InputError("there are no results yet; search first")
            said = {post: self._log.verdict(post) for post in self._log.posts()}
            verdicts = {post: one == YES for post, one in said.items() if one in (YES, NO)}
            for path in (self._file, self._said, self._odds):
                path.unlink(missing_ok=True)
            line = command_line(self._arguments())
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
                task = process.submit(
                    learn_order,
                    self._project.results,
                    verdicts,
                    self._machine.source,
                    self._file,
                    command_line=line,
                )
                try:
                    feedback, remarks = task.result()
                except BrokenProcessPool as error:
                    raise InputError("learning was stopped; is there enough memory?") from error
            found = Learned(
                feedback.sentence(),
                feedback.word_lines(),
                remarks,
                self._file.exists(),
                len(said),
                line,
            )
            if found.helps:
                np.save(self._odds, feedback.odds)
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

    def next_ranks(self, labelled: Mapping[int, bool | None], count: int) -> list[int]:
        """Ranks of the posts that teach most, as ``feedback --next`` chooses them.

        Args:
            labelled: ranks of posts that have labels, or wait for one -> whether they are relevant;
                None where that is open.
            count: how many.
        """
        places = self.places()
        groups = self._clusters()
        odds = None if places is None or not self._odds.exists() else np.load(self._odds)
        order = np.arange(len(groups)) if places is None else places
        known = {rank - 1: said for rank, said in labelled.items()}
        return [n + 1 for n in next_posts(-order.astype(float), odds, groups, known, count)]

    def commands(self) -> list[str]:
        """The command line that does the same."""
        found = self.found()
        return [found.command] if found else []

    def _clusters(self) -> NDArray[np.int64]:
        """(N,) by rank the clusters of near-duplicates; where none are known, each post is one."""
        results = self._project.results
        if self._groups is None or self._groups[0] != results:
            import pyarrow.parquet as pq

            held = pq.read_schema(results).names
            columns = ["rank", *(["cluster"] if "cluster" in held else [])]
            table = pq.read_table(results, columns=columns).sort_by("rank")
            alone = len(columns) == 1 or table.column("cluster").null_count
            found = np.arange(len(table)) if alone else table.column("cluster").to_numpy()
            self._groups = results, found
        return self._groups[1]

    @property
    def _file(self) -> Path:
        return self._project.search / "learned.parquet"

    @property
    def _said(self) -> Path:
        return self._project.search / "learned.json"

    @property
    def _odds(self) -> Path:
        return self._project.search / "learned.npy"

    def _arguments(self) -> list[str]:
        paths = (self._project.results, self._log.path, self._file)
        results, labels, out = (str(path.relative_to(self._project.folder)) for path in paths)
        arguments = ["feedback", "--results", results, "--labels", labels]
        if source := self._machine.source:
            file, name = source
            arguments += ["--verdicts", str(file.relative_to(self._project.folder)), "--name", name]
        return [*arguments, "--out", out]
