"""The search, in a process of its own that outlives the server and can be resumed."""

import json
import os
import shutil
import signal
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import msgspec

from siamese_news.errors import InputError
from siamese_news.search.partial_results import is_held
from siamese_news.search.query import (
    FILTER,
    NO_LOOK,
    READING,
    TYPES,
    Query,
    read_relevance,
    read_score,
)
from siamese_news.utils.checked_json import read_object
from siamese_news.utils.processes import PROGRESS, start_python
from siamese_news.utils.terminal import clean
from siamese_news_desk.page.project import ASKED, Project

_QUIET = 2.0  # seconds without output after which the last progress is out of date
_STOPPED = (
    "The search was interrupted. Its partial results are kept; Resume continues it."
)
KEPT_BY = {"relevance": "threshold", "score": "min_score"}
"""What the threshold of a search is of -> the field of a query."""

_READ = 20_000  # bytes of the output of a search, from its beginning and its end


def query_of(project: Project, options: dict[str, Any], out: Path) -> Query:
    """The query of the form, with relative paths; an `InputError` without articles or posts."""
    sources_of = {kind: project.sources(kind) for kind in ("articles", "posts", "not")}
    for kind, description in (
        ("articles", "a news article"),
        ("posts", "a file of posts"),
    ):
        if not sources_of[kind]:
            raise InputError(f"add {description} first")
    chosen = {name: typed(name, options[name]) for name in ASKED}
    return Query(
        articles=sources_of["articles"],
        posts=sources_of["posts"],
        negatives=sources_of["not"],
        model=project.model,
        one_story=True,
        out=out.relative_to(project.folder),
        **{KEPT_BY[options["keep_by"]]: options["threshold"]},
        second_look=project.second_look if options["second_look"] else NO_LOOK,
        **chosen,
    )


def typed(name: str, value: Any) -> Any:
    """What a field of the form has, as the field of a query of that name takes it."""
    if TYPES[name] is bool:
        return bool(value)
    text = str(value or "").strip()
    return (text[:100] if name in READING else text) or None


