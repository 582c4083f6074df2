"""The folder of a project, which holds the whole state of the page."""

import json
import os
import re
import shlex
import stat
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict

from filelock import FileLock, Timeout
from msgspec import Meta

from siamese_news import __version__
from siamese_news.data.articles import SUFFIXES as ARTICLE_SUFFIXES
from siamese_news.data.columns import ResultMeta
from siamese_news.data.label_map import LabelMap
from siamese_news.data.readers.inputs import plain_suffix
from siamese_news.data.readers.stream import SUFFIXES as POST_SUFFIXES
from siamese_news.data.results import result_meta
from siamese_news.errors import InputError
from siamese_news.search.query import DATES, READING, Query
from siamese_news.utils.checked_json import fitting
from siamese_news.utils.files import atomic_write, write_json
from siamese_news.utils.unicode import normalized
from siamese_news_desk.decide.plan.plan_fields import FileName, Number
from siamese_news_desk.page.result_table import Results

FORMAT = "siamese_news project 1"
_LOWEST = -4.0  # no score is lower
PROGRAM = "siamese-news"
# Signs that Windows reserves; each looks like its full-width form, which every system accepts.
_LIKE = {ord(sign): ord(sign) + 0xFEE0 for sign in '<>:"/\\|?*'}
_DEVICE = re.compile(r"(con|prn|aux|nul|(com|lpt)[0-9¹²³])\s*(\.|$)", re.IGNORECASE)
_ENDING = re.compile(r"\.\w{1,8}(?:\.(?:gz|zst))?$", re.IGNORECASE)
_LONGEST = 180  # bytes of a name without its ending; file systems take 255 with it
FIELDS = tuple(name for name in READING if name != "date_format")
"""The options that say how a file of posts is read."""

ASKED = (*DATES, "about", "dedupe", *FIELDS)
"""The fields of a query that the form has, by their names."""

_FORM = Query(about="event")
_OPTIONS: dict[str, Any] = {
    "keep_by": "relevance",
    "threshold": 0.05,
    **{
        name: "" if getattr(_FORM, name) is None else getattr(_FORM, name)
        for name in ASKED
    },
    "second_look": True,
}
"""An empty text means not set; the threshold is of what `keep_by` says: a relevance or a score.

The search keeps more than the likely posts, so that the list can end lower, and labels can tell how
many relevant posts are below its end.
"""

LIKELY = 0.5
"""The relevance from which a post is more likely relevant than not."""


class _Machine(TypedDict):
    """A machine's verdicts: its name, and their file in the folder ``verdicts``."""

    name: str
    file: FileName


class _Saved(TypedDict):
    """The file of a project."""

    format: str
    search: Annotated[int, Meta(ge=0, le=10**9)]
    options: dict[str, bool | float | str | None]
    criteria: NotRequired[str]
    threshold: NotRequired[Number | None]
    relevance: NotRequired[Number | None]
    machine: NotRequired[_Machine | None]


