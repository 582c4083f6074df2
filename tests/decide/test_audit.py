"""Audits and recall: the bounds against counting, the command on files."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from sheet_commands import fill, rows_of, run, save, scored

from siamese_news.decide.audit import labels_for_recall, lower_bound, recall_bound, upper_bound
from siamese_news.decide.noise import agreement, noisy_nulls


def tail(size, relevant, drawn, seen):
    """P(at least so many relevant among the drawn), in whole numbers."""
    ways = sum(
        math.comb(relevant, x) * math.comb(size - relevant, drawn - x)
        for x in range(seen, min(relevant, drawn) + 1)
    )
    return Fraction(ways, math.comb(size, drawn))


@pytest.mark.parametrize(("size", "drawn"), [(30, 10), (60, 25), (12, 12)])
def test_the_lower_bound_is_the_first_number_that_is_not_ruled_out(size, drawn):
    for seen in range(drawn + 1):
        bound = lower_bound(size, drawn, seen, 0.05)
        possible = range(seen, size - (drawn - seen) + 1)
        assert bound == next(m for m in possible if tail(size, m, drawn, seen) > Fraction(1, 20))
        assert upper_bound(size, drawn, drawn - seen, 0.05) == size - bound


def test_the_bound_covers_as_often_as_it_says():
    for relevant in range(0, 41):
        wrong = sum(
            tail(40, relevant, 15, x) - tail(40, relevant, 15, x + 1)
            for x in range(16)
            if x <= relevant and 15 - x <= 40 - relevant and lower_bound(40, 15, x, 0.05) > relevant
        )
        assert wrong <= Fraction(1, 20)


def test_recall_has_a_finite_bound_with_no_hit_below():
    estimate, bound = recall_bound((1000, 100, 95), (4000, 200, 0), 0.05)
    assert estimate == 1.0
    assert 0.9 < bound < 0.96
    assert recall_bound((100, 10, 0), (100, 10, 0), 0.05)[1] == 0.0


def test_rule_of_thumb_for_everything():
    assert labels_for_recall(Fraction(4, 5), 1081, 2_002_955) == pytest.approx(22_000, rel=0.02)


def test_agreement_of_two_annotators():
    first = [1] * 100 + [0] * 100
    found = agreement(first, [1] * 95 + [0] * 5 + [0] * 95 + [1] * 5)
    assert (found.posts, found.disagreements) == (200, 10)
    assert found.rate == pytest.approx(0.026, abs=0.001)
    assert (round(found.low, 3), round(found.high, 3)) == (0.012, 0.047)
    assert found.alpha == pytest.approx(1 - 0.05 / (2 * 200 * 200 / (400 * 399)))
    assert agreement([1, 1], [1, 1]).alpha is None
    assert agreement([1, 0, 1], [0, 1, 0]).rate is None


def test_noise_makes_the_table_stricter_and_one_sided_noise_the_most():
    sizes, nulls = np.array([200, 2000]), np.array([21, 201])
    plain = noisy_nulls(sizes, nulls, 0.0, 0.0)
    assert (plain == nulls).all()
    lenient = noisy_nulls(sizes, nulls, 0.1, 0.0)
    both = noisy_nulls(sizes, nulls, 0.1, 0.1)
    assert (lenient < nulls).all() and (both > lenient).all()


def start(folder, *more):
    return run("audit", "--results", folder / "scored.jsonl", "--out", folder / "a.csv", *more)


def test_an_audit_of_a_list(tmp_path):
    relevant = scored(tmp_path / "scored.jsonl")
    assert start(tmp_path, "--budget", "80").exit_code == 0
    rows = fill(tmp_path / "a.csv", relevant)
    assert len(rows) == 80
    hits = sum(row["label"] == "1" for row in rows)
    done = run("audit", "--labels", tmp_path / "a.csv")
    assert done.exit_code == 0, done.stderr
    found = json.loads((tmp_path / "a.audit.json").read_text())
    assert found["relevant_at_least"] == lower_bound(600, 80, hits, 0.05) <= len(relevant)
    assert f"At least {found['relevant_at_least']:,} of all" in " ".join(done.stdout.split())


def test_an_audit_needs_every_label(tmp_path):
    relevant = scored(tmp_path / "scored.jsonl")
    start(tmp_path, "--budget", "20")
    rows = fill(tmp_path / "a.csv", relevant)
    rows[3]["label"] = ""
    save(tmp_path / "a.csv", rows)
    done = run("audit", "--labels", tmp_path / "a.csv")
    assert done.exit_code == 2 and "1 of the 20 drawn posts" in done.stderr
    assert rows[3]["post"] in done.stderr
    rows[3]["label"] = "skip"
    save(tmp_path / "a.csv", rows)
    assert run("audit", "--labels", tmp_path / "a.csv").exit_code == 0


def test_recall_names_its_population_or_is_refused(tmp_path):
    relevant = scored(tmp_path / "scored.jsonl")
    done = start(tmp_path, "--threshold", "0.5")
    assert done.exit_code == 2
    assert "--population" in done.stderr and "labels below the threshold" in done.stderr
    assert not (tmp_path / "a.csv").exists()
    done = start(tmp_path, "--threshold", "0.5", "--population", "500", "--budget", "150")
    assert done.exit_code == 0, done.stderr
    rows = rows_of(tmp_path / "a.csv")
    above = {f"p{n}" for n in range(600) if round(0.9 - n / 600, 6) >= 0.5}
    parts = [row["post"] in above for row in rows]
    assert sum(parts) == 50 and 5 < sum(parts[:75]) < 45  # mixed
    fill(tmp_path / "a.csv", relevant)
    done = run("audit", "--labels", tmp_path / "a.csv")
    found = json.loads((tmp_path / "a.audit.json").read_text())
    best = {f"p{n}" for n in range(500)} & relevant
    assert found["recall_at_least"] <= len(best & above) / len(best) <= 1
    assert found["recall_at_least"] > 0.4
    assert "Among the best 500 posts" in done.stdout and "says nothing about" in done.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--threshold", "5", "--population", "100"), "no post has a score of 5"),
        (("--threshold", "0.5", "--population", "10"), "--population is 10"),
        (("--threshold", "0.5", "--population", "9999"), "no more than the 600"),
        (("--population", "100"), "--threshold"),
        (("--confidence", "95"), "--confidence"),
    ],
)
def test_audits_that_cannot_be(tmp_path, options, words):
    scored(tmp_path / "scored.jsonl")
    done = start(tmp_path, *options)
    assert done.exit_code == 2 and words in done.stderr


def test_an_audit_that_is_tried_again_pays(tmp_path):
    relevant = scored(tmp_path / "scored.jsonl")
    start(tmp_path)
    fill(tmp_path / "a.csv", relevant)
    run("audit", "--labels", tmp_path / "a.csv")
    second = ("audit", "--results", tmp_path / "scored.jsonl", "--out", tmp_path / "b.csv")
    assert run(*second, "--seed", "1").exit_code == 2
    assert run(*second, "--seed", "1", "--again").exit_code == 0
    fill(tmp_path / "b.csv", relevant)
    done = run("audit", "--labels", tmp_path / "b.csv")
    assert "confidence 0.9" in done.stdout


def test_two_annotators_through_the_command(tmp_path):
    relevant = scored(tmp_path / "scored.jsonl")
    start(tmp_path, "--budget", "200")
    rows = fill(tmp_path / "a.csv", relevant)
    for row in rows[:10]:
        row["label"] = "0" if row["label"] == "1" else "1"
    save(tmp_path / "second.csv", rows)
    done = run("audit", "--labels", tmp_path / "a.csv", "--second", tmp_path / "second.csv")
    assert done.exit_code == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert "200 posts labelled twice, 10 labels differ" in text and "0.012 to 0.047" in text
