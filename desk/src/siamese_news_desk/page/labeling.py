"""Labels: giving them, importing them, and choosing the posts to label next."""

from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from siamese_news.errors import InputError
from siamese_news_desk.decide.agreement import machine_lines
from siamese_news_desk.decide.new_order import certain
from siamese_news_desk.labels.journal import (
    CONFLICT,
    NO,
    SKIP,
    YES,
    annotator_name,
    common_label,
)
from siamese_news_desk.labels.sheets import read_rows
from siamese_news_desk.page.open_project import Desk
from siamese_news_desk.page.requests import naming
from siamese_news_desk.page.result_table import Filter

QUEUES = (
    "rank",  # from the top
    "relevance",  # those whose labels make relevance the user's own
    "learned",  # from the top of the learned order
    "teach",  # posts that learning gains most from
    "sample",  # for the certificate
    "goal",  # for the goals
    "mixed",  # sample and teach
    "threshold",  # random posts on both sides of it
    "unsure",  # those that this annotator was unsure about
    "second",  # those that others labeled
    "conflict",  # those on which the others, or the machine, disagree with this annotator
)
"""The sources of the posts to label next."""

# The sources whose posts are shown without their scores.
BLIND = ("relevance", "teach", "sample", "goal", "mixed", "threshold", "second")

_COPIES = 500  # near-duplicates that one label reaches at most


def give(desk: Desk, row: dict[str, Any]) -> dict[str, Any]:
    """Write a label from the page, and return it with the verdict of all annotators.

    Raises:
        InputError: the search did not find the post, or a field is invalid.
        Conflict: it is not the label that the page had shown.
    """
    post = row.get("post")
    seen = row.get("seen")
    if not isinstance(post, str) or not (seen is None or type(seen) is int):
        raise InputError(
            "expected the id of a post, and the number of the label that was shown"
        )
    results = desk.project.load_results()
    result = results.by_id([post]).get(post)
    if result is None:
        raise InputError(f"post {post!r} is not among the results")
    copies: list[str] = []
    if row.get("together") and result.cluster_size > 1:
        ranks = results.copies(result.rank)[:_COPIES]
        copies = [
            copy_rank.id for copy_rank in results.posts(ranks) if copy_rank.id != post
        ]
    judgment = desk.log.add(
        post,
        str(row.get("label")),
        str(row.get("annotator") or ""),
        note=str(row.get("note") or ""),
        copies=tuple(copies),
        seen=seen,
    )
    desk.relevance.fit()
    verdict = desk.log.verdict(post)
    return {
        "n": judgment.number,
        "label": judgment.label,
        "copies": len(copies),
        "verdict": verdict,
    }


def take(desk: Desk, path: Path, annotator: str) -> dict[str, int]:
    """Import an annotator's labels from a file that `read_rows` knows.

    Returns:
        How many were ``taken``, existed ``already``, belong to ``unknown`` posts, and were left out
        because they contradict each other (``conflicts``).

    Raises:
        InputError: a file without labels or with an invalid one; nothing is imported then.
    """
    keys = desk.certificate.keys()
    labels_of: dict[str, set[str]] = {}
    with naming(path):
        for row in read_rows(path):
            if value := row.verdict():
                post = keys.get(row.key.strip().lower(), row.post)
                labels_of.setdefault(post, set()).add(value)
    results_of = desk.project.load_results().by_id(list(labels_of))
    counts = {"taken": 0, "already": 0, "unknown": 0, "conflicts": 0}
    for post, values in labels_of.items():
        judgment = desk.log.of(post, annotator_name(annotator))
        value = common_label(values)
        if post not in results_of:
            counts["unknown"] += 1
        elif value == CONFLICT:
            counts["conflicts"] += 1
        elif judgment is not None and judgment.label == value:
            counts["already"] += 1
        else:
            desk.log.add(post, value, annotator, note="imported")
            counts["taken"] += 1
    desk.relevance.fit()
    return counts


