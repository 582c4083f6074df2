"""The lexical head against naive loops, the mixture, and the rule for pools about the story."""

import dataclasses
import math
from dataclasses import replace
from itertools import pairwise, starmap

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from siamese_news.errors import InputError
from siamese_news.lexical_head.head import (
    TermHead,
    bigram_counters,
    empty_bigram_counters,
)
from siamese_news.lexical_head.options import (
    DenseExcess,
    FocusedPool,
    RocchioFeedback,
    Smoothing,
    Surface,
    TermOptions,
)
from siamese_news.lexical_head.term_ids import bigram_ids, distinct
from siamese_news.lexical_head.weights import PoolCounts
from siamese_news.model import Model
from siamese_news.scoring import observe_all, open_scorer
from siamese_news.scoring.candidates import Candidates, content_keys
from siamese_news.scoring.cosine import CosineScorer
from siamese_news.scoring.mixture import MixtureScorer, mixture_scorer
from siamese_news.scoring.post_features import PostReader
from siamese_news.text import Vocabulary
from siamese_news.text.spaceless import phrase

WORDS = ("flood", "river", "town", "bridge", "fire", "smoke", "mayor")
COUNTS = (50, 20, 40, 5, 30, 2, 0)
TEXTS = 100
OPTIONS = TermOptions(
    power=1.5,
    lead_half_life=4.0,
    pivot=0.6,
    article_tokens=50,
    bigram_weight=0.0,
    dense=0.0,
)


def head(options=OPTIONS, typical=(9.0, 9.0)):
    counts = torch.tensor(COUNTS)
    return TermHead(
        counts, empty_bigram_counters(), texts=TEXTS, typical=typical, options=options
    )


def idf(word_id):
    seen = COUNTS[word_id] if word_id < len(COUNTS) else 0
    return math.log((1 + TEXTS) / (1 + seen)) + 1


def naive(article, post, options=OPTIONS, typical=9.0):
    """The module's docstring, word by word."""
    weights = {}
    for word in article:
        tf = article.count(word)
        lead = 1 / (1 + article.index(word) / options.lead_half_life)
        weights[word] = idf(word) ** options.power * lead * (1 + math.log(tf))
    length = math.sqrt(sum(w * w for w in weights.values())) or 1.0
    own = {word: idf(word) ** options.power for word in set(post)}
    scale = (1 - options.pivot) * typical
    scale += options.pivot * math.sqrt(sum(w * w for w in own.values()))
    return sum(weights.get(word, 0) / length * w / scale for word, w in own.items())


def scored(articles, posts, weights):
    articles = [np.array(ids, np.int64) for ids in articles]
    posts = [np.array(ids, np.int64) for ids in posts]
    features = [np.concatenate([ids, bigram_ids(ids)]) for ids in articles]
    columns = np.unique(np.concatenate([*features, np.zeros(0, np.int64)]))
    vectors = weights.posts(*distinct(posts), columns)
    return (weights.articles(articles, columns) @ vectors.T).toarray()


# 7 … 2^61 are hashed words
ids = st.lists(st.sampled_from([0, 1, 2, 3, 4, 5, 6, 7, 11, 2**61]), max_size=12)


@given(st.lists(ids, min_size=1, max_size=4), st.lists(ids, min_size=1, max_size=5))
@settings(deadline=None)
def test_scores_equal_the_naive_loops(articles, posts):
    expected = [[naive(article, post) for post in posts] for article in articles]
    found = scored(articles, posts, head().background())
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_pairs_are_scored_as_words_are_and_by_themselves():
    """With every pair as rare as the rest, its weight is that of an unknown word."""
    options = TermOptions(lead_half_life=4.0, bigram_weight=0.25, dense=0.0)
    weights = head(options).background()
    article, post = [0, 1, 2, 1, 2], [1, 2, 3]
    words = TermOptions(lead_half_life=4.0, bigram_weight=0.0, dense=0.0)
    one, two, three = 100, 101, 102  # (0, 1), (1, 2), (2, 1)
    expected = 0.75 * naive(article, post, words)
    expected += 0.25 * naive([one, two, three, two], [two, 103], words)
    features = np.concatenate([np.array(post), bigram_ids(np.array(post))])
    assert scored([article], [features], weights)[0, 0] == pytest.approx(
        expected, rel=1e-5
    )


