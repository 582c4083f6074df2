"""Comparisons of groups of posts, and the bursts of all of them, for the report and its CSV."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from siamese_news.data.readers.fields import METADATA
from siamese_news.data.readers.stream import PostStream
from siamese_news.data.readers.values import iso_date
from siamese_news.errors import InputError
from siamese_news.labels.results import result_rows
from siamese_news.search.compare import FEW, Word, bursts, wilson, words_of
from siamese_news.search.files import FilePool
from siamese_news.search.report.charts import BarChart, moment, timeline_chart
from siamese_news.search.report.results import ReportData, ReportPost
from siamese_news.utils.terminal import counted

SHOWN = 20
"""Groups with a row of their own, those with the most posts found; one more row has the rest."""

TIMES = {"year": 4, "month": 7, "day": 10}
"""Groups by date: how many characters of it name the group."""

NONE = "(no value)"
COLUMNS = ("figure", "group", "item", "found", "of", "value", "low", "high", "z", "sure")

_FORMS = {"hour": "%Y-%m-%d %H:00", "day": "%Y-%m-%d", "month": "%Y-%m", "year": "%Y"}
_NAME = 80  # characters of a group's name
_WORDS = 10  # of a group or a burst on the page


@dataclass(frozen=True, slots=True)
class Share:
    """A number of posts found, out of how many."""

    found: int
    of: int

    @property
    def value(self) -> float:
        """The share; 0 of nothing."""
        return self.found / self.of if self.of else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Of the share: Wilson's, 95 %."""
        return wilson(self.found, self.of)


@dataclass(frozen=True, slots=True)
class Group:
    """A row of the comparison.

    `share` is the group's found posts out of all its posts, or without a pool out of all found.
    `times` are number, name and share of each time with found posts; without a pool, out of the
    group's dated ones. Of fewer different `texts` than `FEW` there are no `words` (`words_of`).
    """

    name: str
    share: Share
    times: list[tuple[int, str, Share]]
    words: list[Word]
    texts: int

    @property
    def shown(self) -> list[Word]:
        """The words on the page."""
        return [word for word in self.words if word.sure][:_WORDS]


