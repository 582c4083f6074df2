"""What the views of a project show."""

from typing import Any

from siamese_news.decide.agreement import agreements
from siamese_news.desk.desk import Desk
from siamese_news.desk.hand_over import commands
from siamese_news.desk.uploads import CAPS


def search_values(desk: Desk) -> dict[str, Any]:
    """Of the view that searches."""
    project = desk.project
    config = project.config()
    return {
        "folder": project.folder.name,
        "articles": project.inputs("articles"),
        "caps": CAPS,
        "negatives": project.inputs("not"),
        "posts": project.inputs("posts"),
        "options": config["options"],
        "status": desk.search.status(),
        "command": desk.search.command,
        "labels": len(desk.log.posts()),
    }


def decide_values(desk: Desk) -> dict[str, Any]:
    """Of the view that decides."""
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
    """Of the view that hands over."""
    ready = desk.project.results.exists()
    above = 0
    if ready:
        above = int((desk.results().scores >= desk.threshold()).sum())
    planned = ready and desk.deciding.planned
    claims = desk.deciding.findings().content["claims"] if planned else []
    return {
        "ready": ready,
        "planned": planned,
        "certified": [claim for claim in claims if claim["threshold"] is not None],
        "above": above,
        "threshold": desk.threshold(),
        "labels": len(desk.log.posts()),
        "commands": commands(desk) if ready else [],
        "folder": desk.project.folder.name,
    }
