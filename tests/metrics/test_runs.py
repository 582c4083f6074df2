import ir_measures as ir
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siamese_news.data.trec import read_qrels, read_run
from siamese_news.metrics import (
    bootstrap_interval,
    evaluate_run,
    means,
    randomization_test,
)

NAMES = {
    "AP": ir.AP,
    "RR": ir.RR,
    "Rprec": ir.Rprec,
    "nDCG@10": ir.nDCG @ 10,
    "P@10": ir.P @ 10,
    "P@30": ir.P @ 30,
    "R@100": ir.R @ 100,
}
posts = st.sampled_from([str(i) for i in range(8, 30)])
scores = st.sampled_from([0.0, 0.5, 1.5, -3.0, 100.000001, 100.000002])
runs = st.dictionaries(
    st.sampled_from("123"), st.dictionaries(posts, scores, min_size=1)
)
graded = st.dictionaries(
    st.sampled_from("123"),
    st.dictionaries(posts, st.integers(0, 2), min_size=1),
    min_size=1,
)


def agrees(run, qrels):
    ours = evaluate_run(run, qrels)
    theirs = {name: {} for name in NAMES}
    for found in ir.iter_calc(list(NAMES.values()), qrels, run):
        name = next(n for n, m in NAMES.items() if m == found.measure)
        theirs[name][found.query_id] = found.value
    for name, values in ours.items():
        for query, value in values.items():
            if name in theirs:
                assert value == pytest.approx(theirs[name].get(query, 0.0), abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(runs, graded)
def test_equals_trec_eval(run, qrels):
    agrees(run, qrels)


def test_missing_and_empty_queries():
    found = evaluate_run(
        {"1": {"x": 1.0}}, {"1": {"x": 1}, "2": {"y": 1}, "3": {"z": 0}}
    )
    assert found["AP"] == {"1": 1.0, "2": 0.0}


PUBLISHED = {
    2011: [(0.3576, 0.4000), (0.3824, 0.4211), (0.3832, 0.4075)],
    2012: [(0.2091, 0.3311), (0.2342, 0.3452), (0.2337, 0.3689)],
    2013: [(0.2532, 0.4450), (0.2766, 0.4733), (0.2818, 0.5222)],
    2014: [(0.3924, 0.6182), (0.4480, 0.6339), (0.4304, 0.6297)],
}


@pytest.mark.parametrize("year", PUBLISHED)
def test_the_published_figures_come_out(data_dir, year):
    folder = data_dir / "trec-microblog"
    qrels = read_qrels(folder / f"qrels.microblog{year}.txt.gz")
    for name, (ap, p30) in zip(("ql", "rm3", "mphcnn"), PUBLISHED[year], strict=True):
        run = read_run(folder / "runs" / f"{name}.{year}.txt.gz")
        found = means(evaluate_run(run, qrels))
        assert (round(found["AP"], 4), round(found["P@30"], 4)) == (ap, p30), name


def test_equals_trec_eval_on_a_real_run(data_dir):
    folder = data_dir / "trec-microblog"
    agrees(
        read_run(folder / "runs" / "mphcnn.2011.txt.gz"),
        read_qrels(folder / "qrels.microblog2011.txt.gz"),
    )


def test_monte_carlo_is_near_exact_enumeration():
    generator = np.random.default_rng(0)
    a, b = generator.normal(0.4, 1, 12), generator.normal(size=12)
    exact = randomization_test(a, b)
    signs = np.array(np.meshgrid(*[[-1, 1]] * 12)).reshape(12, -1).T
    expected = (np.abs(signs @ (a - b)) >= abs((a - b).sum()) - 1e-9).mean()
    assert exact == pytest.approx(expected)
    assert randomization_test(a, b, exact_up_to=0) == pytest.approx(exact, abs=0.01)
    assert randomization_test(a, a) == 1.0


def test_bootstrap_interval():
    values = np.random.default_rng(1).normal(size=400)
    low, high = bootstrap_interval(values)
    assert low < values.mean() < high and high - low == pytest.approx(
        3.92 / 20, rel=0.15
    )
    assert bootstrap_interval(values) == (low, high)
    with pytest.raises(ValueError, match="n >= 1"):
        bootstrap_interval([])