@dataclass(frozen=True, slots=True)
class Burst:
    """A stretch of time with many posts, `times` as many as the mean, and its words."""

    name: str
    found: int
    times: float
    words: list[Word]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of groups by a column, with shares of all posts searched if there is a `pool`.

    The chart is the timeline of all posts found, with `slots` times; None without dates.
    """

    by: str
    groups: list[Group]
    pool: bool
    chart: BarChart | None
    slots: int
    remarks: list[str] = field(default_factory=list)


def compare(
    data: ReportData, by: str, known: Iterable[tuple[str, Mapping[str, Any]]], *, pool: bool
) -> Comparison:
    """Compare groups of the posts found by a name of their metadata, a column, or one of `TIMES`.

    `known` are id and values of posts, of all that were searched if `pool` is set, otherwise of
    those found; their ``group`` takes precedence over `by`.
    """
    found = {post.id: post for post in reversed(data.posts)}
    chart, slots = _timeline(found.values())
    last = max(slots.values(), default=-1)
    group_of: dict[str, str] = {}
    sizes: Counter[str] = Counter()
    dated: Counter[tuple[str, int]] = Counter()
    for id, values in known:
        name = _group(values, by)
        if pool or id not in group_of:
            sizes[name] += 1
        if id in found:
            group_of[id] = name
        if pool and chart is not None and (date := moment(values.get("created_at"))):
            slot = chart.slot_of(date)
            dated[name, slot] += 0 <= slot <= last
    mine: dict[str, list[ReportPost]] = {}
    for id, post in found.items():
        if id in group_of:
            mine.setdefault(group_of[id], []).append(post)
    names = [name for name in sizes if name != NONE]
    names.sort(key=lambda name: (-len(mine.get(name, ())), -sizes[name], name))
    rest = names[SHOWN:]
    rows = [(name, [name]) for name in names[:SHOWN]]
    if by in TIMES:
        rows.sort()
    rows += [(f"other ({counted(len(rest), 'group')})", rest)] * bool(rest)
    rows += [(NONE, [NONE])] * (NONE in sizes)
    own = [[post for one in members for post in mine.get(one, ())] for _, members in rows]
    texts = [_texts(data, posts) for posts in own]
    words = words_of(texts)
    groups = []
    for number, (name, members) in enumerate(rows):
        counts = Counter(slots[post.id] for post in own[number] if post.id in slots)
        times = []
        for slot in sorted(counts):
            assert chart is not None
            of = sum(dated[one, slot] for one in members) if pool else counts.total()
            times.append((slot, _time(chart, slot), Share(counts[slot], of)))
        size = sum(sizes[one] for one in members) if pool else len(group_of)
        share = Share(len(own[number]), size)
        groups.append(Group(name, share, times, words[number], len(texts[number])))
    absent = len(found) - len(group_of)
    small = sum(0 < len(own) < FEW for own in texts)
    remarks = {
        f"The {SHOWN} groups with the most posts found, of {len(names):,}, are shown.": rest,
        f"No post has a value for {by}.": not names,
        f"Posts without a value for {by}: {sizes[NONE]:,}.": names and sizes[NONE],
        f"Posts found that are missing from the posts and have no group: {absent:,}.": absent,
        f"Groups with fewer than {FEW} different texts, too few for words: {small:,}.": small,
    }
    said = [remark for remark, applies in remarks.items() if applies]
    return Comparison(by, groups, pool, chart, last + 1, said)


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
    names = list(dict.fromkeys(name for found in posts.detected for name in found.names))
    if by not in derived and by.split(".")[0] not in names and "metadata" not in names:
        raise InputError(
            f"the posts have no column '{by}' (--by); expected one of {', '.join(derived)}, or one "
            f"of their columns: {', '.join(names[:20])}"
        )
    known = ((post.id, post.metadata) for post in FilePool(posts))
    return compare(data, by, known, pool=True)


def find_bursts(data: ReportData) -> list[Burst]:
    """The bursts in the timeline of the posts found, named by the words that set them apart."""
    found = {post.id: post for post in reversed(data.posts)}
    chart, slots = _timeline(found.values())
    counts = Counter(slots.values())
    result = []
    for first, last, times in bursts(counts):
        assert chart is not None
        parts: tuple[list[ReportPost], list[ReportPost]] = ([], [])
        for id, slot in slots.items():
            parts[first <= slot <= last].append(found[id])
        words = words_of([_texts(data, own) for own in parts])[1]
        inside = sum(counts[slot] for slot in range(first, last + 1))
        names = dict.fromkeys(_time(chart, slot) for slot in (first, last))
        sure = [word for word in words if word.sure][:_WORDS]
        result.append(Burst(" to ".join(names), inside, times, sure))
    return result


def figures(comparison: Comparison, found: Sequence[Burst]) -> Iterator[dict[str, Any]]:
    """All figures as rows: shares, times, words (log-odds), and bursts (times the mean)."""
    for group in comparison.groups:
        times = [("time", name, share) for _, name, share in group.times]
        for figure, item, share in (("share", None, group.share), *times):
            low, high = share.interval
            yield {
                "figure": figure,
                "group": group.name,
                "item": item,
                "found": share.found,
                "of": share.of,
                "value": round(share.value, 6),
                "low": round(low, 6),
                "high": round(high, 6),
            }
        yield from _words(group.name, group.words)
    for burst in found:
        own = {"figure": "burst", "item": burst.name, "found": burst.found}
        yield own | {"value": round(burst.times, 4)}
        yield from _words(f"burst {burst.name}", burst.words)


def _words(group: str, words: Iterable[Word]) -> Iterator[dict[str, Any]]:
    for word in words:
        low, high = word.interval
        yield {
            "figure": "word",
            "group": group,
            "item": word.term,
            "found": word.found,
            "of": word.found + word.others,
            "value": round(word.log_odds, 4),
            "low": round(low, 4),
            "high": round(high, 4),
            "z": round(word.z, 3),
            "sure": word.sure,
        }


def _group(values: Mapping[str, Any], by: str) -> str:
    if by in TIMES:
        date = iso_date(values.get("created_at"))
        return date[: TIMES[by]] if date else NONE
    value = values.get("group", values.get(by))
    return NONE if value is None else " ".join(str(value).split())[:_NAME] or NONE


def _texts(data: ReportData, posts: Iterable[ReportPost]) -> list[str]:
    """The different texts of posts; near-duplicates count once."""
    # In a file of threads the clusters are the threads.
    return list({post.id if data.threads else post.cluster: post.text for post in posts}.values())


def _timeline(posts: Iterable[ReportPost]) -> tuple[BarChart | None, dict[str, int]]:
    """The chart of the dates, and the bar of each post that has one."""
    dates = {post.id: date for post in posts if (date := moment(post.created_at))}
    chart = timeline_chart(list(dates.values()))
    return chart, {id: chart.slot_of(date) for id, date in dates.items()} if chart else {}


def _time(chart: BarChart, slot: int) -> str:
    return chart.start_of(slot).strftime(_FORMS[chart.unit])
