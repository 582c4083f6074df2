"""Smoothing against naive loops, and what it must not do."""

import dataclasses
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from siamese_news.errors import InputError
from siamese_news.lexical_head.head import TermHead, empty_bigram_counters
from siamese_news.lexical_head.options import (
    DenseExcess,
    FocusedPool,
    RocchioFeedback,
    Smoothing,
    Surface,
    TermOptions,
    Widening,
)
from siamese_news.scoring import observe_all, open_scorer, smoothing
from siamese_news.scoring.pool_state import PoolState
from siamese_news.scoring.smoothing import Neighbors
from siamese_news.text import Vocabulary

ARTICLE = "Flood: river floods the town\nThe bridge of Qwertz is gone."
POSTS = [
    "flood in the town",
    "the town has a bridge",
    "bridge of the mayor",
    "fire at night",
    "",
]


def naive(scores, similarity, options):
    """The docstring of `Smoothing`, word by word."""
    found = []
    for post, score in enumerate(scores):
        others = [n for n in range(len(scores)) if n != post]
        others.sort(key=lambda n: -similarity[post][n])
        near = [
            n
            for n in others[: options.neighbors]
            if similarity[post][n] > options.least
        ]
        weights = [similarity[post][n] ** options.exponent for n in near]
        total = sum(weights)
        gain = options.weight * total / (total + options.prior)
        around = sum(w * scores[n] for w, n in zip(weights, near, strict=True))
        found.append((1 - gain) * score + (gain * around / total if total else 0.0))
    return found


