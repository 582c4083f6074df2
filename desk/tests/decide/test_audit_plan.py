"""Audits and recall: the bounds against counting, the command on files."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from benchmarks.promises import border
from benchmarks.replay import random_order, replay
from sheet_commands import fill, finish, own_text, rows_of, run, save, scored

from siamese_news_desk.decide.agreement import agreements
from siamese_news_desk.decide.bounds.hypergeometric import (
    interval,
    labels_for_precision,
    labels_for_recall,
    lower_bound,
    recall_bound,
    upper_bound,
)
from siamese_news_desk.decide.bounds.label_noise import (
    RESERVED,
    _errors,
    _largest,
    noisy_nulls,
)
from siamese_news_desk.decide.bounds.tables import Tables, turn_of
from siamese_news_desk.decide.plan.design import least_errors, nested_sets
from siamese_news_desk.decide.reviewing import certificate_html


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
        assert bound == next(
            m for m in possible if tail(size, m, drawn, seen) > Fraction(1, 20)
        )
        assert upper_bound(size, drawn, drawn - seen, 0.05) == size - bound


def test_the_bound_covers_as_often_as_it_says():
    for relevant in range(0, 41):
        wrong = sum(
            tail(40, relevant, 15, x) - tail(40, relevant, 15, x + 1)
            for x in range(16)
            if x <= relevant
            and 15 - x <= 40 - relevant
            and lower_bound(40, 15, x, 0.05) > relevant
        )
        assert wrong <= Fraction(1, 20)


def test_recall_has_a_finite_bound_with_no_hit_below():
    estimate, bound = recall_bound((1000, 100, 95), (4000, 200, 0), 0.05)
    assert estimate == 1.0
    assert 0.9 < bound < 0.96
    assert recall_bound((100, 10, 0), (100, 10, 0), 0.05)[1] == 0.0


def test_rule_of_thumb_for_everything():
    assert labels_for_recall(Fraction(4, 5), 1081, 2_002_955) == pytest.approx(
        22_000, rel=0.02
    )


@pytest.mark.parametrize(("size", "share"), [(200, 1.0), (200, 0.95), (150, 0.93)])
def test_labels_for_a_precision_are_enough_and_hardly_more_than_needed(size, share):
    labels = labels_for_precision(0.9, size, share, 0.05)

    def shown(drawn):
        return lower_bound(size, drawn, int(share * drawn + 1e-9), 0.05) >= 0.9 * size

    fewest = next(drawn for drawn in range(1, size + 1) if shown(drawn))
    assert shown(labels)
    assert fewest <= labels <= 1.1 * fewest
    assert labels_for_precision(0.9, size, 0.85, 0.05) is None


def test_agreement_of_two_annotators():
    names = [("ana", "ben")] * 200
    labels = [("yes", "yes")] * 95 + [("yes", "no")] * 5
    labels += [("no", "no")] * 95 + [("no", "yes")] * 5
    found = agreements(
        dict(zip(*both, strict=True)) for both in zip(names, labels, strict=True)
    )
    (pair,) = found["pairs"]
    assert (pair["names"], pair["posts"]) == (["ana", "ben"], 200)
    assert pair["disagreements"] == 10
    assert pair["alpha"] == pytest.approx(1 - 0.05 / (2 * 200 * 200 / (400 * 399)))
    assert found["alpha"] == pytest.approx(pair["alpha"])
    assert agreements([{"ana": "yes", "ben": "yes"}])["alpha"] is None
    assert agreements([{"ana": "yes"}, {"ana": "skip", "ben": "no"}]) is None


def test_noise_makes_the_table_stricter_and_one_sided_noise_the_most():
    sizes, nulls = np.array([200, 2000]), np.array([21, 201])
    plain = noisy_nulls(sizes, nulls, 0.0, 0.0)
    assert (plain == nulls).all()
    lenient = noisy_nulls(sizes, nulls, 0.1, 0.0)
    both = noisy_nulls(sizes, nulls, 0.1, 0.1)
    assert (lenient < nulls).all() and (both > lenient).all()


def chance(texts, rate):
    """Of each number of posts in error, where the copies of a text err together."""
    found = np.ones(1)
    for size, count in texts.items():
        for _ in range(count):
            wider = np.zeros(len(found) + size)
            wider[: len(found)] += (1 - rate) * found
            wider[size:] += rate * found
            found = wider
    return found


@pytest.mark.parametrize(
    "texts", [{1: 40}, {5: 8, 1: 30}, {20: 6, 3: 4}, {50: 1, 2: 25}]
)
@pytest.mark.parametrize("rate", [0.02, 0.2, 0.6])
def test_errors_of_copies_are_bounded_with_the_chance_that_is_kept(texts, rate):
    exact, half = chance(texts, rate), float(RESERVED) / 2
    assert exact[_errors(texts, rate, 1) + 1 :].sum() <= half
    assert exact[: _errors(texts, rate, -1)].sum() <= half


def test_the_texts_with_the_most_copies_are_those_in_question():
    # Texts of 4, 2, 1, 1, 1 and 1 posts.
    copies = np.array([1, 1, 2, 3, 1, 2, 4, 1, 1, 1])
    assert _largest(np.array([4, 1, 0, 1]), 5) == {4: 1, 1: 1}
    assert _largest(np.array([4, 1, 0, 1]), 8) == {4: 1, 2: 1, 1: 2}
    sizes, nulls = np.array([10]), np.array([6])
    assert noisy_nulls(sizes, nulls, 0.05, 0.0, copies) < noisy_nulls(
        sizes, nulls, 0.05, 0.0
    )


def false_certificates(copies_of_a_text, rate, runs, *, known=True):
    """Of the least favorable corpus, judged by an annotator with this error rate."""
    target, budget = Fraction(9, 10), 300
    relevant = border(np.random.default_rng(1), target).relevant[:6000]
    scores = -np.arange(len(relevant), dtype=float)
    sizes = nested_sets(scores)
    bad, text = np.flatnonzero(~relevant), np.arange(len(relevant))
    text[bad] = bad[np.arange(len(bad)) // copies_of_a_text * copies_of_a_text]
    copies = np.array(
        [np.count_nonzero(text[: n + 1] == text[n]) for n in range(len(text))]
    )
    plain = np.array([least_errors(size, target) for size in sizes.tolist()])
    nulls = noisy_nulls(sizes, plain, rate, 0.0, copies if known else None)
    error = 0.05 - float(RESERVED)
    tables = Tables(sizes.tolist(), nulls.tolist(), error=error, turn=turn_of(budget))
    wrong = 0
    for number in range(runs):
        generator = np.random.default_rng([2, number])
        said = relevant | (generator.random(len(relevant)) < rate)[text]
        order = random_order(sizes, generator, budget)
        wrong += replay(tables, order, said, target=target, budget=budget).size > 0
    return wrong


def test_an_annotator_who_errs_on_copies_alike():
    # As if copies were apart: 20%.
    assert false_certificates(20, 0.2, 150, known=False) > 15
    assert false_certificates(20, 0.2, 150) <= 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("copies", "rate"), [(1, 0.05), (5, 0.05), (20, 0.2), (20, 0.05)]
)
def test_certificates_of_an_annotator_who_errs_hold(copies, rate):
    wrong = false_certificates(copies, rate, 2000)
    assert interval(wrong, 2000)[1] <= 0.05


def start(folder, *more, out="a.csv"):
    return run(
        "audit", "--results", folder / "scored.jsonl", "--out", folder / out, *more
    )


def test_an_audit_of_a_list(tmp_path):
    relevant = scored(tmp_path / "scored.jsonl")
    assert start(tmp_path, "--budget", "80").exit_code == 0
    assert (
        "a plan over the same posts"
        in start(tmp_path, "--seed", "1", out="b.csv").stderr
    )
    rows = fill(tmp_path / "a.csv", relevant)
    assert len(rows) == 80
    hits = sum(row["label"] == "1" for row in rows)
    done = run("audit", "--labels", tmp_path / "a.csv")
    assert done.exit_code == 0, done.stderr
    found = json.loads((tmp_path / "a.audit.json").read_text())
    assert (
        found["relevant_at_least"] == lower_bound(600, 80, hits, 0.05) <= len(relevant)
    )
    assert f"At least {found['relevant_at_least']:,} of all" in " ".join(
        done.stdout.split()
    )
    rows[0]["label"] = "0" if rows[0]["label"] == "1" else "1"
    save(tmp_path / "a.csv", rows)
    done = run("audit", "--labels", tmp_path / "a.csv")
    assert "1 verdict was changed after the result had been seen" in done.stdout


def test_an_audit_in_another_folder_than_the_list(tmp_path):
    (tmp_path / "audits").mkdir()
    relevant = scored(tmp_path / "scored.jsonl")
    sheet = tmp_path / "audits" / "sheet.csv"
    done = run("audit", "--results", tmp_path / "scored.jsonl", "--out", sheet)
    assert done.exit_code == 0, done.stderr
    fill(sheet, relevant)
    done = run("audit", "--labels", sheet)
    assert done.exit_code == 0, done.stderr


def test_an_audit_needs_every_label(tmp_path):
    relevant = scored(tmp_path / "scored.jsonl")
    start(tmp_path, "--budget", "20")
    rows = fill(tmp_path / "a.csv", relevant)
    rows[3]["label"] = ""
    save(tmp_path / "a.csv", rows)
    done = run("audit", "--labels", tmp_path / "a.csv")
    assert done.exit_code == 2 and "1 of the 20 drawn posts has no label" in done.stderr
    assert rows[3]["post"] in done.stderr
    rows[3]["label"] = "skip"
    save(tmp_path / "a.csv", rows)
    done = run("audit", "--labels", tmp_path / "a.csv")
    assert done.exit_code == 0
    assert "1 skipped post counts as not relevant." in " ".join(done.stdout.split())


def test_skipped_posts_below_a_threshold_or_a_list_are_said(tmp_path):
    relevant = scored(tmp_path / "scored.jsonl")
    start(tmp_path, "--threshold", ".6", "--population", "400", "--budget", "40")
    rows = fill(tmp_path / "a.csv", relevant)
    for row in rows[:2]:
        row["label"] = "skip"
    save(tmp_path / "a.csv", rows)
    words = "2 skipped posts count against the recall: as not relevant at the threshold"
    done = run("audit", "--labels", tmp_path / "a.csv")
    assert words in " ".join(done.stdout.split())
    sheet = tmp_path / "sheet.csv"
    sample = ("--precision", ".8", "--budget", "60", "--out", sheet)
    run("sample", "--results", tmp_path / "scored.jsonl", *sample)
    finish(tmp_path, relevant)
    certificate = tmp_path / "sheet.certificate.json"
    more = ("--certificate", certificate, "--population", "500", "--budget", "30")
    start(tmp_path, *more, "--again", out="r.csv")
    rows = fill(tmp_path / "r.csv", relevant)
    rows[0]["label"] = "skip"
    save(tmp_path / "r.csv", rows)
    done = run("audit", "--labels", tmp_path / "r.csv")
    words = "1 skipped post counts as relevant, that is, as missing in the list."
    assert words in " ".join(done.stdout.split())
    page = certificate_html(certificate, tmp_path / "r.audit.json")
    assert words in " ".join(page.split())


@pytest.mark.parametrize("options", [(), ("--threshold", ".6", "--population", "400")])
def test_an_audit_without_texts_says_what_is_missing(tmp_path, options):
    scored(tmp_path / "scored.jsonl", text=lambda n: "")
    done = start(tmp_path, *options)
    assert done.exit_code == 2
    assert "scored.jsonl: has no texts of the posts to label" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["scored.jsonl"]


def test_recall_names_its_population_or_is_refused(tmp_path):
    relevant = scored(tmp_path / "scored.jsonl")
    done = start(tmp_path, "--threshold", "0.5")
    assert done.exit_code == 2
    assert "--population" in done.stderr and "labels below the threshold" in done.stderr
    assert not (tmp_path / "a.csv").exists()
    done = start(
        tmp_path, "--threshold", "0.5", "--population", "500", "--budget", "150"
    )
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
    assert (
        "Among the best 500 posts" in done.stdout
        and "says nothing about" in done.stdout
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--threshold", "3", "--population", "100"), "no post has a score of 3"),
        (("--threshold", "0.5", "--population", "10"), "--population is 10"),
        (("--threshold", "0.5", "--population", "9999"), "at most the 600"),
        (("--population", "100"), "--threshold"),
        (("--confidence", "9,55"), "confidence is 9.55"),
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
    second = (
        "audit",
        "--results",
        tmp_path / "scored.jsonl",
        "--out",
        tmp_path / "b.csv",
    )
    assert run(*second, "--seed", "1").exit_code == 2
    assert run(*second, "--seed", "1", "--again").exit_code == 0
    fill(tmp_path / "b.csv", relevant)
    done = run("audit", "--labels", tmp_path / "b.csv")
    assert "confidence 0.9" in done.stdout


def test_the_best_of_several_lists_of_a_ranking_pays(tmp_path):
    relevant = scored(tmp_path / "scored.jsonl")
    rows = map(json.loads, (tmp_path / "scored.jsonl").read_text().splitlines())
    best = sorted(rows, key=lambda row: -row["score"])[:150]
    (tmp_path / "best.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in best)
    )
    start(tmp_path)
    recall = ("--threshold", "0.65", "--population", "400", "--budget", "60")
    second = (
        "audit",
        "--results",
        tmp_path / "best.jsonl",
        "--out",
        tmp_path / "b.csv",
    )
    done = run(*second)
    assert done.exit_code == 2 and "a plan over the same posts" in done.stderr
    assert run(*second, "--again").exit_code == 0
    fill(tmp_path / "b.csv", relevant)
    assert "confidence 0.9" in run("audit", "--labels", tmp_path / "b.csv").stdout
    # Recall in a pool is another question than the precision of its head.
    (tmp_path / "pool").mkdir()
    scored(
        tmp_path / "pool/scored.jsonl",
        ids=lambda n: f"q{n}",
        text=lambda n: own_text(n + 1000),
    )
    assert start(tmp_path / "pool", *recall).exit_code == 0
    head = tmp_path / "pool/best.jsonl"
    lines = (tmp_path / "pool/scored.jsonl").read_text().splitlines(keepends=True)
    head.write_text("".join(sorted(lines, key=lambda r: -json.loads(r)["score"])[:150]))
    done = run("audit", "--results", head, "--out", tmp_path / "pool/b.csv")
    assert done.exit_code == 0 and "confidence" not in done.stderr, done.stderr


def test_audits_end_before_the_confidence_does(tmp_path):
    scored(tmp_path / "scored.jsonl")
    start(tmp_path, "--confidence", ".4")
    again = (
        "audit",
        "--results",
        tmp_path / "scored.jsonl",
        "--again",
        "--confidence",
        ".6",
    )
    done = run(*again, "--out", tmp_path / "b.csv", "--seed", "1")
    assert done.exit_code == 2 and "no confidence is left" in done.stderr
