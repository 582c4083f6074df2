"""Commands that take options of a search."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import typer

from siamese_news.cli.outputs import OUTPUT_PANEL, check_output
from siamese_news.errors import InputError
from siamese_news.search.query import (
    DATES,
    OPTIONS,
    READING,
    SHARED,
    TYPES,
    Query,
    read_key,
    read_relevance,
    read_score,
)
from siamese_news.utils.extras import postpone

# Types that a command line has another one for.
_TYPES: dict[Any, Any] = {
    Sequence[str]: list[str] | None,
    str | Sequence[str] | None: list[str] | None,
    bytes | None: Path | None,
    float | None: str | None,
}
# The panels of a help text. What most people need has none, and so comes first.
_PANELS = {
    "What is searched for": ("distinct", "negatives", "about"),
    "Which posts": (*DATES, "dedupe"),
    OUTPUT_PANEL: ("format", *SHARED),
    "Models": ("model", "relevance_map", "second_look"),
    "How posts are read": READING,
}
_PANEL_OF = {name: panel for panel, names in _PANELS.items() for name in names}
_KEYWORD = inspect.Parameter.KEYWORD_ONLY


def search_command(
    default: Query,
    fields: Sequence[str],
    *,
    required: Sequence[str] = (),
    formats: Sequence[str] = (),
    helps: Mapping[str, str] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Turn a function of a `Query` and of further options into a command.

    Args:
        default: the query without any options.
        fields: those of the query that have an option, in the order of the help.
        required: those whose option is required.
        formats: those of the output; empty: all.
        helps: other help texts, by field.
    """

    def parameter(name: str) -> inspect.Parameter:
        option = OPTIONS[name]
        kind = TYPES[name]
        flag = Query.flag(name)
        unset = getattr(default, name)
        value: Any = typer.Option(
            ... if name in required else None if unset == () else unset,
            f"{flag}/--no-{name}" if kind == bool | None else flag,
            help=(helps or {}).get(name, option.help),
            metavar=option.metavar,
            min=option.minimum,
            rich_help_panel=_PANEL_OF.get(name),
        )
        kind = _TYPES.get(kind, kind)
        if name == "format" and formats:
            kind = Literal[tuple(formats)] | None
        return inspect.Parameter(name, _KEYWORD, default=value, annotation=kind)

    def command(function: Callable[..., None]) -> Callable[..., None]:
        def run(**values: Any) -> None:
            # scipy imports all of numpy, of which these two take as long as scipy itself.
            postpone("numpy.f2py", "numpy.testing")
            query = _query(default, {name: values.pop(name) for name in fields})
            try:
                function(query, **values)
            except MemoryError as error:
                raise InputError(
                    f"there is not enough memory ({str(error) or 'none was left'}): raise the limit, "
                    "close other programs, or search fewer posts or seeds at a time. A filter of a "
                    "million posts takes 0.4 GB (0.52 of addresses, as ulimit -v counts); it continues "
                    "with --resume"
                ) from error

        _, *further = inspect.signature(function).parameters.values()
        parameters = [
            *(parameter(name) for name in fields if name not in READING),
            *(member.replace(kind=_KEYWORD) for member in further),
            *(parameter(name) for name in fields if name in READING),
        ]
        run.__name__ = function.__name__
        run.__doc__ = function.__doc__
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return run

    return command


def _query(default: Query, typed: Mapping[str, Any]) -> Query:
    """The query of the values that a command line has; None where an option is missing."""
    values = {name: value for name, value in typed.items() if value is not None}
    if "out" in values and values["out"].name in ("", "-"):
        raise InputError(
            f"--out {values['out']}: expected the name of a file or new folder"
        )
    if "threshold" in values:
        values["threshold"] = read_relevance(values["threshold"])
    if "min_score" in values:
        values["min_score"] = read_score(values["min_score"], "--min-score")
    if "author" in values:
        # The command checks the rest.
        check_output(values.get("out"), [values["author"]], force=True)
        values["author"] = read_key(values["author"])
    return replace(default, **values)
