"""Word vectors of the posts themselves: the file that the benchmark writes is one that is read."""

import numpy as np
import pytest

pytest.importorskip("gensim")

from benchmarks.own_vectors import learnt, word2vec_lines
from siamese_news.text.vectors import load_vectors

POSTS = [["flood", "in", "town"], ["flooding", "of", "the", "town"], ["new", "phone"]] * 20


def test_a_written_file_is_read_as_it_was_made(tmp_path):
    words = ["flood", "naïve", "洪水"]
    vectors = np.arange(12, dtype=np.float32).reshape(3, 4) + 1
    path = tmp_path / "own.bin"
    path.write_bytes(b"".join(word2vec_lines(words, vectors)))
    read = load_vectors(path, cache_dir=tmp_path / "cache")
    assert read.words == words
    np.testing.assert_array_equal(read.matrix, vectors)


def test_learnt_vectors_are_the_same_again_and_know_a_words_parts():
    vectors = learnt(POSTS, ["flood", "flooding", "phone"], epochs=5)
    assert vectors.shape == (3, 100)
    np.testing.assert_array_equal(vectors, learnt(POSTS, ["flood", "flooding", "phone"], epochs=5))
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert unit[0] @ unit[1] > unit[0] @ unit[2]
