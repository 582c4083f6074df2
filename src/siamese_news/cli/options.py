"""The options of a search, and the commands that take them."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Literal

import typer

from siamese_news.cli.outputs import check_output
from siamese_news.errors import InputError
from siamese_news.search.query import (
    READING,
    Query,
    read_key,
    read_relevance,
    read_score,
)
from siamese_news.utils.extras import postpone

SEARCH = {
    "articles": "Seed articles: text files, saved web pages, JSON, JSON lines or CSV; one or more "
    "files, folders or globs, or - for standard input.",
    "posts": "Posts: exports from any known platform, JSON lines, CSV or Parquet; one or more "
    "files, folders or globs, or - for standard input.",
    "index": "Search this index (from siamese-news index) instead of --posts.",
    "model": "Model folder from training (default: the built-in model). A sentence-transformers or "
    "model2vec folder replaces only the vectors of the built-in model.",
    "threshold": "Keep posts with at least this relevance, from 0 to 1; 0.5 keeps those that are "
    "more likely relevant than not.",
    "min_score": "Keep posts with at least this score, such as that of a certificate; unlike a "
    "relevance, it means something else on each pool.",
    "top": "Number of posts to list for each article.",
    "one_story": "Treat the seeds as one story: one list for all of them instead of one for each.",
    "distinct": "Treat the seeds as different stories: a post falls in the lists of all seeds but "
    "the one it fits best.",
    "rivals": "Lower posts that fit an unrelated seed better (default: where several seeds have a "
    "list each).",
    "aggregate": "How to combine the scores for several seeds: close to any of them (max), or to "
    "all of them (mean).",
    "negatives": "Articles about a different story; their score is subtracted.",
    "about": "Find posts about the event or about the article itself. auto: the event for several "
    "seeds of one story, otherwise as the posts suggest.",
    "fusion": "Combine words and vectors by a weighted sum, or use only one of them (default: as "
    "set in the model).",
    "expand": "Pseudo-relevance feedback: expand each article with its best posts (one more pass; "
    "default: as set in the model, on in the built-in one).",
    "smooth": "Smooth scores over similar posts (default: as set in the model).",
    "after": "Keep posts from this date on (UTC) and undated posts.",
    "before": "Keep posts before this date (UTC) and undated posts.",
    "dated_only": "Leave out undated posts.",
    "dedupe": "Show only the best of near-duplicates, with their number.",
    "format": "Output format (default: by the file name, or a table).",
    "out": "File to write (default: the terminal).",
    "bom": "Write a UTF-8 byte order mark for Excel.",
    "ids_only": "Write no text of the posts, so that the file can be shared.",
    "author": "Write the authors, too.",
    "key": "Write the authors as HMAC-SHA256 with this secret key. Names inside texts and ids "
    "(Bluesky) are not replaced.",
    "map": "Add map coordinates x and y for the best 2,000 posts, for a viewer such as "
    "embedding-atlas.",
    "text_field": "Field with the text of a post, or several, whose texts are joined.",
    "id_field": "Field with the id of a post; 'line' numbers the rows.",
    "date_field": "Field with the date of a post.",
    "encoding": "Encoding of the files of posts, such as utf-16 or cp1252 (default: detected).",
    "strict": "Stop at the first bad row instead of skipping it.",
    "second_look": "A sentence-transformers or model2vec folder, or a cross-encoder, that reads "
    "each list's best posts and raises those near the seeds.",
    "second_look_posts": "With --second-look: posts of each list (default: twice as many as score "
    ".1 or more, from 200 to 5,000).",
    "threads": "CPU threads.",
}
"""The help text of the option of each field of a `Query`."""

_NAMES = {"negatives": "--not", "key": "--pseudonymize"}
_MORE: dict[str, dict[str, Any]] = {
    "threshold": {"metavar": "RELEVANCE"},
    "min_score": {"metavar": "SCORE"},
    "top": {"min": 1},
    "negatives": {"metavar": "ARTICLE"},
    "after": {"metavar": "DATE"},
    "before": {"metavar": "DATE"},
    "key": {"metavar": "KEYFILE"},
    "second_look": {"metavar": "FOLDER"},
    "second_look_posts": {"min": 1},
    "threads": {"min": 1},
}
_TYPES: dict[Any, Any] = {
    Sequence[str]: list[str] | None,
    str | Sequence[str] | None: list[str] | None,
    bytes | None: Path | None,
    float | None: str | None,
}


def search_command(
    default: Query,
    only: str = "",
    *,
    needs: str = "",
    without: str = "",
    formats: str = "",
    helps: Mapping[str, str] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Turn a function of a `Query` and its own options into a command.

    Args:
        default: the query without any options.
        only: the fields that have an option, with spaces between them; ``reading`` means all
            that say how files of posts are read. Empty: all fields.
        needs: fields whose options are required.
        without: fields that have no option.
        formats: those of the output; empty: all.
        helps: other help texts, by field.
    """
    names = only.replace("reading", " ".join(READING)).split()
    types = {member.name: member.type for member in fields(Query)}
    options = [name for name in names or SEARCH if name not in without.split()]
    texts = SEARCH | dict(helps or {})

    def parameter(name: str) -> inspect.Parameter:
        unset: Any = ... if name in needs.split() else getattr(default, name)
        kind = _TYPES.get(types[name], types[name])
        if name == "format" and formats:
            kind = Literal[tuple(formats.split())] | None
        flag = f"--{name.replace('_', '-')}"
        flag = f"{flag}/--no-{name}" if kind == bool | None else _NAMES.get(name, flag)
        option = typer.Option(
            None if unset == () else unset,
            flag,
            help=texts[name],
            **_MORE.get(name, {}),
        )
        keyword = inspect.Parameter.KEYWORD_ONLY
        return inspect.Parameter(name, keyword, default=option, annotation=kind)

    def command(function: Callable[..., None]) -> Callable[..., None]:
        def run(**values: Any) -> None:
            query_values = {name: values.pop(name) for name in options}
            query_values = {
                name: value for name, value in query_values.items() if value is not None
            }
            if "out" in query_values and not query_values["out"].name:
                raise InputError(
                    f"--out {query_values['out']}: expected the name of a file or new folder"
                )
            if "threshold" in query_values:
                query_values["threshold"] = read_relevance(query_values["threshold"])
            if "min_score" in query_values:
                query_values["min_score"] = read_score(query_values["min_score"])
            if "key" in query_values:
                # The command checks the rest.
                check_output(query_values.get("out"), [query_values["key"]], force=True)
                query_values["key"] = read_key(query_values["key"])
            # scipy imports all of numpy, of which these two take as long as scipy itself.
            postpone("numpy.f2py", "numpy.testing")
            query = replace(default, **query_values)
            try:
                function(query, **values)
            except MemoryError as error:
                raise InputError(
                    f"there is not enough memory ({str(error) or 'none was left'}): raise the limit, "
                    "close other programs, or search fewer posts or seeds at a time. A filter of a "
                    "million posts takes half a gigabyte (0.6 of addresses, as ulimit -v counts); it "
                    "continues with --resume"
                ) from error

        _, *own_parameters = inspect.signature(function).parameters.values()
        files = (*READING, "threads")  # these options come last
        parameters = [parameter(name) for name in options if name not in files]
        parameters += [
            member.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for member in own_parameters
        ]
        parameters += [parameter(name) for name in options if name in files]
        run.__name__ = function.__name__
        run.__doc__ = function.__doc__
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return run

    return command
