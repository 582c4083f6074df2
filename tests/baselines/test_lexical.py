import math
from collections import Counter

import numpy as np
import pytest

from siamese_news.baselines import BM25, TfIdf
from siamese_news.errors import InputError
from siamese_news.text.content_words import ENGLISH_STOP_WORDS as OURS
from siamese_news.text.content_words import content_words

G = np.random.default_rng(0)
WORDS = [f"w{i}" for i in range(15)]
POSTS = [[WORDS[i] for i in G.integers(0, 12, n)] for n in G.integers(1, 9, 30)] + [[]]
BACK = [[WORDS[i] for i in G.integers(3, 15, 8)] for _ in range(20)]
QUERIES = [["w1", "w1", "w5", "never"], ["w2"], [], ["never"]]


def idf(token, texts):
    n = sum(token in text for text in texts)
    return math.log(1 + (len(texts) - n + 0.5) / (n + 0.5))


@pytest.mark.parametrize("repeats", [True, False])
@pytest.mark.parametrize("back", [None, BACK])
def test_bm25_equals_its_formula(back, repeats):
    found = BM25(repeats=repeats).fit(POSTS, back).scores(QUERIES, 0, len(POSTS))
    mean = np.mean([len(p) for p in POSTS])
    for q, row in zip(QUERIES, found, strict=True):
        q = q if repeats else set(q)
        for p, score in zip(POSTS, row, strict=True):
            norm = 0.9 * (1 - 0.4 + 0.4 * len(p) / mean)
            want = sum(
                idf(t, back or POSTS) * p.count(t) / (p.count(t) + norm) for t in q
            )
            assert score == pytest.approx(want, abs=1e-5)


def test_bm25_leaves_stop_words_of_the_query_out():
    posts = [["the", "fire"], ["the"]]
    assert BM25().fit(posts).scores([["the"]], 0, 2).tolist() == [[0.0, 0.0]]
    assert BM25(stop_words=True).fit(posts).scores([["the"]], 0, 2).min() > 0


def test_tfidf_equals_its_formula():
    model = TfIdf(lead=0.5, max_article_tokens=110).fit(POSTS, BACK)
    article = ["w1"] * 3 + ["w4", "the"] * 60

    def vector(tokens):
        weight = {}
        for t, n in Counter(t for t in tokens if t != "the").items():
            df = sum(t in text for text in BACK)
            weight[t] = (1 + math.log(n)) * (math.log((1 + len(BACK)) / (1 + df)) + 1)
        norm = math.sqrt(sum(v * v for v in weight.values())) or 1.0
        return {t: v / norm for t, v in weight.items()}

    a, lead = vector(article[:110]), vector(article[:100])
    for p, score in zip(POSTS, model.scores([article], 0, len(POSTS))[0], strict=True):
        v = vector(p)
        want = sum(v[t] * (a.get(t, 0) + 0.5 * lead.get(t, 0)) for t in v)
        assert score == pytest.approx(want, abs=1e-5)


@pytest.mark.parametrize("model", [BM25(), TfIdf(lead=1.0)])
def test_blocks_join(model):
    model.fit(POSTS)
    whole = model.scores(QUERIES, 0, len(POSTS))
    parts = [model.scores(QUERIES, 0, 10), model.scores(QUERIES, 10, len(POSTS))]
    assert np.concatenate(parts, axis=1) == pytest.approx(whole)
    assert whole.dtype == np.float32 and np.isfinite(whole).all() and model.kind


def test_bad_input():
    with pytest.raises(InputError, match="k1"):
        BM25(k1=-1)
    with pytest.raises(InputError, match="token"):
        BM25().fit([[]])
    with pytest.raises(InputError, match="background"):
        TfIdf().fit(POSTS, [])
    for model in (BM25(), TfIdf()):
        with pytest.raises(
            InputError, match="a text is the string 'river flood'; expected a list"
        ):
            model.fit(["river flood"])


def test_the_stop_words_are_those_of_scikit_learn():
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    assert OURS == ENGLISH_STOP_WORDS
    assert content_words([*sorted(ENGLISH_STOP_WORDS), "flood", "!", "n't"]) == [
        "flood"
    ]


def test_a_package_says_what_it_lacks():
    import siamese_news.baselines as lexical
    import siamese_news.metrics as metrics

    for package in (lexical, metrics):
        assert all(getattr(package, name) for name in package.__all__)
        with pytest.raises(AttributeError, match="nothing_like_it"):
            package.nothing_like_it  # noqa: B018
