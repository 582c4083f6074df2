"""Relevance by some labels: which posts are labeled, the map, and what the results say then."""

import csv
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp
from sheet_commands import own_text, run

from siamese_news.data.label_map import LabelMap, logits_of
from siamese_news.search.list_relevance import ListRelevance
from siamese_news_desk.decide.own_relevance import (
    OwnRelevance,
    estimates_of,
    next_places,
    spread,
)
from siamese_news_desk.labels.matching import Label, Labels, SampledPost

POSTS = 900


def chances(rank):
    """The relevance that the labels should find, which the search estimates far too low."""
    return 1 / (1 + np.exp((rank - 300) / 60))


def write(path, *, known=True, lists=1):
    rows = []
    for rank in range(1, POSTS + 1):
        likely = chances(rank)
        logit = np.log(likely / (1 - likely))
        row = {
            "article": f"a{rank % lists}",
            "rank": rank,
            "score": round(0.9 * likely + 0.0001 * (POSTS - rank), 6),
            "post": f"p{rank}",
            "text": own_text(rank),
            "terms": ["word", "two words"],
        }
        if known:
            row["relevance"] = round(float(1 / (1 + np.exp(4 - logit / 2))), 6)
        rows.append(row)
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".csv":
        with path.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, rows[0])
            writer.writeheader()
            writer.writerows(rows)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def label(sheet, relevant):
    with sheet.open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        row["label"] = "yes" if relevant(int(row["post"][1:])) else "no"
    with sheet.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return rows


def drawn(results, sheet, *more):
    done = run(
        "sample", "--for", "relevance", "--results", results, "--out", sheet, *more
    )
    assert done.exit_code == 0, done.stderr
    return done


@pytest.mark.parametrize("count", [10, 20, 100])
def test_the_posts_to_label_are_spread_evenly_over_the_logarithm_of_ranks(
    tmp_path, count
):
    _, values_of = estimates_of(write(tmp_path / "scored.jsonl"))
    values = values_of["relevance"]
    ranks = spread(values, count, 3)
    assert len(set(ranks)) == count and ranks != sorted(ranks)
    assert ranks == spread(values, count, 3) != spread(values, count, 4)
    beyond = np.sort(ranks)[np.sort(ranks) > 2 * count]
    assert np.abs(np.diff(np.log1p(beyond) / np.log(POSTS))).max() < 3.5 / count
    # All posts, if there are no more.
    few = np.arange(count)[::-1].astype(float)
    assert sorted(spread(few, count, 0)) == list(range(count))


def labels_of(ranks, relevant):
    labels = Labels()
    for rank, verdict in zip(ranks, relevant, strict=True):
        name = f"p{rank + 1}"
        labels.of[name] = Label(SampledPost("", name), "yes" if verdict else "no")
    return labels


def unlikely(logits, truth, shift, slope):
    """Minus the logarithm of the labels' likelihood and of the priors."""
    total = shift + np.exp(slope) * logits
    likely = np.logaddexp(0, np.where(truth, -total, total)).sum()
    return likely + (shift / 4) ** 2 / 2 + slope**2 / 2


@pytest.mark.parametrize("known", [True, False])
def test_the_map_is_the_best_one_by_labels_and_priors(tmp_path, known):
    results = write(tmp_path / "scored.jsonl", known=known)
    _, values_of = estimates_of(results)
    assert list(values_of) == (["relevance"] if known else []) + ["score"]
    ranks = spread(next(iter(values_of.values())), 30, 0)
    truth = np.random.default_rng(1).random(30) < chances(np.array(ranks) + 1)
    own = OwnRelevance.of(estimates_of(results), labels_of(ranks, truth))
    evidence = {}
    for mapped, values in values_of.items():
        logits = logits_of(values, mapped)[ranks]
        cells = [
            [
                unlikely(logits, truth, shift, slope)
                for slope in np.linspace(-2.4, 2.1, 60)
            ]
            for shift in np.linspace(-9, 9, 90)
        ]
        evidence[mapped] = logsumexp(-np.array(cells))
    assert own.map.mapped == max(evidence, key=evidence.get)
    values = values_of[own.map.mapped]
    logits = logits_of(values, own.map.mapped)[ranks]
    shift, slope = minimize(lambda both: unlikely(logits, truth, *both), np.zeros(2)).x
    assert own.map.shift == pytest.approx(shift, abs=0.06)
    assert np.log(own.map.slope) == pytest.approx(slope, abs=0.04)
    assert (own.map.labels, own.map.relevant) == (30, truth.sum())
    expected = chances(np.arange(1, POSTS + 1))
    if own.map.mapped == "relevance":  # the logits of these scores are not straight
        assert np.abs(own.map.relevance(values) - expected).mean() < 0.06
        assert np.abs(values - expected).mean() > 0.2