class Project:
    """A project's folder, which is created if missing.

    Articles, posts and `negatives` (articles about a different story) from the command line come in
    addition to those in the folder. `second_look` is the folder of a model that reranks the best
    posts, if the search asks for it.

    Raises:
        InputError: the folder has other files, or a damaged project.
    """

    def __init__(
        self,
        folder: Path,
        articles: Sequence[str] = (),
        posts: Sequence[str] = (),
        negatives: Sequence[str] = (),
        model: Path | None = None,
        second_look: Path | None = None,
    ) -> None:
        self.folder = folder.resolve()
        self.named = {
            "articles": _absolute(articles),
            "not": _absolute(negatives),
            "posts": _absolute(posts),
        }
        self.model = None if model is None else model.resolve()
        self.second_look = None if second_look is None else second_look.resolve()
        self._guard = threading.RLock()
        self._file = self.folder / "project.json"
        self._loading = threading.Lock()
        self.refuse_links()
        self._results: tuple[Path, Results] | None = None
        try:
            self._make()
        except OSError as error:
            raise InputError(
                f"{folder}: cannot be the folder of a project ({error.strerror}: "
                f"{error.filename}); name another --project, or change the permissions"
            ) from error
        self._config = self._read()  # nobody else writes it while the folder is held

    def _make(self) -> None:
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError(
                f"{self.folder}: is a file; expected the folder of a project"
            )
        if not self._file.exists():
            if self.folder.exists() and any(self.folder.iterdir()):
                raise InputError(
                    f"{self.folder}: contains other files but no project.json; expected a new "
                    "folder or an existing project: name another --project"
                )
            # Posts and labels are nobody else's.
            self.folder.mkdir(0o700, parents=True, exist_ok=True)
            new = {
                "format": FORMAT,
                "version": __version__,
                "search": 0,
                "options": _OPTIONS,
            }
            write_json(self._file, new)
        for name in (*(f"inputs/{kind}" for kind in self.named), ".private"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        # A file there opens the page to anyone who can read it.
        self.private.chmod(0o700)

    def refuse_links(self) -> None:
        """Refuse the folder if it has a link, or anything else that is not a file or a folder.

        A project may be somebody else's, and what the page reads or writes through a link would be
        another file of this user. So every request that reads or writes asks this first.
        """
        folders = [self.folder] if self.folder.is_dir() else []
        while folders:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    if _is_link(entry):
                        raise InputError(
                            f"{entry.path}: is a link; a project may have none, because the page "
                            "would read or write the file that it leads to: put a copy in its "
                            "place, or name files of other folders with --articles and --posts"
                        )
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(Path(entry.path))
                    elif not entry.is_file(follow_symlinks=False):
                        raise InputError(
                            f"{entry.path}: is neither a file nor a folder (a pipe, a device); "
                            "remove it from the project"
                        )

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the folder, so that no second server writes into it; an error if one does."""
        try:
            held = FileLock(self.private / "lock").acquire(timeout=0)
        except Timeout as error:
            raise InputError(
                f"{self.folder}: is open in another siamese-news desk; use that page (it can be "
                "open in several tabs), or stop it first"
            ) from error
        with held:
            yield

    def config(self) -> dict[str, Any]:
        """The saved values."""
        return {**self._config, "options": dict(self._config["options"])}

    def update(self, **changes: Any) -> None:
        """Change values and save them."""
        with self._guard:
            changed = {**self.config(), **changes}
            write_json(self._file, changed)
            self._config = changed

    def _read(self) -> dict[str, Any]:
        try:
            content = json.loads(self._file.read_text(encoding="utf-8"))
            if content["format"] != FORMAT:
                raise InputError(
                    f"{self._file}: has the format {content['format']!r}, expected {FORMAT!r}; "
                    f"open it with the version that made it, {content.get('version', 'unknown')}"
                )
            fitting(content, _Saved)
            # Before there was a choice, a threshold was one of the score.
            options = _OPTIONS | {"keep_by": "score"} | content["options"]
            fitting(options["threshold"], Number)
            return {**content, "options": options}
        except (ValueError, KeyError, TypeError, OSError, RecursionError) as error:
            raise InputError(
                f"{self._file}: is damaged ({error}); restore it from a copy"
            ) from error

    @property
    def criteria(self) -> str:
        """The user's description of a relevant post."""
        return str(self.config().get("criteria", ""))

    @property
    def threshold(self) -> float:
        """The score from which posts are exported: the user's choice, or that of likely posts."""
        config = self.config()
        chosen = config.get("threshold")
        if chosen is None and config["options"]["keep_by"] == "score":
            chosen = config["options"]["threshold"]
        if chosen is None and self.results.exists():
            results = self.load_results()
            chosen = (
                results.least_score("relevance", LIKELY)
                if results.known
                else self.meta().get("threshold")
            )
        return _LOWEST if chosen is None else float(chosen)

    def inputs(self, kind: str) -> list[dict[str, Any]]:
        """The files of a kind: ``name``, ``size``, and ``own`` if it can be removed."""
        paths = sorted((self.folder / "inputs" / kind).iterdir())
        rows = [
            (path.name, path, True)
            for path in paths
            if path.is_file() and not path.name.startswith(".")
        ]
        rows += [(name, Path(name), False) for name in self.named[kind]]
        return [
            {
                "name": name,
                "own": is_own,
                "size": path.stat().st_size if path.is_file() else None,
            }
            for name, path, is_own in rows
        ]

    def sources(self, kind: str) -> list[str]:
        """The arguments of a command for a kind of input, relative to the folder of the project."""
        folder = self.folder / "inputs" / kind
        files = any(not path.name.startswith(".") for path in folder.iterdir())
        return ([f"inputs/{kind}"] if files else []) + list(self.named[kind])

    def input_path(self, kind: str, name: str) -> Path:
        """The path of an input file with this name, or with a safer one (`safe_name`).

        Raises:
            InputError: an unknown kind (`named`), or a name whose ending is unknown.
        """
        if kind not in self.named:
            raise InputError(
                f"{kind!r} is not a kind of file; expected articles, not or posts"
            )
        suffixes = POST_SUFFIXES if kind == "posts" else ARTICLE_SUFFIXES
        if plain_suffix(f"_{name}") not in suffixes:  # ".jsonl" alone is an ending too
            raise InputError(
                f"{name}: the ending is not one of {', '.join(suffixes)} (plain, .gz or .zst); rename "
                "or convert the file"
            )
        return self.folder / "inputs" / kind / safe_name(name)

    def take_input(self, kind: str, name: str, file: Path) -> None:
        """Put an uploaded file among the inputs, under its own name or a safer one.

        Raises:
            InputError: see `input_path`; and a file of that name exists.
        """
        with self._guard:
            path = self.input_path(kind, name)
            if path.exists():  # it came while this one was uploaded
                raise InputError(f"{name}: already exists; remove it first")
            os.replace(file, path)

    def paste(self, text: str) -> None:
        """Keep a pasted article."""
        if not text.strip():
            raise InputError("the text is empty; paste an article")
        folder = self.folder / "inputs" / "articles"
        names = (f"pasted-{number}.txt" for number in count(1))
        path = next(folder / name for name in names if not (folder / name).exists())
        with atomic_write(path) as stream:
            stream.write(text.strip() + "\n")

    @property
    def search(self) -> Path:
        """The folder of the current search, or of the first one before any search."""
        return self.folder / "searches" / str(max(1, int(self.config()["search"])))

    @property
    def results(self) -> Path:
        """The file of results of the current search, whether it exists or not."""
        return self.search / "results.parquet"

    @property
    def relevance_map(self) -> Path:
        """The file of the map by the user's labels, which may be missing."""
        return self.search / "relevance-map.json"

    def load_results(self) -> Results:
        """The posts of the current search; an error before the first one."""
        with self._loading:
            path = self.require_results()
            if self._results is None or self._results[0] != path:
                self._results = path, Results(path)
                if self.relevance_map.exists():
                    self._results[1].use(LabelMap.read(self.relevance_map))
            return self._results[1]

    def require_results(self) -> Path:
        """`results`; an error if it does not exist."""
        if not self.results.exists():
            raise InputError("there are no results yet; search first")
        return self.results

    def meta(self) -> ResultMeta:
        """The meta file of the search; empty without one."""
        try:
            return result_meta(self.results)
        except InputError:
            return {}

    def command(self, *words: str, **options: Any) -> str:
        """A command line to be run in the folder of the project.

        Paths in it are relative to that folder; None, False and empty texts leave an option out.
        """
        words_so_far = [PROGRAM, *words]
        for name, value in options.items():
            for item in value if isinstance(value, list | tuple) else [value]:
                if item is None or item is False or item == "":
                    continue
                option_value = (
                    item.relative_to(self.folder) if isinstance(item, Path) else item
                )
                words_so_far += [
                    f"--{name.replace('_', '-')}",
                    *([] if item is True else [str(option_value)]),
                ]
        return shlex.join(words_so_far)

    @property
    def exports(self) -> Path:
        """The folder of the files that are handed over."""
        return self.folder / "hand-over"

    @property
    def private(self) -> Path:
        """A folder that only the owner can read."""
        return self.folder / ".private"


def safe_name(name: str) -> str:
    """A name that every file system accepts, as close to the given one as possible.

    Letters of all scripts, spaces and ordinary signs stay; ``?`` and the like become their
    full-width forms, and hidden characters ``_``. A name that a system would read as a device, an
    option or a hidden file gets a leading ``_``, and a long one loses the end of its stem.
    """
    plain = normalized("NFC", name).translate(_LIKE)
    plain = "".join(
        "_" if unicodedata.category(sign)[0] == "C" else sign for sign in plain
    )
    if _DEVICE.match(plain) or plain[:1] in ("", ".", "-", "~", " "):
        plain = f"_{plain}"
    stem = _ENDING.split(plain, maxsplit=1)[0]
    ending = _ENDING.search(plain)
    suffix = "" if ending is None else ending[0]
    return stem.encode()[:_LONGEST].decode("utf-8", "ignore") + suffix


def _is_link(entry: "os.DirEntry[str]") -> bool:
    """Whether a name in a folder leads elsewhere: a symbolic link, or a junction of Windows."""
    if entry.is_symlink():
        return True
    tag = (
        getattr(entry.stat(follow_symlinks=False), "st_reparse_tag", 0)
        if os.name == "nt"
        else 0
    )
    return tag == getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", -1)


def _absolute(names: Sequence[str]) -> list[str]:
    """Absolute paths, because the search runs in the folder of the project."""
    for name in names:
        if name in ("-", ""):
            input_name = "standard input (-)" if name else "an empty name"
            raise InputError(f"{input_name} cannot be a page's input; name a file")
    return [os.path.abspath(name) for name in names]
