"""The views of the page and the parts that its script requests, from the report's templates."""

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import numpy as np
from jinja2 import PackageLoader
from markupsafe import Markup
from numpy.typing import NDArray

from siamese_news.search.list_relevance import UNKNOWN, about_words
from siamese_news.search.report import ReportPost
from siamese_news.search.report.charts import (
    curve_chart,
    timeline_chart,
)
from siamese_news.search.report.page import environment, shown_post
from siamese_news.utils.terminal import counted, shown_relevance, verb
from siamese_news_desk.decide.bounds.hypergeometric import labels_for_precision
from siamese_news_desk.decide.plan.population import score_text
from siamese_news_desk.decide.reading_pace import found_against_read, pace_sentence
from siamese_news_desk.labels.journal import LabelJournal
from siamese_news_desk.page import hand_over
from siamese_news_desk.page.open_project import Desk
from siamese_news_desk.page.result_table import Results
from siamese_news_desk.page.security import policy

_PRECISION, _ERROR = 0.9, 0.05  # what the page proposes for a certificate

VIEWS = {
    "search": ("/", "Search"),
    "posts": ("/posts", "Posts"),
    "label": ("/label", "Label"),
    "decide": ("/decide", "Decide"),
    "hand-over": ("/hand-over", "Hand over"),
}
"""Name -> address and title of each view."""


@lru_cache
def _templates() -> Any:
    templates = environment(PackageLoader("siamese_news_desk.page", "pages"))
    templates.filters |= {
        "score": score_text,
        "counted": counted,
        "verb": verb,
    }
    return templates


@lru_cache
def _code(view: str) -> tuple[str, str]:
    """The style and the script of a view."""
    pages = files("siamese_news_desk.page") / "pages"
    report = files("siamese_news.search.report")
    shared = (
        ["common.js", "labeling.js"] if view in ("posts", "label") else ["common.js"]
    )
    style = [report / "style.css", pages / "desk.css"]
    script = [pages / name for name in (*shared, f"{view}.js")]
    return _joined(style), _joined(script)


def _joined(texts: Iterable[Traversable]) -> str:
    return "".join(text.read_text(encoding="utf-8") for text in texts)


def view(name: str, **values: Any) -> tuple[str, str]:
    """A whole page and its content security policy."""
    style, script = _code(name)
    code = {"style": Markup(style), "script": Markup(script)}
    return piece(name, view=name, views=VIEWS, **code, **values), policy(script, style)


def piece(name: str, **values: Any) -> str:
    """A page or a part of one."""
    # The templates of the report need them.
    defaults = {
        "several_seeds": False,
        "seeds": {},
    }
    html: str = _templates().get_template(f"{name}.html.j2").render(defaults | values)
    return html


def items(
    desk: Desk,
    posts: list[ReportPost],
    annotator: str,
    *,
    blind: bool = False,
    independent: bool = False,
    learned: NDArray[np.int64] | None = None,
) -> str:
    """Entries of a list of posts, with their labels.

    `blind` hides scores and the marks of matched words, which tell them; `independent` hides the
    labels of others. `learned` (N,) has the rank in the learned order by rank.
    """
    results = desk.project.load_results()
    log = desk.log
    machine = desk.machine
    titles = desk.project.meta().get("titles") or {}
    entries = []
    min_score = min(0.0, float(results.scores.min()))
    max_score = float(results.scores.max())
    for post in posts:
        judgments = log.by_annotator(post.id).items()
        label_of_annotator = {
            name: judgment.label for name, judgment in judgments if name != annotator
        }
        if (machine_verdict := machine.verdict_at(post.rank)) and machine.source:
            label_of_annotator[f"{machine.source[1]} (machine)"] = machine_verdict
        entries.append(
            {
                "shown": shown_post(
                    post.rank, replace(post, terms=[]) if blind else post
                ),
                "mine": log.of(post.id, annotator),
                "others": label_of_annotator,
                "bar": (post.score - min_score) / (max_score - min_score or 1.0),
                "place": None if learned is None else int(learned[post.rank - 1]),
            }
        )
    return piece(
        "_items",
        entries=entries,
        blind=blind,
        independent=independent,
        several_seeds=len(results.seeds) > 1,
        about=relevant_to(desk),
        by_labels=results.labels is not None,
        seeds={
            seed: {"id": seed, "title": titles.get(seed, "")} for seed in results.seeds
        },
    )


def relevant_to(desk: Desk) -> str:
    """What relevance is to, in words: the event, or the very article."""
    return about_words((desk.project.meta().get("about") or {}).values())


def list_end(desk: Desk) -> dict[str, Any]:
    """Where the list of the page ends, as numbers for the controls and in words.

    Returns:
        ``threshold``, a score, and ``score``, the same as text; ``posts`` that reach it;
        ``relevance`` that was chosen, or of the last of them, as text, empty where it is unknown;
        ``line``, how many posts are in the list, and how many relevant ones are in it and missed;
        ``detail``, whose numbers these are.
    """
    results = desk.project.load_results()
    threshold = desk.project.threshold
    size = int((results.scores >= threshold).sum())
    reached = results.relevance[size - 1] if size else np.nan
    relevance = "" if np.isnan(reached) else shown_relevance(reached)
    chosen = desk.project.config().get("relevance")
    # Not of an earlier list, nor before labels changed what relevance is.
    if chosen is not None and results.least_score("relevance", chosen) == threshold:
        relevance = f"{chosen:g}"
    handed = hand_over.count(desk)
    line = counted(size, "post")
    unknown = int(np.isnan(results.relevance[:size]).sum())
    of_some = f" for {unknown:,} posts of the list" if results.known else ""
    detail = f"Relevance is unknown here{of_some}: {UNKNOWN}."
    if results.known:
        inside, missed = (
            f"{np.nansum(values):,.0f}"
            for values in (results.relevance[:size], results.relevance[size:])
        )
        line += (
            f", about {inside} of them {relevant_to(desk)}, about {missed} missed"
            + (f" (relevance {relevance} or more)" if relevance else "")
        )
    if results.known and not unknown:
        detail = (
            f"By your {results.labels.labels} labels."
            if results.labels
            else "Estimated from other pools; your labels make it your own."
        )
    if results.known and not unknown and size:
        share = float(results.relevance[:size].mean())
        labels = labels_for_precision(_PRECISION, size, share, _ERROR)
        detail += (
            # Replayed: ``python -m benchmarks.labels_ahead``.
            f" If it is right, a certificate of a precision of {_PRECISION} needs about "
            f"{counted(labels, 'label')}: enough for 6 of 10 lists of other kinds; a fifth of them had "
            "a lower precision."
            if labels
            else f" If it is right, a certificate of a precision of {_PRECISION} ends the list higher, "
            f"because about {share:.0%} of these posts are relevant."
        )
    return {
        "threshold": threshold,
        "score": score_text(threshold),
        "posts": size,
        "relevance": relevance,
        "line": line
        + (f"; labels make it a list of {handed:,}" if handed != size else ""),
        "detail": detail,
    }


def timeline(results: Results, ranks: Any) -> str:
    """The chart of posts over time."""
    counts = results.counted_by_hour(ranks)
    undated = len(ranks) - sum(counts.values())
    return piece("_timeline", timeline=timeline_chart(counts), undated=undated)


def reading(log: LabelJournal) -> str:
    """The curve of relevant posts found against posts read; empty before the first label."""
    points = found_against_read(log)
    if len(points) == 1:
        return ""
    sentence = pace_sentence(points)
    return piece("_reading", chart=curve_chart(points), sentence=sentence)
