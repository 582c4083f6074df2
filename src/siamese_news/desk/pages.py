"""The views of the page and the parts that its script requests, from the report's templates."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np
from jinja2 import PackageLoader
from markupsafe import Markup

from siamese_news.desk.machine import Machine
from siamese_news.desk.results import Results
from siamese_news.desk.security import policy
from siamese_news.labels.journal import LabelJournal
from siamese_news.labels.results import web_link
from siamese_news.search.report import Histogram, ReportPost
from siamese_news.search.report.charts import MAP_POINTS, histogram_chart, map_chart, timeline_chart
from siamese_news.search.report.page import environment, shown

VIEWS = {
    "search": ("/", "Search"),
    "posts": ("/posts", "Posts"),
    "label": ("/label", "Label"),
    "decide": ("/decide", "Decide"),
    "hand-over": ("/hand-over", "Hand over"),
}
"""Name -> address and title of each view."""

_PLACED = 20_000  # ranks among which posts with a place are looked for


@lru_cache
def _templates() -> Any:
    return environment(PackageLoader("siamese_news.desk", "pages"))


@lru_cache
def _style() -> str:
    report = (files("siamese_news.search.report") / "style.css").read_text(encoding="utf-8")
    return report + (files("siamese_news.desk") / "pages" / "desk.css").read_text(encoding="utf-8")


@lru_cache
def _script(view: str) -> str:
    pages = files("siamese_news.desk") / "pages"
    names = ["common.js", "labelling.js"] if view in ("posts", "label") else ["common.js"]
    return "".join((pages / name).read_text(encoding="utf-8") for name in (*names, f"{view}.js"))


def view(name: str, **values: Any) -> tuple[str, str]:
    """A whole page and its content security policy."""
    style, script = _style(), _script(name)
    html = (
        _templates()
        .get_template(f"{name}.html.j2")
        .render(
            view=name,
            views=VIEWS,
            style=Markup(style),
            script=Markup(script),
            **{"several_seeds": False, "seeds": {}, **values},
        )
    )
    return html, policy([script], [style])


def piece(name: str, **values: Any) -> str:
    """A part of a page."""
    html: str = _templates().get_template(f"{name}.html.j2").render(**values)
    return html


def items(
    posts: list[ReportPost],
    rows: list[int],
    results: Results,
    log: LabelJournal,
    annotator: str,
    titles: Mapping[str, str],
    machine: Machine,
    *,
    blind: bool,
    learned: Any,
    threads: Any = None,
    **values: Any,
) -> str:
    """Entries of a list of posts, with their labels and, where ``threads`` has them, threads.

    Matched words are marked only where the score may be seen: the more of them a post has, the
    higher its score.
    """
    entries = []
    low, high = min(0.0, float(results.scores.min())), float(results.scores.max())
    for row, post in zip(rows, posts, strict=True):
        mine = log.of(post.id, annotator)
        given = log.by_annotator(post.id).items()
        others = {name: one.label for name, one in given if name != annotator}
        if (said := machine.said(post.rank)) and machine.source:
            others[f"{machine.source[1]} (machine)"] = said
        bar = (post.score - low) / (high - low or 1.0)
        place = None if learned is None else int(learned[post.rank - 1])
        entries.append(
            {
                "shown": shown(row, replace(post, terms=[]) if blind else post),
                "mine": mine,
                "others": others,
                "bar": bar,
                "place": place,
            }
        )
    return piece(
        "_items",
        entries=entries,
        blind=blind,
        threads=threads,
        several_seeds=len(results.seeds) > 1,
        seeds={seed: {"id": seed, "title": titles.get(seed, "")} for seed in results.seeds},
        **values,
    )


def turns(rows: list[dict[str, Any]]) -> str:
    """The posts of a thread, in reading order."""
    posts = [
        ReportPost(
            row["rank"] or 0,
            row["post"],
            row["score"] or 0.0,
            row["text"],
            0,
            1,
            row["article"],
            row["created_at"],
            row["lang"],
            row["terms"] or (),
            link=web_link(row["link"]),
        )
        for row in rows
    ]
    own = [(row, shown(-1, post)) for row, post in zip(rows, posts, strict=True)]
    return piece("_turns", turns=own, several_seeds=False, seeds={}) if rows else ""


def charts(
    results: Results, threshold: float | None, whole: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The charts of a view of results.

    Args:
        results: of the search.
        threshold: to draw.
        whole: the histogram of all posts that were scanned, where it is known.
    """
    histogram = None
    if whole:
        histogram = Histogram(whole["edges"], whole["counts"])
    elif len(results):
        counts, edges = np.histogram(results.scores, bins=40)
        histogram = Histogram(edges.tolist(), counts.tolist())
    placed = results.posts(results.places(_PLACED)[:MAP_POINTS])
    return {
        "histogram": histogram_chart(histogram, threshold) if histogram else None,
        "map": map_chart(placed),
        "placed": [post.rank for post in placed],
    }


def timeline(results: Results, ranks: Any) -> str:
    """The chart of posts over time."""
    counts = results.counted_by_hour(ranks)
    return piece(
        "_timeline",
        timeline=timeline_chart(counts),
        undated=len(ranks) - sum(counts.values()),
        several_seeds=False,
        seeds={},
    )
