"""The surface: n-grams of characters inside words, against scikit-learn and a count by hand."""

import dataclasses
import math
from collections import Counter

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from siamese_news import open_model, open_scorer
from siamese_news.lexical_head.head import TermHead, empty_bigram_counters
from siamese_news.lexical_head.options import Surface, TermOptions
from siamese_news.scoring import observe_all
from siamese_news.scoring.mixture import mixture_scorer
from siamese_news.scoring.surface import compact, word_grams
from siamese_news.search.index.indexed_scorer import IndexedScorer
from siamese_news.text import Vocabulary

ARTICLE = "Hochwasserschutz: Überschwemmungen treffen Grünwaldtal. Überschwemmung, Flüsse steigen"
POSTS = [
    "überschwemmt grünwald",
    "hochwasser flüsse",
    "neues telefon gekauft",
    "قطار سريع",
    "z ab",
    "😀",
    "",
]
MIXED = [
    *POSTS,
    "The river flooded our town again #BostonStrong",
    "洪水警報が出ました",
    "นํ้าท่วมหนักมาก",
    "zzqqxy zzqqxyz running ran",
    *[f"copy of flood {n % 3}" for n in range(40)],
]


@pytest.fixture(scope="module")
def model():
    return open_model()


def scorer_of(model, articles):
    """A scorer whose surface has the weight 1, and the IDF of the pool once it has seen one."""
    alone = Surface(weight=1.0, unknown=1.0, background=1.0)
    options = dataclasses.replace(model.terms.options, surface=alone)
    return mixture_scorer(model, articles, about="article", options=options)


def surface(scorer, posts):
    """The additions of the surface, before the scale."""
    found = np.zeros((len(scorer.scales()), len(posts)), np.float32)
    scorer.basis.surface.add(found, scorer.token_ids(posts))
    return found / scorer.scales()[:, None]


def test_with_the_idf_of_the_pool_it_is_the_cosine_of_scikit_learn(model, monkeypatch):
    """IDF has the power 1; where words are known, no two of a post share an n-gram."""
    focused = dataclasses.replace(model.terms.options.focused_pool, posts=1)
    options = dataclasses.replace(model.terms.options, power=1.0, focused_pool=focused)
    monkeypatch.setattr(model.terms, "options", options)
    scorer = scorer_of(model, [ARTICLE, "Z", ""])
    pool = [*POSTS, "überschwemmung, überschwemmungen! Überschwemmung im Tal, im Tal"]
    scorer = observe_all(scorer, POSTS)
    options = {"analyzer": "char_wb", "ngram_range": (4, 4), "sublinear_tf": True}
    posts = [" ".join(model.tokens(text)) for text in pool]
    articles = [" ".join(model.tokens(text)) for text in (ARTICLE, "Z", "")]
    grams = TfidfVectorizer(**options).fit([*posts, *articles]).vocabulary_
    vectors = TfidfVectorizer(vocabulary=grams, **options).fit(posts[: len(POSTS)])
    expected = (vectors.transform(articles) @ vectors.transform(posts).T).toarray()
    found = surface(scorer, pool)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert found[0, 0] > 0.1 < found[0, 1]  # inflected and joined words
    assert found[1, 4] > 0.1
    assert not found[2].any()


def test_before_a_pool_it_has_the_idf_of_the_background(tiny_model):
    """An n-gram occurs as often in the background as the words that have it."""
    words, texts = tiny_model.vocabulary.words, 50
    tiny_model.vocabulary = Vocabulary(words, unknown="hash")
    tiny_model.embedding.unknown_weight = 0.0
    tiny_model.terms = TermHead(
        np.arange(len(words)),
        empty_bigram_counters(),
        texts=texts,
        typical=(1.0, 1.0),
        options=TermOptions(),
    )

    def grams(word):
        marked = f" {word} ".ljust(4)
        return {marked[start : start + 4] for start in range(len(marked) - 3)}

    counts = Counter()
    for count, word in enumerate(words):
        counts.update(dict.fromkeys(grams(word), count))

    def weight(gram):
        return (math.log((1 + texts) / (1 + min(counts[gram], texts))) + 1) ** 1.5

    article = ["flooding", "floods", "floods", "zzqqxy", *words[5:20]]
    post = ["flooded", "zzqqxyz", *words[15:25]]
    article, post = (tiny_model.tokens(" ".join(text)) for text in (article, post))
    times = Counter(gram for word in article for gram in grams(word))
    mine = {gram: (1 + math.log(count)) * weight(gram) for gram, count in times.items()}
    length = math.sqrt(sum(value**2 for value in mine.values()))
    squares = sum(weight(gram) ** 2 for word in post for gram in grams(word))
    products = sum(
        mine.get(gram, 0) * weight(gram) for word in post for gram in grams(word)
    )
    expected = products / length / math.sqrt(squares)
    scorer = scorer_of(tiny_model, [" ".join(article)])
    text = " ".join(post)
    assert surface(scorer, [text])[0, 0] == pytest.approx(expected, abs=1e-6)


