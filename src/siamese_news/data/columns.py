"""The columns of results: what `rank`, `filter` and `threads` write, and what every reader expects."""

from typing import Annotated, Any, Literal, TypedDict

from msgspec import Meta

Kind = Literal["text", "number", "whole", "terms"]


class ResultRow(TypedDict, total=False):
    """A row of results, by column; a column that is missing or None is an empty cell."""

    # Where a post is in the list of an article.
    article: str
    rank: int
    score: float
    relevance: float | None
    # The post, as its file has it.
    post: str
    text: str
    lang: str | None
    created_at: str | None
    link: str | None
    reply_to: str | None
    quotes: str | None
    author: str | None
    # Near-duplicates: the number of their cluster, and how many posts it has.
    cluster: int | None
    cluster_size: int | None
    # The words that the post shares with the article.
    terms: list[str] | None
    # The thread of a post: its place among threads, the scores of its posts, how many of them
    # were found, left out and missing, and the place of the post in it.
    thread: str | None
    thread_rank: int
    best: float
    mean3: float
    found: int
    left_out: int
    missing: int
    depth: int
    role: str
    # Of `watch`: how often the scorer had learned from the window.
    state: int


_KIND_OF: dict[Any, Kind] = {
    str: "text",
    str | None: "text",
    float: "number",
    float | None: "number",
    int: "whole",
    int | None: "whole",
    list[str] | None: "terms",
}

# The kind of value of each column of any file of results.
KINDS = {name: _KIND_OF[kind] for name, kind in ResultRow.__annotations__.items()}


# A score or a threshold, neither infinite nor NaN.
_Finite = Annotated[float, Meta(ge=-1e15, le=1e15)]


class ScoreHistogram(TypedDict):
    """How many posts have a score in each bin; one edge more than counts."""

    edges: list[_Finite]
    counts: list[Annotated[int, Meta(ge=0)]]


class ResultMeta(TypedDict, total=False):
    """What ``<results>.meta.json`` says about the search; each of it may be missing."""

    command: str | None
    provenance: dict[str, Any]
    # The kind of score, and the two thresholds of a filter.
    score: str | None
    threshold: _Finite | None
    relevance: float | None
    # The map by the user's labels (`LabelMap`), if they made the relevance.
    relevance_map: dict[str, Any] | None
    # How many posts were read, rejected, scored and kept.
    counts: dict[str, int] | None
    histogram: ScoreHistogram | None
    # By seed: its title, and what was looked for.
    titles: dict[str, str] | None
    about: dict[str, str] | None
    languages: dict[str, Any] | None
    remarks: list[str] | None
    # Of the results.
    sha256: str


# How the remark begins that says why relevance is unknown, and what to do.
RELEVANCE_UNKNOWN = "Relevance is unknown"

# The columns of `rank` and `filter`, a row for each post of a list.
RANKED = tuple(
    "article rank score relevance post text cluster cluster_size lang created_at terms link".split()
)

# The columns of `threads`, a row for each post of a thread.
THREADED = tuple(
    "article thread thread_rank best mean3 found left_out missing depth role rank score post "
    "reply_to quotes text lang created_at terms link".split()
)
