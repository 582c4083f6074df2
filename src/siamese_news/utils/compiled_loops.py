"""Loops in C that were built when the package was installed (``setup.py``); nothing compiles later.

A module with loops has their C file next to it, and the same in Python for an installation without
them. Loops of floating-point numbers exist once for each kind of processor.
"""

import ctypes
import hashlib
import logging
import os
from pathlib import Path

from siamese_news.utils.processor import processor_flags

SWITCH = "SIAMESE_NEWS_COMPILE"
"""Set to ``0``, this variable turns the loops off, both for the installation and at run time."""

_log = logging.getLogger(__name__)
# What the compiler was allowed to use for each kind of processor; the best comes first.
_KINDS = {
    "_avx512": frozenset("avx512f avx512bw avx512cd avx512dq avx512vl fma".split()),
    "_avx2": frozenset(("avx2", "fma")),
    "": frozenset(),
}
_paths: dict[str, str] = {}


def load_loops(source: Path) -> tuple[ctypes.CDLL | None, str]:
    """The loops of a C file, or None, and their file or why there are none."""
    loops, path = _load(source)
    if _paths.get(source.stem) != path:
        _paths[source.stem] = path
        _log.info("%s: %s", source.stem, path)
    return loops, path


def loops_used() -> str:
    """The loops that this process has asked for, each with its file or the reason for Python."""
    return "; ".join(f"{name}: {path}" for name, path in sorted(_paths.items()))


def _load(source: Path) -> tuple[ctypes.CDLL | None, str]:
    if os.environ.get(SWITCH) == "0":
        return None, f"in Python, because {SWITCH} is 0"
    files = (
        source.with_name(f"{source.stem}{kind}.so")
        for kind, needed in _KINDS.items()
        if needed <= processor_flags()
    )
    path = next(filter(Path.is_file, files), None)
    if path is None:
        return None, "in Python, because this installation has no compiled loops"
    try:
        loops = ctypes.CDLL(str(path))
        built_from = ctypes.c_uint64.in_dll(loops, "SOURCE_HASH").value
    except (OSError, ValueError) as error:
        return None, f"in Python, because {path.name} cannot be loaded ({error})"
    if source.is_file() and built_from != source_hash(source):
        return None, f"in Python, because {path.name} was built from an older source"
    return loops, path.name


def source_hash(source: Path) -> int:
    """What ``setup.py`` builds into the loops of a C file, so that old ones are told from new."""
    return int(hashlib.sha256(source.read_bytes()).hexdigest()[:16], 16)
