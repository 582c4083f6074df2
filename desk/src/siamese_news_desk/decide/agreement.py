"""How well annotators of the same posts agree."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siamese_news.utils.terminal import counted
from siamese_news_desk.decide.bounds.hypergeometric import interval
from siamese_news_desk.labels.journal import NO, YES
from siamese_news_desk.labels.machine import MachineVerdicts


def krippendorff(units: Iterable[Sequence[int]]) -> float | None:
    """Krippendorff's alpha for two nominal values (Krippendorff, 2011).

    Each unit holds the labels, 0 or 1, of a post by any number of annotators; posts with fewer than
    two do not count. 1 is perfect agreement, 0 that of chance; None if all labels are the same.
    """
    values = 0
    ones = 0
    differing = 0.0
    for labels in units:
        if len(labels) < 2:
            continue
        positive = sum(labels)
        values += len(labels)
        ones += positive
        differing += 2 * positive * (len(labels) - positive) / (len(labels) - 1)
    if not 0 < ones < values:
        return None
    expected = 2 * ones * (values - ones) / (values - 1)
    return 1 - differing / expected


_PAIRS = 10  # pairs to list


def agreements(
    verdicts_by_person: Iterable[Mapping[str, str]],
) -> dict[str, Any] | None:
    """Compare all annotators by the label that each of them gave a post, for every post.

    None if no post has labels of two. Skipped posts do not count, and neither does somebody who
    contradicts themself.

    Returns:
        The number of ``posts`` with several labels, and of their ``annotators``; ``alpha`` of all
        (see `krippendorff`); and ``pairs`` of two annotators, those with the most shared posts
        first: ``names``, ``posts`` labeled by both, ``disagreements`` and ``alpha``.
    """
    common: dict[tuple[str, str], list[tuple[int, int]]] = {}
    units: list[list[int]] = []
    names: set[str] = set()
    for labels in verdicts_by_person:
        values = {
            name: int(labels[name] == YES)
            for name in sorted(labels)
            if labels[name] in (YES, NO)
        }
        if len(values) < 2:
            continue
        units.append(list(values.values()))
        names |= values.keys()
        for person, other_person in combinations(values, 2):
            common.setdefault((person, other_person), []).append(
                (values[person], values[other_person])
            )
    if not units:
        return None
    most_shared = sorted(common.items(), key=lambda pair: (-len(pair[1]), pair[0]))
    return {
        "posts": len(units),
        "annotators": len(names),
        "alpha": krippendorff(units),
        "pairs": [
            {
                "names": list(pair),
                "posts": len(shared),
                "disagreements": sum(a != b for a, b in shared),
                "alpha": krippendorff(shared),
            }
            for pair, shared in most_shared[:_PAIRS]
        ],
    }


def machine_lines(
    machine: MachineVerdicts, verdicts: Mapping[int, bool], ranks: NDArray[np.int64]
) -> list[str]:
    """The agreement of a machine's verdicts (N) with people's labels, overall and by rank.

    `verdicts` maps the place of a labeled post to whether it is relevant; `ranks` (N,) start at 1.
    """
    sentences = [machine.sentence()]
    compared = np.array(
        [n for n in verdicts if not np.isnan(machine.values[n])], np.int64
    )
    if not len(compared):
        return [
            *sentences,
            "No post with a verdict has a label of people, so they cannot be compared.",
        ]
    if machine.cut is None:
        return [
            *sentences,
            "Scores have no cutoff, so precision, recall and alpha are not defined.",
        ]
    relevant = np.array([verdicts[n] for n in compared.tolist()])
    called = machine.values[compared] >= machine.cut
    ranks = ranks[compared]
    order = np.argsort(ranks)
    rank_ranges = [("", order)]
    if len(order) >= 30:
        rank_ranges += [
            (f", ranks {ranks[rows[0]]:,} to {ranks[rows[-1]]:,}", rows)
            for rows in np.array_split(order, 3)
        ]
    for location, rows in rank_ranges:
        judged = relevant[rows]
        predicted = called[rows]
        hits = int((judged & predicted).sum())
        alpha = krippendorff(np.stack([judged, predicted], axis=1).astype(int).tolist())
        alpha_text = "not defined" if alpha is None else f"{alpha:.3f}"
        sentences.append(
            f"{counted(len(rows), 'post')} labeled by people{location}: precision "
            f"{_share(hits, int(predicted.sum()))}, recall {_share(hits, int(judged.sum()))}, "
            f"Krippendorff's alpha {alpha_text}"
        )
    return sentences


def _share(hits: int, count: int) -> str:
    if not count:
        return "not defined (0 of 0)"
    lower, upper = interval(hits, count, 0.95)
    return f"{hits / count:.3f} ({hits:,} of {count:,}; 95% interval {lower:.3f} to {upper:.3f})"
