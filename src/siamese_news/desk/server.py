"""The server, on the loopback address, with a new token every time."""

import os
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from siamese_news.desk.desk import Desk
from siamese_news.desk.project import Project
from siamese_news.desk.security import Guard
from siamese_news.errors import InputError
from siamese_news.utils.extras import needs


def serve(project: Project, *, port: int, browser: bool, say: Callable[[str], None]) -> None:
    """Serve a project's page until interrupted.

    Args:
        project: whose page.
        port: to listen on; 0 for any that is free.
        browser: whether to open one; otherwise the address with its token is printed.
        say: prints a line.

    Raises:
        InputError: the port is taken, the project is open elsewhere.
        MissingExtraError: the extra is not installed.
    """
    with needs("desk", "siamese-news desk"):
        import uvicorn

        from siamese_news.desk.app import application

    with project.held(), _listening(port) as listening:
        port = listening.getsockname()[1]
        token = secrets.token_urlsafe(32)
        desk = Desk(project)
        address = f"http://127.0.0.1:{port}/"
        opening = project.private / "open.html"
        if project.results.exists():
            # While the browser opens, because a large list takes a while to load.
            threading.Thread(target=desk.results, daemon=True).start()
        try:
            if browser and _opened(opening, f"{address}?token={token}"):
                say(f"the page of {project.folder} is open in the browser; Ctrl-C ends it")
            else:
                say(f"{address}?token={token}")
            config = uvicorn.Config(
                Guard(application(desk), token, port),
                log_level="warning",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=2,
            )
            uvicorn.Server(config).run(sockets=[listening])
        finally:
            opening.unlink(missing_ok=True)
            desk.close()


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
    except (OSError, OverflowError) as error:
        listening.close()
        raise InputError(
            f"--port {port}: cannot be listened on ({error}); name another one, or none"
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
