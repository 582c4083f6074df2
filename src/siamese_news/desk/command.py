"""``siamese-news desk``."""

from pathlib import Path
from typing import Annotated

import typer

from siamese_news.utils.exits import bad_input_exits


def desk(
    project: Annotated[
        Path, typer.Option(help="Folder of the project: a new one, or one to open again.")
    ] = Path("siamese-news-project"),
    articles: Annotated[
        list[str] | None,
        typer.Option(help="Seed articles, as rank reads them. More can be added on the page."),
    ] = None,
    posts: Annotated[
        list[str] | None,
        typer.Option(help="Posts, as rank reads them. More can be added on the page."),
    ] = None,
    negatives: Annotated[
        list[str] | None,
        typer.Option("--not", help="Articles of a story that is not meant, as rank reads them."),
    ] = None,
    model: Annotated[Path | None, typer.Option(help="Model folder, as rank reads it.")] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Else any that is free.")] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address with its token; open nothing.")
    ] = False,
) -> None:
    """Work through the whole question in the browser: search, label, decide, hand over.

    Only this machine can open the page, and only with the token that is new every time.

    Example: siamese-news desk --project flood --articles flood/pages --posts flood/dumps

    Exit codes: 0 ended, 1 the project cannot be written, 2 bad input (says what).
    """
    with bad_input_exits("labels are on the disk; the same command opens the project again"):
        import uvicorn  # noqa: F401  before the project has a folder

        from siamese_news.desk.project import Project
        from siamese_news.desk.server import serve

        opened = Project(project, articles or [], posts or [], negatives or [], model)
        serve(opened, port=port, browser=not no_browser, say=lambda line: typer.echo(line))
