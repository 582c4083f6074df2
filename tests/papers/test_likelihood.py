"""Query likelihood and RM3 against naive loops."""

import math
from collections import Counter

import numpy as np
import pytest
from papers.samcnn.likelihood import RM3, QueryLikelihood

from siamese_news.errors import InputError

G = np.random.default_rng(0)
WORDS = [f"w{i}" for i in range(15)]
POSTS = [[WORDS[i] for i in G.integers(0, 12, n)] for n in G.integers(1, 9, 30)] + [[]]
QUERIES = [["w1", "w1", "w5", "never"], ["w2"], [], ["never"]]


def naive_likelihood(weights, post, collection, mu):
    total, score = sum(collection.values()), 0.0
    for t, w in weights.items():
        if collection.get(t):
            mass = mu * collection[t] / total
            score += w * math.log((post.count(t) + mass) / (len(post) + mu))
    return score


def test_likelihood_and_rm3_equal_naive_loops():
    collection = Counter(t for p in POSTS for t in p)
    plain = QueryLikelihood(mu=50).fit(POSTS).scores(QUERIES, 0, len(POSTS))
    rm3 = RM3(mu=50, fb_docs=4, fb_terms=3, original_weight=0.3).fit(POSTS)
    expanded = rm3.scores(QUERIES, 0, len(POSTS))
    for i, q in enumerate(QUERIES):
        q = [t for t in q if t in collection]
        first = [naive_likelihood(Counter(q), p, collection, 50) for p in POSTS]
        assert plain[i] == pytest.approx(first, abs=1e-4)
        if not q:
            continue
        best = sorted(range(len(POSTS)), key=lambda j: -first[j])[:4]
        model = Counter()
        for j in best:
            for t in POSTS[j]:
                model[t] += math.exp(first[j]) / len(POSTS[j])
        top = dict(model.most_common(3))
        mixed = Counter({t: 0.7 * v / sum(top.values()) for t, v in top.items()})
        for t in q:
            mixed[t] += 0.3 / len(q)
        want = [naive_likelihood(mixed, p, collection, 50) for p in POSTS]
        assert expanded[i] == pytest.approx(want, abs=1e-4)
        assert rm3.rerank(QUERIES[i], range(len(POSTS))) == pytest.approx(
            want, abs=1e-4
        )


def test_given_collection():
    given = {"w1": 5, "w2": 3, "never": 2}
    texts = [[word] * count for word, count in given.items()]
    found = QueryLikelihood(mu=10).fit(POSTS, texts).scores([["w1", "w7"]], 2, 9)[0]
    want = [naive_likelihood({"w1": 1, "w7": 1}, p, given, 10) for p in POSTS[2:9]]
    assert found == pytest.approx(want, abs=1e-4)


@pytest.mark.parametrize("model", [QueryLikelihood(), RM3()])
def test_blocks_join(model):
    model.fit(POSTS)
    whole = model.scores(QUERIES, 0, len(POSTS))
    parts = [model.scores(QUERIES, 0, 10), model.scores(QUERIES, 10, len(POSTS))]
    assert np.concatenate(parts, axis=1) == pytest.approx(whole)
    assert whole.dtype == np.float32 and np.isfinite(whole).all()


def test_bad_input():
    with pytest.raises(InputError, match="mu"):
        QueryLikelihood(mu=0)
    with pytest.raises(InputError, match="fb_docs"):
        RM3(fb_docs=0)
    with pytest.raises(
        InputError, match="a text is the string 'river flood'; expected a list"
    ):
        RM3().fit(["river flood"])
