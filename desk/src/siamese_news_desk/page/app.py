"""The addresses of the page, in the order of its views, and their responses."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

from siamese_news.data.articles import SUFFIXES as ARTICLE_SUFFIXES
from siamese_news.data.readers.detect import detect
from siamese_news.data.readers.fields import Choice, UnknownFields
from siamese_news.data.readers.inputs import Input, input_paths
from siamese_news.data.readers.stream import SUFFIXES
from siamese_news.errors import InputError
from siamese_news.search.list_relevance import UNKNOWN
from siamese_news.search.query import read_relevance, read_score
from siamese_news.search.report import counted_scores
from siamese_news.search.report.charts import histogram_chart
from siamese_news_desk.decide.agreement import agreements
from siamese_news_desk.decide.certification import Certification, Settings
from siamese_news_desk.decide.plan.remedies import PlanRefused
from siamese_news_desk.decide.stopping import Goal, Stopping
from siamese_news_desk.labels.journal import LABELS, Conflict
from siamese_news_desk.page import hand_over, labeling, pages
from siamese_news_desk.page.open_project import Desk
from siamese_news_desk.page.project import FIELDS
from siamese_news_desk.page.requests import (
    CAPS,
    body_of,
    count_in,
    ids_in,
    received,
    share_in,
    shares_in,
    text_in,
)
from siamese_news_desk.page.result_table import Filter

# Posts that come at one time.
PAGE = 50

_READ = 100  # files of posts whose columns are looked at

# The values of a request: those in its path, and those of its query or of its JSON object.
Values = Mapping[str, Any]


def application(desk: Desk) -> Starlette:
    """The page of a project, without its guard."""

    def view(path: str, name: str, values: Callable[[Desk], dict[str, Any]]) -> Route:
        # Starlette runs plain functions in threads.
        def handle(request: Request) -> Response:
            desk.project.refuse_links()
            html, policy = pages.view(name, **(_common(desk) | values(desk)))
            return HTMLResponse(html, headers={"content-security-policy": policy})

        return Route(path, handle)

    def get(
        path: str, answer: Callable[[Desk, Values], Any], method: str = "GET"
    ) -> Route:
        def handle(request: Request) -> Response:
            desk.project.refuse_links()
            response = answer(desk, {**request.query_params, **request.path_params})
            return (
                response
                if isinstance(response, Response)
                else JSONResponse(response or {})
            )

        return Route(path, handle, methods=[method])

    def post(path: str, answer: Callable[[Desk, dict[str, Any]], Any]) -> Route:
        async def handle(request: Request) -> Response:
            row = await body_of(request)
            await run_in_threadpool(desk.project.refuse_links)
            return JSONResponse(await run_in_threadpool(answer, desk, row) or {})

        return Route(path, handle, methods=["POST"])

    def put(path: str, answer: Callable[[Desk, Values, Path], dict[str, Any]]) -> Route:
        async def handle(request: Request) -> Response:
            values = {**request.query_params, "kind": "labels", **request.path_params}
            kind = values["kind"]
            name = values.get("name", "")
            await run_in_threadpool(desk.project.refuse_links)
            async with received(desk.project, kind, name, request.stream()) as file:
                return JSONResponse(await run_in_threadpool(answer, desk, values, file))

        return Route(path, handle, methods=["PUT"])

    async def events(request: Request) -> Response:
        return StreamingResponse(
            _progress(desk, request), media_type="text/event-stream"
        )

    routes = [
        post("/api/labels", labeling.give),  # the most frequent one
        view("/", "search", _search_values),
        put("/api/inputs/{kind}/{name}", _take_input),
        get("/api/inputs/{kind}/{name}", _remove_input, "DELETE"),
        get("/api/columns", _columns),
        post("/api/pasted", _take_text),
        post("/api/search", lambda desk, row: {"command": desk.search.start(row)}),
        post("/api/search/cancel", lambda desk, row: desk.search.cancel()),
        post("/api/search/discard", lambda desk, row: desk.search.discard()),
        Route("/api/search/events", events),
        view("/posts", "posts", _posts_values),
        get("/api/posts", _posts),
        get("/api/copies/{rank:int}", _copies),
        post("/api/threshold", _keep_threshold),
        post("/api/learn", lambda desk, row: desk.learning.learn()),
        put(
            "/api/verdicts",
            lambda desk, values, file: {
                "sentence": desk.machine.take(
                    file, values.get("machine", "")
                ).sentence()
            },
        ),
        get(
            "/api/verdicts",
            lambda desk, values: desk.project.update(machine=None),
            "DELETE",
        ),
        view("/label", "label", _label_values),
        get("/api/queue", _queue),
        get("/api/reading", lambda desk, values: {"html": pages.reading(desk.log)}),
        post("/api/labels/undo", _undo),
        put(
            "/api/labels/import",
            lambda desk, values, file: labeling.take(
                desk, file, values.get("annotator", "")
            ),
        ),
        post(
            "/api/settings",
            lambda desk, row: _keep_criteria(desk, text_in(row, "criteria")),
        ),
        view("/decide", "decide", _decide_values),
        post("/api/plan", _plan),
        post("/api/goals", _fix_goals),
        post(
            "/api/certify",
            lambda desk, row: {"sentences": desk.certificate.certify().sentences},
        ),
        view("/hand-over", "hand-over", _hand_over_values),
        get("/files/{kind}", _file),
    ]
    errors: dict[Any, Any] = {
        InputError: lambda request, error: JSONResponse({"error": str(error)}, 400),
        PlanRefused: lambda request, error: JSONResponse(
            {"error": str(error.to("page"))}, 400
        ),
        Conflict: _conflict,
        OSError: lambda request, error: JSONResponse(
            {"error": f"the file could not be written: {error}"}, 507
        ),
        # The browser aborted an upload; nobody reads the answer.
        ClientDisconnect: lambda request, error: Response(status_code=400),
    }
    return Starlette(routes=routes, exception_handlers=errors)


def _conflict(request: Request, error: Conflict) -> Response:
    """The label is not the one that the page had shown."""
    current = error.current
    there = None if current is None else {"n": current.number, "label": current.label}
    return JSONResponse(
        {"error": "this label was changed in another tab", "current": there}, 409
    )


def _common(desk: Desk) -> dict[str, Any]:
    """Values of every view."""
    project = desk.project
    return {
        "folder": project.folder.name,
        "ready": project.results.exists(),
        "threshold": project.threshold,
        "criteria": project.criteria,
        "labels": len(desk.log.posts()),
        "annotators": desk.log.annotators(),
        "machine": desk.machine.source,
    }


# The view of the search.


def _search_values(desk: Desk) -> dict[str, Any]:
    project = desk.project
    return {
        "articles": project.inputs("articles"),
        "caps": CAPS,
        "endings": ",".join((*ARTICLE_SUFFIXES, ".gz", ".zst")),
        "negatives": project.inputs("not"),
        "posts": project.inputs("posts"),
        "options": project.config()["options"],
        "second_look": project.second_look.name if project.second_look else "the star",
        "status": desk.search.status(),
        "command": desk.search.command,
        "unknown": UNKNOWN,
    }


def _inputs(desk: Desk, kind: str) -> dict[str, Any]:
    html = pages.piece("_inputs", kind=kind, inputs=desk.project.inputs(kind))
    return {"html": html, "command": desk.search.command}


def _take_input(desk: Desk, values: Values, file: Path) -> dict[str, Any]:
    desk.project.take_input(values["kind"], values["name"], file)
    return _inputs(desk, values["kind"])


def _remove_input(desk: Desk, values: Values) -> dict[str, Any]:
    if desk.search.status()["state"] == "running":
        raise InputError(
            "a search is reading the files; wait for it to finish or cancel it"
        )
    path = desk.project.input_path(values["kind"], values["name"])
    path.unlink(missing_ok=True)
    return _inputs(desk, values["kind"])


def _take_text(desk: Desk, row: Values) -> dict[str, Any]:
    desk.project.paste(text_in(row, "text"))
    return _inputs(desk, "articles")


def _columns(desk: Desk, values: Values) -> dict[str, Any]:
    """The columns of the first file of posts that is not understood, with samples."""
    project = desk.project
    choice = Choice(*(values.get(name) or None for name in FIELDS))
    sources = [project.folder / source for source in project.sources("posts")]
    with suppress(InputError):  # the search reports any other problem of a file
        for path in input_paths(sources, SUFFIXES)[:_READ]:
            if path is None or not path.is_file():
                continue
            try:
                detect(Input(str(path), path), choice)
            except UnknownFields as unknown:
                return {"file": path.name, "columns": unknown.samples}
            except InputError:
                continue
    return {"file": None}


async def _progress(desk: Desk, request: Request) -> AsyncIterator[str]:
    """The progress of the search as events, until it ends."""
    while not await request.is_disconnected():
        status = await run_in_threadpool(desk.search.status)
        if status["state"] == "done":
            # The page that follows opens at once.
            yield f"data: {json.dumps(status | {'state': 'indexing'})}\n\n"
            await run_in_threadpool(desk.project.load_results)
        yield f"data: {json.dumps(status)}\n\n"
        if status["state"] != "running":
            return
        await asyncio.sleep(0.4)


# The view of posts.


def _posts_values(desk: Desk) -> dict[str, Any]:
    if not desk.project.results.exists():
        return {"results": None}
    results = desk.project.load_results()
    meta = desk.project.meta()
    threshold = desk.project.threshold
    return {
        "results": results,
        "meta": meta,
        "histogram": histogram_chart(
            meta.get("histogram") or counted_scores(results.scores), threshold
        )
        if len(results)
        else None,
        "end": pages.list_end(desk) if len(results) else {},
        "relevance": desk.relevance.state() if len(results) else {},
        "about": pages.relevant_to(desk),
        "titles": meta.get("titles") or {},
        "days": results.days,
        "learned": desk.learning.result(),
        "said": desk.machine.verdicts(),
        "problem": desk.machine.problem,
        "commands": [
            line
            for line in (
                desk.search.command,
                *desk.learning.commands(),
            )
            if line
        ],
    }


def _posts(desk: Desk, values: Values) -> dict[str, Any]:
    results = desk.project.load_results()
    if not len(results):
        return {"html": "", "found": 0, "next": None, "timeline": ""}
    min_score = values.get("least")
    last_position = count_in(values.get("after") or "0", "after")
    learned = (
        desk.learning.learned_ranks() if values.get("order") == "learned" else None
    )
    ranks = positions = results.find(
        Filter(
            values.get("words", "")[:200],
            values.get("lang", ""),
            unquote(values.get("seed", "")),
            values.get("start", ""),
            values.get("end", ""),
            read_score(min_score) if min_score else None,
            values.get("groups") == "1",
        )
    )
    content: dict[str, Any] = {"found": len(ranks)}
    if not last_position:
        content["timeline"] = pages.timeline(results, ranks)
    if learned is not None:
        ranks = ranks[np.argsort(learned[ranks - 1])]
        positions = learned[ranks - 1]
    start = int(np.searchsorted(positions, last_position, side="right"))
    ranks = ranks[start : start + PAGE + 1]
    positions = positions[start : start + PAGE + 1]
    html = pages.items(
        desk,
        results.posts(ranks[:PAGE].tolist()),
        values.get("annotator", ""),
        learned=learned,
    )
    following = int(positions[PAGE - 1]) if len(ranks) > PAGE else None
    return content | {"html": html, "next": following}


def _copies(desk: Desk, values: Values) -> dict[str, Any]:
    rank = values["rank"]
    blind = values.get("blind") == "1"
    results = desk.project.load_results()
    posts_there = results.posts(
        [copy_rank for copy_rank in results.copies(rank) if copy_rank != rank][:PAGE]
    )
    annotator = values.get("annotator", "")
    return {
        "html": pages.items(
            desk, posts_there, annotator, blind=blind, independent=blind
        )
    }


def _keep_threshold(desk: Desk, row: Values) -> dict[str, Any]:
    """Let the list end at a score, at a relevance, or after a number of posts."""
    by, value = row.get("by", "score"), row.get("threshold")
    relevance = read_relevance(value) if by == "relevance" else None
    if by == "score":
        threshold = read_score(value)
    else:
        minimum = count_in(value, "the number") if relevance is None else relevance
        threshold = desk.project.load_results().least_score(by, minimum)
    desk.project.update(threshold=threshold, relevance=relevance)
    return pages.list_end(desk)


# The view that labels.


def _keep_criteria(desk: Desk, typed: str) -> None:
    """Change what counts as relevant, unless a plan fixed it."""
    criteria = typed.strip()[:5000]
    fixing = _plans_that_fix_criteria(desk)
    for plan in fixing:
        plan.expect_criteria(criteria)
    if not fixing:
        desk.project.update(criteria=criteria)


def _plans_that_fix_criteria(desk: Desk) -> list[Certification | Stopping]:
    """The plans of the current search that fix what counts as relevant."""
    plan_holders = (desk.certificate, desk.goals)
    plans = [planned.opened() for planned in plan_holders if planned.planned]
    return [plan for plan in plans if plan.fixes_criteria]


def _label_values(desk: Desk) -> dict[str, Any]:
    learned = desk.learning.result()
    ready = desk.project.results.exists()
    return {
        "planned": desk.certificate.planned,
        "goals": desk.goals.planned,
        "fixed": bool(_plans_that_fix_criteria(desk)),
        "learned": learned.get("helps", False),
        "relevance": desk.relevance.state() if ready else {},
    }


def _queue(desk: Desk, values: Values) -> dict[str, Any]:
    annotator = values.get("annotator", "")
    kind = values.get("kind", "rank")
    leave = ids_in(values.get("leave") or "[]")
    results = desk.project.load_results()
    ranks = labeling.queue(desk, kind, annotator, 8, leave) if len(results) else []
    # The labels of others are shown after one's own label, except where they disagree.
    hidden = {"blind": kind in labeling.BLIND, "independent": kind != "conflict"}
    entries = [
        {"post": post.id, "html": pages.items(desk, [post], annotator, **hidden)}
        for post in results.posts(ranks)
    ]
    mine = [
        judgment.label
        for p in desk.log.posts()
        if (judgment := desk.log.of(p, annotator))
    ]
    counts = {name: mine.count(name) for name in LABELS}
    ahead = desk.certificate.progress() if kind in ("sample", "mixed") else ""
    return {"posts": entries, "counts": counts, "ahead": ahead}


def _undo(desk: Desk, row: Values) -> dict[str, Any]:
    gone = desk.log.undo(text_in(row, "annotator"))
    desk.relevance.fit()
    return {"post": gone.post if gone else None}


# The views that decide and hand over.


def _decide_values(desk: Desk) -> dict[str, Any]:
    project = desk.project
    certificate = desk.certificate
    ready = project.results.exists()
    threshold = project.threshold
    size = len(project.load_results()) if ready else 0
    values: dict[str, Any] = {
        "planned": ready and certificate.planned,
        "fixed": ready and bool(_plans_that_fix_criteria(desk)),
        "earlier": certificate.earlier(),
        "posts": size,
        "agreement": agreements(
            {
                name: judgment.label
                for name, judgment in desk.log.by_annotator(post).items()
            }
            for post in desk.log.posts()
        ),
        "changes": desk.log.changes(),
        "machine": labeling.machine_agreement(desk) if ready else [],
        "at": desk.estimates.at(threshold) if size and desk.log.posts() else None,
        "goals": desk.goals.state() if ready and desk.goals.planned else None,
    }
    commands = []
    if values["planned"]:
        findings = certificate.findings()
        values |= {
            "content": findings.content,
            "sentences": findings.sentences,
            "left": findings.left_sentence,
            "answers": Markup(certificate.answers())
            if findings.content["labels"]["used"]
            else "",
            "thresholds": certificate.thresholds(),
            "conflicts": len(findings.labels.conflicts),
        }
        commands += certificate.commands()
    if values["at"]:
        commands.append(desk.estimates.command(values["at"]))
    return values | {"commands": commands}


def _plan(desk: Desk, row: Values) -> None:
    settings = Settings(
        tuple(shares_in(text_in(row, "precision"))),
        share_in(row, "confidence"),
        count_in(row.get("budget"), "the budget"),
    )
    desk.certificate.plan(settings, another_plan=bool(row.get("again")))


def _fix_goals(desk: Desk, row: Values) -> None:
    """Fix when to stop labeling down the list."""
    find = text_in(row, "find").strip()
    goal = Goal(
        count_in(find, "the number of posts") if find else None,
        share_in(row, "recall") or None,
        share_in(row, "confidence"),
        seed=0,
    )
    desk.goals.plan(goal, another_plan=bool(row.get("again")))


def _hand_over_values(desk: Desk) -> dict[str, Any]:
    ready = desk.project.results.exists()
    planned = ready and desk.certificate.planned
    content = desk.certificate.findings().content if planned else {"claims": []}
    cuts = desk.certificate.thresholds() if planned else []
    lists = [
        pair for pair in zip(content["claims"], cuts, strict=True) if pair[0]["posts"]
    ]
    return {
        "planned": planned,
        "lists": lists,
        "chosen": next(
            (claim for claim, cut in lists if cut == desk.project.threshold), None
        ),
        "exact": content.get("settings", {}).get("false_positive") is None,
        "confidence": content.get("confidence"),
        "asked": content.get("settings", {}).get("confidence"),
        "earlier": content.get("earlier_plans"),
        "judged": content.get("judged"),
        "above": hand_over.count(desk) if ready else 0,
        "commands": hand_over.commands(desk) if ready else [],
    }


def _file(desk: Desk, values: Values) -> Response:
    if values["kind"] not in hand_over.KINDS:
        return JSONResponse({"error": "there is no such file"}, 404)
    path = hand_over.make(desk, values["kind"])
    return FileResponse(path, filename=path.name, media_type="application/octet-stream")
