"""Requests of the view that searches: files that come and go, and the search itself."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import asdict, dataclass

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from siamese_news.data.readers.detect import Choice, detect
from siamese_news.data.readers.fields import UnknownFields
from siamese_news.data.readers.inputs import Input, input_paths
from siamese_news.data.readers.stream import SUFFIXES
from siamese_news.desk import pages, uploads
from siamese_news.desk.desk import Desk
from siamese_news.desk.requests import body_of, text_in
from siamese_news.desk.search import FIELDS
from siamese_news.errors import InputError

_LOOKED_AT = 100  # files of posts


@dataclass(frozen=True)
class Searching:
    """Responses about the search of a project."""

    desk: Desk

    async def upload(self, request: Request) -> Response:
        """Keep an uploaded file."""
        kind, name = request.path_params["kind"], request.path_params["name"]
        await uploads.receive(self.desk.project, kind, name, request.stream())
        return _inputs(self.desk, kind)

    async def remove(self, request: Request) -> Response:
        """Remove an input file."""
        kind, name = request.path_params["kind"], request.path_params["name"]
        if self.desk.search.status().state == "running":
            raise InputError("a search is reading the files; wait for it to finish or cancel it")
        self.desk.project.remove_input(kind, name)
        return _inputs(self.desk, kind)

    def columns(self, request: Request) -> Response:
        """The columns of the first file of posts that is not understood, with samples."""
        project = self.desk.project
        choice = Choice(*(request.query_params.get(name) or None for name in FIELDS))
        sources = [project.folder / source for source in project.sources("posts")]
        with suppress(InputError):  # what else is wrong with a file is for the search to say
            for path in input_paths(sources, SUFFIXES)[:_LOOKED_AT]:
                if path is None or not path.is_file():
                    continue
                try:
                    detect(Input(str(path), path), choice, long_window=False)
                except UnknownFields as unknown:
                    name = os.path.relpath(path, project.folder)
                    name = project.in_users_words(name).removeprefix("inputs/posts/")
                    return JSONResponse({"file": name, "columns": unknown.samples})
                except InputError:
                    continue
        return JSONResponse({"file": None})

    async def paste(self, request: Request) -> Response:
        """Keep a pasted article."""
        row = await body_of(request)
        await run_in_threadpool(uploads.paste, self.desk.project, text_in(row, "text"))
        return _inputs(self.desk, "articles")

    async def start(self, request: Request) -> Response:
        """Start or resume a search."""
        row = await body_of(request)
        return JSONResponse({"command": await run_in_threadpool(self.desk.search.start, row)})

    def cancel(self, request: Request) -> Response:
        """Interrupt the search."""
        self.desk.search.cancel()
        return JSONResponse({})

    def discard(self, request: Request) -> Response:
        """Delete what an interrupted search left."""
        self.desk.search.discard()
        return JSONResponse({})

    async def events(self, request: Request) -> Response:
        """Stream the progress of the search until it ends."""

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


def _inputs(desk: Desk, kind: str) -> Response:
    html = pages.piece("_inputs", kind=kind, inputs=desk.project.inputs(kind))
    return JSONResponse({"html": html})
