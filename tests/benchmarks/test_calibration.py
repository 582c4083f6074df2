"""The fit of relevance, on scores whose probabilities are known."""

from dataclasses import replace

import numpy as np
from benchmarks.calibration import (
    Scored,
    fitted,
    interval,
    judged,
    left_out,
    table_of,
)
from benchmarks.calibration import _places as places

from siamese_news.model.calibration import Evidence


def pool(name, kind, seed, *, events, source=None):
    """Lists of an event, where many posts answer from some score on, or of a claim."""
    generator = np.random.default_rng(seed)
    scores = np.sort(generator.uniform(0.001, 0.3, (12, 800)), axis=1)[:, ::-1].copy()
    if not events:
        scores *= 0.3
        scores[:, 0] = generator.uniform(0.2, 0.5, 12)
    logits = 12 + 6 * np.log(scores + 0.005) if events else 120 * (scores - 0.15)
    relevant = generator.uniform(size=scores.shape) < 1 / (1 + np.exp(-logits))
    evidence = [
        Evidence(alike=0.5, shared=0.1, scores=tuple(row[:100]), near=0.1, posts=800)
        for row in scores.tolist()
    ]
    return Scored(
        name,
        kind,
        source or name,
        ("en",) * 12,
        evidence,
        [places(*pair) for pair in zip(scores, relevant, strict=True)],
        scores,
        relevant,
        relevant.sum(axis=1),
        0.9,
    )


def pools():
    return [
        pool("a", "events", 1, events=True),
        pool("b", "events too", 2, events=True),
        pool("c", "claims", 3, events=False),
        pool("d", "claims too", 4, events=False, source="c"),
    ]


def test_the_table_of_known_probabilities_is_right_on_pools_left_out():
    for by in ("kind", "source"):
        results = left_out(pools(), by)
        assert [result.name for result in results][:2] == ["a", "b"]
        for result in results[:2]:
            assert abs(result.off) < 0.1 and result.recall > 0.5 and result.error < 0.1
    low, high = interval(results)
    assert -1 <= low <= high <= 1
    table = table_of(results)
    assert (
        "| a | events | 12 | 12 |" in table
        and "Of the others: within .2 of what" in table
    )


def test_one_answer_a_list_is_kept_alone():
    table = fitted(pools())
    claims = pools()[2]
    kept = np.stack(
        [
            table.relevance(*pair)
            for pair in zip(claims.best, claims.evidence, strict=True)
        ]
    )
    kept = kept >= 0.5
    right = claims.relevant[kept].sum()
    assert kept.sum() <= 2 * 12 and right > kept.sum() / 2
    assert right > claims.answers_of.sum() / 2


def test_lists_without_relevance_are_not_judged():
    table = fitted(pools())
    event = pools()[0]
    # As if the very article were asked for: which of many posts are about it is unknown.
    asked = [replace(about, article=1.0) for about in event.evidence[:5]]
    some = replace(event, evidence=[*asked, *event.evidence[5:]])
    whole, part = judged(table, event), judged(table, some)
    assert (whole.known, part.known, part.lists) == (12, 7, 12)
    assert 0 < part.kept < whole.kept and 0 < part.answers < whole.answers
    assert table.languages == ("en",)
