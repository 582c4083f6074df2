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
from siamese_news.search.compare import FEW, Word, wilson, words_of
from siamese_news.search.file_pool import FilePool
from siamese_news.search.report.report_data import ReportData, ReportPost
from siamese_news.text.languages import language_of
from siamese_news.utils.terminal import counted

SHOWN = 20
"""Groups with a row of their own, those with the most posts found; one more row has the rest."""

COLUMNS = (
    "figure",
    "group",
    "item",
    "found",
    "of",
    "value",
    "low",
    "high",
    "z",
    "sure",
)

_WORDS = 10  # of a group on the page


@dataclass(frozen=True, slots=True)
class Group:
    """A row of the comparison: the group's posts found, out of `of`.

    These are all its posts, or without a pool all posts found. Of fewer different `texts` than
    `FEW` there are no `words` (`words_of`).
    """

    name: str
    n_found: int
    of: int
    words: list[Word]
    texts: int

    @property
    def share(self) -> float:
        """The share found; 0 of nothing."""
        return self.n_found / self.of if self.of else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Of the share: Wilson's, 95 %."""
        return wilson(self.n_found, self.of)

    @property
    def shown(self) -> list[Word]:
        """The words on the page."""
        return [word for word in self.words if word.sure][:_WORDS]


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
    post_of = {post.id: post for post in reversed(data.posts)}
    group_by_post: dict[str, str] = {}
    sizes: Counter[str] = Counter()
    for id, values in values_of_posts:
        name = group_of(values, by)
        if pool or id not in group_by_post:
            sizes[name] += 1
        if id in post_of:
            group_by_post[id] = name
    posts_by_name: dict[str, list[ReportPost]] = {}
    for id, post in post_of.items():
        if id in group_by_post:
            posts_by_name.setdefault(group_by_post[id], []).append(post)
    names = [name for name in sizes if name != NONE]
    names.sort(key=lambda name: (-len(posts_by_name.get(name, ())), -sizes[name], name))
    merged_names = names[SHOWN:]
    rows = [(name, [name]) for name in names[:SHOWN]]
    if by in TIMES:
        rows.sort()
    rows += [(f"other ({counted(len(merged_names), 'group')})", merged_names)] * bool(
        merged_names
    )
    rows += [(NONE, [NONE])] * (NONE in sizes)
    group_posts = [
        [post for member in members for post in posts_by_name.get(member, ())]
        for _, members in rows
    ]
    texts = [_texts(data, posts) for posts in group_posts]
    groups = [
        Group(
            name,
            len(posts),
            sum(map(sizes.__getitem__, members)) if pool else len(group_by_post),
            of_group,
            len(different),
        )
        for (name, members), posts, of_group, different in zip(
            rows, group_posts, words_of(texts), texts, strict=True
        )
    ]
    absent = len(post_of) - len(group_by_post)
    small = sum(0 < len(of_group) < FEW for of_group in texts)
    remarks = {
        f"The {SHOWN} groups with the most posts found, of {len(names):,}, are shown.": merged_names,
        f"No post has a value for {by}.": not names,
        f"Posts without a value for {by}: {sizes[NONE]:,}.": names and sizes[NONE],
        f"Posts found that are missing from the posts and have no group: {absent:,}.": absent,
        f"Groups with fewer than {FEW} different texts, too few for words: {small:,}.": small,
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


def figures(comparison: Comparison) -> Iterator[dict[str, Any]]:
    """All figures as rows: shares, and words (log-odds)."""
    for group in comparison.groups:
        lower_bound, upper_bound = group.interval
        yield {
            "figure": "share",
            "group": group.name,
            "found": group.n_found,
            "of": group.of,
            "value": round(group.share, 6),
            "low": round(lower_bound, 6),
            "high": round(upper_bound, 6),
        }
        for word in group.words:
            lower_bound, upper_bound = word.interval
            yield {
                "figure": "word",
                "group": group.name,
                "item": word.term,
                "found": word.n_texts,
                "of": word.n_texts + word.n_other_texts,
                "value": round(word.log_odds, 4),
                "low": round(lower_bound, 4),
                "high": round(upper_bound, 4),
                "z": round(word.z, 3),
                "sure": word.sure,
            }


def _texts(data: ReportData, posts: Iterable[ReportPost]) -> list[str]:
    """The different texts of posts; near-duplicates count once."""
    # In a file of threads the clusters are the threads.
    return list(
        {
            post.id if data.threads else post.cluster: post.text for post in posts
        }.values()
    )