@given(st.lists(ids, max_size=5))
@settings(deadline=None)
def test_all_texts_at_once_have_the_features_of_each(texts):
    terms = head(TermOptions(bigram_weight=0.5))
    texts = [np.array(text, np.int64) for text in texts]
    rows, found, count = terms.distinct(texts)
    assert count == len(texts)
    pairs = set(zip(rows.tolist(), found.tolist(), strict=True))
    assert len(pairs) == len(rows)
    assert pairs == {
        (row, int(place))
        for row, text in enumerate(texts)
        for place in terms.features(text)
    }


def test_the_order_of_a_pair_counts():
    assert bigram_ids(np.array([1, 2]))[0] != bigram_ids(np.array([2, 1]))[0]
    assert len(bigram_ids(np.zeros(0, np.int64))) == len(bigram_ids(np.array([4]))) == 0
    # No pair is taken for a word, known or hashed.
    assert bigram_ids(np.array([2**62 + 5, 3, 9])).min() > 2**62 + 10**9


def test_counters_hold_how_many_texts_have_a_pair():
    texts = [np.array([1, 2, 1, 2])] * 30 + [np.array([5, 6])]
    counters = bigram_counters(texts)
    place = bigram_ids(np.array([1, 2])) % len(counters)
    assert np.expm1(counters[place] / 16) == pytest.approx(30, rel=0.05)
    assert (counters > 0).sum() == 3


def test_a_pool_changes_no_scorer(two_heads):
    """The scorer before a pool stays as it is, and so does that of an earlier pool."""
    before = open_scorer(two_heads, ARTICLES)
    plain = before.scores(POSTS)
    first = observe_all(before, ["flood river town"] * 6 + POSTS)
    scores = first.scores(POSTS)
    again = observe_all(first, ["flood river town"] * 6 + POSTS)
    np.testing.assert_array_equal(again.scores(POSTS), scores)
    observe_all(before, ["fire smoke night"] * 9)
    np.testing.assert_array_equal(before.scores(POSTS), plain)
    np.testing.assert_array_equal(first.scores(POSTS), scores)
    assert before.learned == "" != first.learned
    assert before.state() == b"" and before.decisions() == []


def test_a_scorer_goes_on_from_its_state(two_heads):
    posts = ["flood river town"] * 6 + POSTS
    before = open_scorer(two_heads, ARTICLES)
    whole = observe_all(before, posts)
    first, later = before.observer(), before.observer()
    first.observe(posts[:4])
    later.merge(first.state())
    later.observe(posts[4:])
    second = later.settle()
    third = before.restored(second.state())
    assert whole.learned == second.learned == third.learned != ""
    assert third.decisions() == whole.decisions()
    for scorer in (second, third):
        np.testing.assert_array_equal(scorer.scores(posts), whole.scores(posts))


def test_only_the_first_words_of_an_article_are_read():
    options = TermOptions(article_tokens=2, bigram_weight=0.0, dense=0.0)
    weights = head(options).background()
    assert scored([[0, 1, 3]], [[3]], weights)[0, 0] == 0
    assert scored([[0, 3, 1]], [[3]], weights)[0, 0] > 0


def test_the_typical_length_is_the_root_mean_square():
    posts = [np.array(row, np.int64) for row in ([0, 0, 1], [3], [], [7, 9])]
    articles = [np.zeros(0, np.int64)] * (TEXTS - len(posts))
    terms = TermHead.of_texts(np.array(COUNTS), articles, posts, OPTIONS.plain())
    squares = [sum(idf(word) ** 3 for word in set(row.tolist())) for row in posts]
    assert terms.typical == pytest.approx([math.sqrt(sum(squares) / 4), 1.0])


