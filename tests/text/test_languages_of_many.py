"""The languages of many texts at once are those that py3langid gives each of them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siamese_news.data.beir import bundled
from siamese_news.text import languages
from siamese_news.text.languages import language_of, languages_of

SENTENCES = [
    "Der Fluss ist über Nacht gestiegen und hat die Brücke mitgenommen",
    "La rivière a emporté le pont pendant la nuit, disent les pompiers",
    "Река поднялась ночью и снесла мост, сообщили спасатели",
    "Сава је однела мост током ноћи, јавља хитна служба",
    "洪水で橋が流されたと消防が発表した",
    "सुबह नदी का पानी पुल के ऊपर आ गया था",
    "THE RIVER TOOK THE BRIDGE AT NIGHT",
    "lol",
    "",
    "https://t.co/abc @ann #x",
    "12345 67890 !!!",
    "\ud800 half a character in the river",
    "e\u0301te\u0301 cafe\u0301 de la rivie\u0300re",
]


def each(texts):
    return [language_of(text) for text in texts]


def test_real_and_odd_texts_have_the_language_they_have_alone():
    collection = bundled()
    texts = [post.text for post in collection.posts.values()]
    texts += [article.full_text for article in collection.articles.values()]
    texts += [sentence * times for sentence in SENTENCES for times in (1, 2, 40)]
    told = languages_of(texts)
    assert told == each(texts)
    assert {"en", "de", "fr", "ru", "sr", "ja", "hi", None} <= set(told)


@given(
    st.lists(
        st.sampled_from(SENTENCES) | st.text(max_size=90), min_size=64, max_size=80
    )
)
@settings(deadline=None, max_examples=30)
def test_any_texts_have_the_language_they_have_alone(texts):
    assert languages_of(texts) == each(texts)


def test_few_texts_are_asked_about_one_by_one(monkeypatch):
    monkeypatch.setattr(languages, "_automaton", None)
    assert languages_of(SENTENCES) == each(SENTENCES)
    assert languages_of([]) == []


def test_the_probabilities_are_the_detectors():
    texts = [
        languages._plain(text * 2) for text in SENTENCES if "\ud800" not in text
    ] * 8
    detected = languages._automaton().classify(texts)
    for text, (code, probability) in zip(texts, detected, strict=True):
        expected, confidence = languages._detector().classify(text)
        assert probability == pytest.approx(confidence, abs=1e-5)
        assert code == expected or probability < 0.5
