"""How this project starts other processes: none of them runs a file of the folder it works in.

Python looks for modules in its current folder first if it is started with ``-m`` or ``-c``, as
`multiprocessing` starts it too, and Windows looks there for programs. That folder may be full of
somebody else's files: dumps, or a project that was sent. So children are started by the functions
of this file alone, with safe paths (``-P``), and programs by their absolute path.
"""

import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from siamese_news.errors import InputError

# Set to ``json``, this variable makes progress a JSON line on stderr, for programs that watch.
PROGRESS = "SIAMESE_NEWS_PROGRESS"


def use_safe_paths() -> None:
    """Let every process that this one starts from now on import from installed packages alone.

    The variables reach the children that libraries start as well (Lightning, joblib). Folders
    of PYTHONPATH still count, as absolute ones; an empty entry, which would be a child's current
    folder, is left out.

    Raises:
        InputError: Python was started with ``-E``, so its children would not read the variables.
    """
    if sys.flags.ignore_environment and not sys.flags.safe_path:
        raise InputError(
            "python -E: the processes that this command starts would import modules from the "
            "current folder; start it with python -I, or without -E"
        )
    os.environ["PYTHONSAFEPATH"] = "1"
    if "PYTHONPATH" in os.environ:
        entries = filter(None, os.environ["PYTHONPATH"].split(os.pathsep))
        os.environ["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, entries))


@contextmanager
def safe_paths() -> Iterator[None]:
    """`use_safe_paths` for a block, in a program that is not ours."""
    variables = {
        name: os.environ.get(name) for name in ("PYTHONSAFEPATH", "PYTHONPATH")
    }
    use_safe_paths()
    try:
        yield
    finally:
        for name, value in variables.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def start_python(
    module: str, *arguments: str, **options: Any
) -> subprocess.Popen[bytes]:
    """Start ``python -m module`` with these arguments, and with the options of `Popen`.

    `environment` has variables to add to those of this process.
    """
    variables = options.pop("environment", {})
    with safe_paths():
        environment = {**os.environ, **variables}
    return subprocess.Popen(
        [sys.executable, "-P", "-m", module, *arguments], env=environment, **options
    )


def run_program(
    path: str, *arguments: str, folder: Path | None = None, seconds: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program, named by its absolute path (`program_path`), and return both outputs as text.

    It gets no standard input, and runs in `folder` (by default in the current one).

    Raises:
        OSError: it cannot be started.
        subprocess.TimeoutExpired: it takes longer than `seconds`.
    """
    if not os.path.isabs(path):
        raise ValueError(f"run_program got {path!r}; expected an absolute path")
    return subprocess.run(
        [path, *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=seconds,
        check=False,
    )


def program_path(name: str) -> str | None:
    """The absolute path of a program in one of the absolute folders of PATH; None without one.

    Unlike `shutil.which`, it never looks into the current folder, on Windows either.
    """
    endings = (
        os.environ.get("PATHEXT", ".EXE").split(os.pathsep) if os.name == "nt" else [""]
    )
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    for folder in filter(os.path.isabs, folders):
        for ending in ("", *endings) if Path(name).suffix else endings:
            path = os.path.join(folder, name + ending)
            if os.path.isfile(path) and os.access(path, os.X_OK):
                return path
    return None


@contextmanager
def spawning() -> Iterator[Any]:
    """A context of `multiprocessing` whose processes are started anew, inside this block."""
    with safe_paths():
        yield multiprocessing.get_context("spawn")


def copying() -> Any:
    """A context of `multiprocessing` whose processes are copies of this one, with all its objects.

    A copy has the locks of other threads, which nobody releases there, and torch does not survive
    one, nor do the libraries of macOS. Then processes are started anew, by a command that has
    called `use_safe_paths`.
    """
    alone = threading.active_count() == 1 and "torch" not in sys.modules
    can_copy = sys.platform == "linux" and alone
    return multiprocessing.get_context("fork" if can_copy else "spawn")
