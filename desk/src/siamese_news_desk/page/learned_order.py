"""An order learned from labels, as by the command `feedback`, and the verdicts of a machine."""

import os
import threading
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_news.errors import InputError
from siamese_news.utils.checked_json import read_object
from siamese_news.utils.files import write_json
from siamese_news.utils.processes import spawning
from siamese_news.utils.terminal import clean
from siamese_news_desk.decide.learning import next_posts
from siamese_news_desk.decide.new_order import certain, learn_order, unused
from siamese_news_desk.labels.journal import NO, YES, LabelJournal, annotator_name
from siamese_news_desk.labels.machine import MachineVerdicts, read_machine
from siamese_news_desk.page.project import Project
from siamese_news_desk.page.requests import naming


class Machine:
    """A machine's verdicts on the posts of the current search; they count for no certificate.

    `problem` tells why its file cannot be used for these results; it is empty otherwise.
    """

    def __init__(self, project: Project) -> None:
        self._project = project
        self._guard = threading.Lock()
        self._held: tuple[object, MachineVerdicts | None] = None, None
        self.problem = ""

    @property
    def source(self) -> tuple[Path, str] | None:
        """The file and the name of the machine; None without a machine."""
        saved = self._project.config().get("machine")
        if not saved:
            return None
        # A project may be somebody else's: a name with a folder in it could be any file.
        return self._project.folder / "verdicts" / Path(str(saved["file"])).name, str(
            saved["name"]
        )

    def take(self, file: Path, name: str) -> MachineVerdicts:
        """Keep a file of verdicts in the project, instead of an earlier one.

        Raises:
            InputError: no name, or a file without verdicts on these posts; nothing is kept.
        """
        if not (machine_name := annotator_name(name)):
            raise InputError(
                "the machine has no name; expected a few letters, such as gpt"
            )
        with naming(file):
            machine_verdicts = read_machine(
                file, machine_name, self._project.load_results().ids()
            )
        folder = self._project.folder / "verdicts"
        folder.mkdir(exist_ok=True)
        os.replace(file, folder / file.name)
        self._project.update(machine={"name": machine_name, "file": file.name})
        return machine_verdicts

    def verdicts(self) -> MachineVerdicts | None:
        """The verdicts by rank; None without a machine, and where `problem` says why."""
        source = self.source
        results = self._project.results
        if source is None or not results.exists():
            self.problem = ""
            return None
        with self._guard:
            try:
                stamp = (
                    source,
                    *(path.stat().st_mtime_ns for path in (results, source[0])),
                    results,
                )
                if self._held[0] != stamp:
                    self._held = (stamp, None)
                    self.problem = ""
                    posts = self._project.load_results().ids()
                    self._held = stamp, read_machine(*source, posts)
            except (InputError, OSError) as error:
                self.problem = str(error)
                return None
            return self._held[1]

    def verdict_at(self, rank: int) -> str:
        """``yes`` or ``no`` for the post at a rank; empty without a verdict, or without a cut."""
        machine_verdicts = self.verdicts()
        if (
            machine_verdicts is None
            or machine_verdicts.cut is None
            or np.isnan(value := machine_verdicts.values[rank - 1])
        ):
            return ""
        return YES if value >= machine_verdicts.cut else NO


class Learning:
    """Learning from the labels of the current search, and from a machine's verdicts."""

    def __init__(self, project: Project, log: LabelJournal, machine: Machine) -> None:
        self._project = project
        self._log = log
        self._machine = machine
        self._guard = threading.Lock()

    def learn(self) -> dict[str, Any]:
        """Learn in a process of its own, so that the page stays quick; returns the same as `result`.

        Too few labels are an `InputError`.
        """
        with self._guard:
            results = self._project.require_results()
            verdicts = {post: self._log.verdict(post) for post in self._log.posts()}
            for ending in ("parquet", "json", "npy"):
                self._path(ending).unlink(missing_ok=True)
            source = self._machine.source
            line = self._line(source)
            with (
                spawning() as context,
                ProcessPoolExecutor(1, mp_context=context) as process,
            ):
                order = self._path("parquet")
                task = process.submit(
                    learn_order,
                    results,
                    certain(verdicts),
                    source,
                    order,
                    command_line=line,
                )
                try:
                    feedback, remarks = task.result()
                except BrokenProcessPool as error:
                    raise InputError(
                        "learning was stopped; is there enough memory?"
                    ) from error
            learned = {
                "sentence": feedback.sentence(),
                "words": feedback.word_lines(),
                "remarks": unused(verdicts) + remarks,
                "helps": order.exists(),
                "labels": len(verdicts),
                "machine": None if source is None else [source[0].name, source[1]],
            }
            if learned["helps"]:
                np.save(self._path("npy"), feedback.odds)
            write_json(self._path("json"), learned)
            return learned

    def result(self) -> dict[str, Any]:
        """The last result of learning; empty before the first.

        Returns:
            ``sentence``, the result of cross-validation; ``words`` for and against a post;
            ``remarks`` on labels and verdicts; ``helps``, whether the order may be used; the number
            of ``labels``; the file and the name of the ``machine``, if one was asked.
        """
        return read_object(self._path("json"))

    def learned_ranks(self) -> NDArray[np.int64] | None:
        """The rank in the learned order by the rank in that of the search; None without one."""
        path = self._path("parquet")
        return _ranks_in(path, path.stat().st_mtime_ns) if path.exists() else None

    def next_ranks(self, labeled: Mapping[int, bool | None], count: int) -> list[int]:
        """Ranks of the posts that teach most, as ``feedback --next`` chooses them.

        `labeled` maps the ranks of posts that have labels, or wait for one, to whether they are
        relevant; None if undecided.
        """
        learned_ranks = self.learned_ranks()
        groups = self._project.load_results().clusters
        has_odds = learned_ranks is not None and self._path("npy").exists()
        odds = np.load(self._path("npy")) if has_odds else None
        order = np.arange(len(groups)) if learned_ranks is None else learned_ranks
        verdict_of = {rank - 1: verdict for rank, verdict in labeled.items()}
        return [
            n + 1
            for n in next_posts(-order.astype(float), odds, groups, verdict_of, count)
        ]

    def commands(self) -> list[str]:
        """The equivalent command line."""
        if not (learned := self.result()):
            return []
        # A project may be somebody else's, so the line is made of what the page can have written.
        machine = learned.get("machine")
        if not isinstance(machine, list) or not all(
            isinstance(value, str) for value in machine
        ):
            return [self._line(None)]
        file, name = (clean(value) for value in (*machine, "", "")[:2])
        return [self._line((self._project.folder / "verdicts" / Path(file).name, name))]

    def _line(self, machine: tuple[Path, str] | None) -> str:
        verdicts, name = machine or (None, None)
        return self._project.command(
            "feedback",
            results=self._project.results,
            labels=self._log.path,
            verdicts=verdicts,
            name=name,
            out=self._path("parquet"),
        )

    def _path(self, ending: str) -> Path:
        return self._project.search / f"learned.{ending}"


@lru_cache(1)
def _ranks_in(path: Path, changed: int) -> NDArray[np.int64]:
    import pyarrow.parquet as pq

    table = pq.read_table(path, columns=["rank", "rank_before"])
    learned_ranks = np.empty(len(table), np.int64)
    learned_ranks[table.column("rank_before").to_numpy() - 1] = table.column(
        "rank"
    ).to_numpy()
    return learned_ranks
