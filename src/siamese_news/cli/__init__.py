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
from siamese_news.cli.hub import pull, push
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
_EXITS = "Exit codes: 0 success, 1 output cannot be written, 2 bad input, 130 interrupted."
_NOTHING = "nothing was written"


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
            "--version", callback=_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """News articles in, the social media posts about them out."""


# The commands, and what an interrupted one says about its work.
_COMMANDS: dict[Callable[..., None], str] = {
    rank: _NOTHING,
    filter: "run the same command with --resume to continue",
    watch: "run the same command again to continue",
    explain: _NOTHING,
    index: "the index is unchanged",
    keywords: _NOTHING,
    rerank: _NOTHING,
    threads: _NOTHING,
    report: _NOTHING,
    sample: _NOTHING,
    annotate: "all labels are on disk; run the same command again to continue",
    certify: _NOTHING,
    audit: _NOTHING,
    feedback: _NOTHING,
    simulate: _NOTHING,
    bundle: _NOTHING,
    push: _NOTHING,
    pull: _NOTHING,
}
for command, interrupted in _COMMANDS.items():
    app.command(cls=ManyValues, epilog=_EXITS)(bad_input_exits(interrupted)(command))
app.command(
    epilog="Exit codes: 0 success, even if some rows are bad, 2 a file or the model cannot be read."
)(doctor)