def test_it_is_the_same_by_whatever_blocks_and_workers_the_pool_came(model):
    articles = [
        ARTICLE,
        "A flood in town",
        "洪水",
        "zzqqxy",
        "a " * 30_000,
        "Five words are all here",
    ]
    whole = open_scorer(model, articles)
    whole = observe_all(whole, MIXED)
    expected = whole.scores(MIXED)
    assert np.isfinite(expected).all()
    order = np.random.default_rng(0).permutation(len(MIXED))
    before = open_scorer(model, articles)
    halves = [before.observer() for _ in range(2)]
    for place, start in enumerate(range(0, len(MIXED), 7)):
        some = [MIXED[row] for row in order[start : start + 7]]
        halves[place % 2].observe(before.token_ids(some) if place % 3 else some)
    observer = before.observer()
    for half in reversed(halves):
        observer.merge(half.state())
    merged = observer.settle()
    assert merged.state() == whole.state()
    found = [merged.scores([post])[:, 0] for post in MIXED]
    np.testing.assert_array_equal(np.stack(found, axis=1), expected)
    # A seed's list is its own.
    for number, article in enumerate(articles):
        alone = open_scorer(model, [article])
        alone = observe_all(alone, MIXED)
        np.testing.assert_array_equal(alone.scores(MIXED)[0], expected[number])


def test_posts_that_do_not_resemble_each_other_are_not_near(model):
    posts = [
        "river floods the town",
        "the river rose",
        "flood in town",
        *MIXED,
        *["zz"] * 2000,
    ]

    def scores(near, **feedback):
        options = model.terms.options
        options = dataclasses.replace(
            options,
            feedback=dataclasses.replace(options.feedback, **feedback),
            surface=dataclasses.replace(options.surface, near=near),
        )
        scorer = mixture_scorer(
            model, ["A river floods a town\nFloods"], options=options
        )
        scorer = observe_all(scorer, posts)
        return scorer.scores(posts)

    unlike = scores(1.0, alike=1.0)
    np.testing.assert_allclose(unlike, scores(1e9, weight=0.0, alike=0.0), atol=1e-6)
    assert not np.allclose(unlike, scores(1.0, weight=0.0, alike=0.0), atol=1e-4)


def test_words_that_share_inside_what_no_vocabulary_has_are_found(model):
    scorer = open_scorer(model, ["Überschwemmungen im Grünwaldtal"])
    posts = [
        "überschwemmung grünwald",
        "neues telefon gekauft",
        *["heute ist montag"] * 20,
    ]
    scorer = observe_all(scorer, posts)
    first, second, *_ = scorer.scores(posts)[0]
    assert first > second + 0.1
    parts = scorer.parts_of(posts[0], 0)
    assert list(parts.surface) == ["überschwemmung", "grünwald"] and not parts.terms
    assert sum(parts.surface.values()) == pytest.approx(float(first), abs=1e-6)
    assert sum(parts.article_terms.values()) == pytest.approx(float(first), abs=1e-6)


def test_without_weight_there_is_none(model):
    plain = model.terms.options.plain()
    plain["surface"]["weight"] = 0
    options = TermOptions.of(plain)
    assert options.surface.weight == 0
    scorer = mixture_scorer(model, [ARTICLE], options=options)
    assert scorer.scales() == 1 and scorer.basis.surface is None
    assert not scorer.scores(["überschwemmt"]).any()


