"""Interpolation and its tuning."""

import numpy as np
import pytest
from benchmarks.rerank_table import average

from siamese_news.metrics import evaluate_run, means
from siamese_news.training.interpolation import SCALES, interpolate, tune_weight


def random_runs(seed):
    draw = np.random.default_rng(seed)
    posts = [f"p{i}" for i in range(40)]
    run, other, qrels = {}, {}, {}
    for topic in ("1", "2", "3", "4"):
        relevant = draw.random(40) < 0.3
        run[topic] = dict(
            zip(posts, (draw.random(40) + 0.3 * relevant).tolist(), strict=True)
        )
        other[topic] = dict(
            zip(posts, (9 + draw.random(40) + relevant).tolist(), strict=True)
        )
        qrels[topic] = {p: int(r) for p, r in zip(posts, relevant, strict=True)} | {
            "gone": 1
        }
    return run, other, qrels


def test_tuning_finds_the_weight_that_evaluation_finds():
    run, other, qrels = random_runs(0)
    grid, dev = (0.0, 0.05, 0.2, 0.8, 3.0), ["1", "2", "3"]
    judged = {topic: qrels[topic] for topic in dev}
    values = [
        means(evaluate_run(interpolate(run, other, weight), judged))["AP"]
        for weight in grid
    ]
    assert (
        tune_weight(run, other, qrels, dev, grid=grid) == grid[int(np.argmax(values))]
    )


def test_tuning_looks_at_validation_topics_only():
    run, other, qrels = random_runs(1)
    chosen = tune_weight(run, other, qrels, ["1", "2"])
    qrels["4"] = {post: 1 - grade for post, grade in qrels["4"].items()}
    other["4"] = {post: -score for post, score in other["4"].items()}
    assert tune_weight(run, other, qrels, ["1", "2"]) == chosen


def test_missing_posts():
    mixed = interpolate({"1": {"a": 0.5, "b": 0.25}}, {"1": {"a": 8.0, "c": 4.0}}, 0.5)
    assert mixed == {"1": {"a": 4.5, "b": 2.25}}


def test_probabilities_and_average():
    (probabilities, _), (log_odds, _) = SCALES["probability"], SCALES["log-odds"]
    assert probabilities({"1": {"a": 0.0}}) == {"1": {"a": 1.0}}
    odds = log_odds({"1": {"a": float(np.log(0.8)), "b": 0.0, "c": -50.0}})["1"]
    assert odds["a"] == pytest.approx(np.log(4)) and np.isfinite(odds["b"])
    assert odds["c"] == pytest.approx(-50)
    assert average([{"1": {"a": 1.0}}, {"1": {"a": 2.0}}]) == {"1": {"a": 1.5}}
