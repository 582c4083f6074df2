"""The search, in a process of its own that outlives the server and can be resumed."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from siamese_news.data.readers import PostStream, open_posts
from siamese_news.desk.project import Project
from siamese_news.desk.requests import score_in
from siamese_news.errors import InputError
from siamese_news.search.partial_results import is_held
from siamese_news.search.query import FILTER, READING, Query
from siamese_news.utils.processes import PROGRESS

PROGRAM = "siamese-news"

FIELDS = READING[:4]
"""Options that say how a file of posts is read."""

_QUIET = 2.0  # seconds without output after which the last progress is out of date
_LOOK = 20_000  # bytes of the output of a search, from its beginning and its end


@dataclass(frozen=True, slots=True)
class Status:
    """The state of the search.

    Attributes:
        state: ``none``, ``running``, ``stopped`` (can be resumed), ``failed`` or ``done``.
        share: of the current pass, 0 to 1; None if unknown.
        posts: read in the current pass.
        turn: number of the pass.
        seconds: estimated time left of the pass.
        message: the output of the search.
    """

    state: str
    share: float | None = None
    posts: int = 0
    turn: int = 0
    seconds: int | None = None
    message: str = ""


def query_of(project: Project, options: dict[str, Any], out: Path) -> Query:
    """The query of the page's form, with paths relative to the project's folder.

    Raises:
        InputError: articles or posts are missing, or an option is invalid.
    """
    named = {kind: project.sources(kind) for kind in ("articles", "posts", "not")}
    for kind, what in (("articles", "a news article"), ("posts", "a file of posts")):
        if not named[kind]:
            raise InputError(f"add {what} first")
    asked: dict[str, Any] = {name: value or None for name, value in options.items()}
    for name in FIELDS:
        asked[name] = str(options[name]).strip()[:100] or None
    for name in ("dated_only", "dedupe", "map"):
        asked[name] = bool(options[name])
    asked["threshold"] = options["threshold"]
    asked["second_look"] = project.second_look if options["second_look"] else None
    return Query(
        articles=named["articles"],
        posts=named["posts"],
        negatives=named["not"],
        model=project.model,
        one_story=True,
        out=out.relative_to(project.folder),
        **asked,
    )


def posts_of(project: Project, **more: Any) -> PostStream:
    """The posts that the page's search reads, read the same way."""
    options = project.config()["options"]
    reading: dict[str, Any] = {name: options.get(name) or None for name in FIELDS}
    sources = [str(project.folder / source) for source in project.sources("posts")]
    return open_posts(sources, **reading, **more)


def command_line(arguments: list[str]) -> str:
    """The command as typed in a shell."""
    return shlex.join([PROGRAM, *arguments])


def _arguments(query: Query) -> list[str]:
    return ["filter", *query.arguments(FILTER)]


