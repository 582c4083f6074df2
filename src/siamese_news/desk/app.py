"""The addresses of the page: what comes in is checked here, and handed to the project."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

from siamese_news.desk import pages, uploads
from siamese_news.desk.desk import Desk
from siamese_news.desk.hand_over import KINDS, import_labels, make
from siamese_news.desk.labels import Conflict
from siamese_news.desk.results import Asked
from siamese_news.desk.security import BODY_CAP
from siamese_news.desk.views import decide_values, hand_over_values, search_values
from siamese_news.errors import InputError

PAGE = 50
"""Posts that come at one time."""

Handler = Callable[[Request], Awaitable[Response]]


def application(desk: Desk) -> Starlette:
    """The page of a project, without its guard."""
    own = _Handlers(desk)
    routes = [
        Route("/", own.view("search", search_values)),
        Route("/posts", own.posts_view),
        Route("/label", own.label_view),
        Route("/decide", own.view("decide", decide_values)),
        Route("/hand-over", own.view("hand-over", hand_over_values)),
        Route("/api/inputs/{kind}/{name}", own.upload, methods=["PUT"]),
        Route("/api/inputs/{kind}/{name}", own.remove, methods=["DELETE"]),
        Route("/api/pasted", own.paste, methods=["POST"]),
        Route("/api/search", own.start, methods=["POST"]),
        Route("/api/search/cancel", own.cancel, methods=["POST"]),
        Route("/api/search/events", own.events),
        Route("/api/posts", own.posts),
        Route("/api/copies/{rank:int}", own.copies),
        Route("/api/threshold", own.threshold, methods=["POST"]),
        Route("/api/labels", own.label, methods=["POST"]),
        Route("/api/labels/undo", own.undo, methods=["POST"]),
        Route("/api/labels/import", own.take_labels, methods=["PUT"]),
        Route("/api/queue", own.queue),
        Route("/api/settings", own.settings, methods=["POST"]),
        Route("/api/plan", own.plan, methods=["POST"]),
        Route("/api/certify", own.certify, methods=["POST"]),
        Route("/files/{kind}", own.file),
    ]
    return Starlette(
        routes=routes,
        exception_handlers={
            InputError: _bad_input, Conflict: _conflict, OSError: _unwritable,
        },
    )  # fmt: skip


class _Handlers:
    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    def view(self, name: str, values: Callable[[Desk], dict[str, Any]]) -> Handler:
        async def show(request: Request) -> Response:
            return await run_in_threadpool(lambda: _page(name, **values(self.desk)))

        return show

    async def posts_view(self, request: Request) -> Response:
        return await run_in_threadpool(self._posts_view)

    def _posts_view(self) -> Response:
        desk = self.desk
        if not desk.project.results.exists():
            return _page("posts", results=None)
        results, meta, least = desk.results(), desk.meta(), desk.threshold()
        drawn = pages.charts(results, least, meta.get("histogram")) if len(results) else {}
        return _page(
            "posts",
            results=results, meta=meta, threshold=least, counts=results.at_thousandths(),
            titles=meta.get("titles") or {}, days=results.days, command=desk.search.command,
            **drawn,
        )  # fmt: skip

    async def label_view(self, request: Request) -> Response:
        desk = self.desk
        return await run_in_threadpool(
            lambda: _page(
                "label",
                ready=desk.project.results.exists(),
                planned=desk.deciding.planned,
                criteria=desk.project.config().get("criteria", ""),
                annotators=desk.log.annotators(),
            )
        )

    async def upload(self, request: Request) -> Response:
        kind, name = request.path_params["kind"], request.path_params["name"]
        await uploads.receive(self.desk.project, kind, name, request.stream())
        return _inputs(self.desk, kind)

    async def remove(self, request: Request) -> Response:
        kind, name = request.path_params["kind"], request.path_params["name"]
        path = self.desk.project.input_path(kind, name)
        if self.desk.search.status().state == "running":
            raise InputError("a search is reading the files; wait for it or cancel it")
        path.unlink(missing_ok=True)
        return _inputs(self.desk, kind)

    async def paste(self, request: Request) -> Response:
        row = await _body(request)
        await run_in_threadpool(uploads.paste, self.desk.project, _text(row, "text"))
        return _inputs(self.desk, "articles")

    async def start(self, request: Request) -> Response:
        row = await _body(request)
        return JSONResponse({"command": await run_in_threadpool(self.desk.search.start, row)})

    async def cancel(self, request: Request) -> Response:
        await run_in_threadpool(self.desk.search.cancel)
        return JSONResponse({})

    async def events(self, request: Request) -> Response:
        async def rows() -> AsyncIterator[str]:
            while not await request.is_disconnected():
                status = await run_in_threadpool(self.desk.search.status)
                if status.state == "done" and self.desk.project.results.exists():
                    # The page that follows opens at once.
                    yield f"data: {json.dumps(asdict(status) | {'state': 'indexing'})}\n\n"
                    await run_in_threadpool(self.desk.results)
                yield f"data: {json.dumps(asdict(status))}\n\n"
                if status.state != "running":
                    return
                await asyncio.sleep(0.4)

        return StreamingResponse(rows(), media_type="text/event-stream")

    async def posts(self, request: Request) -> Response:
        return await run_in_threadpool(self._posts, dict(request.query_params))

    def _posts(self, query: dict[str, str]) -> Response:
        desk, results = self.desk, self.desk.results()
        if not len(results):
            return JSONResponse({"html": "", "found": 0, "next": None, "timeline": ""})
        least = query.get("least")
        asked = Asked(
            query.get("words", "")[:200], query.get("lang", ""), query.get("seed", ""),
            query.get("start", ""), query.get("end", ""),
            _number(least, "the threshold") if least else None, query.get("groups") == "1",
        )  # fmt: skip
        ranks = results.find(asked)
        after = int(_number(query.get("after") or "0", "after"))
        shown = ranks[ranks > after][: PAGE + 1].tolist()
        posts = results.posts(shown[:PAGE])
        html = pages.items(
            posts, [post.rank for post in posts], results, desk.log, query.get("annotator", ""),
            desk.meta().get("titles") or {}, blind=False,
        )  # fmt: skip
        content = {
            "html": html, "found": len(ranks),
            "next": posts[-1].rank if len(shown) > PAGE else None,
        }  # fmt: skip
        if not after:
            content["timeline"] = pages.timeline(results, ranks)
        return JSONResponse(content)

    async def copies(self, request: Request) -> Response:
        rank, annotator = request.path_params["rank"], request.query_params.get("annotator", "")

        def html() -> str:
            results = self.desk.results()
            ranks = [other for other in results.copies(rank) if other != rank][:PAGE]
            titles = self.desk.meta().get("titles") or {}
            return pages.items(
                results.posts(ranks), ranks, results, self.desk.log, annotator, titles, blind=False
            )

        return JSONResponse({"html": await run_in_threadpool(html)})

    async def threshold(self, request: Request) -> Response:
        value = _number((await _body(request)).get("threshold"), "the threshold")
        self.desk.project.update(threshold=value)
        return JSONResponse({"threshold": value})

    async def label(self, request: Request) -> Response:
        given = await run_in_threadpool(self.desk.label, await _body(request))
        return JSONResponse(
            {"n": given.number, "label": given.label, "copies": len(given.copies),
             "verdict": self.desk.log.verdict(given.post)}
        )  # fmt: skip

    async def undo(self, request: Request) -> Response:
        row = await _body(request)
        gone = await run_in_threadpool(self.desk.log.undo, _text(row, "annotator"))
        return JSONResponse({"post": gone.post if gone else None})

    async def take_labels(self, request: Request) -> Response:
        path = self.desk.project.private / "labels-import"
        query = request.query_params
        async with uploads.kept(request.stream(), path, query.get("name", "")) as file:
            taken = await run_in_threadpool(
                import_labels, self.desk, file, query.get("annotator", "")
            )
        return JSONResponse(taken)

    async def queue(self, request: Request) -> Response:
        return await run_in_threadpool(self._queue, dict(request.query_params))

    def _queue(self, query: dict[str, str]) -> Response:
        desk, annotator = self.desk, query.get("annotator", "")
        kind, leave = query.get("kind", "rank"), set(json.loads(query.get("leave") or "[]"))
        results = desk.results()
        ranks = desk.queue(kind, annotator, 8, leave) if len(results) else []
        posts = results.posts(ranks)
        titles = desk.meta().get("titles") or {}
        show = partial(pages.items, blind=kind != "rank")
        return JSONResponse(
            {
                "posts": [
                    {
                        "post": post.id,
                        "html": show([post], [post.rank], results, desk.log, annotator, titles),
                    }
                    for post in posts
                ],
                **self._counts(annotator),
            }
        )

    def _counts(self, annotator: str) -> dict[str, Any]:
        log = self.desk.log
        mine = [given for post in log.posts() if (given := log.of(post, annotator)) is not None]
        counts = {
            name: sum(given.label == name for given in mine) for name in ("yes", "no", "skip")
        }
        return {"counts": counts}

    async def settings(self, request: Request) -> Response:
        self.desk.project.update(criteria=_text(await _body(request), "criteria")[:5000])
        return JSONResponse({})

    async def plan(self, request: Request) -> Response:
        row = await _body(request)
        targets = _text(row, "precision").replace(",", " ").split()
        criteria = str(self.desk.project.config().get("criteria", ""))
        budget = int(_number(row.get("budget"), "the budget"))
        work = partial(
            self.desk.deciding.plan, targets, _text(row, "confidence"), budget, criteria,
            again=bool(row.get("again")),
        )  # fmt: skip
        await run_in_threadpool(work)
        return JSONResponse({})

    async def certify(self, request: Request) -> Response:
        found = await run_in_threadpool(self.desk.deciding.certify)
        return JSONResponse({"sentences": found.sentences})

    async def file(self, request: Request) -> Response:
        kind = request.path_params["kind"]
        if kind not in KINDS:
            return JSONResponse({"error": "there is no such file"}, 404)
        path: Path = await run_in_threadpool(make, self.desk, kind)
        return FileResponse(path, filename=path.name, media_type="application/octet-stream")


def _page(name: str, **values: Any) -> Response:
    html, policy = pages.view(name, **values)
    return HTMLResponse(html, headers={"content-security-policy": policy})


def _inputs(desk: Desk, kind: str) -> Response:
    html = pages.piece("_inputs", kind=kind, inputs=desk.project.inputs(kind))
    return JSONResponse({"html": html})


async def _body(request: Request) -> dict[str, Any]:
    """A JSON object of a bounded size."""
    data = bytearray()
    async for part in request.stream():
        data += part
        if len(data) > BODY_CAP:
            raise InputError("the request is too long")
    try:
        row = json.loads(bytes(data) or b"{}")
    except (ValueError, RecursionError) as error:
        raise InputError(f"the request is not JSON ({error})") from error
    if not isinstance(row, dict):
        raise InputError("the request is not a JSON object")
    return row


def _text(row: dict[str, Any], name: str) -> str:
    value = row.get(name)
    if not isinstance(value, str):
        raise InputError(f"{name} is missing; expected a text")
    return value


def _number(value: Any, what: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not abs(number) < 1e9:
        raise InputError(f"{what} is {str(value)[:40]!r}; expected a number")
    return number


async def _bad_input(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, 400)


async def _unwritable(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": f"it could not be written: {error}"}, 507)


async def _conflict(request: Request, error: Exception) -> Response:
    assert isinstance(error, Conflict)
    current = error.current
    there = None if current is None else {"n": current.number, "label": current.label}
    return JSONResponse({"error": "this label was changed in another tab", "current": there}, 409)
