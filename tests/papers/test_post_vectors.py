"""Word vectors of the posts themselves: what is learned, and the file that training reads."""

import numpy as np
import pytest
from papers.samcnn.post_vectors import fasttext, joined, write_vectors

from siamese_news.text.vectors import WordVectors, load_vectors

POSTS = [
    ["flood", "in", "town"],
    ["flooding", "of", "the", "town"],
    ["new", "phone"],
] * 20


def test_a_written_file_is_read_as_it_was_made(tmp_path):
    words = ["flood", "naïve", "洪水"]
    vectors = np.arange(12, dtype=np.float32).reshape(3, 4) + 1
    path = tmp_path / "own.bin"
    write_vectors(path, words, vectors)
    assert [file.name for file in tmp_path.iterdir()] == ["own.bin"]
    read = load_vectors(path, cache_dir=tmp_path / "cache")
    assert read.words == words
    np.testing.assert_array_equal(read.matrix, vectors)


def test_vectors_are_the_same_again_and_know_the_parts_of_words():
    vectors = fasttext(POSTS, ["flood", "flooding", "phone"])
    assert vectors.shape == (3, 100)
    np.testing.assert_array_equal(
        vectors, fasttext(POSTS, ["flood", "flooding", "phone"])
    )
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert unit[0] @ unit[1] > unit[0] @ unit[2]


def test_the_second_vector_has_the_length_of_the_first():
    first = WordVectors(
        ["a", "b"], np.array([[3.0, 4.0], [0.0, 5.0]], np.float32), "", ""
    )
    second = np.array([[1.0], [2.0], [3.0]], np.float32)
    both = joined(first, ["b", "new", "a"], second)
    np.testing.assert_allclose(both[:, :2], [[0, 5], [0, 0], [3, 4]])
    assert np.abs(both[:, 2]).mean() == pytest.approx(5)
    none = joined(first, ["new"], second[:1])
    np.testing.assert_allclose(none, [[0, 0, 1]])
