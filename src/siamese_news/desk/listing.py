"""Requests of the view of posts: filtered, sorted, one page at a time."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import numpy as np
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from siamese_news.desk import pages, uploads
from siamese_news.desk.desk import Desk
from siamese_news.desk.hand_over import make
from siamese_news.desk.requests import body_of, number_in, page, score_in
from siamese_news.desk.results import Asked

PAGE = 50
"""Posts that come at one time."""


@dataclass(frozen=True)
class Listing:
    """Responses about the posts of a project."""

    desk: Desk

    def posts_view(self, request: Request) -> Response:
        """The view of posts."""
        desk = self.desk
        if not desk.project.results.exists():
            return page("posts", results=None)
        results, meta, least = desk.results(), desk.meta(), desk.threshold()
        drawn = pages.charts(results, least, meta.get("histogram")) if len(results) else {}
        return page(
            "posts",
            results=results,
            meta=meta,
            threshold=least,
            counts=results.at_thousandths(),
            titles=meta.get("titles") or {},
            days=results.days,
            learned=desk.learning.found(),
            threads=desk.threads.found(),
            machine=desk.machine.source,
            said=desk.machine.verdicts(),
            problem=desk.machine.problem,
            commands=[desk.search.command, *desk.learning.commands()],
            labels=len(desk.log.posts()),
            **drawn,
        )

    def posts(self, request: Request) -> Response:
        """The next posts of the list."""
        query, desk, results = request.query_params, self.desk, self.desk.results()
        if not len(results):
            return JSONResponse({"html": "", "found": 0, "next": None, "timeline": ""})
        asked = self._asked(query)
        after = int(number_in(query.get("after") or "0", "after"))
        learned = desk.learning.places() if query.get("order") == "learned" else None
        content: dict[str, Any] = {}
        if learned is None and not results.known(asked):
            # The list comes at once; how many there are is another question.
            shown = places = np.array(results.first(asked, after, PAGE + 1), np.int64)
            content |= {"found": None}
        else:
            ranks = places = results.find(asked)
            if learned is not None:
                ranks = ranks[np.argsort(learned[ranks - 1])]
                places = learned[ranks - 1]
            start = int(np.searchsorted(places, after, side="right"))
            shown, places = ranks[start : start + PAGE + 1], places[start : start + PAGE + 1]
            content |= {"found": len(ranks)}
            if not after:
                content["timeline"] = pages.timeline(results, ranks)
        posts = results.posts(shown[:PAGE].tolist())
        html = pages.items(
            posts,
            [post.rank for post in posts],
            results,
            desk.log,
            query.get("annotator", ""),
            desk.meta().get("titles") or {},
            desk.machine,
            blind=False,
            learned=learned,
            independent=False,
            threads=desk.threads.sizes(len(results)) if query.get("threads") else None,
        )
        following = int(places[PAGE - 1]) if len(shown) > PAGE else None
        return JSONResponse(content | {"html": html, "next": following})

    def count(self, request: Request) -> Response:
        """The number of posts, and their timeline."""
        results = self.desk.results()
        ranks = results.find(self._asked(request.query_params))
        return JSONResponse({"found": len(ranks), "timeline": pages.timeline(results, ranks)})

    def copies(self, request: Request) -> Response:
        """The near-duplicates of a post."""
        rank, query = request.path_params["rank"], request.query_params
        annotator, blind = query.get("annotator", ""), query.get("blind") == "1"
        results, titles = self.desk.results(), self.desk.meta().get("titles") or {}
        ranks = [other for other in results.copies(rank) if other != rank][:PAGE]
        html = pages.items(
            results.posts(ranks),
            ranks,
            results,
            self.desk.log,
            annotator,
            titles,
            self.desk.machine,
            blind=blind,
            learned=None,
            independent=blind,
        )
        return JSONResponse({"html": html})

    def find_threads(self, request: Request) -> Response:
        """Find the threads of the posts from the threshold on."""
        desk = self.desk
        found = make(desk, "parquet")
        return JSONResponse({"said": desk.threads.find(found, desk.threshold())})

    def thread(self, request: Request) -> Response:
        """The posts of a thread."""
        rows = list(self.desk.threads.rows(request.path_params["number"]))
        return JSONResponse({"html": pages.turns(rows)})

    async def take_verdicts(self, request: Request) -> Response:
        """Keep the verdicts of a machine."""
        folder, query = self.desk.project.private / "verdicts-import", request.query_params
        async with uploads.kept(request.stream(), folder, query.get("name", "")) as file:
            found = await run_in_threadpool(self.desk.machine.take, file, query.get("machine", ""))
        return JSONResponse({"sentence": found.sentence()})

    def forget_machine(self, request: Request) -> Response:
        """Use the verdicts of the machine no more."""
        self.desk.machine.remove()
        return JSONResponse({})

    def learn(self, request: Request) -> Response:
        """Learn a new order from the labels and the verdicts of a machine."""
        found = self.desk.learning.learn()
        return JSONResponse({"sentence": found.sentence, "helps": found.helps})

    async def threshold(self, request: Request) -> Response:
        """Keep the threshold that was chosen."""
        value = score_in((await body_of(request)).get("threshold"))
        self.desk.project.update(threshold=value)
        return JSONResponse({"threshold": value})

    def _asked(self, query: Mapping[str, str]) -> Asked:
        least, among = query.get("least"), None
        if query.get("threads"):
            among = self.desk.threads.sizes(len(self.desk.results()))[0] > 0
        return Asked(
            query.get("words", "")[:200],
            query.get("lang", ""),
            unquote(query.get("seed", "")),
            query.get("start", ""),
            query.get("end", ""),
            score_in(least) if least else None,
            query.get("groups") == "1" and among is None,
            among,
        )
