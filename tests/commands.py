"""Commands as a user types them: in this process, or in one of their own that has its imports done.

A process of its own is for what is about processes: signals, terminals, pipes, workers, the
environment at the start. It costs half a second more than the same command in this process.
"""

import atexit
import multiprocessing
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Sequence
from functools import cache
from multiprocessing import forkserver
from pathlib import Path

import pytest
from tests.installed import WITH_DESK
from typer.testing import CliRunner

from siamese_news.cli import app
from siamese_news.utils.processes import safe_paths

# What a command imports takes two seconds of the processor: more than most commands of the tests.
_MODULES = [
    "siamese_news.__main__",
    "siamese_news.cli.rank",
    "siamese_news.cli.filter",
    "siamese_news.cli.explain",
    "siamese_news.search.searcher",
    "siamese_news.search.filtering",
    "siamese_news.search.explain",
    "siamese_news.model.folder",
    "siamese_news.encoders",
    "siamese_news.rerankers",
    "siamese_news.training.link",
    "siamese_news.training.sweep",
    "anyascii",
    "filelock",
    "hydra._internal.core_plugins.basic_launcher",
    "hydra._internal.core_plugins.basic_sweeper",
    "hydra._internal.core_plugins.importlib_resources_config_source",
    "pyarrow.dataset",
    "pyarrow.parquet",
    "pytorch_metric_learning.losses",
    "pytorch_metric_learning.miners",
    "sklearn",
    "typer._adapters",
    "tests.warm",
]
_OF_THE_DESK = [
    "siamese_news_desk.cli.desk",
    "siamese_news_desk.page.app",
    "siamese_news_desk.page.security",
    "uvicorn.lifespan.on",
    "uvicorn.protocols.http.auto",
    "uvicorn.protocols.websockets.auto",
]

# Run in the new process, which has nothing of this one but its environment and folder.
_SCRIPT = """
import os, sys
os.environ.clear()
os.environ.update(environment)
os.chdir(folder)
for path, number in ((output, 1), (errors, 2)):
    os.dup2(os.open(path, os.O_WRONLY | os.O_APPEND), number)
sys.argv = ["siamese-news", *arguments]
if module is None:
    from siamese_news.__main__ import main
    main()
else:
    import runpy
    if not module.startswith("siamese_news"):
        sys.path.insert(0, folder)
    sys.path[:0] = [os.path.abspath(p) for p in os.environ.get("PYTHONPATH", "").split(":") if p]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
"""


@cache
def prepared() -> multiprocessing.context.BaseContext:
    """For processes that begin with the imports of commands done, where there is a fork server."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*_MODULES, *(_OF_THE_DESK if WITH_DESK else [])])
    with pytest.MonkeyPatch.context() as patch:
        # Of `tests`.
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[1]), prepend=os.pathsep)
        with safe_paths():
            forkserver.ensure_running()
    return context


def siamese_news(
    *arguments: object, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """``siamese-news`` with these arguments in a folder, this one by default, without input.

    It runs in this process, unless it asks for workers, which are processes themselves;
    `in_own_process` always starts another one.

    Returns:
        What `subprocess.run` gives, with both outputs as text.
    """
    words = [str(argument) for argument in arguments]
    if any(word.startswith("--workers") for word in words):
        return in_own_process(*words, folder=folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder or Path.cwd())
        patch.setattr(sys, "argv", ["siamese-news", *words])
        done = CliRunner().invoke(app, words, prog_name="siamese-news")
    errors = done.stderr
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        errors += "".join(traceback.format_exception(done.exception))
    return subprocess.CompletedProcess(words, done.exit_code, done.stdout, errors)


def in_own_process(
    *arguments: object, folder: Path | None = None, timeout: float = 300
) -> subprocess.CompletedProcess[str]:
    """As `siamese_news`, in a process of its own that begins with its imports done."""
    return _run(None, arguments, folder or Path.cwd(), timeout)


def python_m(
    module: str, *arguments: object, folder: Path
) -> subprocess.CompletedProcess[str]:
    """``python -m`` of a module in a folder, as `in_own_process`."""
    return _run(module, arguments, folder, 600)


def begin(
    module: str | None,
    *arguments: object,
    folder: Path,
    output: Path,
    errors: Path | None = None,
) -> multiprocessing.process.BaseProcess:
    """A command that keeps running while the test does something else, at most until the tests end.

    Args:
        module: what ``python -m`` runs; None is ``siamese-news``.
        arguments: of it.
        folder: where it runs.
        output: an existing file or pipe for its standard output.
        errors: one for its standard error, by default the same.
    """
    process = _start(module, arguments, folder, output, errors or output)
    atexit.register(process.kill)
    return process


def _run(
    module: str | None, arguments: Sequence[object], folder: Path, timeout: float
) -> subprocess.CompletedProcess[str]:
    with (
        tempfile.NamedTemporaryFile() as output,
        tempfile.NamedTemporaryFile() as errors,
    ):
        paths = [Path(file.name) for file in (output, errors)]
        process = _start(module, arguments, folder, *paths)
        process.join(timeout)
        given = [str(argument) for argument in arguments]
        if process.is_alive():
            process.kill()
            raise subprocess.TimeoutExpired(given, timeout)
        said = [path.read_text(encoding="utf-8") for path in paths]
    return subprocess.CompletedProcess(given, process.exitcode, *said)


def _start(
    module: str | None,
    arguments: Sequence[object],
    folder: Path,
    output: Path,
    errors: Path,
) -> multiprocessing.process.BaseProcess:
    values = {
        "module": module,
        "arguments": [str(argument) for argument in arguments],
        "environment": dict(os.environ),
        "folder": str(folder),
        "output": str(output),
        "errors": str(errors),
    }
    process = prepared().Process(target=exec, args=(_SCRIPT, values))
    process.start()
    return process
