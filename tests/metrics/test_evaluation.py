import math
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from siamese_news.errors import InputError
from siamese_news.metrics import blocks_of, evaluate_blocks, evaluate_run
from siamese_news.metrics import counts as counts_module
from siamese_news.metrics.ranking import rounded


def cut(scores, bounds):
    """ReplayablePosts blocks of a matrix, cut at `bounds`."""
    edges = sorted({0, *bounds, scores.shape[1]})

    def blocks():
        for start, stop in pairwise(edges):
            yield start, scores[:, start:stop]

    return blocks


@st.composite
def cases(draw):
    articles, posts = draw(st.integers(1, 4)), draw(st.integers(2, 12))
    levels = draw(
        st.sampled_from([[0.0, 0.5, 1.0], [-2.0, 0.1, 0.10000004, 17.0, 17.000001]])
    )
    size = articles * posts
    flat = draw(st.lists(st.sampled_from(levels), min_size=size, max_size=size))
    grades = draw(st.lists(st.integers(-1, 2), min_size=size, max_size=size))
    grades[draw(st.integers(0, size - 1))] = 2
    bounds = draw(st.lists(st.integers(1, posts - 1), max_size=3))
    order = draw(st.permutations(range(posts)))
    article_ids = [f"a{i}" for i in range(articles)]
    post_ids = [str(9 * i) for i in order]
    matrix = np.array(grades).reshape(articles, posts)
    qrels = {
        a: {p: int(g) for p, g in zip(post_ids, line, strict=True) if g}
        for a, line in zip(article_ids, matrix, strict=True)
    }
    # A relevant post outside the pool.
    qrels["a0"]["elsewhere"] = draw(st.integers(0, 2))
    scores = np.array(flat, dtype=np.float32).reshape(articles, posts)
    return scores, article_ids, post_ids, qrels, matrix >= 1, bounds


@settings(max_examples=80, deadline=None)
@given(cases())
def test_every_figure_equals_its_definition(case):
    scores, article_ids, post_ids, qrels, relevant, bounds = case
    found = evaluate_blocks(
        cut(scores, bounds),
        article_ids=article_ids,
        post_ids=post_ids,
        qrels=qrels,
        thresholds=(1, 3, 50),
        depth=5,
        bootstrap=20,
    )
    flat, truth = rounded(scores).ravel(), relevant.ravel()
    assert found.pooled["AP"] == pytest.approx(
        average_precision_score(truth, flat), abs=1e-12
    )
    if truth.all():
        assert "AUC" not in found.pooled
    else:
        assert found.pooled["AUC"] == pytest.approx(
            roc_auc_score(truth, flat), abs=1e-12
        )
    # Pooled ranking, the slow way.
    table = sorted(
        (
            (float(s), post_ids[j], article_ids[i], relevant[i, j])
            for (i, j), s in np.ndenumerate(rounded(scores))
        ),
        reverse=True,
    )
    for r in (1, 3, 50):
        assert found.pooled[f"P@{r}"] == pytest.approx(
            sum(row[3] for row in table[:r]) / r
        )
        assert found.pooled[f"P@{r}"] <= found.ceilings[f"P@{r}"] + 1e-12
    # Per article: the same as the run evaluation over everything.
    run = {
        a: dict(zip(post_ids, line.tolist(), strict=True))
        for a, line in zip(article_ids, scores, strict=True)
    }
    expected = evaluate_run(run, qrels, depth=10**6)
    for name, values in expected.items():
        assert found.per_article[name] == pytest.approx(values)
    assert found.per_article["AP@5"] == pytest.approx(
        evaluate_run(run, qrels, depth=5)["AP"]
    )
    # The kept run says under a reader what it says here.
    assert evaluate_run(found.run, qrels, depth=5)["AP"] == pytest.approx(
        found.per_article["AP@5"]
    )
    for a, values in found.per_article.get("AUC", {}).items():
        i = article_ids.index(a)
        assert values == pytest.approx(roc_auc_score(relevant[i], rounded(scores)[i]))
    assert found.counts["articles_without_relevant"] == len(article_ids) - len(
        expected["AP"]
    )
    for name, (low, high) in found.intervals.items():
        assert low <= high, name


def example(articles=6, posts=400, seed=0):
    generator = np.random.default_rng(seed)
    relevant = generator.random((articles, posts)) < 0.05
    scores = (generator.normal(size=(articles, posts)) + relevant).astype(np.float32)
    article_ids = [f"a{i}" for i in range(articles)]
    post_ids = [f"p{i}" for i in range(posts)]
    qrels = {
        a: {post_ids[j]: 1 for j in np.flatnonzero(line)}
        for a, line in zip(article_ids, relevant, strict=True)
    }
    ids = {"article_ids": article_ids, "post_ids": post_ids, "qrels": qrels}
    return scores, relevant, ids


