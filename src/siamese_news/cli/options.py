"""The options that commands share, and the commands that ask for a search."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from siamese_news.search.query import Query, read_key
from siamese_news.utils.choices import About, Aggregate, Format, Fusion
from siamese_news.utils.exits import bad_input_exits

ArticlesOption = Annotated[
    list[str],
    typer.Option(
        help="Seed articles: .txt, saved web pages, JSON, JSON lines, CSV; files, folders, globs, "
        "or - for standard input; several may follow."
    ),
]
PostsOption = Annotated[
    list[str],
    typer.Option(
        help="Posts: dumps of any known platform, JSON lines, CSV, Parquet; files, folders, globs, "
        "or -; several may follow."
    ),
]
OptionalPostsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--posts",
        help="Posts: dumps of any known platform, JSON lines, CSV, Parquet; files, folders, globs, "
        "or -; several may follow.",
    ),
]
IndexOption = Annotated[
    Path | None,
    typer.Option(
        "--index", help="In place of --posts: an index of them that siamese-news index wrote."
    ),
]
ModelOption = Annotated[
    Path | None,
    typer.Option(
        help="Model folder that training wrote; else the one shipped. A folder of "
        "sentence-transformers or model2vec gives the vectors beside the words of the one shipped."
    ),
]
NotOption = Annotated[
    list[str] | None,
    typer.Option(
        "--not",
        metavar="ARTICLE",
        help="Article of a story that is not meant: its score is subtracted; several may follow.",
    ),
]
AggregateOption = Annotated[
    Aggregate,
    typer.Option(
        help="Score over several seeds: near any of them (max), near all (mean), between (softmax)."
    ),
]
AboutOption = Annotated[
    About,
    typer.Option(
        help="Posts about the article's event, or about this very article. auto: the event for "
        "several seeds of one story; else as the pool suggests."
    ),
]
SmoothOption = Annotated[
    bool | None,
    typer.Option(
        "--smooth/--no-smooth",
        help="Let posts that are alike lend each other their scores, where the model does.",
    ),
]
FusionOption = Annotated[
    Fusion | None,
    typer.Option(
        help="Words and vectors: added with the model's weight, by reciprocal ranks (another "
        "pass), or one alone. Else as the model says."
    ),
]
ExpandOption = Annotated[
    bool | None,
    typer.Option(
        "--expand/--no-expand",
        help="Let each article's best posts speak for it as well (pseudo-relevance feedback; "
        "another pass). Else as the model says; the one shipped does.",
    ),
]
AfterOption = Annotated[
    str | None, typer.Option(metavar="DATE", help="Only posts from then on (UTC), or undated.")
]
BeforeOption = Annotated[
    str | None, typer.Option(metavar="DATE", help="Only posts before then (UTC), or undated.")
]
DatedOnlyOption = Annotated[bool, typer.Option("--dated-only", help="Leave out undated posts.")]
DedupeOption = Annotated[
    bool, typer.Option("--dedupe", help="Of near-duplicates show the best one, with their number.")
]
IdsOnlyOption = Annotated[
    bool, typer.Option("--ids-only", help="Write no words of the posts, for sharing.")
]
AuthorOption = Annotated[bool, typer.Option("--author", help="Write the authors as well.")]
PseudonymiseOption = Annotated[
    Path | None,
    typer.Option(
        "--pseudonymise",
        metavar="KEYFILE",
        help="Write the authors as HMAC-SHA256 under a secret key. Names inside texts and ids "
        "(Bluesky) stay.",
    ),
]
MapOption = Annotated[
    bool,
    typer.Option(
        "--map",
        help="Places x and y of the best 2,000 posts, for a viewer such as embedding-atlas.",
    ),
]
BomOption = Annotated[bool, typer.Option("--bom", help="Begin a CSV as Excel likes it.")]
TextFieldOption = Annotated[str | None, typer.Option(help="Field of a post's text.")]
IdFieldOption = Annotated[
    str | None, typer.Option(help="Field of a post's id; 'line' numbers the rows.")
]
DateFieldOption = Annotated[str | None, typer.Option(help="Field of a post's date.")]
EncodingOption = Annotated[
    str | None,
    typer.Option(help="Encoding of the posts' files, such as utf-16 or cp1252; else by a look."),
]
LongWindowOption = Annotated[
    bool, typer.Option("--long-window", help="Allow .zst windows of up to 2 GiB.")
]
StrictOption = Annotated[
    bool, typer.Option("--strict", help="Stop at the first bad row instead of setting it aside.")
]
ThreadsOption = Annotated[int | None, typer.Option(min=1, help="CPU threads.")]
OneStoryOption = Annotated[
    bool,
    typer.Option(
        "--one-story",
        help="The seeds tell one story: one list for all of them, not one for each.",
    ),
]
TopOption = Annotated[int, typer.Option(min=1, help="Posts to list for each article.")]
ThresholdOption = Annotated[
    float, typer.Option(min=-4, max=4, help="Keep posts with this score or a higher one.")
]
FormatOption = Annotated[
    Format | None, typer.Option(help="Else by the ending of --out, or a table.")
]
OutOption = Annotated[Path | None, typer.Option(help="File to write; else the terminal.")]
TimingOption = Annotated[
    bool,
    typer.Option(
        "--timing",
        help="Say at the end what share of the time went into reading, encoding (text to words and "
        "vectors) and scoring.",
    ),
]

_STAGES = ("reading", "encoding", "scoring")

SEARCH: dict[str, Any] = {
    "articles": ArticlesOption, "posts": OptionalPostsOption, "index": IndexOption,
    "model": ModelOption, "threshold": ThresholdOption, "top": TopOption,
    "one_story": OneStoryOption, "aggregate": AggregateOption, "negatives": NotOption,
    "about": AboutOption, "fusion": FusionOption, "expand": ExpandOption, "smooth": SmoothOption,
    "after": AfterOption, "before": BeforeOption, "dated_only": DatedOnlyOption,
    "dedupe": DedupeOption, "format": FormatOption, "out": OutOption, "bom": BomOption,
    "ids_only": IdsOnlyOption, "author": AuthorOption, "key": PseudonymiseOption,
    "map": MapOption, "text_field": TextFieldOption, "id_field": IdFieldOption,
    "date_field": DateFieldOption, "encoding": EncodingOption, "long_window": LongWindowOption,
    "strict": StrictOption, "threads": ThreadsOption,
}  # fmt: skip
"""The option of each field of a `Query`."""


def asks(
    unsaid: Query, *, needs: tuple[str, ...], without: tuple[str, ...], hint: str
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a command of a function of a `Query` and options of its own.

    Args:
        unsaid: what is asked for without options.
        needs: fields whose options must be given.
        without: fields that have no option here.
        hint: see `bad_input_exits`.
    """

    def command(function: Callable[..., None]) -> Callable[..., None]:
        def run(*, timing: bool, **values: Any) -> None:
            asked = {name: values.pop(name) for name in options}
            said = {name: value for name, value in asked.items() if value is not None}
            with bad_input_exits(hint), _told(timing):
                if "key" in said:
                    said["key"] = read_key(said["key"])
                function(replace(unsaid, **said), **values)

        options = {name: option for name, option in SEARCH.items() if name not in without}
        known = {one.name: getattr(unsaid, one.name) for one in fields(Query)}
        parameters = [
            _parameter(name, option, inspect.Parameter.empty if name in needs else known[name])
            for name, option in options.items()
        ]
        _, *own = inspect.signature(function).parameters.values()
        parameters += [_parameter(one.name, one.annotation, one.default) for one in own]
        parameters.append(_parameter("timing", TimingOption, False))
        run.__name__, run.__doc__ = function.__name__, function.__doc__
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return run

    return command


@contextmanager
def _told(timing: bool) -> Iterator[None]:
    """Measure the stages of a command and say them at its end, if that is wanted."""
    if not timing:
        yield
        return
    from siamese_news.utils.stopwatch import stopwatch

    with stopwatch() as watch:
        yield
    total = watch.total()
    shares = {stage: watch.seconds.get(stage, 0.0) for stage in _STAGES}
    shares["the rest (starting, writing)"] = total - sum(shares.values())
    parts = ", ".join(f"{name} {seconds / total:.0%}" for name, seconds in shares.items())
    typer.echo(f"time: {parts} of {total:,.1f} s", err=True)


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    default = None if default == () else default
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )
