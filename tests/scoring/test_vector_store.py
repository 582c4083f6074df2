"""A text's vector is computed once, and nothing but the time tells."""

import os
import pickle
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import siamese_news.scoring.vector_store as vector_store
from siamese_news.model.loading import model_of
from siamese_news.model.star_model import StarModel
from siamese_news.model.text_model import STAR
from siamese_news.scoring import observe_all, open_scorer
from siamese_news.scoring.vector_store import VectorStore

STORIES = [
    "The river Asker burst its banks in Harlow Bridge. People were evacuated from the flood.",
    "The mayor of Quillgate went on trial for bribes. The jury heard of envelopes of money.",
]
POSTS = [
    *(f"flood number {n} in Harlow Bridge, {n % 7} people are safe" for n in range(60)),
    *(f"the trial of the mayor, day {n}" for n in range(40)),
    *("new phone", "new phone", "", "qqqxxx"),
]


@pytest.mark.parametrize("most", [1 << 20, 50])
def test_each_text_is_computed_once_until_the_store_is_full(most, monkeypatch):
    monkeypatch.setattr(vector_store, "MOST_TEXTS", most)
    generator = np.random.default_rng(0)
    table = generator.normal(size=(100, 3)).astype(np.float32)
    store = VectorStore(np.float32)
    computed = []
    for _ in range(40):
        keys = generator.integers(0, 100, generator.integers(0, 30)).tolist()

        def encode(rows, keys=keys):
            computed.extend(keys[row] for row in rows)
            return table[[keys[row] for row in rows]]

        vectors = store.of(keys, encode)
        assert vectors.tobytes() == table[keys].tobytes()
    assert (len(computed) == len(set(computed))) == (most > 100)


def test_scores_with_and_without_the_store_are_the_same_bytes(monkeypatch):
    model = model_of(STAR)
    encoded = []
    unit_vectors = StarModel._unit_vectors

    def counted(self, texts, *options):
        encoded.append(len(texts))
        return unit_vectors(self, texts, *options)

    monkeypatch.setattr(StarModel, "_unit_vectors", counted)

    def run():
        encoded.clear()
        scorer = observe_all(open_scorer(model, STORIES), POSTS)
        return scorer.scores(POSTS).tobytes(), scorer.state(), sum(encoded)

    *kept, texts_once = run()
    monkeypatch.setattr(StarModel, "is_costly", False)
    *computed_again, texts_again = run()
    assert kept == computed_again
    assert texts_once <= len(set(POSTS)) + len(STORIES) < texts_again


def letters_of(keys, pause=0.0):
    def encode(places):
        time.sleep(pause)
        return np.array([[ord(keys[place]), 1.0] for place in places], np.float32)

    return encode


def test_threads_that_ask_at_once_get_the_vectors_of_their_texts():
    store = VectorStore(np.float32)
    asked = ["abcd", "cdef", "abcd", "fgha"]
    with ThreadPoolExecutor(4) as pool:
        vectors = list(
            pool.map(lambda keys: store.of(keys, letters_of(keys, 0.02)), asked)
        )
    for keys, found in zip(asked, vectors, strict=True):
        assert found[:, 0].tolist() == [ord(key) for key in keys]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_has_a_store_of_its_own():
    store = VectorStore(np.float32)
    store.of("ab", letters_of("ab"))
    child = os.fork()
    if not child:
        found = store.of("xyza", letters_of("xyza"))[:, 0].tolist()
        os._exit(found != [ord(key) for key in "xyza"])
    assert os.waitpid(child, 0)[1] == 0
    assert store.of("bc", letters_of("bc"))[:, 0].tolist() == [98, 99]


def test_a_store_travels_empty():
    store = VectorStore(np.float16)
    store.of("ab", letters_of("ab"))
    there = pickle.loads(pickle.dumps(store))
    assert there.of("ba", letters_of("ba")).tolist() == [[98, 1], [97, 1]]
