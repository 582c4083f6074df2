"""The command line: ``siamese-news``. Heavy imports wait until a command needs them."""

import typer

from siamese_news.cli.doctor import doctor
from siamese_news.cli.explain import explain
from siamese_news.cli.filter import filter
from siamese_news.cli.keywords import keywords
from siamese_news.cli.rank import rank
from siamese_news.cli.report import report
from siamese_news.cli.rerank import rerank

app = typer.Typer(
    help="News articles in, the social media posts about them out.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def _root() -> None:
    """News articles in, the social media posts about them out."""


for command in (rank, filter, explain, keywords, rerank, report, doctor):
    app.command()(command)
