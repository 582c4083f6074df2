"""The gate by which vectors decide: where many posts share weak words, and the vectors confirm."""

import dataclasses

import numpy as np
import pytest

from siamese_news import InputError, open_model
from siamese_news.lexical_head.options import Agreement, TermOptions
from siamese_news.scoring import observe_all, rules
from siamese_news.scoring.mixture import mixture_scorer

STORY = "Court hears the appeal of the comedian. A jury had found him guilty of assault last year."
REPLIES = [f"he was guilty of it and the jury knew, reader {n}" for n in range(25)]
OTHERS = [
    f"{word} of the day, number {n}"
    for word in ("recipe", "match", "phone")
    for n in range(40)
]


@pytest.fixture(scope="module")
def model():
    return open_model()


def gate(z=3.0, score=0.15, best=0.2):
    """The gate of 100 posts whose first 20 have this mean score and cosines z deviations higher."""
    generator = np.random.default_rng(0)
    others = generator.normal(0.2, 0.1, 980)
    first = np.full(20, others.mean() + z * (others.std() + 0.01))
    words = np.concatenate(
        [np.full(3, best), np.full(17, (20 * score - 3 * best) / 17)]
    )
    lexical = np.concatenate([words, np.full(980, 0.01)])
    cosines = np.concatenate([first, others])
    return rules.agreement(
        Agreement(), lexical.astype(np.float32), cosines.astype(np.float32)
    )


def test_the_gate_is_a_product_of_three_ramps():
    assert gate() == 1.0
    assert gate(z=1.7) == 0.0  # the vectors do not confirm
    assert gate(z=2.125) == pytest.approx(0.5, abs=0.01)
    assert gate(score=0.04) == 0.0  # few posts share words
    assert gate(score=0.065) == pytest.approx(0.5, abs=0.01)
    assert gate(best=0.4) == 0.0  # words suffice
    assert gate(best=0.325) == pytest.approx(0.5, abs=0.01)
    assert gate(z=2.125, best=0.325) == pytest.approx(0.25, abs=0.01)
    few = np.full(20, 0.2, np.float32)
    assert rules.agreement(Agreement(), few, few) == 0.0  # nothing to compare with


def scorer_of(model, articles, **options):
    agreement = Agreement(
        **{"low": -2.0, "high": -1.0, "few": 0.0, "many": 0.001} | options
    )
    agreement = dataclasses.replace(agreement, weak=2.0, strong=3.0)
    return mixture_scorer(
        model,
        articles,
        options=dataclasses.replace(model.terms.options, agreement=agreement),
    )


def test_an_open_gate_raises_the_weight_of_the_cosine_and_moves_the_vector(model):
    posts = REPLIES + OTHERS
    shut, open_ = (
        observe_all(scorer_of(model, [STORY], weight=weight), posts)
        for weight in (0.03, 0.5)
    )
    assert shut.agreement().tolist() == [0.0] and open_.agreement().tolist() == [1.0]
    before, after = shut.scores(posts)[0], open_.scores(posts)[0]
    assert (
        after[:25].mean() - after[25:].mean() > before[:25].mean() - before[25:].mean()
    )
    # The parts of a score add up, also through the moved vector.
    parts, own = open_.parts_of(posts[0], 0), model.encode_articles([STORY])[0]
    assert 0 < float(parts.article_vector @ own) < float(after[0])


def test_the_gate_of_an_article_does_not_depend_on_others_or_on_parts(model):
    posts = REPLIES + OTHERS
    alone, both = (
        scorer_of(model, articles, weight=0.5)
        for articles in ([STORY], [STORY, "rain"])
    )
    halves = [scorer_of(model, [STORY], weight=0.5).observer() for _ in range(2)]
    alone = observe_all(alone, posts)
    both = observe_all(both, posts)
    halves[0].observe(posts[70:])
    halves[1].observe(posts[:70])
    halves[0].merge(halves[1].state())
    merged = halves[0].settle()
    again = scorer_of(model, [STORY], weight=0.5).restored(merged.state())
    expected = alone.scores(posts)
    for scorer in (both, merged, again):
        np.testing.assert_array_equal(scorer.scores(posts)[:1], expected)


def test_options_that_contradict_each_other_are_refused():
    for change in ({"low": 3.0}, {"few": 0.2}, {"weak": 0.5}, {"weight": 0.9}):
        with pytest.raises(InputError, match="agreement"):
            TermOptions(agreement=Agreement(**change))


def test_a_folder_from_before_the_gate_has_its_defaults(model):
    plain = model.terms.options.plain()
    del plain["agreement"]
    assert TermOptions.of(plain).agreement == Agreement()