def test_an_article_s_scale_undoes_the_weight_of_its_own_surface(model):
    """A post that copies the article scores alike however many words the vocabulary lacks."""
    english = (
        "The river Elbe floods the old town, and people leave their houses by boat"
    )
    articles = [english, ARTICLE, f"{english} {ARTICLE}"]
    scorer = mixture_scorer(model, articles, options=model.terms.options)
    lacking = [
        np.mean([token not in model.vocabulary for token in model.tokens(article)])
        for article in articles
    ]
    assert lacking[0] < lacking[2] < lacking[1] == 1
    options = model.terms.options.surface
    weights = options.weight * (1 + (options.unknown - 1) * np.array(lacking))
    np.testing.assert_allclose(scorer.scales(), 1 / (1 + 1.2 * weights), rtol=1e-6)
    # The n-grams of a copy have the cosine 1 under either IDF, so these alone give scale * weight.
    copies = surface(scorer, [ARTICLE])
    assert copies[1, 0] == pytest.approx(weights[1], rel=0.05)
    assert scorer.scores([ARTICLE])[1, 0] < 1


def test_words_have_the_ngrams_that_a_reader_sees():
    rows = word_grams(["flood", "a", "ab", "aaaaaa", "\ud800x"], 4)
    assert np.diff(rows.indptr).tolist() == [4, 1, 1, 3, 1]
    assert word_grams([], 4).shape[0] == 0


@pytest.mark.parametrize(
    ("word", "latin"),
    [
        ("челябинск", "chelyabinsk"),
        ("Київ", "kiiv"),
        ("αθήνα", "athina"),
        ("Երևան", "erevan"),
        ("दिल्ली", "dilli"),
        ("თბილისი", "tbilisi"),
        ("überfall", "überfall"),
        ("القاهرة", "القاهرة"),
        ("ь", "ь"),
        ("新加", "新加"),
        ("flood", "flood"),
    ],
)
def test_other_alphabets_have_the_ngrams_of_their_latin_letters(word, latin):
    found, wanted = (word_grams([one.lower()], 4).indices for one in (word, latin))
    assert found.tolist() == wanted.tolist()


def test_an_english_seed_finds_a_name_in_cyrillic(model):
    article = "A meteor exploded above Chelyabinsk and Chelyabinsk closed its schools"
    scorer = scorer_of(model, [article])
    near, far = scorer.scores(["Взрыв над Челябинском", "Дождь над Новосибирском"])[0]
    assert near > far + 0.01


def test_the_surface_is_at_most_the_root_of_a_sum_over_words(model):
    english = "The river flooded Boston"
    for articles, learned in (
        ([ARTICLE, english, "zzqqxyz ran"], False),
        ([ARTICLE, english, "zzqqxyz ran"], True),
        ([english], False),
    ):
        scorer = scorer_of(model, articles)
        if learned:
            scorer = observe_all(scorer, MIXED)
        ids = scorer.token_ids([*MIXED, "flooded", "überschwemmung", "zzqqxyz"])
        known = len(model.vocabulary)
        unknown = sorted(ids.unknown)
        indexed = IndexedScorer.of(scorer)
        squares = indexed.surface_squares(
            word_grams([ids.unknown[id] for id in unknown], 4)
        )
        assert squares.shape == (known + len(unknown),) and squares.min() >= 0
        place = {id: known + number for number, id in enumerate(unknown)}
        found = indexed.surface(ids)
        for number, text in enumerate(ids):
            words = [place.get(id, id) for id in text.tolist()]
            most = np.sqrt(squares[words].astype(float).sum())
            assert (found[:, number] <= most * (1 + 1e-6)).all()
        one = [number for number, text in enumerate(ids) if len(text) == 1]
        alone = np.sqrt(
            squares[[place.get(int(ids[n][0]), int(ids[n][0])) for n in one]]
        )
        assert one and (found[:, one] > 0).any()
        if articles == [english]:  # of one IDF and one word the bound is what is added
            np.testing.assert_allclose(found[:, one].max(axis=0), alone, rtol=1e-5)


def test_compact_rows_have_the_same_products():
    rows = word_grams(["überschwemmung", "flood", "flooded", "z"], 5)
    columns, small = compact(rows)
    assert small.shape == (4, len(columns))
    assert (np.diff(columns) > 0).all()
    np.testing.assert_array_equal(
        (small @ small.T).toarray(), (rows @ rows.T).toarray()
    )
    np.testing.assert_array_equal(small.toarray(), rows[:, columns].toarray())
