"""Smoothing over less similar posts: where many posts answer in words of their own."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from siamese_news import InputError, open_model
from siamese_news.lexical_head.options import Smoothing, TermOptions, Widening
from siamese_news.scoring import observe_all, rules
from siamese_news.scoring.mixture import mixture_scorer
from siamese_news.scoring.smoothing import Neighbors

STORY = "Court hears the appeal of the comedian\nA jury had found him guilty of assault last year."
NAMING = [
    f"the jury was right and the comedian is guilty, {word}"
    for word in (
        "prison orange",
        "apology window",
        "velvet lawyer",
        "sunday pudding",
        "thunder actor",
        "copper victim",
        "television money",
        "lemon gavel",
    )
]
# They share a word with posts above, and none with the story.
ANSWERING = [
    "his lawyer should be ashamed",
    "too much money saved an actor",
    "the victim deserves an apology",
    "prison is where he belongs",
]
OTHERS = [
    f"{word} of the day, number {n}"
    for word in ("recipe", "match", "phone")
    for n in range(40)
]
POSTS = [*NAMING, *ANSWERING, *OTHERS]
OPEN = Widening(
    few=0.0,
    many=1e-6,
    unlike=1.0,
    alike=2.0,
    scattered=1.0,
    shared=2.0,
    least=0.02,
    exponent=1.0,
)
SHUT = Widening(few=2.0, many=3.0)


@pytest.fixture(scope="module")
def model():
    return open_model()


def scorer_of(model, articles, widening):
    options = dataclasses.replace(model.terms.options, widening=widening)
    return mixture_scorer(model, articles, options=options)


def settled(model, articles, widening, posts=POSTS):
    return observe_all(scorer_of(model, articles, widening), posts)


def test_the_gate_is_a_product_of_three_ramps():
    def gate(score=0.2, alike=0.0, shared=0.0, posts=1000):
        lexical = np.full(posts, 0.01, np.float32)
        lexical[:20] = score
        return rules.widening(Widening(), lexical[::-1], alike, lambda: shared)

    assert gate() == 1.0
    assert gate(score=0.06) == 0.0  # few posts share words
    assert gate(score=0.09) == pytest.approx(0.5, abs=1e-3)
    assert gate(alike=0.6) == 0.0  # close neighbors suffice
    assert gate(alike=0.5) == pytest.approx(0.5, abs=1e-3)
    assert gate(shared=0.12) == 0.0  # the posts name the matter
    assert gate(shared=0.095) == pytest.approx(0.5, abs=1e-3)
    assert gate(0.09, 0.5, 0.095) == pytest.approx(0.125, abs=1e-3)
    # Six posts that share words are not many, however much they share.
    assert gate(posts=6) == 0.0
    assert rules.widening(Widening(), np.zeros(0, np.float32), 0.0, float) == 0.0


@given(
    st.integers(1, 12), st.integers(1, 5), st.floats(0, 1), st.integers(0, 2**32 - 1)
)
@settings(deadline=None)
def test_neighbors_of_a_gate_equal_the_naive_loops(count, many, gate, seed):
    generator = np.random.default_rng(seed)
    narrow = Smoothing(neighbors=2, least=0.4, exponent=3.0, dense=0.0)
    wide = Widening(neighbors=many, least=0.1, exponent=1.5)
    terms = generator.random((count, 6)) * (generator.random((count, 6)) < 0.5)
    similarity, scores = terms @ terms.T, generator.random(count)
    near = Neighbors.of(
        sparse.csr_matrix(terms), np.zeros((count, 0), np.float32), narrow, (gate, wide)
    )
    expected = []
    for post in range(count):
        others = sorted(
            set(range(count)) - {post}, key=lambda other: -similarity[post, other]
        )
        weights = {
            other: (1 - gate)
            * similarity[post, other] ** 3.0
            * (similarity[post, other] > 0.4)
            + gate * similarity[post, other] ** 1.5 * (similarity[post, other] > 0.1)
            for other in others[: many if gate else 2]
        }
        total = sum(weights.values())
        around = sum(weight * scores[other] for other, weight in weights.items())
        gain = total / (total + narrow.prior)
        expected.append(
            (1 - gain) * scores[post] + (gain * around / total if total else 0.0)
        )
    np.testing.assert_allclose(near.smooth(scores), expected, atol=1e-6)


def test_answers_that_never_name_the_story_rise_over_other_posts(model):
    wide = settled(model, [STORY], OPEN).scores(POSTS)[0]
    narrow = settled(model, [STORY], SHUT).scores(POSTS)[0]
    answers = slice(len(NAMING), len(NAMING) + len(ANSWERING))
    others = slice(answers.stop, None)
    assert wide[answers].min() > wide[others].max()
    assert wide[answers].mean() > narrow[answers].mean()


def test_a_shut_gate_is_smoothing_alone(model):
    far = Widening(few=2.0, many=3.0, neighbors=1, least=0.9, exponent=9.0)
    np.testing.assert_array_equal(
        settled(model, [STORY], SHUT).scores(POSTS),
        settled(model, [STORY], far).scores(POSTS),
    )


def test_a_language_without_background_keeps_its_close_neighbors(model):
    story = "Wzburzona rzeka zalała miasteczko, mieszkańcy uciekają przez okna"
    posts = [f"rzeka zalała miasteczko, słowo{n} okna" for n in range(30)] + OTHERS
    np.testing.assert_array_equal(
        settled(model, [story], OPEN, posts).scores(posts),
        settled(model, [story], SHUT, posts).scores(posts),
    )


def test_the_gate_of_an_article_does_not_depend_on_others_or_on_parts(model):
    expected = settled(model, [STORY], OPEN).scores(POSTS)
    halves = [scorer_of(model, [STORY], OPEN).observer() for _ in range(2)]
    halves[0].observe(POSTS[70:])
    halves[1].observe(POSTS[:70])
    halves[0].merge(halves[1].state())
    merged = halves[0].settle()
    restored = scorer_of(model, [STORY], OPEN).restored(merged.state())
    both = settled(model, [STORY, "Rain in the hills"], OPEN)
    for scorer in (both, merged, restored):
        np.testing.assert_array_equal(scorer.scores(POSTS)[:1], expected)


def test_articles_of_the_same_candidates_have_their_own_gates(model, monkeypatch):
    """The neighbors that such articles share are not those of the other's gate."""
    expected = settled(model, [STORY], OPEN).scores(POSTS)[0]
    gates = iter((1.0, 0.0))
    monkeypatch.setattr(rules, "widening", lambda *_: next(gates))
    wide, narrow = settled(model, [STORY, STORY], OPEN).scores(POSTS)
    monkeypatch.undo()
    np.testing.assert_array_equal(wide, expected)
    np.testing.assert_array_equal(
        narrow, settled(model, [STORY], SHUT).scores(POSTS)[0]
    )


