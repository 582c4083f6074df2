"""The addresses of the page and what answers them."""

from collections.abc import Callable
from typing import Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.routing import Route

from siamese_news.decide.agreement import agreements
from siamese_news.desk.desk import Desk
from siamese_news.desk.hand_over import commands, groups_by
from siamese_news.desk.labelling import Labelling
from siamese_news.desk.listing import Listing
from siamese_news.desk.requests import Handler, bad_input, conflict, gone, page, unwritable
from siamese_news.desk.searching import Searching
from siamese_news.desk.settling import Settling
from siamese_news.desk.uploads import CAPS
from siamese_news.errors import InputError
from siamese_news.labels.journal import Conflict


def application(desk: Desk) -> Starlette:
    """The page of a project, without its guard. Starlette runs plain functions in threads."""
    searching, listing = Searching(desk), Listing(desk)
    labelling, settling = Labelling(desk), Settling(desk)
    routes = [
        Route("/api/labels", labelling.label, methods=["POST"]),  # the most frequent one
        Route("/", _view(desk, "search", search_values)),
        Route("/posts", listing.posts_view),
        Route("/label", labelling.label_view),
        Route("/decide", _view(desk, "decide", decide_values)),
        Route("/hand-over", _view(desk, "hand-over", hand_over_values)),
        Route("/api/inputs/{kind}/{name}", searching.upload, methods=["PUT"]),
        Route("/api/inputs/{kind}/{name}", searching.remove, methods=["DELETE"]),
        Route("/api/columns", searching.columns),
        Route("/api/pasted", searching.paste, methods=["POST"]),
        Route("/api/search", searching.start, methods=["POST"]),
        Route("/api/search/cancel", searching.cancel, methods=["POST"]),
        Route("/api/search/discard", searching.discard, methods=["POST"]),
        Route("/api/search/events", searching.events),
        Route("/api/posts", listing.posts),
        Route("/api/count", listing.count),
        Route("/api/copies/{rank:int}", listing.copies),
        Route("/api/threshold", listing.threshold, methods=["POST"]),
        Route("/api/threads", listing.find_threads, methods=["POST"]),
        Route("/api/threads/{number:int}", listing.thread),
        Route("/api/learn", listing.learn, methods=["POST"]),
        Route("/api/verdicts", listing.take_verdicts, methods=["PUT"]),
        Route("/api/verdicts", listing.forget_machine, methods=["DELETE"]),
        Route("/api/labels/undo", labelling.undo, methods=["POST"]),
        Route("/api/labels/import", labelling.take_labels, methods=["PUT"]),
        Route("/api/queue", labelling.queue),
        Route("/api/settings", settling.settings, methods=["POST"]),
        Route("/api/plan", settling.plan, methods=["POST"]),
        Route("/api/goals", settling.goals, methods=["POST"]),
        Route("/api/certify", settling.certify, methods=["POST"]),
        Route("/files/{kind}", settling.file),
    ]
    return Starlette(
        routes=routes,
        exception_handlers={
            InputError: bad_input,
            Conflict: conflict,
            OSError: unwritable,
            ClientDisconnect: gone,
        },
    )


def _view(desk: Desk, name: str, values: Callable[[Desk], dict[str, Any]]) -> Handler:
    return lambda request: page(name, **values(desk))


def search_values(desk: Desk) -> dict[str, Any]:
    """The values of the search view."""
    project = desk.project
    config = project.config()
    return {
        "folder": project.folder.name,
        "articles": project.inputs("articles"),
        "caps": CAPS,
        "negatives": project.inputs("not"),
        "posts": project.inputs("posts"),
        "options": config["options"],
        "second_look": project.second_look.name if project.second_look else "",
        "status": desk.search.status(),
        "command": desk.search.command,
        "labels": len(desk.log.posts()),
    }


def decide_values(desk: Desk) -> dict[str, Any]:
    """The values of the decide view."""
    deciding = desk.deciding
    ready = desk.project.results.exists()
    values: dict[str, Any] = {
        "ready": ready,
        "planned": ready and deciding.planned,
        "earlier": deciding.earlier() if ready else 0,
        "criteria": desk.project.config().get("criteria", ""),
        "posts": len(desk.results()) if ready else 0,
        "threshold": desk.threshold(),
        "agreement": agreements(desk.log),
        "annotators": desk.log.annotators(),
        "changes": desk.log.changes(),
        "machine": desk.machine_lines() if ready else [],
        "folder": desk.project.folder.name,
    }
    values["at"] = None
    if ready and desk.log.posts() and len(desk.results()):
        values["at"] = desk.standing.at(desk.threshold())
        values["at_command"] = desk.standing.command(values["at"])
    values["goals"] = None
    if ready and desk.stops.planned:
        values["goals"] = desk.stops.stands()
        values["goals_command"] = desk.stops.command()
    if values["planned"]:
        found = deciding.findings()
        values |= {
            "content": found.content,
            "sentences": found.sentences,
            "conflicts": found.conflicts,
            "descents": list(zip(found.content["claims"], found.descents, strict=True)),
            "commands": deciding.commands(),
        }
    return values


def hand_over_values(desk: Desk) -> dict[str, Any]:
    """The values of the hand-over view."""
    ready = desk.project.results.exists()
    above = 0
    if ready:
        claim = desk.deciding.certified(desk.threshold())
        above = claim.posts if claim else int((desk.results().scores >= desk.threshold()).sum())
    planned = ready and desk.deciding.planned
    claims = desk.deciding.findings().content["claims"] if planned else []
    return {
        "ready": ready,
        "planned": planned,
        "certified": [claim for claim in claims if claim["threshold"] is not None],
        "above": above,
        "threshold": desk.threshold(),
        "labels": len(desk.log.posts()),
        "by": groups_by(desk),
        "threads": desk.threads.found(),
        "commands": commands(desk) if ready else [],
        "folder": desk.project.folder.name,
    }
