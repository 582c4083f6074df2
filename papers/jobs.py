"""Long runs and their small results: used where they are saved, made and kept where not.

A result is one JSON file: plain values (rows, curves, scores by topic; never a text), and how they
came about. A run that is interrupted keeps its folder and goes on there.
"""

import json
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
    """What the runs of an exhibit are made with.

    Attributes:
        data: ``shared``: the paper's setting on the shared data; ``stories``: the same on the
            bundled corpus at a size of minutes.
        seeds: of the runs.
    """

    data: Data
    seeds: tuple[int, ...] = (0, 1, 2)


@dataclass(frozen=True, slots=True)
class Result:
    """The small result of a run.

    Attributes:
        values: plain values.
        made: how they came about: ``command``, ``date``, ``revision``, ``versions``, ``machine``,
            ``data``, ``seeds`` and ``minutes`` of processor time, None where it is not known: of
            a run that went on after an interruption.
    """

    values: Mapping[str, Any]
    made: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Results:
    """The results that an exhibit is made from.

    Attributes:
        setting: what they were made with.
        by_job: the result of each job that has one.
    """

    setting: Setting
    by_job: Mapping[str, Result]

    def __contains__(self, job: str) -> bool:
        """Whether a job has its result."""
        return job in self.by_job

    def __getitem__(self, job: str) -> Mapping[str, Any]:
        """The values of a job's result."""
        return self.by_job[job].values


@dataclass(frozen=True, slots=True)
class Job:
    """One run with one small result.

    Attributes:
        name: of the file that holds the result.
        run: makes the plain values, given a folder for what an interrupted run goes on from, and
            the results so far, those of the jobs before it among them.
        minutes: of one processor core, about.
        data: what it reads, as the page says it.
        seeds: those it uses.
    """

    name: str
    run: Callable[[Path, Results], Mapping[str, Any]]
    minutes: float
    data: str
    seeds: Sequence[int] = field(default=(0,))


class Store:
    """Where results lie: those that ship with the project, and those made here.

    Args:
        saved: the folder of the results that are kept with the project; it need not exist.
        made: the folder of results made here, and of the runs behind them.
        paper: the name of the paper.
        fresh: leave the saved results aside.
    """

    def __init__(self, *, saved: Path, made: Path, paper: str, fresh: bool) -> None:
        self._paper = paper
        self._made = made / "results" / paper
        self._runs = made / "runs" / paper
        self._folders = [self._made] if fresh else [self._made, saved / paper]

    def runs(self, setting: Setting) -> Path:
        """The folder that holds the folders of all runs."""
        return self._runs / setting.data

    def find(self, setting: Setting, job: Job) -> Result | None:
        """The result of a job, if there is one.

        Raises:
            InputError: the file is not one, or is of another version.
        """
        for folder in self._folders:
            path = folder / setting.data / f"{job.name}.json"
            if path.is_file():
                return _read(path)
        return None

    def results(self, setting: Setting, jobs: Sequence[Job]) -> Results:
        """The results there are for some jobs."""
        found = {job.name: self.find(setting, job) for job in jobs}
        return Results(setting, {name: r for name, r in found.items() if r is not None})

    def missing(self, setting: Setting, jobs: Sequence[Job]) -> list[Job]:
        """The jobs without a result."""
        there = self.results(setting, jobs)
        return [job for job in jobs if job.name not in there]

    def make(self, setting: Setting, jobs: Sequence[Job]) -> Iterator[Job]:
        """Run the jobs that have no result, in their order; yields each when its result is kept."""
        for job in self.missing(setting, jobs):
            folder = self.runs(setting) / job.name
            begun = folder.exists()  # by a process whose time nobody knows
            folder.mkdir(parents=True, exist_ok=True)
            started = time.process_time()
            values = job.run(folder, self.results(setting, jobs))
            minutes = round((time.process_time() - started) / 60, 2)
            made = {
                **provenance(),
                "command": f"python -m papers paper={self._paper}",
                "data": job.data,
                "seeds": list(job.seeds),
                "minutes": None if begun else minutes,
            }
            with atomic_write(self._made / setting.data / f"{job.name}.json") as stream:
                document = {"format": FORMAT, "values": values, "made": made}
                json.dump(document, stream, indent=1, ensure_ascii=False, allow_nan=False)
                stream.write("\n")
            yield job


def unique(jobs: Sequence[Job]) -> list[Job]:
    """The jobs, each name once: exhibits share runs."""
    return list({job.name: job for job in jobs}.values())


def shared_data(*folders: str) -> bool:
    """Whether the folder of the shared data is there, with the collections named."""
    root = os.environ.get("SIAMESE_NEWS_DATA")
    return bool(root) and all((Path(root or "") / folder).is_dir() for folder in folders)


def _read(path: Path) -> Result:
    hint = "delete the file, or make it again with fresh=true"
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        version, values, made = (document[key] for key in ("format", "values", "made"))
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: not a saved result ({error!r}); {hint}") from error
    if version != FORMAT:
        raise InputError(f"{path}: format {version} of a saved result, expected {FORMAT}; {hint}")
    return Result(values, made)
