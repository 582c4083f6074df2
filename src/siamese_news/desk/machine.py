"""The verdicts of a machine in a project: a second coder, whose labels count for no certificate."""

import os
import threading
from pathlib import Path

import numpy as np

from siamese_news.desk.project import Project, safe_name
from siamese_news.errors import InputError
from siamese_news.labels.journal import NO, YES, annotator_name
from siamese_news.labels.machine import MachineVerdicts, read_machine


class Machine:
    """What a machine says of the posts of the present search.

    Args:
        project: whose.

    Attributes:
        problem: why its file says nothing about these results; empty if it does, or there is none.
    """

    def __init__(self, project: Project) -> None:
        self._project = project
        self._guard = threading.Lock()
        self._held: tuple[object, MachineVerdicts | None] = None, None
        self.problem = ""

    @property
    def source(self) -> tuple[Path, str] | None:
        """The file and the name; None without a machine."""
        found = self._project.config().get("machine")
        return (self._project.folder / "verdicts" / found["file"], found["name"]) if found else None

    def take(self, file: Path, name: str) -> MachineVerdicts:
        """Keep a file of verdicts in the project, instead of an earlier one.

        Raises:
            InputError: for no name and a file that says nothing about these posts; nothing is kept.
        """
        if not (named := annotator_name(name)):
            raise InputError("the machine has no name; expected a few letters, such as gpt")
        try:
            found = read_machine(file, named, self._posts())
        except InputError as error:
            plain = str(error).replace(str(file), file.name)
            raise InputError(f"{plain}; nothing was taken") from None
        folder = self._project.folder / "verdicts"
        folder.mkdir(exist_ok=True)
        os.replace(file, folder / safe_name(file.name))
        self._project.update(machine={"name": named, "file": safe_name(file.name)})
        return found

    def remove(self) -> None:
        """Forget the machine; its file stays in the folder."""
        self._project.update(machine=None)

    def verdicts(self) -> MachineVerdicts | None:
        """What it says, by rank; None without a machine, and where `problem` says why."""
        source, results = self.source, self._project.results
        if source is None or not results.exists():
            self.problem = ""
            return None
        with self._guard:
            try:
                stamp = source, *(path.stat().st_mtime_ns for path in (results, source[0])), results
                if self._held[0] != stamp:
                    self._held, self.problem = (stamp, None), ""
                    self._held = stamp, read_machine(*source, self._posts())
            except (InputError, OSError) as error:
                self.problem = str(error)
                return None
            return self._held[1]

    def said(self, rank: int) -> str:
        """``yes`` or ``no`` of the post at a rank; empty where it has no verdict, or no cut."""
        found = self.verdicts()
        if found is None or found.cut is None or np.isnan(value := found.values[rank - 1]):
            return ""
        return YES if value >= found.cut else NO

    def _posts(self) -> list[str]:
        """The ids of the results, by rank."""
        import pyarrow.parquet as pq

        if not self._project.results.exists():
            raise InputError("there are no results yet; search first")
        table = pq.read_table(self._project.results, columns=["post", "rank"])
        found: list[str] = table.sort_by("rank").column("post").to_pylist()
        return found
