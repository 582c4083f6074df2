"""Replays: reproducible, and honest about what breaks."""

import json
from fractions import Fraction

import numpy as np
import pytest
from benchmarks import replays
from benchmarks.promises import (
    FAMILIES,
    audits,
    border,
    family_cell,
    find_labels,
    recalls,
)
from benchmarks.replay import generator_of, random_order, replay
from benchmarks.replays import LabeledPool, replay_cell
from sheet_commands import scored

from siamese_news.errors import InputError
from siamese_news_desk.decide.bounds.hypergeometric import interval
from siamese_news_desk.decide.certification import Settings
from siamese_news_desk.decide.plan.design import first_set, nested_sets, planned_nulls


def easy_pool(size=3000, cut=800):
    generator = np.random.default_rng(0)
    chance = 0.98 / (1 + np.exp((np.arange(size) - cut) / 100))
    return LabeledPool(
        "easy", -np.arange(size, dtype=float), generator.random(size) < chance
    )


def test_the_oracle_knows_the_largest_good_threshold():
    pool = LabeledPool(
        "x", np.array([3.0, 2, 2, 1]), np.array([True, True, False, True])
    )
    assert [pool.oracle(Fraction(t)) for t in (".9", ".75", ".6")] == [1, 4, 4]
    assert pool.misses(3, Fraction(".7")) and not pool.misses(3, Fraction(".6"))
    assert not pool.misses(0, Fraction(".9"))


@pytest.mark.parametrize("budget", [0, 300])
def test_every_set_of_a_border_corpus_has_what_its_test_rules_out(budget):
    for target in (Fraction(".9"), Fraction(".95")):
        pool = border(np.random.default_rng(0), target, budget)
        sizes = nested_sets(pool.scores, first_size=first_set(budget))
        over = np.cumsum(~pool.relevant)[sizes - 1] - planned_nulls(
            sizes, target, budget
        )
        assert (over >= 0).all() and over[0] == 0
        assert budget or not over.any()


@pytest.mark.parametrize("family", FAMILIES)
def test_families_are_what_their_seed_says(family):
    first, second = (
        FAMILIES[family](np.random.default_rng(3), Fraction(".9"), 100)
        for _ in range(2)
    )
    assert (first.relevant == second.relevant).all()
    assert 2000 <= len(first.scores) <= 20_000 and (np.diff(first.scores) <= 0).all()


def test_seeds_of_settings_are_disjoint():
    draws = {
        int(generator_of(0, *parts).integers(2**62))
        for parts in (
            ("a", ".9", 300, 0),
            ("a", ".9", 300, 1),
            ("b", ".9", 300, 0),
            ("a", ".8", 300, 0),
            ("a", ".9", 100, 0),
        )
    }
    assert len(draws) == 5


def test_a_seed_repeats_the_replays():
    pool = easy_pool()
    one = replay_cell(pool, ".9", 100, 6, error=0.05, seed=1)
    assert one == replay_cell(pool, ".9", 100, 6, error=0.05, seed=1)
    assert 0.3 < one["share"] <= 1 and one["labels"] <= 100


def test_interval_against_published_values():
    low, high = interval(25, 500)
    assert (round(low, 3), round(high, 3)) == (0.028, 0.081)
    assert interval(0, 10)[0] == 0.0 and interval(10, 10)[1] == 1.0


def test_audits_and_recall_keep_their_promise():
    pool = easy_pool()
    found = audits(pool, 900, 100, 400, error=0.05, seed=1)
    assert found["wrong"] <= 36 and found["value"] < found["truth"]
    found = recalls(pool, 700, 2000, 300, 300, error=0.05, seed=1)
    assert found["wrong"] <= 29 and 0.5 < found["value"] < found["truth"]
    assert find_labels(pool.relevant, 10**6) is None


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_no_family_is_certified_wrongly_too_often(family):
    cell = family_cell(family, ".9", 300, 2000, seed=3)
    assert cell["low"] <= 0.05


@pytest.mark.slow
def test_lenient_annotators():
    """Every other error is called relevant: ignored, most lists are false; declared, at most 5%."""
    wrong = {None: 0, 0.5: 0}
    target = Fraction(".9")
    sizes = nested_sets(-np.arange(5000.0), first_size=first_set(300))
    for rate in wrong:
        settings = Settings((".9",), ".95", 300, false_positive=rate)
        (tables,) = settings.tables(sizes, settings.nulls(sizes, None))
        for number in range(200):
            generator = generator_of(4, "noise", rate, number)
            relevant = generator.random(5000) < 0.88
            said = relevant | (generator.random(5000) < 0.5)
            order = random_order(sizes, generator, 300)
            done = replay(tables, order, said, target=target, budget=300)
            # Where it is declared they stay in the list.
            taken_out = 0 if rate else done.taken_out
            wrong[rate] += relevant[: done.size].sum() < target * (
                done.size - taken_out
            )
    assert wrong[None] > 100 and wrong[0.5] <= 10, wrong


@pytest.mark.slow
def test_a_family_is_replayed():
    cell = family_cell("ties", ".8", 60, 2, seed=3)
    assert (
        cell == family_cell("ties", ".8", 60, 2, seed=3, cores=2) and cell["wrong"] <= 1
    )


def write_pool(folder, relevant):
    """The arguments of a replay of the scored posts in a folder, with these relevant posts."""
    lines = "".join(f"all\t{post}\t1\n" for post in relevant)
    (folder / "qrels.tsv").write_text(f"query-id\tcorpus-id\tscore\n{lines}")
    names = {"results": "scored.jsonl", "qrels": "qrels.tsv", "out": "out"}
    return [
        str(part)
        for name, file in names.items()
        for part in (f"--{name}", folder / file)
    ]


def test_the_command_writes_tables(tmp_path, capsys):
    relevant = scored(tmp_path / "scored.jsonl", size=900, cut=500)
    files = write_pool(tmp_path, sorted(relevant))
    replays.main([*files, "--precision", ".8", "--budget", "60", "--runs", "5"])
    written = json.loads((tmp_path / "out" / "replays.json").read_text())
    assert [cell["runs"] for cell in written["cells"]] == [5]
    assert "share of the oracle" in (tmp_path / "out" / "replays.md").read_text()
    assert "of 5 wrong" in capsys.readouterr().out


def test_a_precision_that_no_list_has_is_told_apart_from_a_bad_result(tmp_path, capsys):
    scored(tmp_path / "scored.jsonl", size=200)
    files = write_pool(tmp_path, [f"p{n}" for n in range(200) if n % 3 == 1])
    replays.main([*files, "--precision", ".9", "--budget", "300", "--runs", "2"])
    said = "300 labels: no list has this precision, 0 of 2 wrong"
    assert said in capsys.readouterr().out
    text = (tmp_path / "out" / "replays.md").read_text()
    assert "| no list has this precision | – | – | 2 |" in text
    (cell,) = json.loads((tmp_path / "out" / "replays.json").read_text())["cells"]
    assert cell["share"] is None


def test_qrels_of_another_pool_are_refused(tmp_path):
    scored(tmp_path / "scored.jsonl")
    files = write_pool(tmp_path, ["nobody"])
    with pytest.raises(InputError, match="none of its posts"):
        replays.main(files)
