"""Comparisons of groups of posts, for the report and its CSV."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from siamese_news.data.groups import NONE, TIMES, group_of
from siamese_news.data.readers.fields import METADATA
from siamese_news.data.readers.stream import PostStream
from siamese_news.data.records import Post
from siamese_news.data.results import result_rows
from siamese_news.errors import InputError
from siamese_news.search.file_pool import FilePool
from siamese_news.search.report.report_data import ReportData
from siamese_news.text.languages import language_of
from siamese_news.utils.terminal import counted

SHOWN = 20
"""Groups with a row of their own, those with the most posts found; one more row has the rest."""

COLUMNS = ("group", "found", "of", "share", "low", "high")


@dataclass(frozen=True, slots=True)
class Group:
    """A row of the comparison: the group's posts found, out of `of`.

    These are all its posts, or without a pool all posts found.
    """

    name: str
    n_found: int
    of: int

    @property
    def share(self) -> float:
        """The share found; 0 of nothing."""
        return self.n_found / self.of if self.of else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Of the share: Wilson's, 95 %."""
        return wilson(self.n_found, self.of)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Groups by a column; with a `pool`, their shares are of all posts that were searched."""

    by: str
    groups: list[Group]
    pool: bool
    remarks: list[str] = field(default_factory=list)


def compare(
    data: ReportData,
    by: str,
    values_of_posts: Iterable[tuple[str, Mapping[str, Any]]],
    *,
    pool: bool,
) -> Comparison:
    """Compare groups of the posts found by a name of their metadata, a column, or one of `TIMES`.

    `values_of_posts` has ids and values, of all posts that were searched if `pool` is set, otherwise
    of those found; their ``group`` takes precedence over `by`.
    """
    found_ids = {post.id for post in data.posts}
    group_by_post: dict[str, str] = {}
    sizes: Counter[str] = Counter()
    for id, values in values_of_posts:
        name = group_of(values, by)
        if pool or id not in group_by_post:
            sizes[name] += 1
        if id in found_ids:
            group_by_post[id] = name
    n_found = Counter(group_by_post.values())
    names = [name for name in sizes if name != NONE]
    names.sort(key=lambda name: (-n_found[name], -sizes[name], name))
    merged_names = names[SHOWN:]
    rows = [(name, [name]) for name in names[:SHOWN]]
    if by in TIMES:
        rows.sort()
    rows += [(f"other ({counted(len(merged_names), 'group')})", merged_names)] * bool(
        merged_names
    )
    rows += [(NONE, [NONE])] * (NONE in sizes)
    groups = [
        Group(
            name,
            sum(n_found[member] for member in members),
            sum(sizes[member] for member in members) if pool else len(group_by_post),
        )
        for name, members in rows
    ]
    absent = len(found_ids) - len(group_by_post)
    remarks = {
        f"The {SHOWN} groups with the most posts found, of {len(names):,}, are shown.": merged_names,
        f"No post has a value for {by}.": not names,
        f"Posts without a value for {by}: {sizes[NONE]:,}.": names and sizes[NONE],
        f"Posts found that are missing from the posts and have no group: {absent:,}.": absent,
    }
    applying = [remark for remark, applies in remarks.items() if applies]
    return Comparison(by, groups, pool, applying)


def compare_results(data: ReportData, by: str, results: Path) -> Comparison:
    """`compare` by a column of a file of results."""
    rows = [row for _, row in result_rows(results)]
    if by not in TIMES and not any(by in row for row in rows):
        raise InputError(
            f"{results}: has no column '{by}' (--by); expected one of "
            f"{', '.join([*filter(None, rows[0]), *TIMES])}; with --posts, the columns of the "
            "posts work as well"
        )
    return compare(data, by, ((str(row["post"]), row) for row in rows), pool=False)


def compare_posts(data: ReportData, by: str, posts: PostStream) -> Comparison:
    """`compare` by a column of the posts that were searched, opened with it as ``group_field``."""
    derived = (*TIMES, "platform", "file", *METADATA)
    names = list(dict.fromkeys(name for file in posts.detected for name in file.names))
    if by not in derived and by.split(".")[0] not in names and "metadata" not in names:
        raise InputError(
            f"the posts have no column '{by}' (--by); expected one of {', '.join(derived)}, or one "
            f"of their columns: {', '.join(names[:20])}"
        )
    values_of_posts = ((post.id, _values(post, by)) for post in FilePool(posts))
    return compare(data, by, values_of_posts, pool=True)


def _values(post: Post, by: str) -> Mapping[str, Any]:
    """The metadata of a post, and its language as in the results if that is compared."""
    if by != "lang" or post.metadata.get("group"):
        return post.metadata
    return {"group": language_of(post.text)}


def shares(comparison: Comparison) -> Iterator[dict[str, Any]]:
    """The rows of the CSV, with their `COLUMNS`."""
    for group in comparison.groups:
        lower_bound, upper_bound = group.interval
        yield {
            "group": group.name,
            "found": group.n_found,
            "of": group.of,
            "share": round(group.share, 6),
            "low": round(lower_bound, 6),
            "high": round(upper_bound, 6),
        }


def wilson(hits: int, posts: int) -> tuple[float, float]:
    """The 95 % interval of Wilson (1927) for a share; from 0 to 1 if there are no posts."""
    from scipy.stats import binomtest  # slow to import

    if not posts:
        return 0.0, 1.0
    interval = binomtest(hits, posts).proportion_ci(method="wilson")
    return float(interval.low), float(interval.high)
