"""The page: `ReportData` in, one HTML file out."""

import base64
import hashlib
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import BaseLoader, ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from siamese_news.data.readers.values import iso_date
from siamese_news.search.list_relevance import UNKNOWN
from siamese_news.search.report.charts import (
    histogram_chart,
    moment,
    timeline_chart,
)
from siamese_news.search.report.report_data import SHOWN, ReportData, ReportPost, Turn
from siamese_news.utils.files import atomic_write
from siamese_news.utils.terminal import shown_relevance

# Characters that control a screen or hide: controls, bidi embeddings, overrides and isolates, and
# invisible signs. Joiners (emoji, Persian, Hindi) and plain direction marks do no harm and stay.
_HIDDEN = re.compile(
    r"([\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u180e\u200b\u202a-\u202e\u2060-\u206f\ufeff"
    r"\ufff9-\ufffb\ufffe\uffff\ud800-\udfff\U000e0001])\1*"
)
# Marks that stack on one letter: eight are more than any language needs, hundreds stop a browser.
_STACKED = re.compile(
    r"([\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{8})"
    r"([\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+)"
)
_LINE_ENDS = re.compile(r"\r\n?|[\u2028\u2029\x85\x0b\x0c]")


def visible(text: str) -> str:
    """The text with everything hidden in it spelled out, as in ``⟨U+202E⟩``."""
    if text.isascii() and text.isprintable():
        return text
    text = _STACKED.sub(lambda match: f"{match[1]}⟨{len(match[2])} more marks⟩", text)
    return _HIDDEN.sub(_spelled, _LINE_ENDS.sub("\n", text))


def pieces(text: str, terms: Sequence[str]) -> list[tuple[bool, str]]:
    """The text cut at the whole words, in any case, that are `terms`: (is a term, piece) pairs."""
    longest_terms = sorted(
        {term for term in terms if term.strip()}, key=len, reverse=True
    )
    if not longest_terms:
        return [(False, text)] if text else []
    # Split at the one group: every second piece is a match.
    either = "|".join(map(re.escape, longest_terms))
    cut = re.split(rf"(?<!\w)({either})(?!\w)", text, flags=re.IGNORECASE)
    return [(bool(number % 2), piece) for number, piece in enumerate(cut) if piece]


def _spelled(match: re.Match[str]) -> str:
    character = match[1]
    count = len(match[0])
    if unicodedata.category(character) == "Cs":
        return "\ufffd" * min(count, 3)
    return f"⟨U+{ord(character):04X}{f'×{count}' if count > 1 else ''}⟩"


COPIES = 50
"""Copies listed in one cluster at most."""

PAGE = 500
"""Clusters shown on the page at once, on screen and on paper."""

_PREVIEW = 700  # characters of a post shown at once
_WHOLE = 20_000  # and after opening it

_COUNTS = {
    "read": "posts read",
    "rejected": "rows rejected",
    "unreadable": "files that could not be read",
    "empty": "posts without a text",
    "duplicates": "duplicates",
    "kept": "posts kept",
}


@dataclass(frozen=True, slots=True)
class ShownPost:
    """A post on the page."""

    row: int
    post: ReportPost
    date: str
    start: list[tuple[bool, str]]
    opened: list[tuple[bool, str]] | None
    left_out: int


@dataclass(frozen=True, slots=True)
class _Group:
    """A cluster on the page: its best post, its copies or its thread, and keys to sort by."""

    lead: ShownPost
    copies: list[ShownPost]
    turns: list[tuple[Turn, ShownPost]]
    size: int
    seeds: str
    slots: str
    bar: float

    @property
    def posts(self) -> list[ShownPost]:
        """The posts of the results among those that it lists."""
        return [
            self.lead,
            *self.copies,
            *(turn for _, turn in self.turns if turn.row >= 0),
        ]


def write_report(path: str | Path, data: ReportData) -> None:
    """Write the page, whole or not at all."""
    page = render(data)
    with atomic_write(path) as stream:
        stream.write(page)


