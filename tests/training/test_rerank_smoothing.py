"""Smoothing a run over similar candidates."""

from siamese_news.training.rerank.results import Pools, tune_share


def test_the_share_is_tuned_where_a_relevant_post_looks_like_a_good_one():
    texts = {"a": "flood town", "b": "vote mayor", "c": "flood town bridge", "d": "vote"}
    run = {"1": {"a": 2.0, "b": 0.5, "c": 0.4, "d": -1.0}}
    pools = Pools(run, texts, ["1"], count=1)
    share = tune_share(pools, run, {"1": {"a": 1, "c": 1}})
    assert share > 0
    order = sorted(pools.smooth(run, share)["1"].items(), key=lambda item: -item[1])
    assert [post for post, _ in order[:2]] == ["a", "c"]
    assert tune_share(pools, run, {"1": {"a": 1}}) == 0
