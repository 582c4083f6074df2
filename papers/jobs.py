"""Long runs and their small results: used where they are saved, made and kept where not.

A result is one JSON file: plain values (rows, curves, scores by topic; never a text) and their
provenance. An interrupted run keeps its folder and continues there.
"""

import json
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from siamese_news.errors import InputError
from siamese_news.utils.files import atomic_write
from siamese_news.utils.provenance import provenance

log = logging.getLogger(__name__)

Data = Literal["shared", "stories"]
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Setting:
    """The data and seeds of the runs behind an exhibit.

    ``shared`` is the paper's setting on the shared data, ``stories`` the same on the bundled
    corpus, at a size of minutes.
    """

    data: Data
    seeds: tuple[int, ...] = (0, 1, 2)


@dataclass(frozen=True, slots=True)
class Result:
    """The small result of a run: plain values, and their provenance.

    That is ``command``, ``date``, ``revision``, ``versions``, ``machine``, ``data``, ``seeds`` and
    ``minutes`` of processor time (None for a run that was interrupted).
    """

    values: Mapping[str, Any]
    made: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Results:
    """The saved results behind an exhibit; ``results[job]`` are the values of one."""

    setting: Setting
    by_job: Mapping[str, Result]

    def __contains__(self, job: str) -> bool:
        """Whether a job has a result."""
        return job in self.by_job

    def __getitem__(self, job: str) -> Mapping[str, Any]:
        """The values of a job's result."""
        return self.by_job[job].values

    def available(self, jobs: Sequence[str]) -> list[Mapping[str, Any]]:
        """The values of those of some jobs that have a result."""
        return [self[job] for job in jobs if job in self]


@dataclass(frozen=True, slots=True)
class Job:
    """One run with one small result, whose file has its name.

    `run` returns the plain values, given the run's own folder and the results so far.
    """

    name: str
    run: Callable[[Path, Results], Mapping[str, Any]]
    minutes: float  # of one processor core, about
    data: str  # as the page says it
    seeds: Sequence[int] = (0,)


class Store:
    """The folders of results: those that ship with the project, and those made here."""

    def __init__(self, *, saved: Path | None, made: Path, paper: str) -> None:
        self._paper = paper
        self._made = made / "results" / paper
        self._runs = made / "runs" / paper
        self._folders = [self._made] if saved is None else [self._made, saved / paper]

    def runs(self, setting: Setting) -> Path:
        """The folder that holds the folders of all runs."""
        return self._runs / setting.data

    def results(self, setting: Setting, jobs: Sequence[Job]) -> Results:
        """The results that some jobs have.

        Raises:
            InputError: a file is not a result, or is one of another version.
        """
        found = {}
        for job in jobs:
            paths = [
                folder / setting.data / f"{job.name}.json" for folder in self._folders
            ]
            if path := next((path for path in paths if path.is_file()), None):
                found[job.name] = _read(path)
        return Results(setting, found)

    def missing(self, setting: Setting, jobs: Sequence[Job]) -> list[Job]:
        """The jobs without a result."""
        there = self.results(setting, jobs)
        return [job for job in jobs if job.name not in there]

    def make(self, setting: Setting, jobs: Sequence[Job]) -> Iterator[Job]:
        """Run the jobs that have no result, in order; yields each when its result is saved."""
        for job in self.missing(setting, jobs):
            folder = self.runs(setting) / job.name
            begun = folder.exists()  # by a process whose time nobody knows
            folder.mkdir(parents=True, exist_ok=True)
            started = time.process_time()
            values = job.run(folder, self.results(setting, jobs))
            minutes = round((time.process_time() - started) / 60, 2)
            made = {
                **provenance(),
                "command": f"python -m papers paper={self._paper} missing=train",
                "data": job.data,
                "seeds": list(job.seeds),
                "minutes": None if begun else minutes,
            }
            with atomic_write(self._made / setting.data / f"{job.name}.json") as stream:
                document = {"format": FORMAT, "values": values, "made": made}
                json.dump(
                    document, stream, indent=1, ensure_ascii=False, allow_nan=False
                )
                stream.write("\n")
            yield job


def shared_data(*folders: str) -> bool:
    """Whether the shared data folder exists and has the collections named."""
    root = os.environ.get("SIAMESE_NEWS_DATA")
    return bool(root) and all(
        (Path(root or "") / folder).is_dir() for folder in folders
    )


def _read(path: Path) -> Result:
    hint = "delete the file, or make it again with fresh=true"
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        version, values, made = (document[key] for key in ("format", "values", "made"))
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: not a saved result ({error!r}); {hint}") from error
    if version != FORMAT:
        raise InputError(
            f"{path}: format {version} of a saved result, expected {FORMAT}; {hint}"
        )
    return Result(values, made)