def render(data: ReportData) -> str:
    """The page as one string of HTML that needs nothing else."""
    resources = files("siamese_news.search.report")
    style = (resources / "style.css").read_text(encoding="utf-8")
    script = (resources / "script.js").read_text(encoding="utf-8")
    dates = ((row, moment(post.created_at)) for row, post in enumerate(data.posts))
    times = {row: date for row, date in dates if date}
    days = [str(edge(times.values()).date()) for edge in (min, max) if times]
    timeline = timeline_chart(list(times.values()))
    slots = (
        {row: timeline.slot_of(time) for row, time in times.items()} if timeline else {}
    )
    groups = _groups(data, slots)
    listed = {entry.row for group in groups for entry in group.posts}
    clusters = len({post.cluster for post in data.posts})
    threshold = math.inf if data.threshold is None else data.threshold
    return (
        environment()
        .get_template("page.html.j2")
        .render(
            data=data,
            style=Markup(style),
            script=Markup(script),
            style_hash=sha256(style),
            script_hash=sha256(script),
            groups=groups,
            clusters=clusters,
            unit="thread" if data.threads else "cluster",
            clusters_left=clusters - len(groups),
            listed=listed,
            several_seeds=len(data.seeds) > 1,
            seeds={seed.id: seed for seed in data.seeds},
            counts=[
                (_COUNTS.get(name, name), count) for name, count in data.counts.items()
            ],
            above=len({post.id for post in data.posts if post.score >= threshold}),
            histogram=histogram_chart(data.histogram, data.threshold)
            if data.histogram
            else None,
            timeline=timeline,
            days=days,
            seed_numbers={seed.id: number for number, seed in enumerate(data.seeds)},
            page_size=PAGE,
            undated=len(data.posts) - len(times),
            facts=_facts(data.provenance),
            unknown=UNKNOWN,
        )
    )


@cache
def environment(*loaders: BaseLoader) -> Environment:
    """Templates, those of `loaders` before the report's own, that escape and reveal every text."""
    templates = PackageLoader("siamese_news.search.report", ".")
    environment = Environment(
        loader=ChoiceLoader([*loaders, templates]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: (
            visible(value)
            if isinstance(value, str) and not isinstance(value, Markup)
            else value
        ),
    )
    environment.filters["relevance"] = shown_relevance
    return environment


def shown_post(row: int, post: ReportPost) -> ShownPost:
    """A post for the templates: its matched terms marked, a long text cut.

    Links and scripts refer to it by its number, `row`.
    """
    text = post.text
    return ShownPost(
        row,
        post,
        iso_date(post.created_at) or "" if post.created_at else "",
        pieces(text[:_PREVIEW], post.terms),
        pieces(text[:_WHOLE], post.terms) if len(text) > _PREVIEW else None,
        max(0, len(text) - _WHOLE),
    )


def _groups(data: ReportData, slots: Mapping[int, int]) -> list[_Group]:
    """The clusters by rank of their best post, as many as the page shows."""
    posts = data.posts
    clusters: dict[int, list[int]] = {}
    for row, post in enumerate(posts):
        clusters.setdefault(post.cluster, []).append(row)
    # With one list for each seed, ranks can tie: then by id, as everywhere.
    best = {
        cluster: min(
            sorted(members, key=lambda row: posts[row].id, reverse=True),
            key=lambda row: posts[row].rank,
        )
        for cluster, members in clusters.items()
    }
    order = sorted(best, key=lambda c: (posts[best[c]].rank, -posts[best[c]].score, c))
    number = {seed.id: str(index) for index, seed in enumerate(data.seeds)}
    min_score = min([0.0, *(post.score for post in posts)])
    span = max((post.score for post in posts), default=1.0) - min_score or 1.0
    row_of_post = (
        {id(post): row for row, post in enumerate(posts)} if data.threads else {}
    )
    groups: list[_Group] = []
    room = SHOWN
    for cluster in order:
        if room <= 0:
            break
        members = clusters[cluster]
        lead = posts[best[cluster]]
        turns = list(data.threads.get(cluster, ()))[: 2 * COPIES]
        copy_rows = [] if turns else [row for row in members if row != best[cluster]]
        copies = copy_rows[: min(COPIES, room - 1)]
        room -= 1 + max(len(copies), len(turns))
        ids = {posts[row].id for row in members}
        seeds = {number[posts[row].seed] for row in members}
        slots_of_members = {slots[row] for row in members if row in slots}
        groups.append(
            _Group(
                lead=shown_post(best[cluster], lead),
                copies=[shown_post(row, posts[row]) for row in copies],
                turns=[
                    (turn, shown_post(row_of_post.get(id(turn.post), -1), turn.post))
                    for turn in turns
                ],
                size=max(len(ids), lead.cluster_size),
                seeds=" ".join(sorted(seeds)),
                slots=" ".join(map(str, sorted(slots_of_members))),
                bar=(lead.score - min_score) / span,
            )
        )
    return groups


def _facts(values: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Nested values as rows of a table."""
    rows: list[tuple[str, str]] = []
    for name, value in values.items():
        label = f"{prefix}{name}"
        if isinstance(value, Mapping):
            rows += _facts(value, f"{label}: ")
        elif isinstance(value, list | tuple):
            rows.append((label, ", ".join(map(str, value))))
        else:
            rows.append((label, str(value)))
    return rows


def sha256(text: str) -> str:
    """The hash by which a content security policy names an inline script or style."""
    digest = hashlib.sha256(text.encode()).digest()
    return base64.b64encode(digest).decode()