def test_a_narrow_pool_mixes_both_idfs_and_adds_the_headline():
    options = TermOptions(
        lead_half_life=4.0,
        bigram_weight=0.0,
        dense=0.0,
        focused_pool=FocusedPool(pool=0.5, headline=2),
    )
    pool = PoolCounts(len(WORDS))
    posts = [np.array(row, np.int64) for row in ([0, 1], [0], [0, 7], [7])]
    pool.add(*distinct(posts))
    weights = head(options).focused(pool, 1.0)
    seen = {0: 3, 1: 1, 7: 2}
    for word in (0, 1, 3, 7):
        mine = math.log((1 + 4) / (1 + seen.get(word, 0))) + 1
        expected = (math.sqrt(idf(word)) * math.sqrt(mine)) ** options.power
        assert weights.of(np.array([word]))[0] == pytest.approx(expected)
    # The headline doubles what stands in it, compared with what does not.
    lead = [float(v) for v in scored([[0, 1, 3]], [[0], [3]], weights)[0]]
    alone = TermOptions(
        lead_half_life=4.0,
        bigram_weight=0.0,
        dense=0.0,
        focused_pool=FocusedPool(pool=0.5, headline=0),
    )
    without = scored([[0, 1, 3]], [[0], [3]], head(alone).focused(pool, 1.0))[0]
    assert lead[0] / lead[1] > without[0] / without[1]


@pytest.mark.parametrize(
    "values",
    [{"power": -1.0}, {"lead_half_life": 0.0}, {"pivot": 1.5}, {"dense": -0.1}],
)
def test_impossible_options_are_named(values):
    with pytest.raises(InputError, match=next(iter(values))):
        TermOptions(**values)


def test_options_survive_as_plain_values():
    assert TermOptions.of(OPTIONS.plain()) == OPTIONS


def options(**changed):
    """Those of a model whose scores follow the first formula of the mixture."""
    plain = {
        "dense": 0.25,
        "excess": DenseExcess(weight=0.0),
        "smoothing": Smoothing(weight=0.0),
        "surface": Surface(weight=0.0),
        "focused_pool": FocusedPool(posts=5),
    }
    return TermOptions(**{**plain, **changed})


@pytest.fixture
def two_heads(tiny_model):
    words = tiny_model.vocabulary.words
    tiny_model.vocabulary = Vocabulary(words, unknown="hash")
    tiny_model.embedding.unknown_weight = 0.0
    tiny_model.terms = TermHead(
        np.arange(len(words)),
        empty_bigram_counters(),
        texts=50,
        typical=(8.0, 6.0),
        options=options(),
    )
    return tiny_model


# Most of their words are in the vocabulary, unlike those of a seed in another language.
ARTICLES = [
    "Flood: river water in the town\nThe bridge of Qwertz in rain",
    "Fire at night",
]
POSTS = [
    "flood in the town",
    "qwertz bridge!",
    "fire fire smoke",
    "nothing at all",
    "",
    "the of a",
]


def test_a_dense_model_has_cosines(tiny_model):
    scorer = open_scorer(tiny_model, ARTICLES)
    assert isinstance(scorer, CosineScorer)
    expected = tiny_model.encode_articles(ARTICLES) @ tiny_model.encode_posts(POSTS).T
    np.testing.assert_allclose(scorer.scores(POSTS), expected, atol=1e-6)
    one_by_one = np.hstack([scorer.scores([post]) for post in POSTS])
    np.testing.assert_array_equal(scorer.scores(POSTS), one_by_one)
    assert scorer.observer() is None
    assert observe_all(scorer, POSTS) is scorer


def test_the_mixture_is_the_sum_of_its_heads(two_heads):
    scorer = open_scorer(two_heads, ARTICLES)
    assert isinstance(scorer, MixtureScorer)
    dense = two_heads.encode_articles(ARTICLES) @ two_heads.encode_posts(POSTS).T
    articles = [two_heads.ids(text) for text in ARTICLES]
    features = [two_heads.terms.features(two_heads.ids(text)) for text in POSTS]
    lexical = scored(articles, features, two_heads.terms.background())
    np.testing.assert_allclose(
        scorer.scores(POSTS), 0.75 * lexical + 0.25 * dense, atol=1e-6
    )
    assert not scorer.scores(["", "the of a"]).any()
    assert scorer.scores([]).shape == (2, 0)


def test_a_name_that_no_vocabulary_has_matches_itself(two_heads):
    scorer = open_scorer(two_heads, ARTICLES)
    assert scorer.matched_terms(["QWERTZ was"]) == [["qwertz"]]
    assert scorer.matched_terms(["flood in the town"])[0][0] in ("flood", "town")
    assert scorer.matched_terms(["nothing at all", "", "Qwertz!"]) == [
        [],
        [],
        ["qwertz"],
    ]
    assert scorer.matched_terms([]) == []


