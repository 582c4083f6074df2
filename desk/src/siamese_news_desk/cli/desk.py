"""``siamese-news desk``: the command, and the server on the loopback address."""

import os
import secrets
import signal
import socket
import threading
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from siamese_news.errors import InputError
from siamese_news.utils.exits import ending

if TYPE_CHECKING:
    from siamese_news_desk.page.project import Project


@ending(
    "labels are saved; the same command reopens the project",
    "Exit codes: 0 success, 1 the project cannot be written, 2 bad input.",
)
def desk(
    project: Annotated[
        Path, typer.Option(help="Folder of a new or existing project.")
    ] = Path("siamese-news-project"),
    articles: Annotated[
        list[str] | None,
        typer.Option(help="Seed articles, as for rank. More can be added on the page."),
    ] = None,
    posts: Annotated[
        list[str] | None,
        typer.Option(help="Posts, as for rank. More can be added on the page."),
    ] = None,
    negatives: Annotated[
        list[str] | None,
        typer.Option("--not", help="Articles about a different story, as for rank."),
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="Model folder, as for rank.")
    ] = None,
    second_look: Annotated[
        Path | None,
        typer.Option(help="Model folder that rereads the best posts, as for rank."),
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port (default: any free one).")
    ] = 0,
    no_browser: Annotated[
        bool,
        typer.Option(
            "--no-browser",
            help="Print the address with its token instead of opening a browser.",
        ),
    ] = False,
) -> None:
    """Search, label, certify and export in the browser.

    The page can be opened only on this machine, with a token that changes every time.

    Example: siamese-news desk --project flood --articles flood/pages --posts flood/dumps
    """
    # Before the project has a folder: a server that cannot be imported leaves none.
    import uvicorn  # noqa: F401

    from siamese_news_desk.page.project import Project

    opened = Project(
        project, articles or [], posts or [], negatives or [], model, second_look
    )
    _serve(opened, port, browser=not no_browser)


def _serve(project: "Project", port: int, *, browser: bool) -> None:
    """Serve a project's page until interrupted; an `InputError` if the port is taken."""
    import uvicorn

    from siamese_news_desk.page.app import application
    from siamese_news_desk.page.open_project import Desk
    from siamese_news_desk.page.security import Guard

    with project.held(), _listening(port) as listening:
        port = listening.getsockname()[1]
        token = secrets.token_urlsafe(32)
        desk = Desk(project)
        address = f"http://127.0.0.1:{port}/"
        opening = project.private / "open.html"
        if project.results.exists():
            # While the browser opens, because a large list takes a while to load.
            threading.Thread(target=project.load_results, daemon=True).start()
        try:
            if browser and _opened(opening, f"{address}?token={token}"):
                typer.echo(
                    f"the page for {project.folder} is open in the browser; press Ctrl-C to stop"
                )
            else:
                typer.echo(f"{address}?token={token}")
            config = uvicorn.Config(
                Guard(application(desk), token, port),
                log_level="warning",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=2,
            )
            _end_with_the_terminal()
            uvicorn.Server(config).run(sockets=[listening])
        finally:
            opening.unlink(missing_ok=True)


def _end_with_the_terminal() -> None:
    """Take SIGHUP, of a closed terminal, for SIGTERM, which uvicorn ends at; `nohup` ignores it."""
    closed = getattr(signal, "SIGHUP", None)
    if closed is not None and signal.getsignal(closed) != signal.SIG_IGN:
        signal.signal(closed, lambda *_: signal.raise_signal(signal.SIGTERM))


def _listening(port: int) -> socket.socket:
    # If the protocol is named, asyncio disables Nagle's algorithm: responses are 40 ms faster.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        # A server that was killed leaves its port waiting; nobody else can take it meanwhile.
        if os.name == "posix":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        # Early connections wait for the server instead of being refused.
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise InputError(
            f"--port {port}: cannot be used ({error}); name another port, or none"
        ) from error
    return listening


def _opened(path: Path, address: str) -> bool:
    """Open the address through a file that only its owner can read.

    Every user of the machine can read the command line of a browser, so the token must not appear
    in it.
    """
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(
            '<!doctype html><meta charset="utf-8"><title>siamese_news</title>'
            f'<meta http-equiv="refresh" content="0;url={address}">'
        )
    with suppress(webbrowser.Error):
        return webbrowser.open(path.as_uri())
    return False
