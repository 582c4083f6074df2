"""Answers to a reviewer: intervals, groups, bands of scores, people, and the flow of rows.

The certificate bounds the precision of a list from below. The intervals here say more, at the same
confidence: they hold at every look (`bounds.sequential`), and those of a list for all nested sets
at once, because the labels choose the set. They rest on the posts of a set that were labeled in its
random order, without a gap; a copy of a labeled text counts as labeled.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_news.data.groups import NONE, TIMES, group_of
from siamese_news.data.results import column_names, result_meta
from siamese_news.errors import InputError
from siamese_news_desk.decide.agreement import agreements
from siamese_news_desk.decide.bounds.descent import UNKNOWN
from siamese_news_desk.decide.bounds.sequential import between
from siamese_news_desk.decide.certification import Certification, Claim
from siamese_news_desk.decide.plan.texts import KnownVerdicts
from siamese_news_desk.labels.journal import NO, YES
from siamese_news_desk.labels.matching import Labels

# Groups of a column with a row of their own, those with the most posts; one more has the rest.
GROUPS = 12

_BAND = 1.5  # the end of a band of scores divided by the end of the one before
_POINTS = 15  # numbers of labels at which the list is found again
_LARGEST = 200_000  # posts of a list whose columns are read

# The name of these posts in the flow of a certificate.
CONTRADICTING = "with contradicting labels, which counts as not relevant"

_FLOW = {
    "read": "posts read",
    "empty": "of these, without a text",
    "rejected": "rows rejected",
    "duplicates": "rows with the id of another post",
    "skipped": "records without a post",
    "deleted": "deleted posts",
    "unreadable": "files that could not be read",
    "without a date": "posts without a date",
    "outside the dates": "posts outside the dates, left out",
    "scored": "posts scored",
    "kept": "posts kept by the search",
}


class Sampled:
    """The labels of the first `size` posts as random samples of sets of them.

    Args:
        target: of the claim; half of the share of errors that it allows is expected beforehand,
            which decides where the intervals are narrowest, and not whether they hold.
    """

    def __init__(
        self,
        certification: Certification,
        verdicts: KnownVerdicts,
        target: str,
        size: int,
    ) -> None:
        self._keys = certification.keys
        self._labels = verdicts.of_best(size)
        allowed = float(1 - Fraction(target))
        self._prior = 1.0, max(2 / allowed - 1, 1.0)

    def errors(
        self, ranks: NDArray[np.int64], error: float
    ) -> tuple[int, int, int, int, int]:
        """Labels and errors among the ranks (n,), the bounds on the errors of all, and known errors.

        Known errors that came in no random order narrow the bounds as well.
        """
        start = int(ranks[0])
        end = int(ranks[-1]) + 1
        keys = self._keys(start, end)[ranks - start]
        labels = self._labels[ranks]
        ordered = labels[np.argsort(keys, kind="stable")]
        gaps = np.flatnonzero(ordered == UNKNOWN)
        drawn = int(gaps[0]) if len(gaps) else len(ranks)
        wrong = int((ordered[:drawn] == 0).sum())
        min_errors, max_errors = between(wrong, drawn, len(ranks), *self._prior, error)
        labeled_errors = int((labels == 0).sum())
        good = int((labels == 1).sum())
        min_errors = max(min_errors, labeled_errors)
        max_errors = min(max_errors, len(ranks) - good)
        return drawn, wrong, min(min_errors, max_errors), max_errors, labeled_errors


def answers_of(
    certification: Certification,
    claims: Sequence[Claim],
    labels: Labels,
    by: Sequence[str] = (),
) -> dict[str, Any]:
    """The answers that a certificate holds, as JSON; `by` names columns of the results.

    Raises:
        InputError: the results have no column of that name.
    """
    columns = _columns(certification, by)
    verdicts = certification.verdicts(labels)
    return {
        "by": list(by),
        "joint_confidence": float(
            max(Fraction(0), 1 - certification.error - certification.settings.error)
        ),
        "people": _people(labels),
        "lists": [_list(certification, claim, verdicts, columns) for claim in claims],
        "spent": _spent(certification, labels),
    }


def flow_of(
    certification: Certification, claims: Sequence[Claim], labels: Labels
) -> list[list[Any]]:
    """The way from the file to the list: what is counted, and how many there are."""
    counts = result_meta(certification.results).get("counts") or {}
    rows: list[list[Any]] = [
        [name, counts[key]]
        for key, name in _FLOW.items()
        if counts.get(key) is not None
    ]
    units = "article-post pairs" if certification.population.pairs else "posts"
    relevant = sum(label.relevant for label in labels.of.values())
    skipped = sum(label.skipped for label in labels.of.values())
    rows += [
        [f"scored {units} of this plan", len(certification.population)],
        ["labeled", len(labels.of)],
        ["labeled relevant", relevant],
        ["labeled not relevant", len(labels.of) - relevant - skipped],
        ["skipped, which counts as not relevant", skipped - len(labels.conflicts)],
        [CONTRADICTING, len(labels.conflicts)],
    ]
    for claim in claims:
        name = f"in the list for a precision of {claim.target}"
        rows.append(
            [name if claim.size else f"{name} (labeled relevant, no more)", claim.posts]
        )
    return rows


def _people(labels: Labels) -> dict[str, Any]:
    """Who labeled how many posts, and how well they agree."""
    counts: dict[str, Counter[str]] = {}
    for verdicts in labels.by.values():
        for person, verdict in verdicts.items():
            counts.setdefault(person, Counter())[
                verdict if verdict in (YES, NO) else "skip"
            ] += 1
    return {
        "annotators": [
            {
                "name": name,
                "labels": counts[name].total(),
                "relevant": counts[name][YES],
                "not_relevant": counts[name][NO],
                "skipped": counts[name]["skip"],
            }
            for name in sorted(counts)
        ],
        "shared": agreements(labels.by.values()),
    }


def _columns(certification: Certification, by: Sequence[str]) -> list[str]:
    """The columns that a list is divided by: those asked for, else language and month."""
    columns = column_names(certification.results)
    if len(set(by)) < len(by):
        raise InputError("--by names a column twice; expected each once")
    for name in by:
        if name not in (*columns, *TIMES):
            raise InputError(
                f"{certification.results}: has no column '{name}' (--by); expected one of "
                f"{', '.join([*columns, *TIMES])}"
            )
        if name in TIMES and "created_at" not in columns:
            raise InputError(
                f"{certification.results}: has no dates (created_at) for --by {name}"
            )
    if by:
        return list(by)
    return [
        name
        for name, source in (("lang", "lang"), ("month", "created_at"))
        if source in columns
    ]


def _list(
    certification: Certification,
    claim: Claim,
    verdicts: KnownVerdicts,
    columns: Sequence[str],
) -> dict[str, Any]:
    error = float(certification.settings.error)
    deepest_size = claim.outcome.steps[-1].size
    ends = _ends(certification, deepest_size)
    size = max(claim.size, *ends)
    sampled = Sampled(certification, verdicts, claim.target, size)
    answer: dict[str, Any] = {
        "target": claim.target,
        "interval": None,
        "groups": [],
        "bands": _bands(certification, sampled, ends, error),
    }
    if not claim.size or certification.settings.false_positive is not None:
        return answer
    # The labels choose the set, so its intervals hold for every set.
    shared = error / len(certification.sizes)
    put_in = np.array(claim.put_in, np.int64)
    answer["interval"] = _interval(sampled, np.arange(claim.size), len(put_in), shared)
    if claim.size <= _LARGEST:
        values = certification.population.values(
            max([claim.size, *(rank + 1 for rank in claim.put_in)]),
            [*columns, "created_at"],
        )
        for column in columns:
            names = [group_of(row, column) for row in values]
            listed = [names[rank] for rank in (*range(claim.size), *claim.put_in)]
            note, rows = "", []
            if len(set(listed)) == len(listed) > 1:
                note = "Every post has a value of its own, so there are no groups to compare."
            elif len(set(listed)) == 1:
                note = f"All posts of the list have one value, {listed[0]}."
            else:
                rows = _groups(sampled, names, claim, shared)
            answer["groups"].append({"column": column, "note": note, "rows": rows})
    return answer


def _interval(
    sampled: Sampled, ranks: NDArray[np.int64], put_in: int, error: float
) -> dict[str, Any]:
    """The precision of a list: these ranks without their labeled errors, and posts put in."""
    drawn, wrong, min_errors, max_errors, labeled_errors = sampled.errors(ranks, error)
    posts = len(ranks) - labeled_errors + put_in
    likely_errors = min(
        max(
            round(wrong / drawn * len(ranks)) if drawn else 0,
            labeled_errors,
            min_errors,
        ),
        max_errors,
    )
    relevant = [
        len(ranks) - count + put_in for count in (max_errors, likely_errors, min_errors)
    ]
    lower, estimate, upper = (number / posts if posts else None for number in relevant)
    return {
        "posts": posts,
        "labels": drawn,
        "errors": wrong,
        "estimate": estimate if drawn else None,
        "low": lower,
        "high": upper,
    }


def _groups(
    sampled: Sampled, names: Sequence[str], claim: Claim, error: float
) -> list[dict[str, Any]]:
    """The precision of each group of the list, the largest groups first."""
    inside: dict[str, list[int]] = {}
    for rank, name in enumerate(names[: claim.size]):
        inside.setdefault(name, []).append(rank)
    added = Counter(names[rank] for rank in claim.put_in)
    order = sorted(
        {*inside, *added}, key=lambda n: (n == NONE, -len(inside.get(n, ())), n)
    )
    small_groups = order[GROUPS:]
    rows = [(name, [name]) for name in order[:GROUPS]]
    if small_groups:
        rows.append((f"other ({len(small_groups)} groups)", small_groups))
    groups = []
    for name, members in rows:
        ranks = np.array(
            sorted(rank for member in members for rank in inside.get(member, ())),
            np.int64,
        )
        extra = sum(added[member] for member in members)
        if len(ranks):
            row = _interval(sampled, ranks, extra, error)
        else:  # all its posts were labeled relevant
            row = {
                "posts": extra,
                "labels": 0,
                "errors": 0,
                "estimate": 1.0,
                "low": 1.0,
                "high": 1.0,
            }
        groups.append({"group": name, **row})
    return groups


def _ends(certification: Certification, deepest_size: int) -> list[int]:
    """The ends of bands of scores that were fixed beforehand, from the top down to a set."""
    ends = [int(certification.sizes[0])]
    for size in certification.sizes.tolist():
        if ends[-1] < deepest_size and size >= ends[-1] * _BAND:
            ends.append(size)
    return ends


def _bands(
    certification: Certification, sampled: Sampled, ends: Sequence[int], error: float
) -> list[dict[str, Any]]:
    """The share of relevant posts in each band of scores."""
    bands = []
    start = 0
    scores = certification.population.scores
    for end in ends:
        ranks = np.arange(start, end)
        drawn, wrong, min_errors, max_errors, _ = sampled.errors(ranks, error)
        bands.append(
            {
                "from": float(scores[end - 1]),
                "to": float(scores[start]),
                "posts": len(ranks),
                "labels": drawn,
                "errors": wrong,
                "low": 1 - max_errors / len(ranks),
                "high": 1 - min_errors / len(ranks),
            }
        )
        start = end
    return bands


def _spent(certification: Certification, labels: Labels) -> list[list[Any]]:
    """The posts in the list of each target after so many of the labels, in the order of drawing."""
    drawn = [name for name in certification.sampled.by_name if name in labels.of]
    counts = sorted({round(count) for count in np.linspace(0, len(drawn), _POINTS)})
    labels_of = [{name: labels.of[name] for name in drawn[:count]} for count in counts]
    return [
        [len(of), [c.posts for c in certification.claims(replace(labels, of=of))]]
        for of in labels_of
    ]
