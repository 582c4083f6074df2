"""Processes of this machine that begin with their modules imported."""

import multiprocessing
from collections.abc import Sequence
from typing import Any

PROGRESS = "SIAMESE_NEWS_PROGRESS"
"""Set to ``json``, this variable makes progress a JSON line on stderr, for programs that watch."""


def importing(modules: Sequence[str]) -> Any:
    """A context of `multiprocessing` whose processes need not import these modules.

    If the system has it, this is a fork server: one fresh process imports them, beginning now, and
    is copied for each new process; it skips those that it cannot import. A fork of this process
    itself would copy the locks of its threads, which would never be released.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    from multiprocessing.forkserver import ensure_running

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(modules))
    ensure_running()
    return context
