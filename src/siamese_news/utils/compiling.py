"""Loops in C, compiled once for this processor at their first use, and kept in the cache.

A module with loops has them in a C file next to it, and the same in Python for a machine without a
compiler. (`torch.utils.cpp_extension` would need ninja and a C++ compiler.)
"""

import ctypes
import hashlib
import logging
import os
import platform
import subprocess
import tempfile
from pathlib import Path

from siamese_news.utils.cache import (
    cache_folder,
    cache_write,
    is_trusted,
    private_folder,
)
from siamese_news.utils.files import file_sha256
from siamese_news.utils.processes import program_path, run_program

SWITCH = "SIAMESE_NEWS_COMPILE"

_log = logging.getLogger(__name__)
# No -ffast-math: it takes NaN for impossible, and broken weights would go unseen.
_FLAGS = (
    "-O3 -shared -fPIC -ffp-contract=fast -fno-math-errno -fno-trapping-math".split()
)
_TUNED = ("-march=native -mprefer-vector-width=512 -Wno-psabi", "-march=native", "")


def load_loops(source: Path) -> tuple[ctypes.CDLL | None, str]:
    """The compiled loops of a C file, or None, and how they were compiled or why there are none."""
    if os.environ.get(SWITCH) == "0":
        return None, f"{SWITCH} is 0"
    names = filter(None, (os.environ.get("CC"), "gcc", "clang", "cc"))
    compiler = next(filter(None, map(program_path, names)), None)
    if compiler is None:
        return None, "no C compiler was found (gcc, clang, or the one that CC names)"
    folder = private_folder("compiled")
    if folder is None:
        return (
            None,
            f"{cache_folder()} is not a folder that only this user can write to",
        )
    try:
        path = _compiled(source, compiler, folder)
        return ctypes.CDLL(str(path)), f"compiled by {compiler}, {path}"
    except (OSError, subprocess.SubprocessError) as error:
        lines = str(getattr(error, "stderr", None) or error).strip().splitlines()
        return None, f"{compiler} failed: {lines[0] if lines else type(error).__name__}"


def _compiled(source: Path, compiler: str, folder: Path) -> Path:
    """The shared object of a source, compiler and processor in a folder of the cache.

    It is compiled if it is missing, may be somebody else's, or differs from its checksum.
    """
    parts = [
        source.read_bytes(),
        compiler.encode(),
        repr((_FLAGS, _TUNED)).encode(),
        _processor(),
    ]
    key = hashlib.sha256(b"\0".join(parts)).hexdigest()[:32]
    path = folder / f"{source.stem}-{key}.so"
    checksum = path.with_suffix(".sha256")
    if is_trusted(path) and is_trusted(checksum):
        if checksum.read_text(encoding="ascii", errors="replace") == file_sha256(path):
            return path
    _log.info("Compiling %s for this processor, once (%s)", source.name, compiler)
    with tempfile.TemporaryDirectory(dir=folder) as work:
        made = Path(work) / path.name
        for tuned in _TUNED:  # a compiler that does not know an option tries the next
            options = [*_FLAGS, *tuned.split(), str(source), "-o", str(made)]
            done = run_program(compiler, *options, folder=Path(work), seconds=120)
            if done.returncode == 0:
                break
        done.check_returncode()
        content = made.read_bytes()
    # A process that stops between the two compiles again.
    with cache_write(path) as stream:
        stream.write(content)
    with cache_write(checksum) as stream:
        stream.write(hashlib.sha256(content).hexdigest().encode())
    return path


def _processor() -> bytes:
    """What decides which instructions there are: a home folder may serve several machines."""
    try:
        lines = Path("/proc/cpuinfo").read_bytes().split(b"\n\n")[0].splitlines()
    except OSError:
        return platform.processor().encode() + platform.machine().encode()
    return b"\n".join(
        line for line in lines if line.startswith((b"flags", b"model", b"Features"))
    )
