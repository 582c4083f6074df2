"""Requests of the views that decide and hand over: goals, certificates, files."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response

from siamese_news.desk.desk import Desk
from siamese_news.desk.hand_over import KINDS, make
from siamese_news.desk.requests import body_of, number_in, shares_in, text_in
from siamese_news.errors import InputError


@dataclass(frozen=True)
class Settling:
    """Responses about the goals, certificate and files of a project."""

    desk: Desk

    async def settings(self, request: Request) -> Response:
        """Keep what counts as relevant, or the column by which the report compares groups."""
        row = await body_of(request)
        limits = {"criteria": 5000, "by": 100}
        found = {name: text_in(row, name).strip()[: limits[name]] for name in limits if name in row}
        self.desk.project.update(**found)
        return JSONResponse({})

    async def plan(self, request: Request) -> Response:
        """Fix the target of a certificate."""
        row = await body_of(request)
        targets = shares_in(text_in(row, "precision"))
        criteria = str(self.desk.project.config().get("criteria", ""))
        budget = int(number_in(row.get("budget"), "the budget"))
        work = partial(
            self.desk.deciding.plan,
            targets,
            _share(row, "confidence"),
            budget,
            criteria,
            again=bool(row.get("again")),
        )
        await run_in_threadpool(work)
        return JSONResponse({})

    async def goals(self, request: Request) -> Response:
        """Fix when to stop labelling down the list."""
        row = await body_of(request)
        find = text_in(row, "find").strip()
        work = partial(
            self.desk.stops.plan,
            int(number_in(find, "the number of posts")) if find else None,
            _share(row, "recall") or None,
            text_in(row, "rule"),
            int(number_in(row.get("positives"), "the number of random relevant posts")),
            _share(row, "confidence"),
            str(self.desk.project.config().get("criteria", "")),
            again=bool(row.get("again")),
        )
        await run_in_threadpool(work)
        return JSONResponse({})

    def certify(self, request: Request) -> Response:
        """Write the certificate."""
        return JSONResponse({"sentences": self.desk.deciding.certify().sentences})

    def file(self, request: Request) -> Response:
        """Make a file and send it."""
        kind = request.path_params["kind"]
        if kind not in KINDS:
            return JSONResponse({"error": "there is no such file"}, 404)
        path = make(self.desk, kind)
        return FileResponse(path, filename=path.name, media_type="application/octet-stream")


def _share(row: dict[str, Any], name: str) -> str:
    found = shares_in(text_in(row, name))
    if len(found) > 1:
        raise InputError(f"{name} is {row[name]!r}; expected one share such as .9")
    return "".join(found)
