"""Where a plan begins: by the relevance of the search, which enters no test."""

import json
from fractions import Fraction

import numpy as np
import pytest
from sheet_commands import certificate, finish, run, scored, start

from siamese_news_desk.decide.plan.design import first_set
from siamese_news_desk.decide.plan.population import Population


def with_relevance(path, relevance_at, *, size=6000, cut=5000):
    """Results with a relevance by rank; returns the ids of the relevant posts."""
    plain = path.with_name("plain.jsonl")
    relevant = scored(plain, size=size, cut=cut)
    rows = [json.loads(line) for line in plain.read_text().splitlines()]
    for row in rows:
        row["relevance"] = relevance_at(row["rank"])
    if path.suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    plain.unlink()
    return relevant


def planned(folder):
    return json.loads((folder / "sheet.plan.json").read_text())


@pytest.mark.parametrize(
    "name", ["scored.jsonl", pytest.param("scored.parquet", marks=pytest.mark.slow)]
)
def test_a_long_good_list_is_begun_further_down(tmp_path, name):
    relevant = with_relevance(tmp_path / name, lambda rank: float(rank <= 2000))
    done = start(tmp_path, "--budget", 100, results=name, precision=".9")
    assert done.exit_code == 0, done.stderr
    # 15% may be errors: 2,352 posts, and the first set is 15% of them.
    assert planned(tmp_path)["settings"]["first"] == 352
    assert planned(tmp_path)["sets"][0] == 352
    assert "The first set has 352 posts in place of 100" in done.stdout + done.stderr
    finish(tmp_path, relevant)
    claim = certificate(tmp_path)["claims"][0]
    assert claim["posts"] > 352 and claim["taken_out"] < 10
    again = run("certify", "--check", tmp_path / "sheet.certificate.json")
    assert again.exit_code == 0 and "holds" in again.stderr


def test_the_highest_of_several_precisions_decides(tmp_path):
    with_relevance(tmp_path / "scored.jsonl", lambda rank: 0.99 if rank < 3000 else 0)
    more = ("--precision", ".95", "--budget", 200)
    assert start(tmp_path, *more, precision=".7").exit_code == 0
    relevance = Population(tmp_path / "scored.jsonl").relevance()
    first = planned(tmp_path)["settings"]["first"]
    assert first == first_set(200, Fraction(".95"), relevance)
    assert first != first_set(200, Fraction(".7"), relevance)


def test_a_plan_keeps_the_first_set_that_it_has(tmp_path):
    """One that was made before the relevance was asked, or with --first."""
    with_relevance(tmp_path / "scored.jsonl", lambda rank: 1.0)
    done = start(tmp_path, "--budget", 100, "--first", 100)
    assert done.exit_code == 0, done.stderr
    before = planned(tmp_path)
    assert "in place of" not in done.stdout + done.stderr
    (tmp_path / "sheet.csv").unlink()
    done = start(tmp_path, "--budget", 100)
    assert done.exit_code == 0, done.stderr
    assert planned(tmp_path) == before and before["settings"]["first"] == 100


@pytest.mark.sampled(1)
@pytest.mark.parametrize("relevance", [None, "high", 1.2])
def test_without_a_relevance_for_every_post_it_is_the_usual_first_set(
    tmp_path, relevance
):
    with_relevance(
        tmp_path / "scored.jsonl", lambda rank: relevance if rank == 700 else 1.0
    )
    assert Population(tmp_path / "scored.jsonl").relevance() is None
    assert start(tmp_path, "--budget", 100).exit_code == 0
    assert planned(tmp_path)["settings"]["first"] == 100


def test_relevance_is_in_the_order_of_the_ranks(tmp_path):
    with_relevance(tmp_path / "scored.jsonl", lambda rank: 1 - rank / 8000, size=900)
    relevance = Population(tmp_path / "scored.jsonl").relevance()
    np.testing.assert_allclose(relevance, 1 - np.arange(1, 901) / 8000)
