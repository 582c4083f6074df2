"""The data of a report, from a results file and its ``.meta.json``."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from heapq import heappop, heappush
from itertools import islice
from pathlib import Path
from sys import intern
from textwrap import shorten
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_news.data.columns import KINDS, RANKED, Kind, ResultMeta, ScoreHistogram
from siamese_news.data.results import found_rows, result_meta, web_link
from siamese_news.errors import InputError
from siamese_news.search.clusters import CLUSTERED, cluster_posts
from siamese_news.search.list_relevance import about_words
from siamese_news.utils.files import file_sha256
from siamese_news.utils.provenance import command, provenance


@dataclass(frozen=True, slots=True)
class Seed:
    """A seed article: its id and, where known, its title."""

    id: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class ReportPost:
    """One row of the results, with `rank` from 1 for its seed, whose id is `seed`.

    `created_at` is in any form that `iso_date` reads; `terms` are highlighted; `link` is http or
    https; `relevance` is None where it is unknown.
    """

    rank: int
    id: str
    score: float
    text: str
    cluster: int
    cluster_size: int
    seed: str
    created_at: str | None = None
    lang: str | None = None
    terms: Sequence[str] = ()
    link: str | None = None
    relevance: float | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """A post in its thread: one ``found``, one ``answered`` by these, or a ``reply``.

    It has `depth` posts of the thread above it; the results lack `left_out` posts of the thread.
    """

    post: ReportPost
    role: str
    depth: int
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class ReportData:
    """All of the page; it names the parts that are None or empty, and leaves them out.

    The histogram is of all posts that were scanned or of the results only, which its note says.
    `counts` are those of the search, such as ``read`` and ``kept``. `threads` has the posts of each
    in reading order, by the ``cluster`` of its found posts. `groups` is a `groups.Comparison`.
    `relevance` says what that of the posts is to, and whose number it is.
    `answers` is HTML of ours: what a certificate says about the list.
    """

    title: str
    command: str
    provenance: Mapping[str, Any]
    seeds: Sequence[Seed]
    posts: Sequence[ReportPost]
    histogram: ScoreHistogram | None = None
    histogram_note: str = ""
    threshold: float | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    remarks: Sequence[str] = ()
    threads: Mapping[int, Sequence[Turn]] = field(default_factory=dict)
    groups: Any = None
    relevance: str = ""
    answers: str = ""


NEEDED = ("article", "rank", "score", "post", "text")


# The largest number of posts on the page, which states how many it leaves out.
SHOWN = 5000


def read_results(
    path: str | Path,
    *,
    title: str | None = None,
    name: str | None = None,
    all_texts: bool = False,
) -> ReportData:
    """The report of a results file, ``.jsonl`` (also ``.gz``, ``.zst``), ``.csv`` or ``.parquet``.

    It has the columns article, rank, score, post and text; if present, cluster, cluster_size, lang,
    created_at, terms and link are used, and ``<path>.meta.json``. By default the title is
    about the only seed, or says in which file (or `name`) the posts are, and the threshold is that
    of the search.

    Of more than `clusters.CLUSTERED` posts without a cluster each is taken for one of its own, and
    those that the page cannot show have an empty text, unless `all_texts` are wanted.
    """
    source = Path(path)
    rows = partial(found_rows, source)
    next(rows())  # without one, that is the error
    made_by = {
        "results": source.name,
        "sha256 of the results": file_sha256(source),
    }
    meta = result_meta(source)
    data = results_of(
        rows,
        str(source),
        meta,
        made_by=made_by,
        title=title,
        name=name or source.name,
        all_texts=all_texts,
    )
    if meta:
        return data
    remark = (
        f"There is no {source.name}.meta.json next to the results, so this page shows the "
        "command that made the report, and the numbers of posts read and rejected are unknown."
    )
    return replace(data, remarks=[remark, *data.remarks])


Rows = Callable[[], Iterable[tuple[str, Mapping[str, Any]]]]
"""Returns the rows of results, which can be read several times, each with its place."""


def results_of(
    read_rows: Rows,
    location: str,
    meta: ResultMeta,
    *,
    made_by: Mapping[str, str],
    title: str | None = None,
    name: str = "",
    all_texts: bool = False,
) -> ReportData:
    """The report of rows of results; see `read_results`.

    `location` they are is named in errors, `meta` is what is said about the search that found them,
    and `made_by` is added to its provenance.
    """
    checked = (_checked(row, row_place) for row_place, row in read_rows())
    is_long = _is_long(read_rows)
    rows: list[dict[str, Any]] = []
    threaded = clustered = False
    if is_long:
        posts = _posts_alone(checked, location, all_texts=all_texts)
    else:
        rows.extend(checked)
        results = [row for row in rows if row["role"] == "found"]
        if not results:
            raise InputError(
                f"{location}: no row has the role 'found'; expected all rows of the file"
            )
        threaded = "thread" in results[0]
        clustered = "cluster" in results[0]
        if any(("thread" in row) != threaded for row in rows):
            raise InputError(
                f"{location}: some rows have a 'thread_rank'; expected it in all or in none"
            )
        posts = _posts(results)
    if histogram := meta.get("histogram"):
        edges, counts = len(histogram["edges"]), len(histogram["counts"])
        if not counts or edges != counts + 1:
            raise InputError(
                f"{location}.meta.json: field 'histogram' has {edges} edges and {counts} counts; "
                "expected one edge more than counts"
            )
        note = "It covers all posts that the search scanned, kept or not."
    else:
        histogram = counted_scores([post.score for post in posts])
        note = "It covers the posts in the results only; the scores of the others are unknown."
    run_facts = provenance()
    remarks = list(meta.get("remarks") or [])
    if is_long:
        remarks.append(
            f"There are more than {CLUSTERED:,} posts, too many to look for near-duplicates."
        )
    elif not clustered and not threaded:
        remarks.append(
            "This report looked for near-duplicates among the posts in the results."
        )
    titles = meta.get("titles") or {}
    seeds = [
        Seed(seed, titles.get(seed, ""))
        for seed in dict.fromkeys(p.seed for p in posts)
    ]
    story = seeds[0].title if len(seeds) == 1 else ""
    story = shorten(story, 120, placeholder="…")
    about = f"about “{story}”" if story else f"in {name}"
    relevant_to = about_words((meta.get("about") or {}).values())
    by_pools = "other pools, and may be far off on this one"
    source = "labels of its posts" if meta.get("relevance_map") else by_pools
    return ReportData(
        title=title or f"{'Threads' if threaded else 'Posts'} {about}",
        command=meta.get("command") or command(),
        provenance={
            **(meta.get("provenance") or run_facts),
            **made_by,
            "report": f"{run_facts['date']}, siamese-news {run_facts['versions']['siamese-news']}",  # type: ignore[index]
        },
        seeds=seeds,
        posts=posts,
        histogram=histogram,
        histogram_note=note,
        threshold=meta.get("threshold"),
        counts=meta.get("counts") or {"kept": len({post.id for post in posts})},
        remarks=remarks,
        threads=_threads(rows, posts) if threaded else {},
        relevance="" if threaded else f"{relevant_to}. It was estimated from {source}",
    )


def _is_long(read_rows: Rows) -> bool:
    """Whether results have too many posts to be clustered, and none is in a cluster or a thread."""
    count = 0
    for _, row in islice(read_rows(), CLUSTERED + 1):
        grouped = any(row.get(name) for name in ("cluster", "thread_rank"))
        if grouped or row.get("role") not in (None, "", "found"):
            return False
        count += 1
    return count > CLUSTERED


def _posts_alone(
    rows: Iterable[dict[str, Any]], location: str, *, all_texts: bool
) -> list[ReportPost]:
    """The posts of a long file, each in a cluster of its own; see `read_results`.

    Texts would take most of the memory, so only those of the best `SHOWN` posts so far are held.
    """
    posts: list[ReportPost] = []
    best_rows: list[tuple[int, float, int]] = []
    for number, row in enumerate(rows):
        if {"cluster", "thread"} & row.keys() or row["role"] != "found":
            raise InputError(
                f"{location}: its row {number + 1:,} has a cluster, a thread or a role, which the "
                "rows before it lack; expected them in all rows or in none"
            )
        row["seed"] = intern(row["seed"])
        posts.append(_post(row, number, 1))
        if all_texts:
            continue
        # The worst post is first in the heap; ties are shown in the order of the file.
        heappush(best_rows, (-row["rank"], row["score"], -number))
        if len(best_rows) > SHOWN:
            worst = -heappop(best_rows)[2]
            posts[worst] = replace(posts[worst], text="", terms=(), link=None)
    return posts


def _threads(
    rows: list[dict[str, Any]], posts: list[ReportPost]
) -> dict[int, list[Turn]]:
    """The turns of each thread with found posts, in the order of the file."""
    found_posts = iter(posts)
    turns = []
    for row in rows:
        post = (
            next(found_posts)
            if row["role"] == "found"
            else _post(row, cluster=0, size=1)
        )
        turns.append(
            (row["thread"], Turn(post, row["role"], row["depth"], row["left_out"]))
        )
    number = {
        thread: turn.post.cluster for thread, turn in turns if turn.role == "found"
    }
    threads: dict[int, list[Turn]] = {}
    for thread, turn in turns:
        if thread in number:
            threads.setdefault(number[thread], []).append(turn)
    return threads


def _posts(rows: list[dict[str, Any]]) -> list[ReportPost]:
    """The posts of the results, with the number and the size of their clusters."""
    clusters = [row.get("thread", row.get("cluster")) for row in rows]
    if None in clusters:
        # Best first whatever the order of the seeds, as cluster_posts expects.
        order = sorted(range(len(rows)), key=lambda row: rows[row]["rank"])
        numbers = cluster_posts([rows[row]["text"] for row in order])
        clusters = [number for _, number in sorted(zip(order, numbers, strict=True))]
    cluster_numbers: dict[Any, int] = {}
    numbers = [
        cluster_numbers.setdefault(cluster, len(cluster_numbers))
        for cluster in clusters
    ]
    members: dict[int, set[str]] = {}
    for row, number in zip(rows, numbers, strict=True):
        members.setdefault(number, set()).add(row["id"])
    return [
        _post(row, n, len(members[n])) for row, n in zip(rows, numbers, strict=True)
    ]


def _post(row: dict[str, Any], cluster: int, size: int) -> ReportPost:
    fields = {name: row[name] for name in ReportPost.__slots__ if name in row}
    clustered = {"cluster": cluster, "cluster_size": row.get("cluster_size") or size}
    return ReportPost(**fields | clustered)


def _checked(row: Mapping[str, Any], location: str) -> dict[str, Any]:
    """The fields of `ReportPost` and `Turn` in a row, with their types; empty ones are left out."""
    role = str(row.get("role") or "found")
    if role not in ("found", "answered", "reply"):
        raise InputError(
            f"{location}: 'role' is {role[:40]!r}; expected found, answered or reply"
        )
    if row.get("thread_rank") and role != "found":
        # The search ranked only the posts that it found.
        row = {
            **row,
            "rank": 0,
            "score": 0,
        }
    if missing := [name for name in NEEDED if row.get(name) is None]:
        use = "use a file that rank or filter wrote"
        if missing == ["text"]:
            use = (
                "a run (.trec) and a file of --ids-only have no texts to show; name a .jsonl, .csv "
                "or .parquet of the same search"
            )
        raise InputError(
            f"{location}: '{missing[0]}' is missing; expected the columns {', '.join(NEEDED)}: {use}"
        )
    fields: dict[str, Any] = {"role": role, "link": web_link(row.get("link"))}
    for name, parse in _SHOWN.items():
        if name in NEEDED or row.get(name) not in (None, ""):
            fields[_FIELDS.get(name, name)] = parse(row[name], f"{location}: '{name}'")
    for name in ("depth", "left_out"):
        fields[name] = _whole_number(row.get(name) or 0, f"{location}: '{name}'")
    if row.get("thread_rank"):
        fields["thread"] = str(row["thread_rank"])
    terms = row.get("terms") or ()
    if isinstance(terms, str):  # a CSV has them between semicolons
        terms = [term for piece in terms.split(";") if (term := piece.strip())]
    fields["terms"] = [str(term) for term in terms]
    return fields


def counted_scores(scores: Sequence[float] | NDArray[np.float64]) -> ScoreHistogram:
    """How many of some scores are in each of 40 bins."""
    min_score = min(scores)
    max_score = max(scores)
    # Scores that are equal, or nearly so, need bins of some width.
    if max_score - min_score < 1e-3:
        min_score = min_score - 5e-4
        max_score = max_score + 5e-4
    counts, edges = np.histogram(scores, bins=40, range=(min_score, max_score))
    return {"edges": edges.tolist(), "counts": counts.tolist()}


def _number(value: Any, location: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not abs(number) <= 1e15:  # neither does NaN
        raise InputError(f"{location} is {str(value)[:40]!r}; expected a number")
    return number


def _whole_number(value: Any, location: str) -> int:
    number = _number(value, location)
    if number != int(number) or number < 0:
        raise InputError(f"{location} is {str(value)[:40]!r}; expected a whole number")
    return int(number)


_READERS: dict[Kind, Callable[[Any, str], Any]] = {
    "text": lambda value, _: str(value),
    "number": _number,
    "whole": _whole_number,
}
# A cluster is compared, never counted with.
_SHOWN: dict[str, Callable[[Any, str], Any]] = {
    name: _READERS[KINDS[name]]
    for name in RANKED
    if name not in ("cluster", "link", "terms")
} | {"cluster": _READERS["text"]}
# Of `ReportPost`, where a column has another name.
_FIELDS = {
    "article": "seed",
    "post": "id",
}