def queue(
    desk: Desk, kind: str, annotator: str, count: int, leave: set[str]
) -> list[int]:
    """Ranks of the posts to label next from one of the `QUEUES`.

    The posts that this annotator labeled are left out, and those that the page already has
    (`leave`).

    Raises:
        InputError: another kind, or a sample without a plan.
    """
    if kind not in QUEUES:
        raise InputError(f"the queue is {kind!r}; expected one of {', '.join(QUEUES)}")
    name = annotator_name(annotator)
    ahead = count + len(leave)
    if kind in ("rank", "learned"):
        return _from_rank(desk, name, count, leave, learned=kind == "learned")
    if kind in ("unsure", "second", "conflict"):
        return _labeled(desk, kind, name, leave)[:count]
    if kind == "relevance":
        return _unlabeled(desk, desk.relevance.posts(), name, leave)[:count]
    if kind == "goal":
        return _unlabeled(desk, desk.goals.next_posts(ahead), name, leave)[:count]
    if kind == "threshold":
        random = desk.estimates.next_posts(desk.project.threshold, ahead)
        return _unlabeled(desk, random, name, leave)[:count]
    drawn, teaching = [], []
    if kind != "teach":
        drawn = _unlabeled(desk, desk.certificate.next_posts(ahead), name, leave)
        # Posts that the page already has will get a label each.
        waiting = sum(not desk.log.by_annotator(post) for post in leave)
        drawn = drawn[: max(0, desk.certificate.labels_left() - waiting)]
    if kind != "sample":
        decided = {YES: True, NO: False}
        posts = desk.project.load_results().by_id([*desk.log.posts(), *leave]).values()
        verdict_of = {
            post.rank: decided.get(desk.log.verdict(post.id)) for post in posts
        }
        teaching = desk.learning.next_ranks(verdict_of, count)
    mixed = chain.from_iterable(zip_longest(drawn, teaching))
    return list(dict.fromkeys(rank for rank in mixed if rank is not None))[:count]


def _from_rank(
    desk: Desk, annotator: str, count: int, leave: set[str], *, learned: bool
) -> list[int]:
    """The first posts without this annotator's label, one of each group of near-duplicates."""
    results = desk.project.load_results()
    ranks = results.find(Filter(groups=True))
    learned_ranks = desk.learning.learned_ranks() if learned else None
    if learned_ranks is not None:
        ranks = ranks[np.argsort(learned_ranks[ranks - 1])]
    near: list[int] = []
    for start in range(0, len(ranks), 500):
        for post in results.posts(ranks[start : start + 500]):
            if post.id not in leave and desk.log.of(post.id, annotator) is None:
                near.append(post.rank)
        if len(near) >= count:
            break
    return near[:count]


def _labeled(desk: Desk, kind: str, annotator: str, leave: set[str]) -> list[int]:
    """Posts with labels, for a second one; see `queue`."""
    log, labeled = desk.log, []
    results_of = desk.project.load_results().by_id(
        [post for post in log.posts() if post not in leave]
    )
    for post in log.posts():
        if post not in results_of:
            continue
        mine = log.of(post, annotator)
        rank = results_of[post].rank
        is_due = {
            "second": mine is None,
            "unsure": mine is not None and mine.label == SKIP,
            "conflict": mine is not None
            and (
                log.verdict(post) == CONFLICT
                or {mine.label, desk.machine.verdict_at(rank)} == {YES, NO}
            ),
        }
        if is_due[kind]:
            labeled.append(rank)
    return labeled


def _unlabeled(
    desk: Desk, posts: list[str], annotator: str, leave: set[str]
) -> list[int]:
    """The ranks of those posts that this annotator has not labeled."""
    results_of = desk.project.load_results().by_id(posts)
    return [
        results_of[post].rank
        for post in posts
        if post in results_of
        and post not in leave
        and desk.log.of(post, annotator) is None
    ]


def machine_agreement(desk: Desk) -> list[str]:
    """How the verdicts of the machine agree with the labels of people; none without both."""
    verdicts = desk.machine.verdicts()
    if verdicts is None:
        return []
    results = desk.project.load_results()
    people = certain({post: desk.log.verdict(post) for post in desk.log.posts()})
    rank_verdicts = {
        post.rank - 1: people[post.id] for post in results.by_id(list(people)).values()
    }
    return machine_lines(verdicts, rank_verdicts, np.arange(1, len(results) + 1))
