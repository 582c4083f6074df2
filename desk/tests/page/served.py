"""The page, served by a real process."""

import json
import os
import random
import re
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from tests.commands import begin
from tests.storm import ABOUT, OTHER, WORDS


class Served:
    """``siamese-news desk`` in a process of its own."""

    def __init__(
        self, project: Path, *options: str, port: int = 0, folder: Path | None = None
    ) -> None:
        self.project = project
        self._folder = tempfile.TemporaryDirectory()
        output, self._errors = (
            Path(self._folder.name) / name for name in ("output", "errors")
        )
        output.touch()
        self._errors.touch()
        arguments = [
            "desk",
            "--project",
            project,
            "--no-browser",
            "--port",
            port,
            *options,
        ]
        files = {"output": output, "errors": self._errors}
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("OMP_NUM_THREADS", "1")
            self.process = begin(None, *arguments, folder=folder or Path.cwd(), **files)
        while not (line := output.read_text()).endswith("\n"):
            assert self.process.is_alive(), self.said()
            time.sleep(0.01)
        found = re.fullmatch(r"(http://127\.0\.0\.1:(\d+)/)\?token=(\S+)\n", line)
        assert found, line
        self.base, self.port, self.token = found[1], int(found[2]), found[3]
        self.address = line.strip()
        self.cookie = f"siamese-news-{self.port}={self.token}"
        self._wait()

    def ask(self, path: str, row=None, *, method=None, data=None, headers=None):
        """Status and content of an answer."""
        body = data if row is None else json.dumps(row).encode()
        given = {
            "Cookie": self.cookie,
            "Origin": self.base.rstrip("/"),
            "Content-Type": "application/json",
        }
        given |= headers or {}
        request = Request(
            self.base.rstrip("/") + path,
            data=body,
            headers={name: value for name, value in given.items() if value is not None},
            method=method or ("POST" if body is not None else "GET"),
        )
        try:
            with urlopen(request, timeout=240) as answer:
                return answer.status, answer.read()
        except HTTPError as error:
            return error.code, error.read()

    def json(self, path: str, row=None, **options):
        """The content of an answer that must be good."""
        status, content = self.ask(path, row, **options)
        assert status == 200, (status, content)
        return json.loads(content)

    def search(self, seconds: float = 120, **options) -> None:
        """Search, and wait for the end; a threshold is one of the score."""
        self.json("/api/search", {"keep_by": "score", **options})
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            _, content = self.ask("/api/search/events")
            last = json.loads(content.decode().strip().rpartition("data: ")[2])
            if last["state"] != "running":
                assert last["state"] == "done", last
                return
        raise AssertionError("the search did not end")

    def kill(self) -> None:
        """As a power cut would."""
        self.process.kill()
        self._close()

    def end(self, number: int = signal.SIGINT) -> int:
        """As Ctrl-C or another signal does; the exit code."""
        os.kill(self.process.pid, number)
        return self._close()

    def said(self) -> str:
        """What it has written to its standard error."""
        return self._errors.read_text()

    def _close(self) -> int:
        self.process.join(timeout=240)
        assert self.process.exitcode is not None, "it does not end"
        return self.process.exitcode

    def _wait(self) -> None:
        for _ in range(200):
            try:
                if self.ask("/")[0] == 200:
                    return
            except OSError:
                time.sleep(0.05)
        raise AssertionError("the server does not answer")


def begun(
    folder: Path, relevant: int, other: int
) -> Iterator[tuple[Served, dict[str, bool], Path]]:
    """For a fixture: a page over a search that is done (`found_before`), the truth, the folder."""
    truth = found_before(folder, relevant, other)
    served = Served(folder)
    yield served, truth, folder
    served.end()


def found_before(
    folder: Path, relevant: int = 260, other: int = 240, texts=None, ids=None
) -> dict[str, bool]:
    """A project whose search is done, without the model: posts about the story score higher.

    Args:
        folder: of the project, a new one.
        relevant: posts about the story.
        other: posts that are not.
        texts: in place of them all.
        ids: of these.
    """
    from siamese_news.data.columns import RANKED
    from siamese_news.search.result_files import write_rows

    chance = random.Random(3)
    truth = {}
    rows = []
    count = len(texts) if texts is not None else relevant + other
    for number in range(count):
        about = number < relevant
        post = (
            ids[number] if ids is not None else f"{9_007_199_254_740_993 + number * 7}"
        )
        truth[post] = about
        text = (
            chance.choice(ABOUT if about else OTHER)
            + " "
            + " ".join(chance.sample(WORDS, 5))
        )
        day = 1 + chance.randrange(20)
        rows.append(
            {
                "article": "storm" if number % 3 else "wall",
                "post": post,
                "score": round(
                    chance.uniform(*((0.3, 0.6) if about else (0.02, 0.35))), 6
                ),
                "text": text if texts is None else texts[number],
                "cluster": number - (number % 20 == 11),
                "cluster_size": 1 + (number % 20 in (10, 11)),
                "lang": chance.choice(["en", "de", None]),
                "terms": ["quayle", "wall"],
                "created_at": f"2026-03-{day:02}T10:10:00Z",
            }
        )
    rows.sort(key=lambda row: (-row["score"], row["post"]))
    for rank, row in enumerate(rows, 1):
        row["rank"], row["relevance"] = rank, row["score"]
    search = folder / "searches" / "1"
    (folder / ".private").mkdir(parents=True)
    search.mkdir(parents=True)
    (folder / "project.json").write_text(
        json.dumps(
            {
                "format": "siamese_news project 1",
                "search": 1,
                "options": {"threshold": 0.02},
            }
        )
    )
    with (search / "results.parquet").open("wb") as stream:
        write_rows(stream, rows, "parquet", columns=RANKED)
    counts = {"read": count, "rejected": 0, "duplicates": 0, "kept": count}
    titles = {"storm": "Storm breaks the sea wall", "wall": "A wall of 1961"}
    (search / "results.parquet.meta.json").write_text(
        json.dumps(
            {"counts": counts, "titles": titles, "command": "siamese-news filter"}
        )
    )
    (search / "search.json").write_text(
        json.dumps({"query": None, "command": "siamese-news filter", "process": None})
    )
    return truth