def _names(model, post):
    """The words and pairs of words of a post by their ids."""
    tokens = model.tokens(post)
    if model.vocabulary.unknown == "drop":
        tokens = [token for token in tokens if token in model.vocabulary]
    ids = model.vocabulary.ids(tokens)
    phrases = starmap(phrase, pairwise(tokens))
    names = dict(zip(bigram_ids(ids).tolist(), phrases, strict=True))
    return names | dict(zip(ids.tolist(), tokens, strict=True))


@pytest.mark.parametrize("unknown", ["hash", "drop"])
def test_names_by_their_ids_are_those_that_the_words_of_each_post_have(
    two_heads, unknown
):
    two_heads.vocabulary = Vocabulary(two_heads.vocabulary.words, unknown=unknown)
    posts = [
        "flood qwertz flood qwertz river! Qwertz",
        "",
        "river xxyyzz",
        "洪水警報 in the town, 洪水",
    ]
    reader = PostReader(two_heads, dense=False)
    texts = two_heads.token_ids(posts)
    rows, ids, _ = two_heads.terms.distinct(texts)
    names = reader.names_of(texts, rows, ids)
    expected = [
        _names(two_heads, posts[row])[id]
        for row, id in zip(rows.tolist(), ids.tolist(), strict=True)
    ]
    assert list(names) == expected
    scorer = open_scorer(two_heads, ["flood qwertz river town 洪水警報"])
    matched = scorer.matched_terms(posts)
    assert matched == scorer.matched_terms(texts)
    assert matched == [scorer.matched_terms([post])[0] for post in posts]


def test_a_vocabulary_that_drops_unknown_words_names_those_it_knows(two_heads):
    two_heads.vocabulary = Vocabulary(two_heads.vocabulary.words, unknown="drop")
    scorer = open_scorer(two_heads, ["flood xxyyzz river"])
    assert set(scorer.matched_terms(["flood qwertz river"])[0]) == {
        "flood",
        "river",
        "flood river",
    }


def test_blocks_do_not_matter(two_heads):
    together = open_scorer(two_heads, ARTICLES).scores(POSTS)
    scorer = open_scorer(two_heads, ARTICLES)
    np.testing.assert_allclose(
        np.hstack([scorer.scores([p]) for p in POSTS]), together, atol=1e-6
    )


def settled(model, posts, articles=ARTICLES, **options):
    return observe_all(open_scorer(model, articles, **options), posts)


def test_a_pool_about_the_story_is_seen_and_another_is_not(two_heads):
    before = open_scorer(two_heads, ARTICLES).scores(["flood river town"])
    about = settled(two_heads, ["flood river town"] * 6)
    assert about.decisions() == ["article", "event"]
    found = about.scores(["flood river town"])
    assert not np.allclose(found[0], before[0])
    np.testing.assert_allclose(found[1], before[1], atol=1e-6)
    other = settled(two_heads, ["flood river town"] + ["vote mayor street"] * 20)
    assert other.decisions() == ["event", "event"]
    assert settled(two_heads, ["flood river town"]).decisions() == ["event", "event"]


@pytest.mark.parametrize(
    ("about", "decisions"),
    [
        ("auto", ["between", "event"]),
        ("event", ["event"] * 2),
        ("article", ["article"] * 2),
    ],
)
def test_what_is_asked_for_can_be_said(two_heads, about, decisions):
    posts = ["flood river town"] * 13 + ["vote mayor street"] * 87
    assert settled(two_heads, posts, about=about).decisions() == decisions


def test_a_pool_like_a_seed_in_another_language_is_about_its_event(two_heads):
    """Its function words, which the vocabulary lacks too, would make any pool one about it."""
    posts = ["flood river dans la ville"] * 20
    known, foreign = "flood river town bridge water", "flood river dans la ville"
    assert settled(two_heads, posts, [known, foreign]).decisions() == [
        "article",
        "event",
    ]
    asked = settled(two_heads, posts, [foreign], about="article")
    assert asked.decisions() == ["article"]