def test_pooled_bootstrap_equals_resampled_scikit_learn():
    scores, relevant, ids = example()
    found = evaluate_blocks(cut(scores, [100]), **ids, bootstrap=50, seed=3)
    draws = np.random.default_rng(3).multinomial(6, np.full(6, 1 / 6), size=50)
    rows = [np.repeat(np.arange(6), draw) for draw in draws]
    aps = [
        average_precision_score(relevant[r].ravel(), rounded(scores[r]).ravel())
        for r in rows
    ]
    aucs = [
        roc_auc_score(relevant[r].ravel(), rounded(scores[r]).ravel()) for r in rows
    ]
    assert found.intervals["pooled/AP"] == pytest.approx(
        np.percentile(aps, [2.5, 97.5])
    )
    assert found.intervals["pooled/AUC"] == pytest.approx(
        np.percentile(aucs, [2.5, 97.5])
    )


def test_without_room_for_per_article_counts_only_the_interval_is_lost(monkeypatch):
    scores, _, ids = example()
    full = evaluate_blocks(cut(scores, [100]), **ids)
    monkeypatch.setattr(counts_module, "_TABLE", 10)
    small = evaluate_blocks(cut(scores, [100]), **ids)
    assert small.pooled == pytest.approx(full.pooled)
    assert "pooled/AP" not in small.intervals and "macro/AP" in small.intervals


def test_blocks_may_come_in_any_order():
    scores, _, ids = example()
    blocks = list(cut(scores, [33, 150])())
    whole, parts = (
        evaluate_blocks(lambda given=given: given, **ids, thresholds=(5, 50), depth=7)
        for given in ([(0, scores)], blocks[::-1])
    )
    assert parts.to_dict() == whole.to_dict() and parts.run == whole.run


def test_thousands_of_positives_cap_the_last_rows():
    posts = [str(i) for i in range(5000)]
    qrels = {"a": {p: 1 for p in posts[:2153]}}
    scores = -np.arange(5000, dtype=np.float32)[None]
    found = evaluate_blocks(
        blocks_of(lambda a, b: scores[:, a:b], 5000),
        article_ids=["a"],
        post_ids=posts,
        qrels=qrels,
        bootstrap=0,
    )
    assert round(found.ceilings["P@3300"], 3) == 0.652
    assert found.pooled["P@3300"] == found.ceilings["P@3300"]
    rows = [found.pooled[f"P@{r}"] for r in (50, 100, 200, 500, 1000, 2000, 3000)]
    assert found.pooled["mRP7"] == pytest.approx(np.mean(rows))
    assert found.pooled["mRP8"] == pytest.approx(np.mean([*rows, 2153 / 3300]))
    assert found.pooled["AP"] == 1.0 and found.pooled["AUC"] == 1.0
    assert not found.intervals


def test_memory_stays_below_the_matrix():
    articles, posts, step = 50, 120_000, 4_000
    matrix_bytes = 4 * articles * posts
    post_ids = [f"{i:06d}" for i in range(posts)]
    qrels = {
        f"a{i}": {f"{97 * i + j:06d}": 1 for j in range(20)} for i in range(articles)
    }

    def blocks():
        for start in range(0, posts, step):
            generator = np.random.default_rng(start)
            yield start, generator.random((articles, step), dtype=np.float32)

    tracemalloc.start()
    found = evaluate_blocks(
        blocks,
        article_ids=list(qrels),
        post_ids=post_ids,
        qrels=qrels,
        depth=100,
        bootstrap=0,
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Keys of a chunk and a few copies of it, ids and relevant keys; the rest does not grow with P.
    assert peak < 2.5 * matrix_bytes and peak < 60e6
    assert 0.4 < found.pooled["AUC"] < 0.6


def test_bad_input_is_refused():
    scores, _, ids = example(2, 10)
    with pytest.raises(InputError, match="no pair|call no pair"):
        evaluate_blocks(cut(scores, []), **(ids | {"qrels": {"other": {"p1": 1}}}))
    with pytest.raises(InputError, match="used twice"):
        evaluate_blocks(cut(scores, []), **(ids | {"post_ids": ["p0"] * 10}))
    ids["qrels"] = {"a0": {"p1": 1}}
    bad = scores.copy()
    bad[0, 3] = math.nan
    with pytest.raises(InputError, match="nan"):
        evaluate_blocks(cut(bad, []), **ids)
    with pytest.raises(ValueError, match="expected \\(2, n\\)"):
        evaluate_blocks(cut(scores[:1], []), **ids)
    once = iter(cut(scores, [])())
    with pytest.raises(ValueError, match="0 of 10 columns"):
        evaluate_blocks(lambda: once, **ids)
    with pytest.raises(ValueError, match="repeats"):
        evaluate_blocks(lambda: iter([(0, scores), (5, scores[:, 5:])]), **ids)
    with pytest.raises(ValueError, match="expected whole numbers"):
        evaluate_blocks(cut(scores, []), **ids, depth=0)


def test_evaluation_is_plain():
    import json

    scores, _, ids = example()
    found = evaluate_blocks(cut(scores, []), **ids, bootstrap=5)
    assert (
        json.loads(json.dumps(found.to_dict(), allow_nan=False))["counts"]["articles"]
        == 6
    )
    best = list(found.run["a0"].values())
    assert best == sorted(best, reverse=True)
