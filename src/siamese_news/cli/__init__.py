"""The command line: ``siamese-news``. Heavy imports wait until a command needs them."""

from collections.abc import Callable
from typing import Annotated

import typer

from siamese_news.cli.annotate import annotate
from siamese_news.cli.audit import audit
from siamese_news.cli.bundle import bundle
from siamese_news.cli.certify import certify
from siamese_news.cli.doctor import doctor
from siamese_news.cli.explain import explain
from siamese_news.cli.feedback import feedback
from siamese_news.cli.filter import filter
from siamese_news.cli.index import index
from siamese_news.cli.keywords import keywords
from siamese_news.cli.rank import rank
from siamese_news.cli.report import report
from siamese_news.cli.rerank import rerank
from siamese_news.cli.sample import sample
from siamese_news.cli.simulate import simulate
from siamese_news.cli.threads import threads
from siamese_news.cli.values import Commands, ManyValues
from siamese_news.cli.watch import watch
from siamese_news.utils.exits import bad_input_exits

app = typer.Typer(
    cls=Commands,
    help="News articles in, the social media posts about them out.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
_EXITS = (
    "Exit codes: 0 success, 1 output cannot be written, 2 bad input, 130 interrupted."
)


def _version(wanted: bool) -> None:
    if wanted:
        from siamese_news import __version__

        typer.echo(f"siamese-news {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_version,
            is_eager=True,
            help="Show the version and exit.",
        ),
    ] = False,
) -> None:
    """News articles in, the social media posts about them out."""


_COMMANDS: list[Callable[..., None]] = [
    rank,
    filter,
    watch,
    explain,
    index,
    keywords,
    rerank,
]
_COMMANDS += [
    threads,
    report,
    sample,
    annotate,
    certify,
    audit,
    feedback,
    simulate,
    bundle,
]
# What an interrupted command says about its work, where it does not begin anew.
_INTERRUPTED: dict[Callable[..., None], str] = {
    filter: "run the same command with --resume to continue",
    watch: "run the same command again to continue",
    index: "the index is unchanged",
    annotate: "all labels are on disk; run the same command again to continue",
}
for command in _COMMANDS:
    hint = _INTERRUPTED.get(command, "nothing was written")
    app.command(cls=ManyValues, epilog=_EXITS)(bad_input_exits(hint)(command))
app.command(
    epilog="Exit codes: 0 success, even if some rows are bad, 2 a file cannot be read."
)(doctor)