def test_several_seeds_of_one_story_ask_for_the_event(two_heads):
    posts = ["flood river town"] * 20
    articles = ["River flood in the town", "Flood in the town", "Fire at night"]
    alone = settled(two_heads, posts, articles)
    assert alone.decisions() == ["article", "article", "event"]
    story = settled(two_heads, posts, articles, positives=2, one_story=True)
    assert story.decisions() == ["event", "event"]
    # One seed is no several; and a story is judged by all of its seeds together.
    assert settled(two_heads, posts, articles[:1], one_story=True).decisions() == [
        "article"
    ]
    asked = settled(two_heads, posts, articles, one_story=True, about="article")
    assert asked.decisions() == ["article"] * 3


@given(st.data())
@settings(
    deadline=None,
    max_examples=10,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_a_seeds_scores_do_not_depend_on_the_others(two_heads, data):
    two_heads.terms.options = options(
        excess=DenseExcess(quantile=0.8),
        smoothing=Smoothing(posts=4, neighbors=2, least=0.1),
        feedback=RocchioFeedback(posts=3, least=2, score=0.05),
    )
    words = st.sampled_from(
        ["flood", "river", "town", "bridge", "fire", "smoke", "mayor", "zzz"]
    )
    text = st.lists(words, max_size=5).map(" ".join)
    posts = data.draw(st.lists(text, min_size=1, max_size=20))
    articles = data.draw(st.lists(text, min_size=1, max_size=4))
    together = settled(two_heads, posts, articles).scores(posts)
    order = data.draw(st.permutations(range(len(articles))))
    some = order[: data.draw(st.integers(1, len(articles)))]
    few = settled(two_heads, posts, [articles[place] for place in some]).scores(posts)
    np.testing.assert_allclose(few, together[some], atol=2e-6)


def test_vectors_alone_do_not_make_a_pool_narrow(two_heads):
    two_heads.terms.options = options(dense=1.0)
    others = ["vote mayor street"] * 20
    two_heads.embedding.matrix.fill_(1.0)  # every cosine is 1, and no word is shared
    assert (open_scorer(two_heads, ARTICLES).scores(others) > 0.99).all()
    assert settled(two_heads, others).decisions() == ["event", "event"]


@given(st.data())
@settings(
    deadline=None,
    max_examples=10,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_a_pool_can_be_observed_in_parts_and_in_any_order(two_heads, data):
    two_heads.terms.options = options(
        excess=DenseExcess(quantile=0.8),
        smoothing=Smoothing(posts=4, neighbors=2, least=0.1),
        feedback=RocchioFeedback(posts=3, least=2, score=0.05),
    )
    words = st.sampled_from(
        ["flood", "river", "town", "bridge", "fire", "smoke", "mayor", "zzz"]
    )
    posts = data.draw(
        st.lists(st.lists(words, max_size=5).map(" ".join), min_size=1, max_size=20)
    )
    whole = settled(two_heads, posts)
    mixed = data.draw(st.permutations(posts))
    cut = data.draw(st.integers(0, len(posts)))
    first, second = (open_scorer(two_heads, ARTICLES).observer() for _ in "ab")
    first.observe(mixed[cut:])
    second.observe(mixed[:cut])
    first.merge(second.state())
    merged = first.settle()
    np.testing.assert_allclose(merged.scores(posts), whole.scores(posts), atol=2e-6)


@pytest.mark.parametrize("posts", [["flood"], ["flood"] * 10, [""] * 10, ["zzz"] * 10])
def test_tiny_and_identical_pools_have_finite_scores(two_heads, posts):
    two_heads.terms.options = TermOptions(focused_pool=FocusedPool(posts=5))
    assert np.isfinite(settled(two_heads, posts).scores(posts)).all()


def test_an_article_without_a_known_word_scores_zero(two_heads):
    assert not open_scorer(two_heads, ["", "the of"]).scores(POSTS).any()


@pytest.mark.parametrize("stored", ["float32", "int8"])
def test_the_folder_keeps_both_heads(two_heads, tmp_path, stored):
    two_heads.embedding.stored = stored
    two_heads.save(tmp_path / "m", card="x")
    again = Model.load(tmp_path / "m")
    assert again.terms.options == two_heads.terms.options
    expected = open_scorer(two_heads, ARTICLES).scores(POSTS)
    found = open_scorer(again, ARTICLES).scores(POSTS)
    np.testing.assert_allclose(found, expected, atol=2e-3 if stored == "int8" else 1e-6)
    # Rounded once, it stays as it is.
    again.save(tmp_path / "n", card="x")
    twice = open_scorer(Model.load(tmp_path / "n"), ARTICLES).scores(POSTS)
    np.testing.assert_allclose(twice, found, atol=1e-6)


@pytest.mark.parametrize("lead", [None, 3.0])
def test_bags_are_what_the_padded_path_gives(two_heads, lead):
    two_heads.encoder.lead = lead
    texts = [two_heads.ids(text) for text in [*ARTICLES, *POSTS]]
    quick = two_heads.encode_ids(texts, "post")
    cut = two_heads.cut(texts, "post")
    with torch.inference_mode():
        from siamese_news.data.collate import pad

        slow = torch.nn.functional.normalize(two_heads(pad(cut)), dim=-1).numpy()
    np.testing.assert_allclose(quick, slow, atol=1e-6)


def naive_feedback(model, article, posts, weight):
    """`mean_vectors` and the mixture's docstring, word by word: the lexical score of each post."""
    terms = model.terms
    weights, phrases = terms.background(), terms.options.bigram_weight
    ids = model.ids(article)
    columns = np.unique(
        np.concatenate([terms.features(model.ids(p)) for p in [article, *posts]])
    )
    own = weights.articles([ids], columns).toarray()[0]
    vectors = weights.posts(
        *terms.distinct([model.ids(p) for p in posts]), columns
    ).toarray()
    paired = np.isin(
        columns, np.concatenate([bigram_ids(model.ids(p)) for p in [article, *posts]])
    )
    mean = np.zeros(len(columns))
    for group, share in ((~paired, 1 - phrases), (paired, phrases)):
        total = np.zeros(len(columns))
        for vector in vectors * group:
            total += vector / (np.linalg.norm(vector) or 1.0)
        mean += share * total / (np.linalg.norm(total) or 1.0)
    return (1 - weight) * own + weight * mean, columns


def with_feedback(model, feedback):
    return replace(model.terms.options, feedback=feedback)


FOUND = ["flood river town", "river floods the town bridge", "flood in the town"]
OTHER = ["vote mayor street"] * 30


def test_feedback_is_the_mean_of_the_best_posts(two_heads):
    options = RocchioFeedback(posts=3, least=2, score=0.05, weight=0.3, alike=0.0)
    scorer = mixture_scorer(
        two_heads,
        ARTICLES[:1],
        vectors=False,
        options=with_feedback(two_heads, options),
    )
    before = scorer.scores([*FOUND, *OTHER])
    assert (before[0, : len(FOUND)] > options.score).all()
    scorer = observe_all(scorer, [*FOUND, *OTHER])
    assert "best posts" in scorer.learned
    vector, columns = naive_feedback(two_heads, ARTICLES[0], FOUND, options.weight)
    terms = two_heads.terms
    posts = [*FOUND, *OTHER, "bridge bridge floods"]
    of_posts = terms.background().posts(
        *terms.distinct([two_heads.ids(post) for post in posts]), columns
    )
    np.testing.assert_allclose(scorer.scores(posts)[0], of_posts @ vector, atol=1e-6)


def test_feedback_moves_the_dense_head_as_well(two_heads):
    feedback = RocchioFeedback(posts=3, least=2, score=0.05, weight=0.3, alike=0.0)
    two_heads.terms.options = options(dense=1.0)
    scorer = mixture_scorer(
        two_heads, ARTICLES[:1], options=with_feedback(two_heads, feedback)
    )
    # All cosines are high.
    two_heads.embedding.matrix[:] = two_heads.embedding.matrix.abs()
    scorer = mixture_scorer(
        two_heads, ARTICLES[:1], options=with_feedback(two_heads, feedback)
    )
    scorer = observe_all(scorer, FOUND)
    assert scorer.learned
    article = two_heads.encode_articles(ARTICLES[:1])
    posts = two_heads.encode_posts(FOUND)
    mean = posts.sum(axis=0) / np.linalg.norm(posts.sum(axis=0))
    expected = (0.7 * article + 0.3 * mean) @ two_heads.encode_posts(POSTS).T
    np.testing.assert_allclose(scorer.scores(POSTS), expected, atol=1e-6)


def naive_likeness(model, posts, first, smoothing):
    """`RocchioFeedback.alike` without vectors, word by word."""
    weights = model.terms.background()

    def cosine(one, other):
        own, its = (set(ids.tolist()) for ids in (one, other))
        square = {id: float(weights.of(np.array([id]))[0]) ** 2 for id in own | its}
        lengths = [
            math.sqrt(sum(square[id] for id in ids)) or 1.0 for ids in (own, its)
        ]
        return sum(square[id] for id in own & its) / (lengths[0] * lengths[1])

    words = [model.ids(post) for post in posts]
    gains = []
    for post in range(first):
        total = 0.0
        for other in set(range(len(posts))) - {post}:
            same = 0.5 * cosine(words[post], words[other])
            same += 0.5 * cosine(bigram_ids(words[post]), bigram_ids(words[other]))
            total += same**smoothing.exponent if same > smoothing.least else 0.0
        gains.append(total / (total + smoothing.prior))
    return float(np.mean(gains))


@pytest.mark.parametrize("smooth", [0.0, 1.0])
def test_feedback_weighs_as_much_as_the_best_posts_are_alike(two_heads, smooth):
    smoothing = Smoothing(least=0.1, weight=smooth)
    likeness = naive_likeness(two_heads, FOUND, 2, smoothing)
    assert 0.05 < likeness < 0.95
    for factor, size in [
        (1.01, 2000),
        (0.7, 2500),
        (0.48, 2000),
        (1.4, 1000),
        (2.5, 500),
    ]:
        alike = likeness * factor
        options = RocchioFeedback(
            posts=2, focused_posts=2, least=2, score=0.05, alike=alike
        )
        options = replace(with_feedback(two_heads, options), smoothing=smoothing)
        scorer = mixture_scorer(two_heads, ARTICLES[:1], vectors=False, options=options)
        scorer = observe_all(scorer, [*FOUND, *OTHER[:1] * (size - len(FOUND))])
        large = min(size / 2000, 1)
        weight = options.feedback.weight
        expected = 1 - weight * min(max(1 / (factor * large) - 1, 1 - large, 0), 1)
        assert scorer.article_weight(0) == pytest.approx(expected, abs=1e-6)


def test_too_few_or_too_weak_posts_change_nothing(two_heads):
    for options in (
        RocchioFeedback(posts=5, least=4, score=0.05),
        RocchioFeedback(least=2, score=2.0),
    ):
        scorer = mixture_scorer(
            two_heads, ARTICLES, options=with_feedback(two_heads, options)
        )
        before = scorer.scores([*FOUND, *OTHER])
        scorer = observe_all(scorer, [*FOUND, *OTHER])
        assert scorer.article_weight(0) == scorer.article_weight(1) == 1.0
        np.testing.assert_array_equal(scorer.scores([*FOUND, *OTHER]), before)


def test_a_story_that_is_not_meant_gets_no_feedback(two_heads):
    posts = [*FOUND, "fire fire smoke", "fire at night", "smoke at night", *OTHER]
    options = RocchioFeedback(posts=3, least=2, score=0.05, weight=0.5, alike=0.0)
    scorer = mixture_scorer(
        two_heads, ARTICLES, positives=1, options=with_feedback(two_heads, options)
    )
    before = scorer.scores(posts)
    scorer = observe_all(scorer, posts)
    assert scorer.learned
    assert [scorer.article_weight(0), scorer.article_weight(1)] == [0.5, 1.0]
    np.testing.assert_allclose(scorer.scores(posts)[1], before[1], atol=1e-6)


texts = st.lists(st.integers(0, 3), max_size=3).map(
    lambda words: np.array(words, np.int64)
)


@given(
    st.lists(st.tuples(texts, st.integers(0, 5)), max_size=30),
    st.integers(1, 7),
    st.data(),
)
@settings(deadline=None)
def test_the_best_posts_do_not_depend_on_blocks_or_order(posts, size, data):
    # The score of a text is one number, whichever copy it is.
    posts = [(text, int(text.sum()) % 6) for text, _ in posts]

    def kept(found, size):
        best = Candidates(1, 3)
        for start in range(0, len(found), size):
            block = found[start : start + size]
            scores = np.array([[score / 10 for _, score in block]], np.float32)
            best.add(scores, [text for text, _ in block])
        again = Candidates.restored(best.plain(), 3)
        for one, other in zip(again.best(0), best.best(0), strict=True):
            np.testing.assert_array_equal(one, other)
        return [best.text(key).tobytes() for key in best.best(0)[0].tolist()]

    different = {
        text.tobytes(): (-score, int(content_keys([text])[0])) for text, score in posts
    }
    expected = sorted(
        (t for t, (score, _) in different.items() if score), key=different.get
    )[:3]
    assert kept(posts, size) == expected
    assert kept(data.draw(st.permutations(posts)), len(posts) or 1) == expected


def test_a_texts_key_is_its_words_in_their_order():
    texts = [[1, 2], [2, 1], [1, 2, 0], [0, 1, 2], [], [0], [0, 0], [2**62, 1], [1, 2]]
    keys = content_keys([np.array(text, np.int64) for text in texts])
    assert keys[0] == keys[-1]
    assert len(set(keys.tolist())) == len(texts) - 1
    assert content_keys([]).tolist() == []
    assert content_keys([np.array([1, 2])])[0] == keys[0]


def test_one_head_alone(two_heads):
    scorer = mixture_scorer(two_heads, ARTICLES)
    lexical, dense = scorer.basis.articles.heads(scorer.setting.reader(POSTS))
    words = open_scorer(two_heads, ARTICLES, fusion="words")
    vectors = open_scorer(two_heads, ARTICLES, fusion="vectors")
    np.testing.assert_allclose(words.scores(POSTS), lexical, atol=1e-6)
    np.testing.assert_allclose(vectors.scores(POSTS), dense, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fusion": "words"}, "fusion 'words'"),
        ({"fusion": "weighted"}, "fusion 'weighted'"),
        ({"expand": True}, "feedback"),
        ({"smooth": True}, "smoothing"),
        ({"about": "article"}, "about 'article'"),
        ({"about": "me"}, "'me'"),
        ({"fusion": "sum"}, "'sum'"),
    ],
)
def test_what_needs_words_is_refused_without(tiny_model, options, message):
    with pytest.raises(InputError, match=message):
        open_scorer(tiny_model, ARTICLES, **options)


def test_feedback_can_be_left_out_or_asked_for(two_heads):
    posts = [*FOUND, *OTHER]

    def adapts(expand, weight):
        options = dataclasses.replace(
            two_heads.terms.options,
            feedback=RocchioFeedback(least=2, score=0.05, weight=weight, alike=0.1),
        )
        two_heads.terms.options = options
        return settled(two_heads, posts, expand=expand).article_weight(0) < 1

    assert [adapts(None, 0.2), adapts(False, 0.2)] == [True, False]
    assert [adapts(None, 0.0), adapts(True, 0.0)] == [False, True]


def test_impossible_feedback_is_named():
    with pytest.raises(InputError, match="least=4"):
        TermOptions(feedback=RocchioFeedback(posts=3, least=4))


@pytest.mark.parametrize("kind", ["tiny_model", "two_heads"])
def test_one_text_is_not_read_letter_by_letter(request, kind):
    model = request.getfixturevalue(kind)
    with pytest.raises(
        InputError, match=r"articles.* got one string; expected a list of texts"
    ):
        open_scorer(model, "flood")
    scorer = open_scorer(model, ["flood"])
    for method in (scorer.scores, scorer.matched_terms):
        with pytest.raises(
            InputError, match=r"posts.* got one string; expected a list of texts"
        ):
            method("flood")


@pytest.mark.parametrize("positives", [0, -1, 3, 1.5])
def test_a_number_of_positives_that_cannot_be_is_refused(
    tiny_model, two_heads, positives
):
    for model in (tiny_model, two_heads):
        with pytest.raises(
            InputError, match=r"positives is .*; expected a whole number from 1"
        ):
            open_scorer(model, ["flood", "fire"], positives=positives)