def test_where_the_search_has_relevance_wrong_the_labels_choose_the_score(tmp_path):
    results = write(tmp_path / "scored.jsonl")
    population, values_of = estimates_of(results)
    shuffled = np.random.default_rng(0).permutation(values_of["relevance"])
    ranks = spread(values_of["score"], 40, 0)
    truth = np.array(ranks) < 300
    estimates = (population, {**values_of, "relevance": shuffled})
    own = OwnRelevance.of(estimates, labels_of(ranks, truth))
    assert own.map.mapped == "score"
    kept = own.map.relevance(values_of["score"]) >= 0.5
    assert 220 <= kept.sum() <= 390 and kept[:220].all()


def test_the_next_posts_are_spread_over_the_variance_of_their_labels_and_log_ranks():
    relevance = np.linspace(0.95, 0.02, 200)
    unclear = relevance * (1 - relevance)
    weights = unclear * np.log1p(1 / np.arange(1, 201))
    weights[[3, 50]] = 0
    counts = np.zeros(200)
    for seed in range(3000):
        (place,) = spread(relevance, 1, seed, drawn=[3, 50], unclear=unclear)
        counts[place] += 1
    expected = 3000 * weights / weights.sum()
    assert counts[[3, 50]].sum() == 0
    assert (np.abs(counts - expected) < 5 * np.sqrt(expected + 1)).all()
    places = spread(relevance, 30, 1, drawn=[3, 50], unclear=unclear)
    assert len(set(places)) == 30 and places != sorted(places)
    # One of each stretch: of ten, between one and three are in a fifth of the weight.
    tenth = np.cumsum(weights) / weights.sum()
    for seed in range(20):
        drawn_places = spread(relevance, 10, seed, drawn=[3, 50], unclear=unclear)
        inside = np.digitize(tenth[drawn_places], np.linspace(0, 1, 6)[1:-1])
        assert np.bincount(inside, minlength=5).max() <= 3
    # All that there are, if there are no more, those of a certain label too.
    certain = np.array([1.0, 0.5, 0.0, 0.2])
    own = spread(certain, 9, 0, drawn=[1], unclear=certain * (1 - certain))
    assert sorted(own) == [0, 2, 3]


