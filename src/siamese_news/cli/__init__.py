"""The command line: ``siamese-news``. A command is imported when it is called or listed."""

from typing import Annotated

import typer

from siamese_news.cli.commands import Commands

app = typer.Typer(
    cls=Commands,
    help="News articles in, the social media posts about them out.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _version(show: bool) -> None:
    if show:
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
