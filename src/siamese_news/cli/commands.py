"""The commands that installed packages register as entry points, ours among them.

A package adds a command by a function with typed options, as Typer takes it, in the group
``siamese_news.commands``; ``pyproject.toml`` of this project shows how.
"""

from functools import cache
from importlib.metadata import EntryPoint
from itertools import chain, pairwise
from typing import Any

import typer
from typer.core import TyperGroup

from siamese_news.cli.many_values import ManyValues
from siamese_news.errors import InputError
from siamese_news.utils.exits import EXIT_CODES, NOTHING_WRITTEN, bad_input_exits
from siamese_news.utils.plugins import added, load

# In the order of a study; commands of other packages follow by name.
_IN_SEARCH = (
    "rank",
    "filter",
    "watch",
    "explain",
    "index",
    "keywords",
    "rerank",
    "threads",
    "report",
)
_IN_DESK = (
    "sample",
    "certify",
    "audit",
    "feedback",
    "desk",
)
_LAST = ("doctor",)
_ORDER = (*_IN_SEARCH, *_IN_DESK, *_LAST)

_MAYBE_EMPTY = ("--criteria", "--title", "--text")


class Commands(TyperGroup):
    """The commands; empty values, which are hardly ever meant, and former commands are refused."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all commands that are installed."""
        names = _points()
        ours = [name for name in _ORDER if name in names]
        return ours + sorted(set(names) - set(ours))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of this name; None if no package registers one that can be imported."""
        try:
            return _command(cmd_name)
        except (InputError, ModuleNotFoundError):
            return None  # a broken or stale package: the others stay in the list

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that the first argument names."""
        words = chain.from_iterable(
            word.split("=", 1) if word.startswith("--") else [word] for word in args
        )
        for name, value in pairwise(words):
            if not value and name.startswith("--") and name not in _MAYBE_EMPTY:
                raise typer.BadParameter(
                    f"{name} has an empty value; add one, or leave the option out (a variable of "
                    "the shell that is not set gives an empty value)",
                    ctx=ctx,
                )
        name = args[0]
        with bad_input_exits():
            if name in _IN_DESK and name not in _points():
                raise InputError(
                    f"{name} comes with the package siamese-news-desk, which is not installed; run "
                    "pip install 'siamese-news[desk]', or in a clone pip install ./desk"
                )
            _command(name)
        return super().resolve_command(ctx, args)


@cache
def _points() -> dict[str, EntryPoint]:
    return added("commands")


@cache
def _command(name: str) -> Any:
    point = _points().get(name)
    if point is None:
        return None
    function = load(point)
    interrupted = getattr(function, "interrupted", NOTHING_WRITTEN)
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    alone.command(name, cls=ManyValues, epilog=getattr(function, "exits", EXIT_CODES))(
        bad_input_exits(interrupted)(function)
    )
    return typer.main.get_command(alone)
