"""The data of a report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Seed:
    """A seed article: its id and, where known, its title."""

    id: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class ReportPost:
    """One row of the results.

    Attributes:
        rank: from 1, for its seed.
        cluster: number of its cluster of near-duplicates, of `cluster_size` posts.
        seed: id of the seed article.
        created_at: in any form that `iso_date` reads.
        terms: words to highlight.
        link: to the post itself; http or https.
        place: its (x, y) on the map, if there is one.
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
    place: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """A post in its thread: a result, or one that a result answers or that answers it.

    Attributes:
        role: ``found``, ``answered`` or ``reply``.
        depth: number of posts of the thread above it.
        left_out: number of posts of the thread that the results lack.
    """

    post: ReportPost
    role: str
    depth: int
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many posts have a score in each bin; one edge more than counts."""

    edges: Sequence[float]
    counts: Sequence[int]


@dataclass(frozen=True, slots=True)
class ReportData:
    """All of the page; it names the parts that are None or empty, and leaves them out.

    Attributes:
        command: the command line of the search.
        provenance: versions, hashes, machine; values may be mappings.
        seeds: all articles that the posts name.
        posts: the results, in the order of the ranking.
        histogram: scores of all posts that were scanned, or of the results only.
        histogram_note: which of the two.
        threshold_note: the origin of the threshold.
        counts: ``read``, ``rejected``, ``duplicates``, ``kept`` and others, from the search.
        remarks: for the reader, one sentence each.
        threads: if the results are threads: the posts of each in reading order, by the ``cluster``
            of its found posts.
        groups: the comparison of groups (`groups.Comparison`).
        bursts: in the timeline, named by their words (`groups.Burst`).
    """

    title: str
    command: str
    provenance: Mapping[str, Any]
    seeds: Sequence[Seed]
    posts: Sequence[ReportPost]
    histogram: Histogram | None = None
    histogram_note: str = ""
    threshold: float | None = None
    threshold_note: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    remarks: Sequence[str] = ()
    threads: Mapping[int, Sequence[Turn]] = field(default_factory=dict)
    groups: Any = None
    bursts: Sequence[Any] = ()
