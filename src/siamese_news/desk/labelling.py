"""Requests about labels: giving them, taking them back, what to label next."""

import asyncio
import json
from dataclasses import dataclass
from functools import partial

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from siamese_news.desk import pages, uploads
from siamese_news.desk.desk import BLIND, Desk
from siamese_news.desk.hand_over import import_labels
from siamese_news.desk.requests import body_of, page, text_in
from siamese_news.labels.journal import LABELS


@dataclass(frozen=True)
class Labelling:
    """Responses about the labels of a project."""

    desk: Desk

    def label_view(self, request: Request) -> Response:
        """The view that labels."""
        desk = self.desk
        learned = desk.learning.found()
        return page(
            "label",
            ready=desk.project.results.exists(),
            planned=desk.deciding.planned,
            goals=desk.stops.planned,
            learned=learned is not None and learned.helps,
            machine=desk.machine.source,
            criteria=desk.project.config().get("criteria", ""),
            annotators=desk.log.annotators(),
            threshold=desk.threshold(),
            commands=[desk.label_command()] if desk.project.results.exists() else [],
            folder=desk.project.folder.name,
        )

    async def label(self, request: Request) -> Response:
        """Record a label."""
        row = await body_of(request)
        if self.desk.open and not row.get("together"):
            # One row of the database: a thread would take longer than the look.
            given, written = self.desk.label(row)
        else:
            given, written = await run_in_threadpool(self.desk.label, row)
        await asyncio.wrap_future(written)
        return JSONResponse(
            {
                "n": given.number,
                "label": given.label,
                "copies": len(given.copies),
                "verdict": self.desk.log.verdict(given.post),
            }
        )

    async def undo(self, request: Request) -> Response:
        """Undo the last label of an annotator."""
        row = await body_of(request)
        gone = await run_in_threadpool(self.desk.log.undo, text_in(row, "annotator"))
        return JSONResponse({"post": gone.post if gone else None})

    async def take_labels(self, request: Request) -> Response:
        """Import labels from a file of another program."""
        path = self.desk.project.private / "labels-import"
        query = request.query_params
        async with uploads.kept(request.stream(), path, query.get("name", "")) as file:
            taken = await run_in_threadpool(
                import_labels, self.desk, file, query.get("annotator", "")
            )
        return JSONResponse(taken)

    def queue(self, request: Request) -> Response:
        """The posts to label next."""
        query = request.query_params
        desk, annotator = self.desk, query.get("annotator", "")
        kind, leave = query.get("kind", "rank"), set(json.loads(query.get("leave") or "[]"))
        results = desk.results()
        ranks = desk.queue(kind, annotator, 8, leave) if len(results) else []
        posts = results.posts(ranks)
        titles = desk.meta().get("titles") or {}
        # What others said is shown after one's own label, except where they disagree.
        show = partial(
            pages.items, blind=kind in BLIND, learned=None, independent=kind != "conflict"
        )
        shown = [
            {
                "post": p.id,
                "html": show([p], [p.rank], results, desk.log, annotator, titles, desk.machine),
            }
            for p in posts
        ]
        mine = [given for p in desk.log.posts() if (given := desk.log.of(p, annotator)) is not None]
        counts = {name: sum(given.label == name for given in mine) for name in LABELS}
        ahead = desk.deciding.progress() if kind in ("sample", "mixed") else ""
        return JSONResponse({"posts": shown, "counts": counts, "ahead": ahead})
