"""The lexical head in training: the vectors that are compared later, with gradients."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from siamese_news.data.collate import pad
from siamese_news.encoders import build_encoder
from siamese_news.lexical_head.head import (
    TermHead,
    bigram_counters,
    empty_bigram_counters,
)
from siamese_news.lexical_head.options import Surface, TermOptions
from siamese_news.lexical_head.term_ids import distinct
from siamese_news.model.siamese import heads
from siamese_news.scoring import open_scorer
from siamese_news.text import Vocabulary
from siamese_news.training.module import first_rows
from siamese_news.training.objective import TermVectors

COUNTS = torch.tensor([50, 20, 40, 5, 30, 2, 0])
# 7 … 2^61 are hashed words
ids = st.lists(st.sampled_from([0, 1, 2, 3, 4, 5, 6, 7, 11, 2**61]), max_size=9)


def head(phrases):
    options = TermOptions(
        lead_half_life=4.0, pivot=1.0, bigram_weight=phrases, dense=0.0
    )
    return TermHead(
        COUNTS, empty_bigram_counters(), texts=100, typical=(3.0, 3.0), options=options
    )


def arrays(texts):
    return [np.array(text, np.int64) for text in texts]


def drawn(texts, seed):
    generator = np.random.default_rng(seed)
    return [generator.uniform(0, 2, len(text)) for text in texts]


def padded(factors):
    width = max([1, *map(len, factors)])
    rows = [np.pad(own, (0, width - len(own)), constant_values=7.0) for own in factors]
    return torch.from_numpy(np.stack(rows))


@given(
    st.lists(ids, min_size=1, max_size=3),
    st.lists(ids, min_size=1, max_size=4),
    st.sampled_from([0.0, 0.3]),
    st.integers(0, 99),
)
@settings(deadline=None, max_examples=60)
def test_the_vectors_are_those_that_rank(articles, posts, phrases, seed):
    """Their products are the scores of `lexical_head` at pivot = 1, factors and all."""
    terms = head(phrases)
    articles, posts = arrays(articles), arrays(posts)
    by, post_by = drawn(articles, seed), drawn(posts, seed + 1)
    left, right = TermVectors(terms)(
        pad(articles), pad(posts), padded(by), padded(post_by)
    )

    features = [terms.features(text) for text in posts]
    columns = np.unique(
        np.concatenate([*map(terms.features, articles), np.zeros(0, np.int64)])
    )
    from siamese_news.lexical_head.term_ids import mean_factors

    means = mean_factors(features, [terms.feature_factors(own) for own in post_by])
    weights = terms.background()
    ranked = weights.articles(articles, columns, by)
    vectors = weights.posts(*distinct(features), columns, means)
    expected = (ranked @ vectors.T).toarray()
    # There each group of an article has length `share`, of a post length 1; here both its root.
    np.testing.assert_allclose(left @ right.T, expected, atol=2e-5)


@pytest.mark.parametrize("phrases", [0.0, 0.3])
def test_gradcheck(phrases):
    articles = pad(arrays([[0, 1, 0, 3], [2], []]))
    posts = pad(arrays([[3, 0], [9, 2, 9]]))
    torch.manual_seed(0)
    factors = [
        torch.rand(side.shape, dtype=torch.float64) + 0.5 for side in (articles, posts)
    ]
    vectors = TermVectors(head(phrases))

    def products(*by):
        left, right = vectors(articles, posts, *by)
        return left @ right.T

    torch.autograd.gradcheck(products, tuple(own.requires_grad_() for own in factors))


def test_a_word_that_is_dropped_counts_nothing():
    articles, posts = pad(arrays([[0, 1, 2]])), pad(arrays([[0], [1]]))
    factors = torch.tensor([[1.0, 0.0, 1.0]]), torch.ones(2, 1)
    left, right = TermVectors(head(0.0))(articles, posts, *factors)
    scores = left @ right.T
    assert scores[0, 1] == 0
    assert scores[0, 0] > 0


def test_an_article_stands_once_however_many_pairs_it_has():
    first, row_of = first_rows(torch.tensor([7, 3, 7, 7, 3]))
    assert first.tolist() == [1, 0]
    assert row_of.tolist() == [1, 0, 1, 1, 0]


SPARSITY = {"class": "Entmax15", "backend": "newton"}
STAR = {"class": "StarEncoder", "heads": 2, "head_dim": 4, "sparsity": SPARSITY}


@pytest.fixture(params=["bag", "mean", "star"])
def two_heads(request, tiny_model):
    """A trained-looking two-headed model over hashed unknown words."""
    context = STAR if request.param == "star" else None
    tiny_model.config = {
        "class": "TwoHeadEncoder",
        "input_dim": 8,
        "context": context,
        "relay": request.param != "bag",
        "sparsity": SPARSITY,
        "output_dim": 8,
    }
    torch.manual_seed(0)
    tiny_model.encoder = build_encoder(tiny_model.config).eval()
    words = tiny_model.vocabulary.words
    tiny_model.vocabulary = Vocabulary(words, unknown="hash")
    tiny_model.embedding.unknown_weight = 0.0
    options = TermOptions(bigram_weight=0.3, dense=0.25)
    texts = [tiny_model.vocabulary.ids(text.split()) for text in [*ARTICLES, *POSTS]]
    tiny_model.terms = TermHead(
        np.arange(len(words)),
        bigram_counters(texts),
        texts=50,
        typical=(8.0, 8.0),
        options=options,
    )
    return tiny_model


ARTICLES = [
    "Flood: river Qwertz floods the town\nThe bridge is gone, help.",
    "Fire at night",
    "the",
]
POSTS = [
    "flood in the town",
    "qwertz bridge!",
    "fire fire smoke",
    "nothing at all",
    "",
    "flood",
]


def trained(model):
    with torch.no_grad():
        for parameter in model.encoder.parameters():
            parameter += torch.randn(parameter.shape) * 0.3
    return model


def test_before_training_the_factors_change_no_score(two_heads):
    scores = open_scorer(two_heads, ARTICLES).scores(POSTS)
    two_heads.encoder = build_encoder(
        {"class": "BagEncoder", "weighting": "idf", "input_dim": 8, "output_dim": None}
    )
    expected = open_scorer(two_heads, ARTICLES).scores(POSTS)
    np.testing.assert_allclose(scores, expected, atol=1e-6)


def test_an_unknown_word_keeps_its_weight_wherever_it_stands(two_heads):
    texts = [trained(two_heads).ids(text) for text in ARTICLES]
    _, factors = two_heads.text_heads()(texts, "article")
    unknown = texts[0] >= len(two_heads.vocabulary)
    assert unknown.any()
    assert (factors[0][unknown] == 1).all()
    assert (factors[0][~unknown] != 1).all()
    # … and the others have what they have without it.
    _, without = two_heads.text_heads()([texts[0][~unknown]], "article")
    np.testing.assert_allclose(without[0], factors[0][~unknown], rtol=1e-5)


@pytest.mark.parametrize("keep", ["first", "last"])
def test_inference_and_training_see_the_same(two_heads, keep):
    trained(two_heads)
    two_heads.limits["keep"] = keep
    two_heads.limits["article_tokens"] = 2  # of the dense head alone
    texts = [two_heads.ids(text) for text in ARTICLES]
    vectors, factors = two_heads.text_heads()(texts, "article")
    with torch.no_grad():
        found = heads(two_heads, pad(texts), "article")
    expected = torch.nn.functional.normalize(found[0], dim=1).numpy()
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    np.testing.assert_allclose(
        vectors, two_heads.encode_ids(texts, "article"), atol=1e-5
    )
    for row, own in enumerate(factors):
        np.testing.assert_allclose(own, found[1][row, : len(own)], rtol=1e-5)


def test_the_mixture_of_trained_heads_in_blocks_and_from_a_folder(two_heads, tmp_path):
    trained(two_heads)
    scores = open_scorer(two_heads, ARTICLES).scores(POSTS)
    plain = replace(two_heads.terms.options, dense=0.0, surface=Surface(weight=0.0))
    assert np.isfinite(scores).all()
    assert not scores[2].any()
    scorer = open_scorer(two_heads, ARTICLES)
    np.testing.assert_allclose(
        np.hstack([scorer.scores([p]) for p in POSTS]), scores, atol=1e-6
    )
    two_heads.save(tmp_path / "m", card="x")
    again = type(two_heads).load(tmp_path / "m")
    np.testing.assert_allclose(
        open_scorer(again, ARTICLES).scores(POSTS), scores, atol=1e-6
    )
    # What the words carry is the lexical score, factors and all.
    two_heads.terms.options = plain
    lexical = open_scorer(two_heads, ARTICLES)
    carried = lexical.parts_of(POSTS[0], 0).terms
    assert carried
    assert math.fsum(carried.values()) == pytest.approx(
        float(lexical.scores(POSTS)[0, 0]), abs=1e-6
    )