def test_the_second_ten_are_where_the_first_ten_leave_relevance_open(tmp_path):
    estimates = estimates_of(write(tmp_path / "scored.jsonl"))
    values = estimates[1]["relevance"]
    first = spread(values, 10, 0)
    names = [f"p{rank + 1}" for rank in first]
    labels = labels_of(first, np.array(first) < 300)
    own = OwnRelevance.of(estimates, labels)
    likely = own.map.relevance(own.values)
    unclear = likely * (1 - likely)
    evenly, after = [], []
    for seed in range(20):
        more = next_places(estimates, names, labels, 10, seed)
        assert not set(more) & set(first)
        evenly.append(unclear[spread(values, 10, seed)].mean())
        after.append(unclear[more].mean())
    assert np.mean(after) > 1.5 * np.mean(evenly)
    # With too few labels, over the whole list again.
    few = labels_of(first[:3], [True] * 3)
    assert not set(next_places(estimates, names, few, 10, 0)) & set(first)


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_labels_make_the_relevance_of_results_ones_own(tmp_path, ending):
    results = write(tmp_path / f"all.{ending}")
    sheet = tmp_path / "sheet.csv"
    said = drawn(results, sheet)
    assert (
        "10 posts to label" in said.stderr and "siamese-news relevance" in said.stderr
    )
    first = label(sheet, lambda rank: rank <= 300)
    more = tmp_path / "more.csv"
    assert "10 posts to label" in drawn(results, more, "--labels", sheet).stderr
    second = label(more, lambda rank: rank <= 300)
    posts = {row["post"] for row in (*first, *second)}
    assert len(first) == len(second) == 10 and len(posts) == 20
    out = tmp_path / "map.json"
    sheets = ("--labels", sheet, "--labels", more)
    about = results.with_name(results.name + ".meta.json")
    about.write_text(json.dumps({"titles": {"a": "Ferry aground"}}))
    done = run("relevance", "--results", results, *sheets, "--out", out)
    assert done.exit_code == 0, done.stderr
    assert "By 20 labels" in done.stdout and "At 0.5: " in done.stdout
    label_map = LabelMap.read(out)
    values = estimates_of(results)[1][label_map.mapped]
    assert 250 <= (label_map.relevance(values) >= 0.5).sum() <= 350
    assert label_map.titles == ("Ferry aground",)
    about.write_text(json.dumps({"relevance_map": {"mapped": "relevance"}}))
    again = run("relevance", "--results", results, "--labels", sheet)
    assert again.exit_code == 2 and "is by labels already" in again.stderr


def test_where_half_is_reached_by_none_a_lower_cut_is_offered(tmp_path):
    results = write(tmp_path / "all.jsonl")
    sheet = tmp_path / "sheet.csv"
    drawn(results, sheet, "--budget", "20")
    ranks = sorted(int(row["post"][1:]) for row in label(sheet, lambda rank: False))
    label(sheet, lambda rank: rank in (ranks[4], ranks[9]))
    done = run("relevance", "--results", results, "--labels", sheet)
    assert "At 0.5 nothing is kept." in done.stdout
    assert "At 0.2: " in done.stdout or "At 0.1: " in done.stdout


def test_missed_posts_are_those_of_the_results_alone(tmp_path):
    results = write(tmp_path / "all.jsonl")
    rows = results.read_text().splitlines(keepends=True)
    results.write_text("".join(rows[:100]))
    sheet = tmp_path / "sheet.csv"
    drawn(results, sheet)
    label(sheet, lambda rank: rank <= 300)
    done = run("relevance", "--results", results, "--labels", sheet)
    assert "At 0.5: 100 posts" in done.stdout
    assert "about 0 (0 to 0) missed among the other 0 of these results." in done.stdout


def test_a_score_of_zero_is_below_every_cut_as_in_a_search(tmp_path):
    results = write(tmp_path / "all.jsonl", known=False)
    rows = [json.loads(line) for line in results.read_text().splitlines()][:40]
    for row in rows[30:]:
        row["score"] = (30 - row["rank"]) / 1000
    rows[30]["score"] = 0.0
    results.write_text("".join(json.dumps(row) + "\n" for row in rows))
    sheet, out = tmp_path / "sheet.csv", tmp_path / "map.json"
    drawn(results, sheet, "--budget", "40")
    label(sheet, lambda rank: True)
    done = run("relevance", "--results", results, "--labels", sheet, "--out", out)
    label_map = LabelMap.read(out)
    assert label_map.relevance(np.zeros(1))[0] >= 0.5  # by the labels alone
    assert "At 0.5: 30 posts, " in done.stdout
    assert "missed among the other 10 of these results." in done.stdout
    scores = np.array([round(row["score"] * 1e6) for row in rows])
    searched = ListRelevance(None, [None], label_map).of(0, scores)
    assert (searched >= 0.5).sum() == 30


def test_a_post_in_several_lists_is_labeled_in_each(tmp_path):
    results = tmp_path / "all.jsonl"
    write(results, lists=2)
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    more = [{**row, "article": "b", "score": row["score"] / 2} for row in rows]
    results.write_text("".join(json.dumps(row) + "\n" for row in rows + more))
    drawn(results, tmp_path / "sheet.csv", "--budget", "40")
    label(tmp_path / "sheet.csv", lambda rank: rank <= 200)
    done = run("relevance", "--results", results, "--labels", tmp_path / "sheet.csv")
    assert done.exit_code == 0 and "By 40 labels" in done.stdout, done.stderr


