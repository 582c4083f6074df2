"""Smoothing a run over similar candidates, and its neighbors."""

import numpy as np
import pytest
from benchmarks.rerank_smoothing import Neighbors, Pools, tune_share

POSTS = [
    ["flood", "town"],
    ["flood", "town", "bridge"],
    ["mayor", "vote"],
    ["vote"],
    [],
    ["the"],
]


def test_neighbors_are_the_most_similar_other_posts():
    found = Neighbors.of(POSTS, 2)
    assert found.rows.shape == (6, 2)
    assert all(row not in own for row, own in enumerate(found.rows.tolist()))
    assert found.rows[[0, 1, 2, 3], 0].tolist() == [1, 0, 3, 2]
    assert found.similarity[4].tolist() == [0, 0] and found.similarity[5].tolist() == [
        0,
        0,
    ]


def test_smoothing_equals_the_formula_post_by_post():
    found = Neighbors.of(POSTS, 3)
    scores = np.array([3.0, 1.0, -2.0, 0.5, 4.0, 0.0])
    z = (scores - scores.mean()) / scores.std()
    expected = []
    for post in range(len(POSTS)):
        pairs = list(
            zip(found.similarity[post].tolist(), found.rows[post].tolist(), strict=True)
        )
        around = sum(w * z[r] for w, r in pairs) / (sum(w for w, _ in pairs) + 1)
        expected.append(0.7 * z[post] + 0.3 * around)
    np.testing.assert_allclose(found.smooth(scores, 0.3), expected, rtol=1e-6)
    assert np.argsort(found.smooth(scores, 0.0)).tolist() == np.argsort(scores).tolist()


@pytest.mark.parametrize("posts", [[["flood"]], [[], []], [["the"], ["of"]]])
def test_pools_without_a_neighbor_keep_their_order(posts):
    found = Neighbors.of(posts, 5)
    scores = np.arange(len(posts), dtype=float)
    assert np.argsort(found.smooth(scores, 0.9)).tolist() == list(range(len(posts)))
    assert np.isfinite(found.smooth(np.zeros(len(posts)), 0.5)).all()


def test_the_share_is_tuned_where_a_relevant_post_looks_like_a_good_one():
    texts = {
        "a": "flood town",
        "b": "vote mayor",
        "c": "flood town bridge",
        "d": "vote",
    }
    run = {"1": {"a": 2.0, "b": 0.5, "c": 0.4, "d": -1.0}}
    pools = Pools(run, texts, ["1"], count=1)
    share = tune_share(pools, run, {"1": {"a": 1, "c": 1}})
    assert share > 0
    order = sorted(pools.smooth(run, share)["1"].items(), key=lambda item: -item[1])
    assert [post for post, _ in order[:2]] == ["a", "c"]
    assert tune_share(pools, run, {"1": {"a": 1}}) == 0