@pytest.mark.skipif(
    smoothing._loops() is None,
    reason="neighbors.c is not built: python setup.py build_ext --inplace",
)
@given(
    st.integers(1, 80),
    st.integers(1, 30),
    st.integers(0, 6),
    st.sampled_from([0.0, 0.4]),
    st.integers(0, 2**32 - 1),
)
@settings(deadline=None)
def test_the_loop_finds_the_neighbors_that_python_finds(
    posts, different, neighbors, gate, seed
):
    generator = np.random.default_rng(seed)
    # Posts that are equal are equally near to all others.
    rows = generator.integers(0, different, posts)
    terms = sparse.random(different, 20, 0.3, rng=generator, dtype=np.float32)
    vectors = generator.standard_normal((different, 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    options = Smoothing(neighbors=max(neighbors, 1), least=0.1, dense=0.3)
    wider = (gate, Widening(neighbors=neighbors + 2, least=0.05))
    arguments = (terms.tocsr()[rows], vectors[rows], options, wider)
    near = Neighbors.of(*arguments)
    with patch.object(smoothing, "_loops", lambda: None):
        expected = Neighbors.of(*arguments)
    np.testing.assert_allclose(near.gains, expected.gains, rtol=1e-12)
    for row in range(posts):
        chosen = [
            dict(zip(n.rows[row], n.weights[row], strict=True))
            for n in (near, expected)
        ]
        assert chosen[0] == pytest.approx(chosen[1], rel=1e-12)


@given(st.integers(1, 12), st.integers(1, 5), st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_smoothed_scores_equal_the_naive_loops(count, neighbors, seed):
    generator = np.random.default_rng(seed)
    options = Smoothing(
        neighbors=neighbors, least=0.1, exponent=2.0, dense=0.3, weight=0.8
    )
    terms = np.abs(generator.normal(size=(count, 6))) * (
        generator.random((count, 6)) < 0.5
    )
    vectors = generator.normal(size=(count, 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    similarity = 0.7 * terms @ terms.T + 0.3 * vectors.astype(np.float64) @ vectors.T
    scores = generator.random(count)
    near = Neighbors.of(sparse.csr_matrix(terms), vectors, options)
    np.testing.assert_allclose(
        near.smooth(scores), naive(scores, similarity, options), atol=1e-9
    )


@pytest.fixture
def model(tiny_model):
    words = tiny_model.vocabulary.words
    tiny_model.vocabulary = Vocabulary(words, unknown="hash")
    tiny_model.embedding.unknown_weight = 0.0
    tiny_model.terms = TermHead(
        np.arange(len(words)),
        empty_bigram_counters(),
        texts=50,
        typical=(8.0, 6.0),
        options=TermOptions(
            excess=DenseExcess(weight=0.0),
            feedback=RocchioFeedback(weight=0.0),
            smoothing=Smoothing(least=0.1, dense=0.0),
            surface=Surface(weight=0.0),
            focused_pool=FocusedPool(posts=1000),
        ),
    )
    return tiny_model


def settled(model, posts, **options):
    return observe_all(open_scorer(model, [ARTICLE, "Fire at night"], **options), posts)


def test_a_post_takes_on_the_score_of_the_posts_like_it(model):
    plain = settled(model, POSTS, smooth=False).scores(POSTS)[0]
    found = settled(model, POSTS).scores(POSTS)[0]
    assert (plain[2] < found[2] < plain[1]) or (plain[1] < found[2] < plain[2])
    # Who has no neighbor keeps the score, and so does a post that the article is far from.
    assert found[3] == pytest.approx(plain[3], abs=1e-6)
    assert found[4] == plain[4] == 0


def test_a_copy_is_no_neighbor(model):
    once = settled(model, POSTS).scores(POSTS)
    copies = [*POSTS, *POSTS, "Flood in the TOWN!"]
    np.testing.assert_allclose(settled(model, copies).scores(POSTS), once, atol=1e-6)


def test_posts_outside_the_best_keep_their_scores(model):
    model.terms.options = dataclasses.replace(
        model.terms.options, smoothing=Smoothing(posts=2, least=0.1, dense=0.0)
    )
    plain = settled(model, POSTS, smooth=False).scores(POSTS)[0]
    found = settled(model, POSTS).scores(POSTS)[0]
    best = np.argsort(-plain)[:2]
    rest = np.setdiff1d(np.arange(len(POSTS)), best)
    np.testing.assert_array_equal(found[rest], plain[rest])
    assert not np.allclose(found[best], plain[best])


def test_what_a_score_is_made_of_adds_up(model):
    model.terms.options = dataclasses.replace(
        model.terms.options,
        excess=DenseExcess(quantile=0.5, weight=0.3),
        feedback=RocchioFeedback(posts=3, focused_posts=3, least=2, score=0.01),
        surface=Surface(),
    )
    scorer = settled(model, POSTS)
    scores = scorer.scores(POSTS)
    article = model.encode_articles([ARTICLE, "Fire at night"])
    for number, scale in enumerate(scorer.scales()):
        for post, score in zip(POSTS, scores[number], strict=True):
            parts = scorer.parts_of(post, number)
            around = sum(near.added for near in parts.neighbors)
            assert parts.own_weight + sum(
                near.weight for near in parts.neighbors
            ) == pytest.approx(scale)
            plain = settled(model, POSTS, smooth=False).scores([post])[number, 0]
            surface = sum(parts.surface.values())
            expected = parts.own_weight * (plain - surface) / scale + around + surface
            assert expected == pytest.approx(float(score), abs=1e-6)
            if scorer.article_weight(number) == 1:
                own = sum(parts.article_terms.values())
                own += float(article[number] @ parts.article_vector)
                assert own == pytest.approx(float(score), abs=1e-5)


def test_the_excess_is_over_the_articles_own_quantile():
    pool = PoolState(words=3, articles=2, candidates=0)
    cosines = np.linspace(-0.5, 0.5, 1000)[None].repeat(2, axis=0)
    cosines[1] = 0.25
    pool.add_cosines(cosines[:, :300])
    other = PoolState(words=3, articles=2, candidates=0)
    other.add_cosines(cosines[:, 300:])
    pool.merge(other)
    np.testing.assert_allclose(pool.cosine_quantiles(0.9), [0.4, 0.25], atol=0.004)
    # Never below the value itself: identical posts have no excess.
    assert pool.cosine_quantiles(0.9)[1] >= 0.25


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"smoothing": Smoothing(neighbors=0)}, "smoothing.neighbors=0"),
        ({"smoothing": Smoothing(weight=1.5)}, "smoothing.weight=1.5"),
        ({"excess": DenseExcess(quantile=1.5)}, "excess.quantile=1.5"),
        ({"dense": 0.9, "excess": DenseExcess(weight=0.2)}, "dense"),
        ({"focused_pool": FocusedPool(share=0.2)}, "share < full"),
    ],
)
def test_impossible_options_are_named(options, name):
    with pytest.raises(InputError, match=name):
        TermOptions(**options)
