"""Access control: only the page's own origin, on this machine, with the token."""

import secrets

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from siamese_news.search.report.page import sha256

_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """Wraps the application: only requests of the page itself reach it.

    - ``Host`` must be the loopback address with the port, so a foreign name that was made to point
      here (DNS rebinding) gets nothing.
    - The token is required: in the address of the first request, then in a cookie that scripts
      cannot read and that requests of other sites do not carry.
    - A request that changes anything must come from this origin (CSRF).
    """

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app = app
        self._token = token
        self._cookie = f"siamese-news-{port}"
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer or refuse a request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            answer = self._answer(Request(scope)) or self._app

            async def sending(message: Message) -> None:
                if message["type"] == "http.response.start":
                    headers = MutableHeaders(scope=message)
                    for name, value in _HEADERS.items():
                        headers.setdefault(name, value)
                await send(message)

            await answer(scope, receive, sending)

    def _answer(self, request: Request) -> Response | None:
        """A refusal, or the page that sets the cookie; None for what the application answers."""
        headers = request.headers
        method = request.method
        hosts = [host.lower() for host in headers.getlist("host")]
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return PlainTextResponse("Open this page by its own address only.\n", 421)
        reads = method in ("GET", "HEAD")
        own_origin = headers.getlist("origin") == [f"http://{hosts[0]}"]
        own_site = headers.get("sec-fetch-site", "none") in ("same-origin", "none")
        opened = method == "GET" and headers.get("sec-fetch-mode") == "navigate"
        if not (reads or own_origin) or not (own_site or opened):
            return PlainTextResponse("The request comes from another site.\n", 403)
        if request.url.path == "/" and self._is_token(
            request.query_params.get("token", "")
        ):
            return self._let_in()
        if not self._is_token(request.cookies.get(self._cookie, "")):
            return PlainTextResponse(
                "Open this page with the address that siamese-news desk printed.\n", 401
            )
        return None

    def _is_token(self, token: str) -> bool:
        return secrets.compare_digest(token.encode(), self._token.encode())

    def _let_in(self) -> Response:
        """Keep the token in a cookie, and continue at the address without it."""
        # Not a redirect: the browser came from elsewhere, and would not send a strict cookie on.
        response = HTMLResponse(
            '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>siamese_news</title>'
            '<meta http-equiv="refresh" content="0;url=/"></head><body><p><a href="/">Open the page'
            "</a></p></body></html>"
        )
        cookie = f"{self._cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict"
        response.headers["set-cookie"] = cookie
        return response


def policy(script: str, style: str) -> str:
    """The content security policy of a page with this inline script and style, and no others."""
    return (
        f"default-src 'none'; script-src 'sha256-{sha256(script)}'; "
        f"style-src 'sha256-{sha256(style)}'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
