"""The options that commands share, and the commands that ask for a search."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from siamese_news.cli.outputs import check_output
from siamese_news.search.query import Query, read_key
from siamese_news.utils.choices import About, Aggregate, Format, Fusion
from siamese_news.utils.exits import bad_input_exits

ArticlesOption = Annotated[
    list[str],
    typer.Option(
        help="Seed articles: text files, saved web pages, JSON, JSON lines or CSV; one or more "
        "files, "
        "folders or globs, or - for standard input."
    ),
]
_POSTS = (
    "Posts: exports from any known platform, JSON lines, CSV or Parquet; one or more files, "
    "folders or globs, or - for standard input."
)
PostsOption = Annotated[list[str], typer.Option(help=_POSTS)]
OptionalPostsOption = Annotated[list[str] | None, typer.Option("--posts", help=_POSTS)]
IndexOption = Annotated[
    Path | None,
    typer.Option("--index", help="Search this index (from siamese-news index) instead of --posts."),
]
ModelOption = Annotated[
    Path | None,
    typer.Option(
        help="Model folder from training (default: the built-in model). A sentence-transformers or "
        "model2vec folder replaces only the vectors of the built-in model."
    ),
]
NotOption = Annotated[
    list[str] | None,
    typer.Option(
        "--not",
        metavar="ARTICLE",
        help="Articles about a different story; their score is subtracted.",
    ),
]
AggregateOption = Annotated[
    Aggregate,
    typer.Option(
        help="How to combine the scores of several seeds: close to any of them (max), to all of "
        "them "
        "(mean), or in between (softmax)."
    ),
]
AboutOption = Annotated[
    About,
    typer.Option(
        help="Find posts about the event or about the article itself. auto: the event for several "
        "seeds of one story, otherwise as the posts suggest."
    ),
]
SmoothOption = Annotated[
    bool | None,
    typer.Option(
        "--smooth/--no-smooth",
        help="Smooth scores over similar posts (default: as set in the model).",
    ),
]
FusionOption = Annotated[
    Fusion | None,
    typer.Option(
        help="Combine words and vectors by a weighted sum or by reciprocal ranks (one more "
        "pass), or "
        "use only one of them (default: as set in the model)."
    ),
]
ExpandOption = Annotated[
    bool | None,
    typer.Option(
        "--expand/--no-expand",
        help="Pseudo-relevance feedback: expand each article with its best posts (one more pass; "
        "default: as set in the model, on in the built-in one).",
    ),
]
AfterOption = Annotated[
    str | None,
    typer.Option(metavar="DATE", help="Keep posts from this date on (UTC) and undated posts."),
]
BeforeOption = Annotated[
    str | None,
    typer.Option(metavar="DATE", help="Keep posts before this date (UTC) and undated posts."),
]
DatedOnlyOption = Annotated[bool, typer.Option("--dated-only", help="Leave out undated posts.")]
DedupeOption = Annotated[
    bool, typer.Option("--dedupe", help="Show only the best of near-duplicates, with their number.")
]
IdsOnlyOption = Annotated[
    bool,
    typer.Option("--ids-only", help="Write no text of the posts, so that the file can be shared."),
]
AuthorOption = Annotated[bool, typer.Option("--author", help="Write the authors, too.")]
PseudonymiseOption = Annotated[
    Path | None,
    typer.Option(
        "--pseudonymise",
        metavar="KEYFILE",
        help="Write the authors as HMAC-SHA256 with this secret key. Names inside texts and ids "
        "(Bluesky) are not replaced.",
    ),
]
MapOption = Annotated[
    bool,
    typer.Option(
        "--map",
        help="Add map coordinates x and y for the best 2,000 posts, for a viewer such as "
        "embedding-atlas.",
    ),
]
BomOption = Annotated[bool, typer.Option("--bom", help="Write a UTF-8 byte order mark for Excel.")]
TextFieldOption = Annotated[
    list[str] | None,
    typer.Option(help="Field with the text of a post, or several, whose texts are joined."),
]
IdFieldOption = Annotated[
    str | None, typer.Option(help="Field with the id of a post; 'line' numbers the rows.")
]
DateFieldOption = Annotated[str | None, typer.Option(help="Field with the date of a post.")]
EncodingOption = Annotated[
    str | None,
    typer.Option(
        help="Encoding of the files of posts, such as utf-16 or cp1252 (default: detected)."
    ),
]
LongWindowOption = Annotated[
    bool, typer.Option("--long-window", help="Allow .zst files with windows of up to 2 GiB.")
]
StrictOption = Annotated[
    bool, typer.Option("--strict", help="Stop at the first bad row instead of skipping it.")
]
ThreadsOption = Annotated[int | None, typer.Option(min=1, help="CPU threads.")]
OneStoryOption = Annotated[
    bool,
    typer.Option(
        "--one-story",
        help="Treat the seeds as one story: one list for all of them instead of one for each.",
    ),
]
TopOption = Annotated[int, typer.Option(min=1, help="Number of posts to list for each article.")]
ThresholdOption = Annotated[
    float, typer.Option(min=-4, max=4, help="Keep posts with at least this score.")
]
SecondLookOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="A sentence-transformers or model2vec folder, or a cross-encoder, that reads each "
        "list's best posts and raises those near the seeds.",
    ),
]
SecondLookPostsOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="With --second-look: posts of each list (default: twice as many as score .1 or more, "
        "from 200 to 5,000).",
    ),
]
FormatOption = Annotated[
    Format | None, typer.Option(help="Output format (default: by the file name, or a table).")
]
OutOption = Annotated[Path | None, typer.Option(help="File to write (default: the terminal).")]
TimingOption = Annotated[
    bool,
    typer.Option(
        "--timing",
        help="Print at the end how much of the time was spent on reading, encoding (text to words "
        "and vectors) and scoring.",
    ),
]

_STAGES = ("reading", "encoding", "scoring")

SEARCH: dict[str, Any] = {
    "articles": ArticlesOption,
    "posts": OptionalPostsOption,
    "index": IndexOption,
    "model": ModelOption,
    "threshold": ThresholdOption,
    "top": TopOption,
    "one_story": OneStoryOption,
    "aggregate": AggregateOption,
    "negatives": NotOption,
    "about": AboutOption,
    "fusion": FusionOption,
    "expand": ExpandOption,
    "smooth": SmoothOption,
    "after": AfterOption,
    "before": BeforeOption,
    "dated_only": DatedOnlyOption,
    "dedupe": DedupeOption,
    "format": FormatOption,
    "out": OutOption,
    "bom": BomOption,
    "ids_only": IdsOnlyOption,
    "author": AuthorOption,
    "key": PseudonymiseOption,
    "map": MapOption,
    "text_field": TextFieldOption,
    "id_field": IdFieldOption,
    "date_field": DateFieldOption,
    "encoding": EncodingOption,
    "long_window": LongWindowOption,
    "strict": StrictOption,
    "second_look": SecondLookOption,
    "second_look_posts": SecondLookPostsOption,
    "threads": ThreadsOption,
}
"""The option of each field of a `Query`."""


def asks(
    unsaid: Query, *, needs: tuple[str, ...], without: tuple[str, ...], hint: str
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Turn a function of a `Query` and its own options into a command.

    Args:
        unsaid: the query without any options.
        needs: fields whose options must be given.
        without: fields that have no option here.
        hint: see `bad_input_exits`.
    """

    def command(function: Callable[..., None]) -> Callable[..., None]:
        def run(*, timing: bool, **values: Any) -> None:
            asked = {name: values.pop(name) for name in options}
            said = {name: value for name, value in asked.items() if value is not None}
            with bad_input_exits(hint), _timed(timing):
                if "key" in said:
                    # The command checks the rest.
                    check_output(said.get("out"), [said["key"]], force=True)
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
def _timed(timing: bool) -> Iterator[None]:
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