class Search:
    """The search of a project: started, watched, stopped.

    Everything is read from the project's folder, so the search survives a restart of the server.
    """

    def __init__(self, project: Project) -> None:
        self._project = project
        self._guard = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None

    def start(self, options: dict[str, Any]) -> str:
        """Start or resume a search: its command; an `InputError` if one is running."""
        with self._guard:
            project = self._project
            state = self.status()["state"]
            if state == "running":
                raise InputError(
                    "a search is running; wait for it to finish or cancel it"
                )
            config = project.config()
            seen_posts = {
                name: options.get(name, value)
                for name, value in config["options"].items()
            }
            if seen_posts["keep_by"] not in list(KEPT_BY):
                raise InputError(
                    f"keep_by is {str(seen_posts['keep_by'])[:40]!r}; expected relevance or score"
                )
            read_threshold = (
                read_score if seen_posts["keep_by"] == "score" else read_relevance
            )
            seen_posts["threshold"] = read_threshold(seen_posts["threshold"])
            number = max(1, int(config["search"]))

            def asked() -> Query:
                out = self._folder(number) / "results.parquet"
                return query_of(project, seen_posts, out)

            query = asked()
            if query != _saved(self._folder(number)) or state in ("done", "failed"):
                if project.results.exists():
                    # Labels and certificates belong to results, so earlier results are kept.
                    number += 1
                    query = asked()
                shutil.rmtree(self._folder(number), ignore_errors=True)
                self._folder(number).mkdir(parents=True)
            folder = self._folder(number)
            self._child = start_python(
                "siamese_news",
                "filter",
                *query.arguments(FILTER),
                "--resume",
                cwd=project.folder,
                environment={PROGRESS: "json"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=(folder / "progress.log").open("wb"),
                start_new_session=True,
            )
            saved = {"query": asdict(query), "process": self._child.pid}
            (folder / "search.json").write_text(
                json.dumps(saved, indent=1, default=str), encoding="utf-8"
            )
            project.update(search=number, options=seen_posts, threshold=None)
            return self.command

    def cancel(self) -> None:
        """Interrupt the search like Ctrl-C; it can be resumed."""
        process = self._running()
        if process is not None:
            # On Windows it ends at once; what is saved remains.
            os.kill(process, signal.SIGINT)

    def discard(self) -> None:
        """Delete an interrupted search, but not while it runs; the earlier results are back."""
        with self._guard:
            state = self.status()["state"]
            if state == "running":
                raise InputError("the search is running; cancel it first")
            project = self._project
            if state in ("stopped", "failed") and not project.results.exists():
                shutil.rmtree(project.search)
                numbers = [
                    int(path.parent.name)
                    for path in (project.folder / "searches").glob("*/results.parquet")
                ]
                project.update(search=max(numbers, default=0))

    @property
    def query(self) -> Query | None:
        """The query of the current search; None before the first one.

        A project may be somebody else's, so its file counts only if the page can have written it.
        """
        folder = self._project.search
        query = _saved(folder)
        if query is None or any(clean(w) != w for w in query.arguments(FILTER)):
            return None
        out = (folder / "results.parquet").relative_to(self._project.folder)
        return query if query.out == out and not query.author else None

    @property
    def command(self) -> str:
        """The command line of the current search; before the first one, of what was named so far.

        It is empty without articles or posts.
        """
        query = self.query
        with suppress(InputError):
            query = query or query_of(
                self._project,
                self._project.config()["options"],
                self._project.folder / "found.parquet",
            )
        return self._line(query)

    def command_to(self, threshold: float, out: Path, *, ids_only: bool) -> str:
        """The command line that writes the list from a threshold on."""
        if (query := self.query) is None:
            return ""
        path = out.relative_to(self._project.folder)
        labels = self._project.relevance_map
        own_map = labels.relative_to(self._project.folder) if labels.exists() else None
        return self._line(
            replace(
                query,
                threshold=None,
                min_score=threshold,
                relevance_map=own_map,
                out=path,
                ids_only=ids_only,
            )
        )

    def _line(self, query: Query | None) -> str:
        if query is None:
            return ""
        return self._project.command("filter", *query.arguments(FILTER))

    def status(self) -> dict[str, Any]:
        """The state of the search.

        Returns:
            ``state``: ``none``, ``running``, ``stopped`` (can be resumed), ``failed`` or ``done``;
            ``share`` of the current pass, 0 to 1, None if unknown; ``posts`` read in it; ``turn``,
            the number of the pass; ``seconds``, the estimated time left of it; ``message``, to be
            shown.
        """
        folder = self._project.search
        none = {"state": "none", "share": None, "posts": 0, "turn": 0, "seconds": None}
        if not (folder / "search.json").exists():
            return none | {"message": ""}
        rows, messages = _log(folder / "progress.log")
        last_message = messages[-1] if messages else ""
        state = none | {"message": "\n".join(messages)}
        if self._running() is not None:
            return (
                state
                | {"state": "running"}
                | (self._progress(rows[-1]) if rows else {})
            )
        if (
            folder / "results.parquet.meta.json"
        ).exists() and self._project.results.exists():
            return state | {"state": "done", "share": 1.0}
        interrupted = not last_message or "interrupted" in last_message
        is_resumable = (folder / "results.parquet.part").exists()
        failed = not interrupted and (
            last_message.startswith("siamese-news:") or not is_resumable
        )
        posts = rows[-1]["posts"] if rows else 0
        if failed:
            return state | {"state": "failed", "posts": posts}
        return state | {"state": "stopped", "posts": posts, "message": _STOPPED}

    def _progress(self, row: dict[str, Any]) -> dict[str, Any]:
        """The share of the pass that is done, and the seconds left, by the last row of progress."""
        share = min(1.0, row["done"] / row["total"]) if row["total"] else None
        seconds = None
        if share and share > 0.01:
            log = self._project.search / "progress.log"
            quiet = max(0.0, time.time() - log.stat().st_mtime)
            seconds_left = row["seconds"] / share * (1 - share) - quiet
            # The time that the steps after the last post take (near-duplicates, the map, the file)
            # is unknown.
            if share > 0.99 or (seconds_left <= 0 and quiet > _QUIET):
                share = None
            else:
                seconds = round(seconds_left)
        return {
            "share": share,
            "posts": row["posts"],
            "turn": row["pass"],
            "seconds": seconds,
        }

    def _folder(self, number: int) -> Path:
        return self._project.folder / "searches" / str(number)

    def _running(self) -> int | None:
        """The process of the search while it runs."""
        if self._child is not None and self._child.poll() is not None:
            self._child = None
        process = read_object(self._project.search / "search.json").get("process")
        if type(process) is not int or process <= 1:
            return None
        if self._child is not None and self._child.pid == process:
            return process
        return process if is_held(self._project.results) else None


def _saved(folder: Path) -> Query | None:
    """The query in the file of a search; None without one."""
    values = read_object(folder / "search.json").get("query")
    with suppress(msgspec.ValidationError):
        return msgspec.convert(values, Query, dec_hook=lambda kind, text: kind(text))
    return None


def _log(path: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """The rows of progress in the output of a search, and its other lines."""
    try:
        with path.open("rb") as stream:
            lines = stream.read(_READ).split(b"\n")
            if stream.seek(0, os.SEEK_END) > _READ:  # remarks are at both ends
                stream.seek(max(_READ, stream.tell() - _READ))
                lines = lines[:-1] + stream.read().split(b"\n")[1:]
    except OSError:
        return [], []
    rows, messages = [], []
    for line in lines:
        if line.startswith(b'{"pass"'):
            try:
                rows.append(json.loads(line))
            except ValueError:
                continue
        elif line.strip():
            messages.append(line.decode("utf-8", "replace").strip())
    return rows, messages
