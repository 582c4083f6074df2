"""``siamese-news desk``."""

from pathlib import Path
from typing import Annotated

import typer

from siamese_news.utils.exits import bad_input_exits


def desk(
    project: Annotated[Path, typer.Option(help="Folder of a new or existing project.")] = Path(
        "siamese-news-project"
    ),
    articles: Annotated[
        list[str] | None,
        typer.Option(help="Seed articles, as for rank. More can be added on the page."),
    ] = None,
    posts: Annotated[
        list[str] | None, typer.Option(help="Posts, as for rank. More can be added on the page.")
    ] = None,
    negatives: Annotated[
        list[str] | None,
        typer.Option("--not", help="Articles about a different story, as for rank."),
    ] = None,
    model: Annotated[Path | None, typer.Option(help="Model folder, as for rank.")] = None,
    second_look: Annotated[
        Path | None, typer.Option(help="Model folder that reads the best posts, as for rank.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port (default: any free one).")] = 0,
    no_browser: Annotated[
        bool,
        typer.Option(
            "--no-browser", help="Print the address with its token instead of opening a browser."
        ),
    ] = False,
) -> None:
    """Search, label, certify and export in the browser.

    The page can be opened only on this machine, with a token that changes every time.

    Example: siamese-news desk --project flood --articles flood/pages --posts flood/dumps

    Exit codes: 0 success, 1 the project cannot be written, 2 bad input.
    """
    with bad_input_exits("labels are saved; the same command reopens the project"):
        import uvicorn  # noqa: F401  before the project has a folder

        from siamese_news.desk.project import Project
        from siamese_news.desk.server import serve

        opened = Project(project, articles or [], posts or [], negatives or [], model, second_look)
        serve(opened, port=port, browser=not no_browser, say=lambda line: typer.echo(line))