def test_these_labels_cost_a_later_plan_nothing(tmp_path):
    """They change neither the order of the list nor the random order of the plan."""
    results = write(tmp_path / "all.jsonl")
    drawn(results, tmp_path / "own.csv")
    label(tmp_path / "own.csv", lambda rank: rank <= 300)
    run("relevance", "--results", results, "--labels", tmp_path / "own.csv")
    assert not (tmp_path / "own.plan.json").exists()
    more = ("--precision", ".8", "--budget", "100", "--out", tmp_path / "sheet.csv")
    done = run("sample", "--results", results, *more)
    assert done.exit_code == 0 and "confidence" not in done.stderr, done.stderr
    assert json.loads((tmp_path / "sheet.plan.json").read_text())["earlier"] == []


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--budget", "9"), "expected 10 to 100"),
        (("--budget", "101"), "expected 10 to 100"),
        (("--precision", ".8"), "makes no plan"),
    ],
)
def test_what_a_sample_for_relevance_does_not_take(tmp_path, more, said):
    results = write(tmp_path / "all.jsonl")
    out = ("--results", results, "--out", tmp_path / "sheet.csv")
    done = run("sample", "--for", "relevance", *out, *more)
    assert done.exit_code == 2 and said in done.stderr
    assert not (tmp_path / "sheet.csv").exists()


def test_once_every_post_is_drawn_there_is_none_to_label(tmp_path):
    results = write(tmp_path / "all.jsonl")
    rows = results.read_text().splitlines(keepends=True)
    results.write_text("".join(rows[:12]))
    sheet, more = tmp_path / "sheet.csv", tmp_path / "more.csv"
    drawn(results, sheet)
    label(sheet, lambda rank: rank <= 5)
    assert "2 posts to label" in drawn(results, more, "--labels", sheet).stderr
    draw = ("sample", "--for", "relevance", "--results", results, "--labels", sheet)
    for count, said in (("10", "of 0 that are not drawn"), ("101", "expected 10 to")):
        done = run(*draw, "--out", tmp_path / "third.csv", "--budget", count)
        assert done.exit_code == 2 and said in done.stderr, done.stderr
    assert not (tmp_path / "third.csv").exists()


def test_posts_without_texts_are_not_drawn_to_be_labeled(tmp_path):
    results = write(tmp_path / "all.jsonl")
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    texts = [{"id": row["post"], "text": row.pop("text")} for row in rows]
    posts, sheet = tmp_path / "posts.jsonl", tmp_path / "sheet.csv"
    for path, lines in ((results, rows), (posts, texts)):
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = run("sample", "--for", "relevance", "--results", results, "--out", sheet)
    assert done.exit_code == 2 and "with --posts" in done.stderr, done.stderr
    assert not sheet.exists()
    drawn(results, sheet, "--posts", posts)
    assert all(row["text"] for row in label(sheet, lambda rank: True))


def test_labels_that_are_too_few_and_plans_without_a_precision_are_named(tmp_path):
    results = write(tmp_path / "all.jsonl")
    drawn(results, tmp_path / "sheet.csv")
    rows = label(tmp_path / "sheet.csv", lambda rank: True)
    text = (tmp_path / "sheet.csv").read_text().splitlines(keepends=True)
    (tmp_path / "sheet.csv").write_text("".join(text[:8]))
    assert len(rows) == 10
    done = run("relevance", "--results", results, "--labels", tmp_path / "sheet.csv")
    assert done.exit_code == 2 and "7 labels of its posts" in done.stderr
    plan = ("sample", "--results", results, "--out", tmp_path / "plan.csv")
    done = run(*plan)
    assert done.exit_code == 2 and "expected --precision" in done.stderr
    done = run(*plan, "--precision", ".8", "--labels", tmp_path / "sheet.csv")
    assert done.exit_code == 2 and "--labels is for --for relevance" in done.stderr
