"""The provenance of a result: command, code revision, versions and machine."""

import os
import platform
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from siamese_news.utils.compiled_loops import loops_used
from siamese_news.utils.processes import program_path, run_program
from siamese_news.utils.processor import processor_entry

_PACKAGES = (
    "siamese-news",
    "torch",
    "pytorch-lightning",
    "entmax",
    "pytorch-metric-learning",
)


def provenance() -> dict[str, object]:
    """Plain values that say how a result came about.

    The revision is git's, with ``+changes`` for an unclean tree, or ``unknown``. The loops are those
    that this process asked for: with other loops a training has other bits.
    """
    processor = (
        processor_entry("model name") or platform.processor() or platform.machine()
    )
    return {
        "command": command(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
        "revision": _revision(),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in _PACKAGES},
        "machine": f"{processor}, {os.cpu_count()} cores{_cards()}",
        "loops": loops_used(),
    }


def command() -> str:
    """The command line as a user would type it."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    name = spec.name.removesuffix(".__main__") if spec and spec.name else ""
    program = f"python -m {name}" if name else Path(sys.argv[0]).name
    return f"{program} {shlex.join(sys.argv[1:])}".rstrip()


@cache
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _cards() -> str:
    """The GPUs on which this process has worked; nothing is imported to find out."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return ""
    count = torch.cuda.device_count()
    names = sorted({torch.cuda.get_device_name(number) for number in range(count)})
    return f", {count} x {', '.join(names)}"


def _revision() -> str:
    package = Path(__file__).resolve().parents[1]
    program = program_path("git")
    if program is None:
        return "unknown"

    def git(*arguments: str) -> str:
        # The configuration of a repository can name a program that watches its files.
        completed = run_program(
            program,
            "-c",
            "core.fsmonitor=false",
            *arguments,
            folder=package,
            seconds=10,
        )
        completed.check_returncode()
        return completed.stdout.strip()

    try:
        # Only a checkout of this project counts, not one it happens to be installed inside.
        root = Path(git("rev-parse", "--show-toplevel")).resolve()
        if root / "src" / "siamese_news" != package:
            return "unknown"
        changes = git("status", "--porcelain", "--untracked-files=no")
        return git("rev-parse", "--short=12", "HEAD") + ("+changes" if changes else "")
    except (OSError, subprocess.SubprocessError):
        return "unknown"