def test_the_parts_of_a_score_add_up_where_the_gate_is_open(model):
    options = model.terms.options
    unsmoothed = mixture_scorer(
        model,
        [STORY],
        options=dataclasses.replace(
            options, smoothing=dataclasses.replace(options.smoothing, weight=0.0)
        ),
    )
    unsmoothed = observe_all(unsmoothed, POSTS)
    scorer = settled(model, [STORY], OPEN)
    scale, scores = float(scorer.scales()[0]), scorer.scores(POSTS)[0]
    for place in (0, len(NAMING), len(NAMING) + 2):
        parts = scorer.parts_of(POSTS[place], 0)
        around = sum(near.added for near in parts.neighbors)
        weights = parts.own_weight + sum(near.weight for near in parts.neighbors)
        assert parts.neighbors and weights == pytest.approx(scale)
        surface = sum(parts.surface.values())
        plain = float(unsmoothed.scores([POSTS[place]])[0, 0])
        expected = parts.own_weight * (plain - surface) / scale + around + surface
        assert expected == pytest.approx(float(scores[place]), abs=1e-6)


def test_options_that_contradict_each_other_are_refused():
    for change in (
        {"few": 0.2},
        {"unlike": 0.7},
        {"scattered": 0.2},
        {"least": -0.1},
        {"neighbors": 0},
    ):
        with pytest.raises(InputError, match="widening"):
            TermOptions(widening=Widening(**change))


def test_a_folder_from_before_the_gate_has_its_defaults(model):
    plain = model.terms.options.plain()
    del plain["widening"]
    assert TermOptions.of(plain).widening == Widening()
