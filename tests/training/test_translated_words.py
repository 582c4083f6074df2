"""A star learns the words of an invented language from translations."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from models.translations.translated_words import (
    LEAST_PAIRS,
    RIDGE,
    Translation,
    drawn,
    fitted,
    rare_words,
    read_translations,
    train,
    weighted_means,
    with_translated_words,
)
from scipy import sparse
from tests.model.test_star_model import WORDS, star

from siamese_news.errors import InputError
from siamese_news.model import Model
from siamese_news.model.loading import open_model
from siamese_news.model.star_model import StarModel
from siamese_news.text import Vocabulary
from siamese_news.text.token_ids import TokenIds

FALSE_FRIEND = "w7"  # w8 in English


def invented(text):
    """A sentence of English words in the invented language."""
    words = {"w8": FALSE_FRIEND}
    return " ".join(words.get(word, word.replace("w", "u")) for word in text.split())


def sentences(count, seed):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS[:100], 8)) for _ in range(count)]


@pytest.fixture(scope="module")
def model():
    drops_unknown = star("adaptive", "int8", whiten=True)
    drops_unknown.embedding.token_weights.fill_(1)
    return Model(
        tokenizer=drops_unknown.tokenizer,
        vocabulary=Vocabulary(WORDS, unknown="hash"),
        embedding=drops_unknown.embedding,
        encoder=drops_unknown.encoder,
        limits=drops_unknown.limits,
        config=drops_unknown.config,
    ).eval()


@pytest.fixture(scope="module")
def translations():
    return [Translation("xx", invented(text), text) for text in sentences(400, seed=0)]


def test_translations_come_near_their_english_sides(model, translations):
    english = sentences(60, seed=1)
    other = [invented(text) for text in english]
    translated = with_translated_words(model, translations)
    cosines = translated.encode_posts(other) @ model.encode_posts(english).T
    assert (cosines.argmax(1) == np.arange(60)).mean() > 0.95
    assert np.diag(cosines).mean() > 0.9
    # Without new vectors it reads one word of the other language, and that wrong.
    before = model.encode_posts(other) @ model.encode_posts(english).T
    assert (before.argmax(1) == np.arange(60)).mean() < 0.2
    false_friend = translated.encode_posts([FALSE_FRIEND])
    assert (false_friend @ model.encode_posts(WORDS[:20]).T).argmax() == 8


def test_new_words_alone_leave_english_as_it_is(model, translations, tmp_path):
    model.save(tmp_path / "english", card="# card")
    train(tmp_path / "english", translations, tmp_path / "both", new_words=True)
    light = open_model(tmp_path / "both")
    assert isinstance(light, StarModel)
    texts = sentences(40, seed=2)
    before = open_model(tmp_path / "english").encode_posts(texts)
    np.testing.assert_array_equal(light.encode_posts(texts), before)
    other = [invented(text) for text in texts]
    expected = Model.load(tmp_path / "both").encode_posts(other)
    np.testing.assert_allclose(light.encode_posts(other), expected, atol=1e-5)
    assert (np.sum(expected * before, 1) > 0.7).all()
    record = light.trained_on.plain()
    assert record["fingerprints"] == len({pair.text for pair in translations})


LISTS = st.lists(st.lists(st.integers(0, 9), max_size=6), min_size=1, max_size=8)


@given(LISTS, st.data())
def test_words_and_shares_are_those_of_naive_loops(texts, data):
    languages = [data.draw(st.sampled_from("ab")) for _ in texts]
    ids = TokenIds.of([np.array(text, np.int64) for text in texts])
    words, rarity = rare_words(ids, languages)
    expected = {
        word: max(
            np.mean(
                [
                    word in text
                    for text, spoken in zip(texts, languages, strict=True)
                    if spoken == code
                ]
            )
            for code in set(languages)
        )
        for word in range(10)
        if sum(word in text for text in texts) >= LEAST_PAIRS
    }
    assert words.tolist() == list(expected)
    np.testing.assert_allclose(
        rarity, [1.3 * (1 - np.log(x)) for x in expected.values()], rtol=1e-5
    )
    if len(words):
        means = weighted_means(ids, words, rarity).toarray()
        weight_of = dict(zip(words.tolist(), rarity, strict=True))
        for row, text in zip(means, texts, strict=True):
            total = sum(weight_of.get(word, 0) for word in text)
            wanted = [text.count(w) * weight_of[w] / (total or 1) for w in weight_of]
            np.testing.assert_allclose(row, wanted, rtol=1e-5)


def test_the_fit_solves_its_equations():
    rng = np.random.default_rng(0)
    means = rng.random((60, 12)) * (rng.random((60, 12)) < 0.4)
    targets = rng.normal(size=(60, 3)).astype(np.float32)
    found = fitted(sparse.csr_matrix(means.astype(np.float32)), targets)
    told = means.sum(1) > 0
    left, right = means[told].T @ means[told], means[told].T @ targets[told]
    expected = np.linalg.solve(left + RIDGE * np.eye(12), right)
    np.testing.assert_allclose(found, expected, atol=0.02)


def test_draws_are_nested():
    pairs = [Translation("xx", str(n), "") for n in range(50)]
    assert drawn(pairs, 20, seed=3) == drawn(pairs, 50, seed=3)[:20]
    assert drawn(pairs, 20, seed=3) != drawn(pairs, 20, seed=4)


def test_input_that_teaches_nothing_is_refused(model, tmp_path):
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps({"lang": "da", "text": "hej", "english": None}))
    with pytest.raises(InputError, match=r"pairs.jsonl:1: has lang, text, english"):
        read_translations(path)
    with pytest.raises(InputError, match="no word in two of them"):
        with_translated_words(model, [Translation("da", "hej", "hello")])
    with pytest.raises(InputError, match="unknown='drop'"):
        with_translated_words(star("adaptive"), [])
