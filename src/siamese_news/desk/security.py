"""Access control: only the page's own origin, on this machine, with the token."""

import base64
import hashlib
import secrets
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

BODY_CAP = 4 * 2**20
"""Bytes of a request that is not an upload."""


class Guard:
    """Wraps the application: only requests of the page itself reach it.

    - ``Host`` must be the loopback address with the port, so a foreign name that was made to point
      here (DNS rebinding) gets nothing.
    - The token must be there: in the address for the first request, then in a cookie that scripts
      cannot read and that other sites' requests do not carry.
    - What changes anything must say that it comes from this origin (CSRF).
    """

    def __init__(self, app: App, token: str, port: int) -> None:
        self._app = app
        self._token = token
        self._cookie = f"siamese-news-{port}"
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer or refuse a request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        hosts = headers.get("host", [])
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            await _refuse(send, 421, "This page answers to its own address only.")
            return
        if scope["method"] not in ("GET", "HEAD"):
            origins = headers.get("origin", [])
            if origins != [f"http://{hosts[0].lower()}"]:
                await _refuse(send, 403, "The request comes from another site.")
                return
        if headers.get("sec-fetch-site", ["none"])[0] not in ("same-origin", "none"):
            navigation = headers.get("sec-fetch-mode", [""])[0] == "navigate"
            if not (navigation and scope["method"] == "GET"):
                await _refuse(send, 403, "The request comes from another site.")
                return
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [])
        if given and scope["path"] == "/" and self._is_token(given[0]):
            await self._let_in(send)
            return
        if not any(self._is_token(value) for value in self._cookies(headers.get("cookie", []))):
            await _refuse(
                send, 401, "This page opens with the address that siamese-news desk printed only."
            )
            return
        await self._app(scope, receive, _with_headers(send))

    def _is_token(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(), self._token.encode())

    def _cookies(self, lines: Iterable[str]) -> list[str]:
        found = []
        for line in lines:
            try:
                cookie = SimpleCookie(line).get(self._cookie)
            except CookieError:
                continue
            if cookie is not None:
                found.append(cookie.value)
        return found

    async def _let_in(self, send: Send) -> None:
        """Keep the token in a cookie, and redirect to the address without it."""
        # Not a redirect: the browser came from elsewhere, and would not send a strict cookie on.
        page = (
            '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>siamese_news</title>'
            '<meta http-equiv="refresh" content="0;url=/"></head><body><p><a href="/">Open the page'
            "</a></p></body></html>"
        )
        cookie = f"{self._cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict"
        await _answer(send, 200, page, "text/html", [("set-cookie", cookie)])


def sha256(text: str) -> str:
    """The hash by which a content security policy names an inline script or style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def policy(scripts: Iterable[str], styles: Iterable[str]) -> str:
    """The content security policy of a page with these inline scripts and styles, and no others."""
    return (
        f"default-src 'none'; script-src {' '.join(map(sha256, scripts))}; "
        f"style-src {' '.join(map(sha256, styles))}; connect-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    )


_NONE = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_HEADERS = {
    "content-security-policy": _NONE,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            there = {name.lower() for name, _ in message["headers"]}
            message["headers"] = [
                *message["headers"],
                *(
                    (name.encode(), value.encode())
                    for name, value in _HEADERS.items()
                    if name.encode() not in there
                ),
            ]
        await send(message)

    return sending


async def _refuse(send: Send, status: int, message: str) -> None:
    await _answer(send, status, message + "\n", "text/plain", [])


async def _answer(
    send: Send, status: int, text: str, kind: str, headers: list[tuple[str, str]]
) -> None:
    body = text.encode()
    plain = [("content-type", f"{kind}; charset=utf-8"), ("content-length", str(len(body)))]
    start = {
        "type": "http.response.start",
        "status": status,
        "headers": [(name.encode(), value.encode()) for name, value in (*plain, *headers)],
    }
    sending = _with_headers(send)
    await sending(start)
    await sending({"type": "http.response.body", "body": body})
