"""The folder that a project is: everything the page knows lies in it, nothing in the process."""

import json
import os
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from siamese_news.data.articles import SUFFIXES as ARTICLE_SUFFIXES
from siamese_news.data.readers.stream import SUFFIXES as POST_SUFFIXES
from siamese_news.errors import InputError
from siamese_news.utils.files import atomic_write

FORMAT = "siamese_news project 1"
_PACKED = (".gz", ".zst")
_NAME = re.compile(r"[\w(][\w.,+@() -]{0,149}")
_OPTIONS: dict[str, Any] = {
    "threshold": 0.1, "aggregate": "max", "after": "", "before": "", "dated_only": False,
    "fusion": "", "map": True, "about": "event", "dedupe": False, "text_field": "", "id_field": "",
    "date_field": "", "encoding": "",
}  # fmt: skip


class Project:
    """A project's folder.

    Args:
        folder: made where it is not there; one that holds other things is refused.
        articles: seed articles that the command line named, beside those in the folder.
        posts: dumps that the command line named, likewise.
        negatives: articles of a story that is not meant, likewise.
        model: folder of the model; None for the one shipped.

    Raises:
        InputError: for a folder that is no project.
    """

    def __init__(
        self,
        folder: Path,
        articles: Sequence[str] = (),
        posts: Sequence[str] = (),
        negatives: Sequence[str] = (),
        model: Path | None = None,
    ) -> None:
        self.folder = folder.resolve()
        self.named = {
            "articles": _found(articles), "not": _found(negatives), "posts": _found(posts),
        }  # fmt: skip
        self.model = None if model is None else model.resolve()
        self._guard = threading.RLock()
        self._file = self.folder / "project.json"
        self._read: tuple[tuple[int, ...], dict[str, Any]] | None = None
        if not self._file.exists():
            if self.folder.exists() and any(self.folder.iterdir()):
                raise InputError(
                    f"{folder}: holds other files and no project.json; expected a new folder or "
                    "one that the page made: name another --project"
                )
            (self.folder / ".private").mkdir(parents=True, exist_ok=True)
            self._write({"format": FORMAT, "search": 0, "options": dict(_OPTIONS)})
        for name in (*(f"inputs/{kind}" for kind in self.named), ".private"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        # What lies there opens the page to whoever reads it.
        (self.folder / ".private").chmod(0o700)
        self.config()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the folder, so that no second server writes into it.

        Raises:
            InputError: another server holds it.
        """
        lock = FileLock(self.folder / ".private" / "lock")
        try:
            lock.acquire(timeout=0)
        except Timeout as error:
            raise InputError(
                f"{self.folder}: is open in another siamese-news desk; use that page (several tabs "
                "may be open), or end that one first"
            ) from error
        try:
            yield
        finally:
            lock.release()

    def config(self) -> dict[str, Any]:
        """What `update` wrote.

        Raises:
            InputError: for a damaged file.
        """
        try:
            there = self._file.stat()
            stamp = there.st_mtime_ns, there.st_size, there.st_ino
            if self._read is not None and self._read[0] == stamp:
                return {**self._read[1], "options": dict(self._read[1]["options"])}
            content = json.loads(self._file.read_text(encoding="utf-8"))
            if content["format"] != FORMAT:
                raise InputError(
                    f"{self._file}: has the format {content['format']!r}, expected {FORMAT!r}; "
                    "open it with the version that made it"
                )
            content["options"] = _OPTIONS | dict(content["options"])
            self._read = stamp, content
            return {**content, "options": dict(content["options"])}
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise InputError(
                f"{self._file}: is damaged ({error}); restore it from a copy"
            ) from error

    def update(self, **changes: Any) -> dict[str, Any]:
        """Change values and write them down."""
        with self._guard:
            content = {**self.config(), **changes}
            self._write(content)
            return content

    def inputs(self, kind: str) -> list[dict[str, Any]]:
        """The files of a kind: ``name``, ``size`` and whether they can be ``removed``."""
        rows = [
            {"name": path.name, "size": path.stat().st_size, "own": True}
            for path in sorted((self.folder / "inputs" / kind).iterdir())
            if path.is_file() and not path.name.startswith(".")
        ]
        return rows + [
            {"name": name, "size": _size(Path(name)), "own": False} for name in self.named[kind]
        ]

    def sources(self, kind: str) -> list[str]:
        """What a command names for a kind, from the folder of the project."""
        own = self.folder / "inputs" / kind
        files = any(not path.name.startswith(".") for path in own.iterdir())
        return ([f"inputs/{kind}"] if files else []) + list(self.named[kind])

    def input_path(self, kind: str, name: str) -> Path:
        """Where an uploaded file goes.

        Raises:
            InputError: for a name that is no plain file name of a known kind.
        """
        if kind not in self.named:
            raise InputError(f"{kind!r} is no kind of input; expected articles, not or posts")
        known = POST_SUFFIXES if kind == "posts" else ARTICLE_SUFFIXES
        plain = name.lower()
        for packed in _PACKED:
            plain = plain.removesuffix(packed)
        if not _NAME.fullmatch(name) or ".." in name:
            raise InputError(
                f"the file name {name!r} has signs that a name here may not have; expected "
                "letters, digits, blanks and . , _ - + @ ( ): rename the file"
            )
        if not plain.endswith(tuple(known)):
            raise InputError(
                f"{name}: the ending is not one of {', '.join(known)} (plain, .gz or .zst); rename "
                "or convert the file"
            )
        return self.folder / "inputs" / kind / name

    @property
    def search(self) -> Path:
        """The folder of the present search; of the first one where there is none yet."""
        return self.folder / "searches" / str(max(1, int(self.config()["search"])))

    @property
    def results(self) -> Path:
        """The file of results of the present search, whether it is there or not."""
        return self.search / "results.parquet"

    @property
    def labels(self) -> Path:
        """The file of labels."""
        return self.folder / "labels.jsonl"

    @property
    def private(self) -> Path:
        """A folder for the owner's eyes."""
        return self.folder / ".private"

    @property
    def handed(self) -> Path:
        """The folder of files to hand on."""
        return self.folder / "hand-over"

    def _write(self, content: Mapping[str, Any]) -> None:
        with atomic_write(self._file) as stream:
            json.dump(content, stream, indent=1, ensure_ascii=False)
            stream.write("\n")


def _found(names: Sequence[str]) -> list[str]:
    """Absolute paths, for the search runs in the folder of the project."""
    for name in names:
        if name == "-":
            raise InputError("standard input (-) cannot be a page's input; name a file")
    return [os.path.abspath(name) for name in names]


def _size(path: Path) -> int | None:
    return path.stat().st_size if path.is_file() else None