class Search:
    """The search of a project: started, watched, stopped.

    Everything is read from the project's folder, so the search survives a restart of the server.
    """

    def __init__(self, project: Project) -> None:
        self._project = project
        self._guard = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None

    def start(self, options: dict[str, Any]) -> str:
        """Start a search or resume a stopped one; returns the command.

        Raises:
            InputError: one is running, or an option is invalid.
        """
        with self._guard:
            project = self._project
            status = self.status()
            if status.state == "running":
                raise InputError("a search is running; wait for it to finish or cancel it")
            config = project.config()
            known = {name: options.get(name, value) for name, value in config["options"].items()}
            known["threshold"] = score_in(known["threshold"])
            number = max(1, int(config["search"]))
            folder = project.folder / "searches" / str(number)
            arguments = _arguments(query_of(project, known, folder / "results.parquet"))
            if _saved(folder).get("arguments") != arguments or status.state in ("done", "failed"):
                if project.results.exists():
                    # Labels and certificates belong to results, so earlier results are kept.
                    number += 1
                    folder = project.folder / "searches" / str(number)
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir(parents=True)
                arguments = _arguments(query_of(project, known, folder / "results.parquet"))
            line = command_line(arguments)
            resumed = [*arguments, "--resume"]
            self._child = subprocess.Popen(
                [sys.executable, "-m", "siamese_news", *resumed],
                cwd=project.folder,
                env={**os.environ, PROGRESS: "json"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=(folder / "progress.log").open("wb"),
                start_new_session=True,
            )
            saved = {"arguments": arguments, "command": line, "process": self._child.pid}
            (folder / "search.json").write_text(json.dumps(saved, indent=1), encoding="utf-8")
            project.update(search=number, options=known, threshold=None)
            return line

    def cancel(self) -> None:
        """Interrupt the search like Ctrl-C; it can be resumed."""
        process = self._running()
        if process is not None:
            os.kill(process, signal.SIGINT)

    def discard(self) -> None:
        """Delete what an interrupted search left, and return to the earlier results.

        Raises:
            InputError: while it is running.
        """
        with self._guard:
            status = self.status()
            if status.state == "running":
                raise InputError("the search is running; cancel it first")
            project = self._project
            if status.state in ("stopped", "failed") and not project.results.exists():
                shutil.rmtree(project.search)
                numbers = [
                    int(path.parent.name)
                    for path in (project.folder / "searches").glob("*/results.parquet")
                ]
                project.update(search=max(numbers, default=0))

    @property
    def command(self) -> str:
        """The command of the current search; empty before the first one."""
        return str(_saved(self._project.search).get("command", ""))

    def filtered_to(self, threshold: float, out: str) -> list[str]:
        """The arguments that write the list from a threshold on, without a map."""
        arguments = [str(word) for word in _saved(self._project.search).get("arguments", [])]
        changed = {"--threshold": f"{threshold!r}", "--out": out}
        found = []
        for before, word in zip(["", *arguments], arguments, strict=False):
            if word != "--map":
                found.append(changed.get(before, word))
        return found

    def status(self) -> Status:
        """The state of the search."""
        folder = self._project.search
        if not (folder / "search.json").exists():
            return Status("none")
        rows, said = _log(folder / "progress.log")
        last = said[-1] if said else ""
        message = self._project.in_users_words("\n".join(said))
        if self._running() is not None:
            if not rows:
                return Status("running", message=message)
            row = rows[-1]
            share = min(1.0, row["done"] / row["total"]) if row["total"] else None
            seconds = None
            if share and share > 0.01:
                quiet = max(0.0, time.time() - (folder / "progress.log").stat().st_mtime)
                left = row["seconds"] / share * (1 - share) - quiet
                # How long the steps after the last post take (near-duplicates, the map, the
                # file) is unknown.
                if share > 0.99 or (left <= 0 and quiet > _QUIET):
                    share = None
                else:
                    seconds = round(left)
            return Status("running", share, row["posts"], row["pass"], seconds, message)
        if (folder / "results.parquet.meta.json").exists() and self._project.results.exists():
            return Status("done", 1.0, message=message)
        kept = (folder / "results.parquet.part.json").exists()
        stopped = kept or not last or "interrupted" in last
        posts = rows[-1]["posts"] if rows else 0
        failed = last.startswith("siamese-news:") and "interrupted" not in last
        return Status(
            "failed" if failed or not stopped else "stopped", None, posts, 0, None, message
        )

    def wait(self, seconds: float) -> None:
        """Wait for the end of a search, up to this many seconds."""
        end = time.monotonic() + seconds
        while self._running() is not None and time.monotonic() < end:
            time.sleep(0.05)

    def _running(self) -> int | None:
        """The process of the search while it runs."""
        if self._child is not None and self._child.poll() is not None:
            self._child = None
        process = _saved(self._project.search).get("process")
        if self._child is not None and self._child.pid == process:
            return process
        return process if process is not None and is_held(self._project.results) else None


def _saved(folder: Path) -> dict[str, Any]:
    try:
        return dict(json.loads((folder / "search.json").read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def _log(path: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """The last rows of progress and the other lines of the output of a search."""
    try:
        with path.open("rb") as stream:
            lines = stream.read(_LOOK).split(b"\n")
            if stream.seek(0, os.SEEK_END) > _LOOK:  # remarks are at both ends
                stream.seek(max(_LOOK, stream.tell() - _LOOK))
                lines = lines[:-1] + stream.read().split(b"\n")[1:]
    except OSError:
        return [], []
    rows, said = [], []
    for line in lines:
        if line.startswith(b'{"pass"'):
            try:
                rows.append(json.loads(line))
            except ValueError:
                continue
        elif line.strip():
            said.append(line.decode("utf-8", "replace").strip())
    return rows, said
