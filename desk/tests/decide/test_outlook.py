"""What labels are likely to buy, before the first one."""

import json
from pathlib import Path

import numpy as np
import pytest
from sheet_commands import run

from siamese_news_desk.decide.outlook import (
    RIGHT,
    outlook_sentence,
    outlooks,
)
from siamese_news_desk.decide.plan.population import Population

ROOT = Path(__file__).parents[3]


def write(path, relevance):
    rows = [
        {"post": f"p{n}", "score": 1 - n / 5000, "text": f"text {n}"}
        | ({} if share is None else {"relevance": share})
        for n, share in enumerate(relevance)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def falling(size=2000, cut=400):
    return (1 / (1 + np.exp((np.arange(size) - cut) / 80))).round(4).tolist()


def asked(path, *more):
    return run("sample", "--results", path, "--precision", ".8", "--outlook", *more)


def test_more_labels_and_more_relevant_posts_buy_more():
    scores, few, many = -np.arange(2000.0), falling(cut=200), falling(cut=800)
    for relevance in (few, many):
        found = outlooks(scores, np.array(relevance), ".8", draws=20)
        assert [one.labels for one in found] == [100, 300, 1000]
        assert all(one.low <= one.middle <= one.high for one in found)
        assert found[0].middle <= found[2].middle * 1.2
    assert (
        outlooks(scores, np.array(few), ".8", [300], draws=20)[0].middle
        < outlooks(scores, np.array(many), ".8", [300], draws=20)[0].middle
    )
    assert outlooks(scores, np.array(few), ".8", [300], draws=20) == outlooks(
        scores, np.array(few), ".8", [300], draws=20
    )


def test_the_command_says_it_and_fixes_nothing(tmp_path):
    write(tmp_path / "scored.jsonl", falling())
    before = sorted(tmp_path.iterdir())
    done = asked(tmp_path / "scored.jsonl", "--budget", "100", "--precision", ".9")
    assert done.exit_code == 0, done.stderr
    lines = done.stdout.splitlines()
    assert (
        len(lines) == 2 and "at a precision of .8" in lines[0] and "of .9" in lines[1]
    )
    assert "with 100 labels about" in lines[0] and "with 1,000 labels about" in lines[0]
    assert sorted(tmp_path.iterdir()) == before
    population = Population(tmp_path / "scored.jsonl")
    found = outlooks(population.scores, population.relevance(), ".8")
    assert outlook_sentence(".8", found) == lines[0]


@pytest.mark.parametrize(
    "relevance", [[None] * 150, [0.5, None] * 75, [1.5] * 150, ["x"] * 150]
)
def test_results_without_relevance_are_named(tmp_path, relevance):
    write(tmp_path / "scored.jsonl", relevance)
    done = asked(tmp_path / "scored.jsonl")
    assert done.exit_code == 2 and "has no relevance for every post" in done.stderr


def test_a_list_that_is_shorter_than_any_plan(tmp_path):
    write(tmp_path / "scored.jsonl", falling(size=40))
    done = asked(tmp_path / "scored.jsonl")
    assert done.stdout.startswith(
        "The list has 40 posts: with as many labels it is certain"
    )


def test_either_a_sheet_or_the_outlook(tmp_path):
    write(tmp_path / "scored.jsonl", falling())
    done = asked(tmp_path / "scored.jsonl", "--out", tmp_path / "sheet.csv")
    assert done.exit_code == 2 and "expected either --out" in done.stderr
    done = run("sample", "--results", tmp_path / "scored.jsonl", "--precision", ".8")
    assert done.exit_code == 2 and "expected either --out" in done.stderr
    done = asked(tmp_path / "scored.jsonl", "--precision", "1.2")
    assert done.exit_code == 2 and "expected a share" in done.stderr


def test_how_often_it_was_right_is_what_the_benchmark_saved():
    saved = json.loads((ROOT / "benchmarks" / "results" / "outlook.json").read_text())
    place = {name: saved["columns"].index(name) for name in ("labels", "in the range")}
    shares = {True: [], False: []}
    for row in saved["rows"]:
        share = int(row[place["in the range"]].removesuffix("%"))
        shares[row[place["labels"]] == "100"].append(share)
    few, more = (
        round(sum(values) / len(values)) for values in (shares[True], shares[False])
    )
    assert f"{few}% of the cases with 100 labels and in {more}% with more" == RIGHT
